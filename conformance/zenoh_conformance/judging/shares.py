"""What of the specification applies to a target in the roles that it played, what of it was judged, and what is missing.

Behaviour and layout are counted apart: a layout, or the refusal of malformed bytes, is for a codec to show, and a node that
is met over a link shows only what its messages contain. Summary, gate, report and badge state the same shares.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from zenoh_conformance.judging.verdict import Judgement, Verdict, worst
from zenoh_conformance.spec.requirement import Requirement, requirements

LACKS: Final = "the target does not do "
"""What the cause of a `not-applicable` begins with; the missing capabilities follow, separated by commas."""
CODEC: Final = "codec"
"""The role of a target that is asked for bytes."""


class Why(Enum):
    """Why a requirement has no verdict on a target."""

    MET_NOTHING = "met nothing"
    """A check ran and had nothing to judge."""
    NOT_OFFERED = "not offered"
    """The target does not do this, and says so."""
    VECTORS = "told by vectors"
    """Only a codec that is asked for bytes can break it, and this run asked none."""
    OTHER_ROLE = "another role"
    """It binds a role that this target did not play, or all its checks are of such a role."""
    NOT_RUN = "not in this run"
    """There is a check, and this run did not come to it or was told to leave it out."""
    ERROR = "harness error"
    """Every check of it ended in an error of the harness."""
    UNCOVERED = "no check yet"
    """No check judges it so far."""
    EXCUSED = "cannot be seen"
    """No peer can ever observe it."""


MET: Final = frozenset({Why.MET_NOTHING, Why.NOT_RUN, Why.ERROR})
"""The reasons of requirements that apply nevertheless."""
_MORE: Final = {
    Why.VECTORS: "its codec as a target of its own",
    Why.NOT_RUN: "the checks that this run left out",
}
_NEEDED: Final = {
    "agent": "an agent",
    "routing": "routing between its sessions",
    "several-links": "a second link",
    "multilink": "a second link",
    "several-sessions": "several sessions at once",
}
"""A missing capability to what the user can bring; the other capabilities are the target's own affair."""


@dataclass(frozen=True, slots=True)
class Share:
    """A number of requirements that apply, and how many of them were judged."""

    judged: int = 0
    applies: int = 0

    @property
    def percent(self) -> str:
        """`99 %`; rounded down, so that 100 % means all. Empty if nothing applies."""
        return f"{100 * self.judged // self.applies} %" if self.applies else ""

    def __str__(self) -> str:
        return f"{self.judged} of {self.applies}" + (f" ({self.percent})" if self.applies else "")


@dataclass(frozen=True, slots=True)
class Shares:
    """The shares of one run."""

    behaviour: Share = Share()
    layout: Share = Share()
    more: Mapping[str, int] = field(default_factory=dict)
    """What would make more judgeable, to the number of requirements; the largest first."""

    @property
    def main(self) -> Share:
        """The share of behaviour; that of layout for a codec, to which no behaviour applies."""
        return self.behaviour if self.behaviour.applies else self.layout

    @property
    def sentence(self) -> str:
        """`154 of 155 (99 %) of the behaviour that applies, 22 of 22 (100 %) of the layout`."""
        parts = [f"{share} of the {name} that applies" for name, share in self._named if share.applies]
        return ", ".join(parts) or "nothing applies"

    @property
    def more_sentence(self) -> str:
        """`its codec as a target of its own: 420 requirements, an agent: 4`; empty if nothing would help."""
        rows = [f"{what}: {count}" for what, count in self.more.items()]
        word = " requirement" if 1 in list(self.more.values())[:1] else " requirements"
        return ", ".join([f"{rows[0]}{word}", *rows[1:]]) if rows else ""

    @property
    def _named(self) -> tuple[tuple[str, Share], ...]:
        return ("behaviour", self.behaviour), ("layout", self.layout)

    def as_json(self) -> dict[str, object]:
        """Return the shares as JSON data."""
        rows: dict[str, object] = {
            name: {"judged": share.judged, "applies": share.applies} for name, share in self._named
        }
        return {**rows, "more": dict(self.more)}


def why_unjudged(
    requirement: Requirement | None,
    judgements: Collection[Judgement],
    roles: Collection[str],
    elsewhere: Collection[str] = (),
) -> Why | None:
    """Return why a requirement has no verdict, None if it has one.

    `judgements`: those of the requirement. `elsewhere`: the roles of its checks, if all of its checks belong to a role.
    """
    if any(one.verdict.is_judged for one in judgements):
        return None
    if any(one.verdict.is_ours for one in judgements):
        return Why.ERROR
    if worst(one.verdict for one in judgements) is not Verdict.NOT_OBSERVED:
        return Why.NOT_OFFERED
    if judgements or requirement is None:
        return Why.MET_NOTHING
    return _why_never_asked(requirement, roles, elsewhere)


