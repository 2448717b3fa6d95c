"""What a node did with a golden vector, as the answer that `answers` judges in a codec."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final

from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.laws.origins import chain_of
from zenoh_conformance.messages import CloseReason
from zenoh_conformance.primitives import Timestamp, keyexpr
from zenoh_conformance.reading.kinds import reason_name
from zenoh_conformance.spec.requirement import Level
from zenoh_conformance.tables.forwarding import Row, columns_of
from zenoh_conformance.talking import Dialogue
from zenoh_harness.links.timing import scaled
from zenoh_harness.run.judge.decide import level_of
from zenoh_harness.run.vectors.answers import VectorAnswer, answer_for
from zenoh_harness.run.vectors.keys_in_messages import BAD_KEY
from zenoh_harness.run.vectors.standing import FENCED, VectorInSession, whole
from zenoh_vectors.judge import VectorOutcome, judge, judge_mistake
from zenoh_vectors.loader import Vector

TOGETHER: Final = 32
"""The most vectors that one session plays."""

HEAD: Final = 8
"""Bytes of a FRAME before its messages, at most."""

MOST_TIME: Final = 0x66 << 56
"""The latest time (NTP64, in March 2024) of which no clock says that it is to come: a router may replace a time that is."""

QUIET_EXTENSIONS: Final = frozenset({"QoS", "Timestamp", "Unknown"})
"""Extensions of REQUEST with which a node has to pass it on; with another one it may end the query itself."""

NOT_KNOWN: Final = ("unknown-mandatory-extension", "unknown-id", BAD_KEY)
"""Refusals that CLOSE may give other reasons than INVALID for."""

REASONS: Final = (CloseReason.UNSUPPORTED, CloseReason.INVALID, CloseReason.GENERIC)

LATE: Final = 3.0
"""Seconds, scaled, in which what a fence awaits is late, and not lost."""

BRIEF: Final = 1 / 4
"""The part of the time for an answer that is waited for in a part of a group in which something is missing."""

SILENCE: Final = "silence"
SURVIVED: Final = "survived"
NOT_PLAYED: Final = "not played"
SURVIVOR: Final = VectorAnswer(Verdict.NOT_OBSERVED, f"{SURVIVED}; nothing shows what it read")
NOT_REFUSED: Final = VectorAnswer(Verdict.NOT_OBSERVED, f"{SURVIVED}; nothing shows whether it was dropped or read")


MALFORMED: Final = "close/malformed-is-invalid"
MEANS: Final[Mapping[int, str]] = {CloseReason.EXPIRED: "close/expired-lease-is-expired"}
"""A reason that stands for one thing alone, and the requirement that says so. The vector was refused: how it is read is right."""


def comes_late(us: Dialogue, awaited: str) -> bool:
    """Whether the awaited message, or the end of the link, comes a little later."""
    return any(type(seen.message).__name__ == awaited for seen in us.stream(scaled(LATE))) or us.is_over


def end_of(us: Dialogue) -> str:
    """How a session ended, or that nothing came."""
    if us.closed is not None:
        return f"Close({reason_name(us.closed)})"
    return us.text_of(None) if us.is_over else SILENCE


def not_played(why: str) -> VectorAnswer:
    """The answer for a vector that was not sent."""
    return VectorAnswer(Verdict.NOT_OBSERVED, f"{NOT_PLAYED}: {why}")


def answer_for_reading(vector: Vector) -> VectorAnswer:
    """The answer of a node whose effect is that of the vector's meaning."""
    return answer_for(vector, judge(vector, VectorOutcome(vector.means)))


def answer_for_fault(vector: Vector, fault: str) -> VectorAnswer:
    """The answer of a node with another effect."""
    return answer_for(vector, judge_mistake(vector, fault))


def answer_for_death(end: str, verdict: Verdict) -> VectorAnswer:
    """The answer of a node whose program ended, or that does no work in a new session either."""
    how = "the node's program ended" if verdict is Verdict.CRASH else "a new session of the node does no work either"
    return VectorAnswer(verdict, f"{how} ({end})")


def sets_reserved_bits(vector: Vector) -> bool:
    """Whether a vector has a bit that no sender may set: nothing says whether a receiver ignores or refuses it."""
    return any(remark.kind == "reserved-bit" for remark in vector.remarks)


