"""Derives the verdict of a proof again: by the case on the recorded conversation, by a law, or by the script.

Imports only zenoh_conformance and the readers of files, since it is packed into `verify.pyz`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, Final

from zenoh_conformance.cases import case as cases
from zenoh_conformance.judging import engine
from zenoh_conformance.judging import law as laws
from zenoh_conformance.judging.finding import Deviation, Finding
from zenoh_conformance.judging.variation import Row, row_with
from zenoh_conformance.judging.verdict import verdict_for
from zenoh_conformance.reading.connection import Decoders
from zenoh_conformance.reading.conversation import Conversation, Event, Happened, Side
from zenoh_conformance.reading.kinds import name_of
from zenoh_conformance.talking.scene import drawn_zid
from zenoh_harness.errors import UsageError
from zenoh_harness.files import conversations, scripts
from zenoh_harness.files.labels import check_label
from zenoh_reports.proofs.replay import UNITS, ReplayMismatch, TapeScene, Zids


@dataclass(frozen=True, slots=True)
class Byte:
    """The place of the deviation."""

    event: int
    """The number of the event in the conversation, from 1."""
    connection: str
    time: float
    offset: int
    """The offset in the data that the target sent on the connection."""
    data: bytes
    """The bytes of the event; empty if the deviation is a missing message."""
    what: str


@dataclass(frozen=True, slots=True)
class Derived:
    """The verdict that follows from a proof."""

    verdict: str
    """`pass` if the bytes show no deviation."""
    cause: str
    how: str
    """The means of derivation: case, law or script."""
    byte: Byte | None


def derive(proof: Mapping[str, Any]) -> Derived:
    """Derive the verdict. Raises UsageError for a malformed proof, ReplayMismatch if it does not follow from bytes."""
    try:
        judgement, requirement = proof["judgement"], proof["requirement"]
        conversation = conversations.parse(f"{line}\n" for line in proof["conversation"])
        check, level = judgement["check"], judgement["level"]
        role = Side(judgement["role"])
    except (KeyError, TypeError, ValueError) as why:
        raise UsageError(f"is no proof: {why!r}", step="read the proof") from why
    why_not = []
    for judge in (by_law, by_model, by_case, by_script):
        try:
            finding, how = judge(proof, conversation, role)
        except ReplayMismatch as apart:
            why_not.append(f"{judge.__name__.removeprefix('by_')}: {apart}")
            continue
        if finding is None:
            return Derived("pass", "", how, None)
        verdict = verdict_for(level).value
        return Derived(verdict, finding.cause, how, byte_of(conversation, role, finding))
    raise ReplayMismatch(f"{check} of {requirement.get('id')}: {'; '.join(why_not)}")


def by_law(proof: Mapping[str, Any], conversation: Conversation, role: Side) -> tuple[Finding | None, str]:
    """Return the finding of that law about the target."""
    check = proof["judgement"]["check"]
    if not check.startswith("law/"):
        raise ReplayMismatch("it is none")
    law = laws.all_laws().get(check)
    if law is None:
        raise ReplayMismatch("there is no law of this name")
    said = next(one for one in engine.judge(conversation, [law]) if one.sender is role)
    wanted = proof["judgement"]["cause"]
    found = next((one for one in said.findings if one.cause == wanted), None)
    return found or (said.findings[0] if said.findings else None), "the law on the recorded conversation"


def by_model(proof: Mapping[str, Any], conversation: Conversation, role: Side) -> tuple[Finding | None, str]:
    """Return the finding of the requirement's laws in a model's conversation, since random steps cannot be repeated."""
    if not proof["judgement"]["check"].startswith("models/"):
        raise ReplayMismatch("it is none")
    wanted = [law for law in laws.all_laws().values() if law.requirement == proof["requirement"].get("id")]
    said = engine.judge(conversation, wanted) if wanted else []
    findings = [finding for one in said if one.sender is role for finding in one.findings]
    found = next((finding for finding in findings if finding.cause == proof["judgement"]["cause"]), None)
    if found is None:
        raise ReplayMismatch("no law of its requirement finds that")
    return found, "the law on the recorded conversation"


def by_case(proof: Mapping[str, Any], conversation: Conversation, role: Side) -> tuple[Finding | None, str]:
    """Run the case with the recorded answers of the target, and return its finding."""
    judgement = proof["judgement"]
    check, parameters = judgement["check"], judgement["parameters"]
    try:
        found = cases.find_case(check)
    except KeyError as none:
        raise ReplayMismatch("there is no case of this name") from none
    values = next((one for one in found.every_parameters if dict(cases.shown_all(one)) == parameters), None)
    if values is None:
        raise ReplayMismatch("the case has no such parameters")
    only, apart = row_shown(found, judgement), None
    for zids, unit in product((*candidate_zids(proof), None), UNITS):
        scene = TapeScene(
            conversation,
            role=role,
            profile=judgement["profile"],
            requirement=found.requirement,
            zids=zids,
            unit=unit,
            facts=proof.get("facts"),
        )
        try:
            finding = replay_case(found, values, scene, only)
            if scene.guessed and (finding.cause if finding else "") != judgement["cause"]:
                raise ReplayMismatch(f"it needs facts that were not recorded: {', '.join(sorted(scene.guessed))}")
            return finding, "the case on the recorded conversation"
        except ReplayMismatch as why:
            apart = apart or why
    raise apart or ReplayMismatch("there is nothing to replay")


MOST_ATTEMPTS: Final = 4
"""The number of attempts whose ZenohIDs are tried."""


def candidate_zids(proof: Mapping[str, Any]) -> list[Zids]:
    """Return the possible ZenohIDs of our dialogues; they follow from seed, role, profile, check, parameters and attempt."""
    judgement = proof["judgement"]
    label = check_label(judgement["check"], tuple(judgement["parameters"].items()))
    first = f"{judgement['role']} {judgement['profile']} {label}"
    return [partial(drawn_zid, proof.get("seed", 0), f"{first} {number}") for number in range(1, MOST_ATTEMPTS + 1)]


def row_shown(found: cases.Case, judgement: Mapping[str, Any]) -> Row | None:
    """Return the circumstances of which the evidence is; None if it is of all. Raises ReplayMismatch if the case has no such ones."""
    told = judgement.get("details", {}).get("found", {}).get("circumstances")
    try:
        return None if told is None else row_with(found.varies, told)
    except ValueError as why:
        raise ReplayMismatch(f"the case has no such circumstances: {why}") from why


def replay_case(
    found: cases.Case, values: Mapping[str, Any], scene: TapeScene, only: Row | None = None
) -> Finding | None:
    """Run a case on the tape, or one row of it. Raises ReplayMismatch if it does something that was not recorded."""
    try:
        found.run(scene, values, only)
    except Deviation as deviation:
        return (scene.findings or [deviation.finding])[0]
    except ReplayMismatch:
        raise
    except Exception as broken:
        raise ReplayMismatch(f"it stops with {type(broken).__name__}: {broken}") from broken
    return scene.findings[0] if scene.findings else None


def by_script(proof: Mapping[str, Any], conversation: Conversation, role: Side) -> tuple[Finding | None, str]:
    """Return the deviation that the script states, if the harness sent everything that the script says before."""
    text = proof.get("script") or ""
    if not text:
        raise ReplayMismatch("there is none")
    script = scripts.parse(text)
    charge = next((step for step in script.steps if step.do == "deviates"), None)
    if charge is None:
        raise ReplayMismatch("the script states no deviation")
    finding = Finding(
        requirement=script.requirement, sender=role, connection=charge.connection, got=charge.what, why=""
    )
    place = message_of(conversation, role, finding)
    if place is None:
        raise ReplayMismatch(f"the target did not send {charge.what}")
    cause = script.header.get("cause", "")
    made = Finding(
        requirement=script.requirement,
        sender=role,
        connection=charge.connection,
        time=place.time,
        got=charge.what,
        why=cause or f"{charge.what}, which is not allowed there",
    )
    return made, "the message that the script charges the target with"


def byte_of(conversation: Conversation, role: Side, finding: Finding) -> Byte | None:
    """Return the place of the deviation: the message, or the last event before a missing message."""
    place = message_of(conversation, role, finding)
    if place is not None:
        return place
    events = [
        (n, e)
        for n, e in enumerate(conversation.events, 1)
        if not finding.connection or e.connection == finding.connection
    ]
    if not events:
        return None
    number, event = events[-1]
    sent = sum(len(e.data) for _, e in events if e.sender is role)
    return Byte(number, event.connection, finding.time or event.time, sent, b"", finding.got or finding.why)


def message_of(conversation: Conversation, role: Side, finding: Finding) -> Byte | None:
    """Return the last message of the target with the name of the received one, not after the finding; or None."""
    decoders = Decoders(conversation)
    sent: dict[str, int] = {}
    found: Byte | None = None
    for number, event in enumerate(conversation.events, 1):
        names = [name_of(one.message) for one in decoders.feed(event) if one.kind not in ("batch", "undecodable")]
        if event.sender is role and event.kind is Happened.BYTES:
            late = finding.time and event.time > finding.time + 1e-6
            if finding.got in names and _on(event, finding) and not late:
                found = Byte(
                    number, event.connection, event.time, sent.get(event.connection, 0), event.data, finding.got
                )
            sent[event.connection] = sent.get(event.connection, 0) + len(event.data)
    return found


def _on(event: Event, finding: Finding) -> bool:
    return (
        not finding.connection
        or event.connection == finding.connection
        or event.connection.endswith(f" {finding.connection}")
    )
