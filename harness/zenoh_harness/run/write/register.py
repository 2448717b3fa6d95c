"""From decisions to records: level, reading, known deviations, embargo, evidence, and the command that repeats it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from threading import RLock
from typing import Final

from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.judging.verdict import Judgement, Key, Verdict
from zenoh_conformance.reading.conversation import Conversation
from zenoh_conformance.spec.errata import AS_WRITTEN, Stance, errata
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.errors import Enough
from zenoh_harness.files import evidence, scripts
from zenoh_harness.files.results import ResultsWriter, check_label
from zenoh_harness.run.attempt.options import DEPTH, Options
from zenoh_harness.run.judge.decide import is_beyond, level_of
from zenoh_harness.run.judge.finding_places import details_of
from zenoh_harness.run.judge.judgement_script import script_of
from zenoh_harness.run.store import embargo
from zenoh_harness.run.store.journal import Journal
from zenoh_harness.run.write.resume import EarlierRun, as_fallen
from zenoh_harness.scripting.recorder import is_scriptable

BEYOND: Final = "not in the revisions that are required"
"""The reason of what is excused because nobody asks for it yet."""

"""Verdicts that need neither evidence nor a command."""


class Register:
    """Writes the judgements of one target's run, in the order in which they come."""

    def __init__(
        self,
        writer: ResultsWriter,
        options: Options,
        *,
        reach: str,
        journal: Journal | None = None,
        earlier: EarlierRun | None = None,
    ) -> None:
        """`earlier` is what stands of the run before it was resumed."""
        self._writer, self._options = writer, options
        self.journal, self.earlier = journal, earlier
        self.reach, self.guarded, self.changed = reach, False, False
        self.judgements: list[Judgement] = []
        """All of them, embargoed ones too."""
        self._red: list[Judgement] = []
        """The deviations."""
        self._ended = False
        self._lock = RLock()
        for judgement in (*earlier.kept, *earlier.secret) if earlier else ():
            self._options.known.excuse(as_fallen(judgement), dict(judgement.details).get("causes", {}))
            self.judgements.append(judgement)
            self._red += [judgement] * judgement.verdict.is_red(strict=options.strict)

    def of(self, reach: str, *, guarded: bool, changed: bool) -> Register:
        """The same register, as a part of the run writes into it: through this target string, guarded, changed on the way."""
        part = copy(self)
        part.reach, part.guarded, part.changed = reach, guarded, changed
        return part

    def add(
        self,
        key: Key,
        verdict: Verdict,
        *,
        cause: str = "",
        end: str = "",
        attempts: int = 1,
        conversation: Conversation | None = None,
        repeat: str | None = None,
        causes: Mapping[str, int] | None = None,
        details: Mapping[str, object] | None = None,
        read: str | None = None,
        finding: Finding | None = None,
        shows: Conversation | None = None,
    ) -> Judgement:
        """Judge, excuse, keep the evidence, write; `shows` is the evidence where `conversation` only provoked it, or is not known.

        `causes`: all causes of a law, with their counts; `cause` is one of them. `read`: the reading, if known.
        """
        judgement = Judgement(
            key=key,
            level=level_of(key.requirement),
            verdict=verdict,
            cause=cause,
            end=end,
            attempts=attempts,
            reading=read or reading(key.requirement, verdict),
            details={**(details or {}), **({"causes": dict(causes)} if causes and len(causes) > 1 else {})},
        )
        judgement = self._excused(judgement, causes or {})
        if not judgement.verdict.is_quiet:
            label = check_label(key.check, key.parameters)
            judgement = replace(judgement, repeat=self.repeat(label) if repeat is None else repeat)
            if kept := details_of(finding, conversation):
                judgement = replace(judgement, details={**judgement.details, "found": kept})
        judgement = self._with_evidence(judgement, verdict, conversation, shows or conversation, finding)
        with self._lock:
            self._writer.judgement(judgement)
            self.judgements.append(judgement)
        self._end_when_enough(judgement)
        return judgement

    def _end_when_enough(self, judgement: Judgement) -> None:
        """Raise Enough, once, when as many deviations were seen as the run was told."""
        if not judgement.verdict.is_red(strict=self._options.strict):
            return
        self._red.append(judgement)
        if (number := len(self._red)) == self._options.max_fail and not self._ended:
            raise Enough(f"ended after {number} deviation{'s' * (number > 1)}", step="--max-fail")

    def go_on(self) -> None:
        """From now on no number of deviations ends it."""
        self._ended = True

    def withhold(self, count: int) -> None:
        """Count what is kept back and not run."""
        self._writer.withhold(count)

    def _excused(self, judgement: Judgement, causes: Mapping[str, int]) -> Judgement:
        listed = self._options.known.excuse(judgement, causes)
        public = embargo.public(judgement, listed)
        if listed is not None:
            note = {
                "expected": judgement.verdict.value,
                "reason": listed.reason,
                "see": listed.see,
                "public": listed.public,
            }
            if listed.owner:
                note["owner"] = listed.owner
            if listed.expires:
                note["expires"] = str(listed.expires)
            judgement = replace(judgement, verdict=Verdict.KNOWN, details={**judgement.details, "known": note})
        elif is_beyond(judgement.key.requirement, judgement.verdict, self._options.required):
            note = {"expected": judgement.verdict.value, "reason": BEYOND}
            judgement = replace(judgement, verdict=Verdict.KNOWN, details={**judgement.details, "known": note})
        elif expired := self._options.known.expired(judgement):
            judgement = replace(judgement, details={**judgement.details, "expired": str(expired.expires)})
        secret = embargo.under_embargo(judgement, guarded=self.guarded, public=public, changed=self.changed)
        return replace(judgement, embargo=secret)

    def _with_evidence(
        self,
        judgement: Judgement,
        verdict: Verdict,
        conversation: Conversation | None,
        shows: Conversation | None,
        finding: Finding | None,
    ) -> Judgement:
        """Keep what shows it, and as a script what provoked it, if that is known; `verdict` is what it is where nothing is excused."""
        if shows is None or (judgement.verdict.is_quiet and not judgement.embargo):
            if judgement.embargo:
                embargo.keep(judgement, self._options.data_folder)
            return judgement
        place = embargo.keep(judgement, self._options.data_folder) if judgement.embargo else self._options.out
        shows = evidence.with_embargo_mark(shows) if judgement.embargo else shows
        relative = evidence.save(shows, place, self._name(judgement.key))
        if conversation is not None and is_scriptable(conversation):
            key = judgement.key
            script = script_of(
                conversation,
                requirement=key.requirement,
                check=check_label(key.check, key.parameters),
                profile=key.profile,
                verdict=verdict,
                finding=finding,
            )
            scripts.write(script, (place / relative).with_suffix(scripts.SUFFIX))
        return judgement if judgement.embargo else replace(judgement, evidence=relative)

    def _name(self, key: Key) -> str:
        return f"{key.role}-{key.profile}-{check_label(key.check, key.parameters)}"

    def repeat(self, label: str, reach: str = "") -> str:
        """The one command that judges this check, or this requirement, again."""
        return repeat_command(reach or self.reach, label, self._options.seed, self._options.depth)


def repeat_command(reach: str, label: str, seed: int = 0, depth: str = DEPTH) -> str:
    """`zconform run REACH --only LABEL`, quoted for a shell; seed and depth where they are not what they are anyway."""
    words = ["zconform", "run", reach, "--only", label]
    words += ["--seed", str(seed)] if seed else []
    words += ["--depth", depth] if depth != DEPTH else []
    return " ".join(shlex.quote(word) for word in words)


def reading(requirement: str, verdict: Verdict) -> str | None:
    """Which reading a target that passes follows, where text and baseline differ; None where nothing can be told."""
    known = requirements().get(requirement)
    if known is None or verdict is not Verdict.PASS:
        return None
    every = [errata()[name] for name in known.erratum if name in errata()]
    if not every:
        return None
    pinned = [one for one in every if one.stance is Stance.PIN]
    if pinned:
        return pinned[0].reading
    return AS_WRITTEN if all(one.stance is Stance.DEV for one in every) else None
