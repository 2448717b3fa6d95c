"""From what two nodes brought about to records: scenarios judge the pair, laws judge each side."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from zenoh_conformance.judging.engine import Judged
from zenoh_conformance.judging.finding import LOST_ON_THE_WAY
from zenoh_conformance.judging.verdict import Judgement, Key, Verdict, verdict_for
from zenoh_conformance.reading.conversation import Conversation, Side
from zenoh_harness.files import evidence
from zenoh_harness.files.known import Known
from zenoh_harness.files.results import ResultsWriter, check_label
from zenoh_harness.interop.scenario import ScenarioInstance
from zenoh_harness.run.attempt.options import Options
from zenoh_harness.run.judge.decide import level_of
from zenoh_harness.run.store import embargo

RECORDING: Final = "conversation.jsonl"
"""Everything that went through the tap, in the results folder."""

"""Verdicts that need neither evidence nor a command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTarget:
    """One of the two, for records."""

    reach: str
    name: str
    version: str
    known: Known
    """Its own known deviations."""
    guarded: bool
    """Whether what is grave on it is kept back until it is public."""

    def __str__(self) -> str:
        return f"{self.name} {self.version}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutcome:
    """What came of one step."""

    verdict: Verdict
    cause: str = ""
    attempts: int = 1
    conversation: Conversation | None = None
    blamed: tuple[Side, ...] = tuple(Side)
    """Who died or fell silent; both where that cannot be told."""
    gravest: Verdict | None = None
    """The grave verdict of one of several attempts that differ."""


def repeated(first: StepOutcome, again: StepOutcome) -> StepOutcome:
    """Return the outcome of a red attempt and its repetition: what does not repeat is flaky, never green.

    A death or a stall is shown before anything else, and stays under embargo even if it did not repeat.
    """
    if again.verdict in (first.verdict, Verdict.NOT_APPLICABLE):
        return replace(first, attempts=2)
    shown = again if again.verdict.is_grave and again.verdict.severity > first.verdict.severity else first
    gravest = shown.verdict if shown.verdict.is_grave else None
    cause = f"1 of 2 attempts: {shown.cause}"
    return replace(shown, verdict=Verdict.FLAKY, cause=cause, attempts=2, gravest=gravest)