def answer_for_end(one: VectorInSession, end: str, closed: int | None) -> VectorAnswer:
    """The answer of a node that ended the session, with CLOSE for that reason or without."""
    if point := one.open_point or ("a reserved bit is set" if sets_reserved_bits(one.vector) else ""):
        return VectorAnswer(Verdict.NOT_OBSERVED, f"the session ends ({end}), which is left open: {point}")
    refusal = one.vector.refuses
    if refusal is not None and end == SILENCE:
        return NOT_REFUSED
    if refusal is not None and closed is not None:
        is_unknown = refusal.why in NOT_KNOWN or "unknown" in refusal.path
        allowed = REASONS if is_unknown else (CloseReason.INVALID,)
        if closed not in allowed:
            expected = " or ".join(f"Close({reason_name(code)})" for code in allowed)
            wrong = answer_for_fault(one.vector, f"expected {expected}, got {end}")
            return replace(wrong, breaks=MEANS.get(closed, "" if is_unknown else MALFORMED))
    return answer_for(one.vector, judge(one.vector, VectorOutcome(None, end)))


def answer_for_acceptance(vector: Vector, shown: str = "") -> VectorAnswer:
    """The answer of a node that takes what it must refuse, as this effect of it shows."""
    answer = answer_for(vector, judge(vector, VectorOutcome({}, size=len(vector.data))))
    return replace(answer, cause=f"{answer.cause}: {shown}") if shown and answer.cause else answer


def second_answer(first: VectorAnswer, again: VectorAnswer) -> VectorAnswer:
    """The answer for a vector that was played twice, alone: what is wrong is wrong both times."""
    if again.verdict.is_wrong:
        return again
    return VectorAnswer(Verdict.NOT_OBSERVED, f"{SURVIVED} a second time; at first: {first.cause}")


def difference(said: Any, got: Any, key: str | None) -> str:
    """Return the first difference between a message and what was passed on of it, by the table of forwarded fields; empty if none."""
    chain, other = (chain_of(_HEADS[type(message).__name__], message) for message in (said, got))
    for name, want, came in (("key", whole(said.key), key), ("kind", chain, other)):
        if want != came:
            return f"{name}: expected {want!r:.80}, found {came!r:.80}"
    columns = columns_of(chain)
    for row, want, came in zip(columns.rows, columns.read(said), columns.read(got), strict=True):
        if _must_hold(row) and not _is_replaced(want, came) and not row.holds(want, came):
            return f"{row.path}: expected {_text(want)}, found {_text(came)}"
    return ""


def _is_replaced(want: Any, came: Any) -> bool:
    """Whether a router has put in place of a time to come one of its own, which has the ZenohID of another clock."""
    is_to_come = isinstance(want, Timestamp) and want.time > MOST_TIME
    return is_to_come and not (isinstance(came, Timestamp) and came.zid == want.zid)


@cache
def _must_hold(row: Row) -> bool:
    """Whether a router must keep the field; what it should keep is for the laws."""
    must = (Level.MUST, Level.MUST_NOT, Level.LAYOUT)
    return row.is_judged and level_of(row.sentence.requirement) in must


def _text(value: Any) -> str:
    return f"{value.hex() if isinstance(value, bytes) else value!r:.80}"


_HEADS: Final = {"Push": "push", "Request": "request", "Response": "response"}


def is_heard(message: Any) -> bool:
    """Whether a subscriber of everything hears a publication."""
    return keyexpr.intersects("**", whole(message.key))


def meets_fences(one: VectorInSession) -> bool:
    """Whether a queryable for the query would be asked our fences, too."""
    return keyexpr.intersects(FENCED, whole(one.messages[0].key))


def groups(stands: Iterable[VectorInSession]) -> Iterator[list[VectorInSession]]:
    """Yield groups for one session each: no two declare or use the same id."""
    open_groups: list[tuple[list[VectorInSession], set[tuple[str, int]], set[tuple[str, int]]]] = []
    for one in stands:
        used = {("expr", scope) for scope in one.scopes}
        for group, claimed, named in open_groups:
            if len(group) < TOGETHER and not (one.claims & (claimed | named) or used & claimed):
                break
        else:
            open_groups.append((group := [], claimed := set(), named := set()))
        group.append(one)
        claimed |= one.claims
        named |= used
    yield from (group for group, _, _ in open_groups)
