"""Cases: functions that provoke one judgement each, found by decorator, named by phrase.

A case reaches a state, does one odd thing, and judges. It sees the world only through a `Scene`. Its docstring is the
report's text. Its id is `<area>/<function>` in words: `establishment-cookie/a-stale-cookie-is-refused`. The area is the
module's path below this package, or its name where it lives elsewhere. An id lives for ever, so a module whose area was
named before its folder says so: `AREA = "close-scope"`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from inspect import getdoc
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from zenoh_conformance.judging.finding import NOT_REACHED, OVERSLEPT, Deviation
from zenoh_conformance.loading import import_all
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.talking import settle

from .varied import run_rows

if TYPE_CHECKING:
    from zenoh_conformance.judging.finding import Finding
    from zenoh_conformance.judging.variation import Dimensions, Row
    from zenoh_conformance.talking import Scene

Parameters = Mapping[str, Any]
CaseFunction = Callable[..., None]


def shown(value: Any) -> str:
    """A parameter's value in one word: bytes in hex, truth as true and false."""
    if isinstance(value, bytes | bytearray):
        return value.hex()
    return str(value).lower() if isinstance(value, bool) else str(value)


def shown_all(parameters: Parameters) -> tuple[tuple[str, str], ...]:
    """Parameters as a judgement's key has them."""
    return tuple((name, shown(value)) for name, value in parameters.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One case: what it judges, what it needs, and the function that provokes it."""

    id: str
    requirement: str
    function: CaseFunction
    about: str
    """The docstring, dedented: the report's text."""
    role: Side = Side.RESPONDER
    """What the *target* is in this case."""
    needs: tuple[str, ...] = ()
    """Capabilities (`qos`, `agent`, ...) without which it is not applicable."""
    profile: str = "default"
    """The configuration that the target is started in."""
    control: str | None = None
    """The positive case beside it: a target that refuses everything passes nothing."""
    parameters: tuple[Parameters, ...] = ({},)
    """One judgement each."""
    nightly: tuple[Parameters, ...] = ()
    """More of them, which cost so much that only a run of that depth has them."""
    alone: bool = False
    """It needs the target for itself: nothing else may run beside it."""
    timed: bool = False
    """It mostly waits (timeouts of the target); run it beside the others, first started, last awaited."""
    breaks: tuple[str, ...] = ()
    """Laws, by id, that our own side breaks in it on purpose; any other that it breaks is a fault of ours."""
    aliases: tuple[str, ...] = ()
    """Ids that it had before."""
    varies: Dimensions = ()
    """Circumstances in which it runs, all in one judgement: its function takes a `Variation` after the scene."""

    @property
    def every_parameters(self) -> tuple[Parameters, ...]:
        """Those of any depth."""
        return (*self.parameters, *self.nightly)

    def run(self, scene: Scene, parameters: Parameters, only: Row | None = None) -> None:
        """Provoke it once; `only`: of a varied case, the one row that is run. Raises `Deviation` for the target's fault."""
        try:
            if self.varies:
                run_rows(self.function, self.varies, scene, dict(parameters), only)
            else:
                self.function(scene, **parameters)
            settle(scene.dialogues)
        except Deviation as found:
            if not self.breaks and not self.timed and ends_lawful_session(found.finding, scene):
                raise Deviation(as_reached(found.finding)) from None
            raise


LAWFUL_TRAFFIC: Final = "lawful traffic"
"""How the step of a finding begins where the target ended a session before the check came to its point."""

OUT_OF_ROOM: Final = frozenset({"Close(GENERIC)", "Close(MAX_SESSIONS)", "Close(MAX_LINKS)", "Close(EXPIRED)"})
"""Ends of a session for which the traffic of a check is not the reason."""


BLAMES_US: Final = "Close(INVALID)"
"""How an initiator ends a session because of what we said."""


def ends_lawful_session(finding: Finding, scene: Scene) -> bool:
    """Whether a target ended a live session in which only what is lawful was said, before the check came to its point.

    An initiator may leave for reasons of its own; by CLOSE(INVALID) it says that the reason is what we said.
    """
    us = next((us for us in scene.dialogues if us.wire.name == finding.connection), None)
    if us is None or finding.reached or finding.path == OVERSLEPT:
        return False
    live = us.my_open is not None and us.their_open is not None
    ours = us.left or us.wire.done
    if scene.role is Side.INITIATOR:
        return live and not ours and finding.got == BLAMES_US
    ended = finding.got.startswith(("Close(", "link ")) and finding.got not in OUT_OF_ROOM
    return live and not ours and ended


def as_reached(finding: Finding) -> Finding:
    """The finding as one of the check itself: what it said is what the session ended on."""
    step = finding.path.removeprefix(NOT_REACHED).removeprefix(": ")
    return replace(finding, path=f"{LAWFUL_TRAFFIC}: {step}", expected="a session that goes on")


PACKAGE: Final = "zenoh_conformance.cases"
_CASES: dict[str, Case] = {}


def case(
    requirement: str,
    *,
    role: Side = Side.RESPONDER,
    needs: Sequence[str] = (),
    profile: str = "default",
    control: CaseFunction | None = None,
    parameters: Sequence[Parameters] = ({},),
    nightly: Sequence[Parameters] = (),
    alone: bool = False,
    timed: bool = False,
    breaks: Sequence[str] = (),
    aliases: Sequence[str] = (),
    varies: Dimensions = (),
    is_heard: bool | Callable[..., bool] = False,
    is_of_both: bool = False,
) -> Callable[[CaseFunction], CaseFunction]:
    """Register a function as the case of one requirement. Raises ValueError for a missing docstring or a taken id.

    `is_heard`: of its two parties the second one only hears, so that it may be the application of a target that connects to us, the
    first one: that is a further case, `in_an_application`; or for which of its parameters it may be.
    `is_of_both`: its one session (`live_session`) may be that of a target that connects to us: a further case, `where_it_connects`.
    """

    def register(function: CaseFunction) -> CaseFunction:
        found = Case(
            id=id_of(function),
            requirement=requirement,
            function=function,
            about=getdoc(function) or "",
            role=role,
            needs=tuple(needs),
            profile=profile,
            control=id_of(control) if control else None,
            parameters=tuple(parameters),
            nightly=tuple(nightly),
            alone=alone,
            timed=timed,
            breaks=tuple(breaks),
            aliases=tuple(aliases),
            varies=varies,
        )
        if not found.about:
            raise ValueError(f"case {found.id} has no docstring: it is the report's text")
        if found.id in _CASES and _CASES[found.id].function.__module__ != function.__module__:
            raise ValueError(f"two cases are called {found.id}")
        _CASES[found.id] = found
        if is_heard:
            heard = found if is_heard is True else replace(found, parameters=only(is_heard, found.parameters))
            _CASES[found.id + TOLD] = in_an_application(heard)
        if is_of_both:
            _CASES[found.id + CONNECTS] = where_it_connects(found)
        return function

    return register


TOLD: Final = "-in-an-application"
"""How the id of a case ends in which the application of a target that connects hears what we say."""
CONNECTS: Final = "-where-it-connects"
"""How the id of a case ends in which the target connects to us."""
SANE: Final = "initiator-open-ack/a-sane-handshake-makes-a-session"
"""The control of such a case."""
HEARS: Final = "application/an-application-hears"
"""The control of such a case, unless its control is one, too."""


def in_an_application(found: Case) -> Case:
    """The case in which the target connects to us, who are its first party, and the second one is its application."""
    needs = [need for need in found.needs if need not in ("routing", "interests", "finals", "several-sessions")]
    control = f"{found.control}{TOLD}"
    return replace(
        found,
        id=found.id + TOLD,
        about=f"{found.about}\n\nHere the target connects to the one who speaks, and its application is the one who hears.",
        role=Side.INITIATOR,
        needs=("agent.declare_subscriber", *needs),
        control=control if control in _CASES else HEARS,
        aliases=(),
    )


def where_it_connects(found: Case) -> Case:
    """The case in the session of a target that connects to us."""
    about = f"{found.about}\n\nHere the target connects to us."
    return replace(found, id=found.id + CONNECTS, about=about, role=Side.INITIATOR, control=SANE, aliases=())


def only(fits: Callable[..., bool], every: Sequence[Parameters]) -> tuple[Parameters, ...]:
    """Those parameters that fit."""
    return tuple(each for each in every if fits(**each))


def id_of(function: CaseFunction) -> str:
    """The phrase that names a case function for ever."""
    inside = function.__module__.removeprefix(f"{PACKAGE}.")
    path = inside.replace(".", "-") if inside != function.__module__ else inside.rpartition(".")[2]
    return f"{function.__globals__.get('AREA', path)}/{function.__name__}".replace("_", "-")


def grid(**values: Sequence[Any]) -> tuple[Parameters, ...]:
    """Every combination of the values: `grid(bit=range(8), ack=(True, False))` is 16 parameter sets."""
    return tuple(dict(zip(values, combination, strict=True)) for combination in product(*values.values()))


def pairwise(**values: Sequence[Any]) -> tuple[Parameters, ...]:
    """Few combinations of the values in which each two values of two names stand together at least once.

    Greedy, and the same every time: `grid` where the product is small. `pairs_in` counts what is covered.
    """
    names = list(values)
    wanted = {
        (one, other, a, b)
        for at, one in enumerate(names) for other in names[at + 1 :]
        for a in range(len(values[one])) for b in range(len(values[other]))
    }  # fmt: skip
    rows = []
    while wanted:
        row = _greedy(
            min(wanted, key=lambda pair: (names.index(pair[0]), names.index(pair[1]), *pair[2:])), values, wanted
        )
        wanted -= set(_pairs_of(row, names))
        rows.append({name: values[name][row[name]] for name in names})
    return tuple(rows)


Pair = tuple[str, str, int, int]
"""Two names, and which of their values."""


def _greedy(first: Pair, values: Mapping[str, Sequence[Any]], wanted: set[Pair]) -> dict[str, int]:
    """A row that begins with one pair, and takes of each other name the value that meets most pairs that are still wanted."""
    names, row = list(values), {first[0]: first[2], first[1]: first[3]}
    for name in names:
        if name not in row:
            met = [len(wanted & set(_pairs_of({**row, name: at}, names))) for at in range(len(values[name]))]
            row[name] = met.index(max(met))
    return row


def _pairs_of(row: Mapping[str, int], names: Sequence[str]) -> Iterator[Pair]:
    here = [name for name in names if name in row]
    return ((one, other, row[one], row[other]) for at, one in enumerate(here) for other in here[at + 1 :])


def pairs_in(rows: Sequence[Parameters]) -> int:
    """How many pairs of values of two names a set of rows has."""
    return len({
        (one, repr(row[one]), other, repr(row[other]))
        for row in rows for at, one in enumerate(row) for other in list(row)[at + 1 :]
    })  # fmt: skip


def all_cases() -> Mapping[str, Case]:
    """Every case by id, sorted."""
    import_all(PACKAGE)
    return dict(sorted(_CASES.items()))


def roles_by_requirement() -> Mapping[str, frozenset[str]]:
    """Return the roles of the cases of each requirement that has cases."""
    roles: dict[str, set[str]] = {}
    for one in all_cases().values():
        roles.setdefault(one.requirement, set()).add(one.role.value)
    return {ident: frozenset(sides) for ident, sides in roles.items()}


def find_case(name: str) -> Case:
    """The case of that id or alias. Raises KeyError with the nearest names."""
    cases = all_cases()
    for found in cases.values():
        if name == found.id or name in found.aliases:
            return found
    near = get_close_matches(name, cases, n=3, cutoff=0.4)
    raise KeyError(f"no case {name!r}; nearest: {', '.join(near) or 'none'}")