def _why_never_asked(requirement: Requirement, roles: Collection[str], elsewhere: Collection[str]) -> Why:
    """Return why no judgement at all is about a requirement."""
    if requirement.unobservable:
        return Why.EXCUSED
    if requirement.owed:
        return Why.UNCOVERED
    if requirement.by_codec and CODEC not in roles:
        return Why.VECTORS
    if not requirement.by_codec and set(roles) == {CODEC}:
        return Why.OTHER_ROLE
    if requirement.binds in ("initiator", "responder") and requirement.binds not in roles:
        return Why.OTHER_ROLE
    return Why.OTHER_ROLE if elsewhere and not set(elsewhere) & set(roles) else Why.NOT_RUN


def roles_of(role: str, judgements: Iterable[Judgement]) -> frozenset[str]:
    """Return the roles that a target played; `role` is that of the header, such as `responder+initiator`."""
    return frozenset(role.split("+")) | {one.key.role for one in judgements}


@dataclass(frozen=True, slots=True)
class Standing:
    """How one requirement stands on a target."""

    why: Why | None
    """Why it has no verdict; None if it has one."""
    missing: str
    """What would make it judgeable; empty if nothing that a user can bring would, or if it was judged."""
    layout: bool
    """Whether it is a layout, or a refusal of malformed bytes."""

    @property
    def applies(self) -> bool:
        """Whether it applies to this target in the roles that it played."""
        return self.why is None or self.why in MET or self.missing == _NEEDED["agent"]


def standings(
    judgements: Mapping[str, Collection[Judgement]],
    roles: Collection[str],
    elsewhere: Mapping[str, Collection[str]] | None = None,
) -> dict[str, Standing]:
    """Return how each requirement stands, those of `judgements` and all of the specification.

    `elsewhere`: requirement to the roles of its checks (`cases.case.roles_by_requirement`).
    """
    known, found = requirements(), {}
    for ident in dict.fromkeys((*known, *judgements)):
        requirement, own = known.get(ident), judgements.get(ident, ())
        why = why_unjudged(requirement, own, roles, (elsewhere or {}).get(ident, ()))
        layout = requirement is not None and requirement.by_codec
        found[ident] = Standing(why, what_is_missing(own, roles, why), layout)
    return found


def shares_of(every: Iterable[Standing]) -> Shares:
    """Return the shares of requirements."""
    judged, applies, more = Counter[bool](), Counter[bool](), Counter[str]()
    for one in every:
        judged[one.layout] += one.why is None
        applies[one.layout] += one.applies
        more.update([one.missing] if one.missing else [])
    ordered = dict(sorted(more.items(), key=lambda row: (-row[1], row[0])))
    return Shares(Share(judged[False], applies[False]), Share(judged[True], applies[True]), ordered)


def shares(
    judgements: Iterable[Judgement], role: str, elsewhere: Mapping[str, Collection[str]] | None = None
) -> Shares:
    """Return the shares of a run; `role` is that of the header, for `elsewhere` see `standings`."""
    known, every = requirements(), list(judgements)
    groups: dict[str, list[Judgement]] = {}
    for one in every:
        ident = one.key.requirement
        groups.setdefault(known[ident].id if ident in known else ident, []).append(one)
    return shares_of(standings(groups, roles_of(role, every), elsewhere).values())


def what_is_missing(judgements: Collection[Judgement], roles: Collection[str], why: Why | None) -> str:
    """Return what would make a requirement judgeable that was not judged; empty if nothing that a user can bring would."""
    if why is Why.OTHER_ROLE:
        return _missing_role(roles)
    if why is not Why.NOT_OFFERED:
        return _MORE.get(why, "") if why else ""
    causes = (one.cause.removeprefix(LACKS) for one in judgements if one.cause.startswith(LACKS))
    lacking = {name.partition(".")[0] for cause in causes for name in cause.split(", ")}
    return next((told for name, told in _NEEDED.items() if name in lacking), "")


def _missing_role(roles: Collection[str]) -> str:
    if set(roles) == {CODEC}:
        return "a node with this codec as a target"
    other = next((role for role in ("responder", "initiator") if role not in roles), "")
    return f"the role {other}" if other else ""