class PairRecords:
    """Writes what is said of one pair; `judgements` holds all of it, embargoed ones too."""

    def __init__(
        self,
        parties: Mapping[Side, PairedTarget],
        profile: str,
        writer: ResultsWriter,
        options: Options,
        link: str = "tcp",
    ) -> None:
        """`link`: the protocol of the link between the two."""
        self.parties, self._profile, self._link = parties, profile, link
        self._writer, self._options = writer, options
        self.judgements: list[Judgement] = []

    @property
    def pair(self) -> str:
        """The pair as a target: who listens, and who connects to it."""
        return pair_name(self.parties)

    def step(self, step: ScenarioInstance, outcome: StepOutcome) -> Judgement:
        """A scenario's judgement, charged to the pair."""
        key = self._key(self.pair, versions(self.parties), step.here, step.scenario.id, step.scenario.id)
        return self._add(
            replace(key, parameters=step.parameters), outcome, self.parties.values(), self._repeat(step.label)
        )

    def law(self, said: Judged, during: str = "", *, lost: bool = False) -> Judgement:
        """What one law says of one side; its evidence is the whole recording, `during` the step of the first finding.

        `lost`: its other findings do not count, since this machine dropped datagrams meanwhile.
        """
        party = self.parties[said.sender]
        requirement = said.law.requirement
        key = self._key(party.name, party.version, said.sender, requirement, said.law.id)
        if said.findings:
            causes = list(dict.fromkeys(found.cause for found in said.findings))
            verdict = verdict_for(level_of(requirement))
            outcome = StepOutcome(verdict=verdict, cause=causes[0])
            first = said.findings[0]
            where = {"connection": first.connection, "time": round(first.time, 6), "during": during}
            return self._add(key, outcome, [party], self._repeat(), causes, where)
        verdict = Verdict.PASS if said.subjects and not lost else Verdict.NOT_OBSERVED
        return self._add(key, StepOutcome(verdict=verdict, cause=LOST_ON_THE_WAY if lost else ""), [party], "")

    def add_gone(self, side: Side, name: str, shown: Judgement, cause: str) -> Judgement:
        """Record that a listed deviation of one side has gone; `shown` passed instead."""
        party = self.parties[side]
        parameters = (("deviation", name), *shown.key.parameters)
        key = replace(
            shown.key, target=party.name, version=party.version, check="known/has-gone", parameters=parameters
        )
        return self._add(key, StepOutcome(verdict=Verdict.FAIL, cause=cause), [], self._repeat())

    def _key(self, target: str, version: str, side: Side, requirement: str, check: str) -> Key:
        return Key(
            target=target, version=version, role=side.value, profile=self._profile, link=self._link,
            requirement=requirement, check=check,
        )  # fmt: skip

    def _add(
        self,
        key: Key,
        outcome: StepOutcome,
        parties: Iterable[PairedTarget],
        repeat: str,
        causes: Sequence[str] = (),
        where: Mapping[str, object] | None = None,
    ) -> Judgement:
        involved = list(parties)
        judgement = Judgement(
            key=key,
            level=level_of(key.requirement),
            verdict=outcome.verdict,
            cause=outcome.cause,
            attempts=outcome.attempts,
            details={**({"causes": list(causes)} if len(causes) > 1 else {}), **(where or {})},
        )
        judgement = _with_excuse(judgement, involved, causes)
        public = bool(dict(judgement.details.get("known", {})).get("public"))
        guarded = any(self.parties[side].guarded for side in outcome.blamed)
        asked = judgement if outcome.gravest is None else replace(judgement, verdict=outcome.gravest)
        judgement = replace(judgement, embargo=embargo.under_embargo(asked, guarded=guarded, public=public))
        if not judgement.verdict.is_quiet:
            judgement = replace(judgement, repeat=repeat, evidence=self._evidence(judgement, outcome.conversation))
        self._writer.judgement(judgement)
        self.judgements.append(judgement)
        return judgement

    def _evidence(self, judgement: Judgement, conversation: Conversation | None) -> str | None:
        place = embargo.keep(judgement, self._options.data_folder) if judgement.embargo else self._options.out
        if conversation is None:
            return None if judgement.embargo else RECORDING
        name = f"{judgement.key.role}-{check_label(judgement.key.check, judgement.key.parameters)}"
        conversation = evidence.with_embargo_mark(conversation) if judgement.embargo else conversation
        relative = evidence.save(conversation, place, name)
        return None if judgement.embargo else relative

    def _repeat(self, label: str = "") -> str:
        reaches = [self.parties[side].reach for side in (Side.RESPONDER, Side.INITIATOR)]
        words = ["zconform", "interop", *reaches, *(["--only", label] if label else [])]
        return " ".join(shlex.quote(word) for word in words)


def pair_name(parties: Mapping[Side, PairedTarget]) -> str:
    """`zenoh-rust 1.10.2 <- zenoh-rust 1.0.4`: who listens, and who connects to it."""
    return f"{parties[Side.RESPONDER]} <- {parties[Side.INITIATOR]}"


def versions(parties: Mapping[Side, PairedTarget]) -> str:
    """The pair's versions, in the order of its name."""
    return " <- ".join(parties[side].version for side in (Side.RESPONDER, Side.INITIATOR))


def _with_excuse(judgement: Judgement, parties: Sequence[PairedTarget], causes: Sequence[str]) -> Judgement:
    """Return the judgement, as `known` if the list of one involved node has it: each list is asked with its node's version."""
    for party in parties:
        asked = replace(judgement, key=replace(judgement.key, target=party.name, version=party.version))
        listed = party.known.excuse(asked, causes)
        if listed is not None:
            note = {
                "expected": judgement.verdict.value,
                "reason": listed.reason,
                "see": listed.see,
                "public": listed.public,
            }
            return replace(judgement, verdict=Verdict.KNOWN, details={**judgement.details, "known": note})
    return judgement
