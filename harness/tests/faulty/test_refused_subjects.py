"""What a check says is judged by a check: a node that refuses or ignores exactly that is red, and not only "not reached".

The nodes are made from the case table: one for each message that some case says to the reference and that the basic cases do not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import pytest
from slices import in_slice

from zenoh_conformance.cases.case import Case, Parameters, all_cases
from zenoh_conformance.cases.controls import BASIC
from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.messages import Init, Open
from zenoh_conformance.primitives import ZenohID
from zenoh_conformance.reading.connection import ConnectionDecoder
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.wire import Unknown
from zenoh_harness.faulty.table import provoke
from zenoh_harness.reference import INVALID, Reference, Refused
from zenoh_harness.reference.memory import MemoryScene
from zenoh_harness.variants.table import in_memory, spread

SLICES = 4
"""One subject in so many is turned away here; the soak takes all."""

FEW, MOST = 3, 40
"""Values of each case that are tried; cases that are tried on one node."""

DRAWN = frozenset({
    "cookie", "initial_sn", "sn", "id", "key", "payload", "parameters", "suffix", "scope", "expr_id", "interest_id", "mapping",
    "timestamp", "next_sn",
})  # fmt: skip
"""Fields that differ from run to run, and do not make another subject."""

Subject = tuple[Side, Any]


def shape(value: Any) -> Any:
    """A message without what is drawn at random; of a ZenohID and of bytes the length, of unknown extensions the kind."""
    if value is None or isinstance(value, int | str):
        return value
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, Unknown):
        return "Unknown", value.id, value.mandatory, value.enc.name
    if isinstance(value, ZenohID):
        return len(value.raw)
    if is_dataclass(value):
        kept = [field.name for field in fields(value) if field.name not in DRAWN]
        return (type(value).__name__, *((name, shape(getattr(value, name))) for name in kept))
    return tuple(map(shape, value)) if hasattr(value, "__iter__") else str(value)


def said(scene: MemoryScene) -> Iterator[Any]:
    """The shapes of the messages of ours in a conversation."""
    decoders = {name: ConnectionDecoder(of) for name, of in scene.conversation.connections.items()}
    for event in scene.conversation.events:
        for seen in decoders[event.connection].feed(event):
            if seen.sender is scene.role.other and seen.kind not in ("batch", "frame", "fragment", "undecodable"):
                yield shape(seen.message)


@cache
def speakers() -> dict[Subject, list[tuple[Case, Parameters]]]:
    """By subject: the cases that say it to the reference, with their values; none that only cases say which break laws on purpose."""
    found: dict[Subject, list[tuple[Case, Parameters]]] = defaultdict(list)
    plain: set[Subject] = set()
    for case in in_memory():
        for parameters in spread(case.parameters, FEW):
            subjects = {(case.role, each) for each in said(provoke(case, parameters, Reference)[1])}
            plain |= subjects if case.id in BASIC[case.role] else set()
            for subject in subjects:
                found[subject].append((case, parameters))
    lawful = {subject: who for subject, who in found.items() if not all(case.breaks for case, _ in who)}
    return {subject: who for subject, who in lawful.items() if subject not in plain}


def turns_away(subject: Any, *, refuses: bool) -> type[Reference]:
    """The reference, except that it refuses the messages of one shape, or takes no notice of them."""

    def away(message: Any) -> bool:
        if shape(message) != subject:
            return False
        if refuses:
            raise Refused(INVALID)
        return True

    class TurnsAway(Reference):
        def on_message(self, link: Any, seen: Any) -> None:
            if seen.kind in ("frame", "fragment") or not away(seen.message):
                super().on_message(link, seen)

        def route(self, link: Any, message: Any, *, reliable: bool = True) -> None:
            if link.inside is not None or not away(message):
                super().route(link, message, reliable=reliable)

    return TurnsAway


def findings(subject: Subject, *, refuses: bool) -> list[tuple[Case, Finding]]:
    """What deviates on the node in the cases that say the subject, up to the first that came to its point."""
    node = turns_away(subject[1], refuses=refuses)
    found = []
    for case, parameters in sorted(speakers()[subject], key=lambda each: each[0].id)[:MOST]:
        found += [(case, each) for each in provoke(case, parameters, node)[0][:1]]
        if found and found[-1][1].reached:
            break
    return found


Unjudged = Callable[[Side, bool], Iterator[str]]


@pytest.fixture(params=[SLICES, pytest.param(1, marks=pytest.mark.soak)], ids=["some", "all"])
def unjudged(request: pytest.FixtureRequest) -> Unjudged:
    """Return what yields the subjects of a slice and a role that no case is red for, although some case did not come to its point."""

    def of(role: Side, refuses: bool) -> Iterator[str]:
        some = [one for one in speakers() if one[0] is role and in_slice(str(one), of=request.param)]
        return unjudged_of(some, refuses)

    return of


def unjudged_of(subjects: Iterable[Subject], refuses: bool) -> Iterator[str]:
    for subject in subjects:
        found = findings(subject, refuses=refuses)
        if found and not found[-1][1].reached:
            yield f"{subject[0].value} {subject[1]}: {sorted({case.id for case, _ in found})[:3]}"


HANDSHAKE = (Init.__name__, Open.__name__)


def test_what_a_responder_ignores_is_judged(unjudged: Unjudged) -> None:
    """Silence is no answer to any proposal, and nothing that is lawful in a session may be passed over."""
    lossy = "('Push', ('exts', (('NodeId'"  # a publication that may be dropped may be lost
    assert [line for line in unjudged(Side.RESPONDER, False) if lossy not in line] == []


def test_what_a_responder_ends_a_session_for_is_judged(unjudged: Unjudged) -> None:
    """To refuse a proposal by CLOSE is lawful; a session does not end for anything that is lawful in it."""
    in_handshakes = tuple(f"responder ('{name}'" for name in HANDSHAKE)
    assert [line for line in unjudged(Side.RESPONDER, True) if not line.startswith(in_handshakes)] == []


def test_what_an_initiator_ends_a_session_for_is_judged(unjudged: Unjudged) -> None:
    """As of responders; a link that is shut without a word at our KEEP_ALIVE is not told from an application that leaves."""
    lawful = ("initiator ('Init'", "initiator ('Open'", "initiator ('KeepAlive'")
    assert [line for line in unjudged(Side.INITIATOR, True) if not line.startswith(lawful)] == []


def test_what_an_initiator_ignores_is_judged(unjudged: Unjudged) -> None:
    """One that passes over our queryable may ask nobody, or another one: that a query goes to it binds routers."""
    free = "initiator ('Declare', ('exts', (('QoS', ('value', 13)),)), ('body', ('DQueryable'"
    assert [line for line in unjudged(Side.INITIATOR, False) if not line.startswith(free)] == []


@pytest.mark.parametrize(
    "check",
    [
        "establishment-sane/a-zid-of-every-length-is-accepted",
        "establishment-sane/every-role-is-accepted",
        "establishment-sane/a-lease-in-either-unit-is-accepted",
        "establishment-limits/the-right-password-is-let-in",
        "close-scope/two-links-make-one-session",
    ],
)
@pytest.mark.parametrize("refuses", [True, False])
def test_a_case_that_asks_for_acceptance_is_red_where_its_own_message_is_turned_away(check: str, refuses: bool) -> None:
    own = [
        (subject, parameters)
        for subject, who in speakers().items()
        for case, parameters in who
        if case.id == check and subject[1][0] in HANDSHAKE
    ]

    assert own
    for (_, subject), parameters in own:
        found, _ = provoke(all_cases()[check], parameters, turns_away(subject, refuses=refuses))
        assert [finding.reached for finding in found] == [True], parameters


def test_a_session_that_ends_on_a_deletion_is_at_fault() -> None:
    plain = "('Push', ('exts', ()), ('body', ('Del', ('exts', ()))))"
    deletion = next(subject for subject in speakers() if str(subject[1]) == plain and subject[0] is Side.RESPONDER)

    assert any(finding.reached for _, finding in findings(deletion, refuses=True))
