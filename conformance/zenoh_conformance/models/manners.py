"""How the models say a message, drawn from the dimensions of the routing cases: lane, channel, size, packing and more.

No model of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from hypothesis import strategies as st

from zenoh_conformance.cases.case import id_of
from zenoh_conformance.cases.establishment.circumstances import MANY
from zenoh_conformance.cases.routing.circumstances import (
    CARRIED,
    CHANNEL,
    EXPRESS,
    FIELDS,
    LANE,
    PACKING,
    PATTERN,
    SIZE,
    TERMS,
    say,
)
from zenoh_conformance.judging.finding import Deviation, Finding
from zenoh_conformance.judging.variation import ONLY, Dimensions, Variation, words_of
from zenoh_conformance.messages import Push, Put, PutAttachment
from zenoh_conformance.messages.network import QoS
from zenoh_conformance.primitives import Encoding
from zenoh_conformance.reading.names import plain
from zenoh_conformance.talking import Dialogue, Party, Scene
from zenoh_conformance.wire import Exts

from .modelled import Known, is_known, matches_pattern

TIME_IS_FREE: Final = "time_is_free"
"""The fact that waiting takes no time here: the clock is ours."""
DRAWN: Final = (LANE, CHANNEL, EXPRESS, SIZE, PACKING, CARRIED)
NOBODY: Final = "beside/packed"
"""A key that nobody declares, below our root."""
MARK: Final = 2
"""Bytes at the beginning of a payload that no other has."""

DRESSES: Final[tuple[tuple[Encoding | None, bytes | None], ...]] = (
    (Encoding(5), None), (Encoding(3, b"of ours"), b"beside it"), (Encoding(7), b""), (None, None),
)  # fmt: skip
"""What may go with a value: an encoding, an attachment."""

manners = st.builds(Variation, st.fixed_dictionaries({each.name: st.sampled_from(each.values) for each in DRAWN}))
"""The circumstances of one message; the simplest ones are the defaults."""
terms = st.sampled_from(tuple(FIELDS[str(each)] for each in TERMS.values))
"""What an InitSyn has otherwise."""


def rows_of(dimensions: Dimensions) -> st.SearchStrategy[Variation]:
    """Return a strategy of circumstances in all these dimensions."""
    return st.builds(Variation, st.fixed_dictionaries({each.name: st.sampled_from(each.values) for each in dimensions}))


def without_chance(v: Variation, dimensions: Dimensions) -> Variation:
    """Return the circumstances without the values with which a busy node may fail and be right."""
    return Variation({each.name: each.default if v[each] in each.chancy else v[each] for each in dimensions})


class Passing:
    """A scene whose dialogues are about one requirement, and are closed when the step that opened them is over."""

    def __init__(self, scene: Scene, requirement: str) -> None:
        self._scene, self.requirement = scene, requirement
        self.opened: list[Dialogue] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scene, name)

    def dialogue(self, *arguments: Any, **more: Any) -> Dialogue:
        """Open a link."""
        return self._keep(self._scene.dialogue(*arguments, **more))

    def session(self, *arguments: Any, **more: Any) -> Dialogue:
        """Open a session."""
        return self._keep(self._scene.session(*arguments, **more))

    def _keep(self, us: Dialogue) -> Dialogue:
        us.requirement = self.requirement
        self.opened.append(us)
        return us


@dataclass(frozen=True)
class VariedExchange:
    """What a varied case does, as a step of a model over fresh links."""

    requirement: str
    does: Callable[[Scene, Variation], None]
    varies: Dimensions

    def run(self, scene: Scene, known: Known, v: Variation) -> None:
        """Run it in drawn circumstances; what is known, or was not reached, is passed over."""
        v = v if scene.fact(TIME_IS_FREE, False) else without_chance(v, self.varies)
        passing = Passing(scene, self.requirement)
        try:
            self.does(cast(Scene, passing), v)
        except Deviation as found:
            no_room = any(us.closed in MANY for us in passing.opened)  # other links of the run may take it
            passed_over = no_room or is_known(known, found.finding) or self.is_listed(known, found.finding, v)
            if found.finding.reached and not passed_over:
                raise
        finally:
            for us in passing.opened:
                us.hang_up()

    def is_listed(self, known: Known, finding: Finding, v: Variation) -> bool:
        """Whether the case is known to deviate so in some of these circumstances."""
        patterns = known.get(id_of(self.does), ()) if isinstance(known, Mapping) else ()
        words = ", ".join(words_of(self.varies, tuple(v[each] for each in self.varies))).split(", ")
        listed = (pattern.partition(f", {ONLY}") for pattern in patterns)
        return any(
            only
            and matches_pattern(what, finding.cause)
            and all(any(matches_pattern(one, word) for word in words) for one in needed.split(", "))
            for what, only, needed in listed
        )


def put_with_extras(payload: bytes, number: int) -> Put:
    """A value with what that number says goes with it."""
    encoding, attachment = DRESSES[number % len(DRESSES)]
    beside: Exts[Any] = Exts(() if attachment is None else (PutAttachment(payload=attachment),))
    return Put(encoding=encoding, exts=beside, payload=payload)


def qos_of(v: Variation) -> QoS:
    """The QoS of a message, which blocks: a busy node may drop what does not."""
    return QoS(value=0x08 | v.number(LANE) | 0x10 * v.number(EXPRESS))


def payload_of_size(v: Variation, mark: int) -> bytes:
    """A payload of the drawn size, or of the bytes that its mark takes."""
    size = max(MARK, v.number(SIZE))
    return mark.to_bytes(MARK, "big") + (PATTERN * (size // len(PATTERN) + 1))[: size - MARK]


def say_drawn(who: Party, v: Variation, message: Any) -> None:
    """Say a message as it was drawn; where it is packed, together with one for nobody."""
    other = Push(key=plain(who.whole(NOBODY)), exts=Exts((qos_of(v),)), body=Put(payload=b"packed"))
    say(who, v, *([message] if v[PACKING] == PACKING.default else [other, message]))
