"""From a proof's bytes to its verdict again: by the case on the recorded conversation, by the law, or by the script's charge.

Stands on the conformance room and on the files' readers, since it is packed into `verify.pyz`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, Final

from zenoh_conformance import case as cases
from zenoh_conformance import law as laws
from zenoh_conformance.connection import Decoders
from zenoh_conformance.conversation import Conversation, Event, Happened, Side
from zenoh_conformance.finding import Deviation, Finding
from zenoh_conformance.kinds import name_of
from zenoh_conformance.scene import drawn_zid
from zenoh_conformance.verdict import verdict_for
from zenoh_harness.errors import UsageError
from zenoh_harness.files import conversations, scripts
from zenoh_harness.files.results import check_label
from zenoh_reports.proofs.replay import UNITS, Apart, TapeScene, Zids


@dataclass(frozen=True, slots=True)
class Byte:
    """Where the target's fault stands."""

    event: int
    """The number of the event in the conversation, the first being 1."""
    connection: str
    time: float
    offset: int
    """The offset in everything that the target sent on the connection."""
    data: bytes
    """The bytes of the event; empty where the fault is that nothing came."""
    what: str


@dataclass(frozen=True, slots=True)
class Derived:
    """What follows from a proof."""

    verdict: str
    """`pass` where the bytes show no fault."""
    cause: str
    how: str
    """By what it was derived: case, law or script."""
    byte: Byte | None


def derive(proof: Mapping[str, Any]) -> Derived:
    """Judge again. Raises UsageError for what is no proof, Apart where the verdict does not follow from bytes."""
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
        except Apart as apart:
            why_not.append(f"{judge.__name__.removeprefix('by_')}: {apart}")
            continue
        if finding is None:
            return Derived("pass", "", how, None)
        verdict = verdict_for(level).value
        return Derived(verdict, finding.cause, how, byte_of(conversation, role, finding))
    raise Apart(f"{check} of {requirement.get('id')}: {'; '.join(why_not)}")


def by_law(proof: Mapping[str, Any], conversation: Conversation, role: Side) -> tuple[Finding | None, str]:
    """What the law of that name finds in the target's half."""
    check = proof["judgement"]["check"]
    if not check.startswith("law/"):
        raise Apart("it is none")
    law = laws.all_laws().get(check)
    if law is None:
        raise Apart("there is none of this name")
    said = next(one for one in laws.judge(conversation, [law]) if one.sender is role)
    wanted = proof["judgement"]["cause"]
    found = next((one for one in said.findings if one.cause == wanted), None)
    return found or (said.findings[0] if said.findings else None), "the law on the recorded conversation"


def by_model(proof: Mapping[str, Any], conversation: Conversation, role: Side) -> tuple[Finding | None, str]:
    """What the laws of its requirement find in what was said to a model: a model's steps were drawn, and are not drawn again."""
    if not proof["judgement"]["check"].startswith("models/"):
        raise Apart("it is none")
    wanted = [law for law in laws.all_laws().values() if law.requirement == proof["requirement"].get("id")]
    said = laws.judge(conversation, wanted) if wanted else []
    findings = [finding for one in said if one.sender is role for finding in one.findings]
    found = next((finding for finding in findings if finding.cause == proof["judgement"]["cause"]), None)
    if found is None:
        raise Apart("no law of its requirement finds that")
    return found, "the law on the recorded conversation"


def by_case(proof: Mapping[str, Any], conversation: Conversation, role: Side) -> tuple[Finding | None, str]:
    """What the case does and finds, where the target answers as it was recorded."""
    judgement = proof["judgement"]
    check, parameters = judgement["check"], judgement["parameters"]
    try:
        importlib.import_module(f"zenoh_conformance.cases.{check.partition('/')[0].replace('-', '_')}")
    except ImportError as none:
        raise Apart("there is no case of this name") from none
    found = next((one for one in registered() if check == one.id or check in one.aliases), None)
    if found is None:
        raise Apart("there is no case of this name")
    values = next((one for one in found.every_parameters if dict(cases.shown_all(one)) == parameters), None)
    if values is None:
        raise Apart("the case has no such parameters")
    apart = None
    for zids, unit in product((*drawn(proof), None), UNITS):
        scene = TapeScene(
            conversation, role=role, profile=judgement["profile"], requirement=found.requirement, zids=zids, unit=unit,
            facts=proof.get("facts"),
        )  # fmt: skip
        try:
            finding = replayed(found, values, scene)
            if scene.guessed and (finding.cause if finding else "") != judgement["cause"]:
                raise Apart(f"it asks for facts that were not written down: {', '.join(sorted(scene.guessed))}")
            return finding, "the case on the recorded conversation"
        except Apart as why:
            apart = apart or why
    raise apart or Apart("there is nothing to replay")


MOST_ATTEMPTS: Final = 4
"""Attempts at a case whose ZenohIDs are tried."""


def drawn(proof: Mapping[str, Any]) -> list[Zids]:
    """What our dialogues may have been called: that follows from seed, role, profile, check, parameters and attempt."""
    judgement = proof["judgement"]
    label = check_label(judgement["check"], tuple(judgement["parameters"].items()))
    first = f"{judgement['role']} {judgement['profile']} {label}"
    return [partial(drawn_zid, proof.get("seed", 0), f"{first} {number}") for number in range(1, MOST_ATTEMPTS + 1)]


def replayed(found: cases.Case, values: Mapping[str, Any], scene: TapeScene) -> Finding | None:
    """What a case finds on a tape. Raises Apart where it does other things than were recorded."""
    try:
        found.run(scene, values)
    except Deviation as deviation:
        return (scene.findings or [deviation.finding])[0]
    except Apart:
        raise
    except Exception as broken:
        raise Apart(f"it stops with {type(broken).__name__}: {broken}") from broken
    return scene.findings[0] if scene.findings else None


def registered() -> list[cases.Case]:
    """The cases of the modules that were imported so far."""
    return list(cases._CASES.values())


def by_script(proof: Mapping[str, Any], conversation: Conversation, role: Side) -> tuple[Finding | None, str]:
    """What the script charges the target with: that message, after all that the script says we said."""
    text = proof.get("script") or ""
    if not text:
        raise Apart("there is none")
    script = scripts.parse(text)
    charge = next((step for step in script.steps if step.do == "deviates"), None)
    if charge is None:
        raise Apart("it charges the target with nothing")
    finding = Finding(
        requirement=script.requirement, sender=role, connection=charge.connection, got=charge.what, why=""
    )
    place = spoken(conversation, role, finding)
    if place is None:
        raise Apart(f"the target did not send {charge.what}")
    cause = script.header.get("cause", "")
    made = Finding(
        requirement=script.requirement, sender=role, connection=charge.connection, time=place.time, got=charge.what,
        why=cause or f"{charge.what}, which is not allowed there",
    )  # fmt: skip
    return made, "the message that the script charges the target with"


def byte_of(conversation: Conversation, role: Side, finding: Finding) -> Byte | None:
    """Where the fault stands: the message that is charged, or the last thing that was said before nothing came."""
    place = spoken(conversation, role, finding)
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


def spoken(conversation: Conversation, role: Side, finding: Finding) -> Byte | None:
    """The last message of the target that bears the name of what was got, no later than the fault; None when there is none."""
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
