"""What one node's run says in one profile: a record for each case, each law, and for staying up."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from zenoh_conformance.cases.controls import BASIC
from zenoh_conformance.cases.faults import COMES
from zenoh_conformance.judging.finding import SILENCE
from zenoh_conformance.judging.law import Law
from zenoh_conformance.judging.readings import verdict_of
from zenoh_conformance.judging.verdict import Key, Verdict, worst
from zenoh_conformance.spec.errata import AS_WRITTEN
from zenoh_conformance.talking import BY_QUERY, Fence
from zenoh_harness.files import evidence
from zenoh_harness.files.known import Known
from zenoh_harness.files.scripts import STAYS_UP
from zenoh_harness.run.group import Death
from zenoh_harness.run.judge.decide import Decision, ended, level_of
from zenoh_harness.run.judge.law_results import LawCount, LawResults
from zenoh_harness.run.node.lifecycle import Unhealthy
from zenoh_harness.run.plan.plan import Item
from zenoh_harness.run.store.journal import Died, LearntHabits, Place, conversation_of, no_note, text_of
from zenoh_harness.run.vectors.rows import RowVerdict
from zenoh_harness.run.vectors.seen_rows import SeenRows, row_of
from zenoh_harness.run.write.register import Register
from zenoh_harness.targets.endpoints import link_protocol
from zenoh_harness.targets.habits import TargetHabits
from zenoh_harness.targets.target import NodeTarget

NO_CASE = "no case repeats it, and the script was not tried"
"""What the script of a death is worth that nobody is charged with."""

MOST_PLACES: Final = 64
"""The most checks that are named of those in whose conversations a law was broken."""

"""How a node may be found before anything odd was done, and still be judged."""

ROUTED: Final = "routing-plain/"
"""How the checks begin that judge whether a node routes at all."""


LEFT: Final = "circumstances_left"
"""The detail of a varied case that had no time for all circumstances: for how many it had none, and of how many."""


class Records:
    """Turns decisions, counts of laws and deaths into records of one target and profile."""

    def __init__(self, target: NodeTarget, profile: str, register: Register, known: Known, seed: int) -> None:
        self._target, self._profile, self._register = target, profile, register
        self._known, self._seed = known, seed
        self.fencing = BY_QUERY
        """By what the target is fenced."""
        self._unanswered: list[Decision] = []
        """Checks that missed the answer to a query once, and not again."""

    def key(self, requirement: str, check: str, item: Item | None = None) -> Key:
        """The key of a judgement here."""
        identity = self._target.identity
        return Key(
            target=self._target.reach.reported_name(identity.name),
            version=identity.version,
            role=self._target.side.value,
            profile=self._profile,
            link=link_of(self._target),
            requirement=requirement,
            check=check,
            parameters=item.shown if item else (),
        )

    def is_listed(self, decision: Decision) -> bool:
        """Whether that is a known deviation, as it is listed."""
        key = self.key(decision.requirement, decision.item.case.id, decision.item)
        return self._known.entry(key, decision.verdict, decision.cause) is not None

    def left_out(self, item: Item, why: str, verdict: Verdict) -> None:
        """A case that was not run, and why that is so."""
        key = self.key(item.case.requirement, item.case.id, item)
        self._register.add(key, verdict, cause=why, attempts=0)

    def decision(self, decision: Decision) -> None:
        """A case that was judged."""
        item, finding = decision.item, decision.finding
        if decision.verdict is Verdict.FLAKY and finding and finding.is_work and finding.got == SILENCE:
            self._unanswered.append(decision)
        said = decision.conversation
        self._register.add(
            self.key(decision.requirement, item.case.id, item),
            decision.verdict,
            cause=decision.cause,
            end=decision.end,
            attempts=decision.attempts,
            conversation=said.only(finding.links) if said and finding and finding.links else said,
            shows=decision.shown,
            finding=decision.finding,
            details=self._details(decision),
            read=decision.reading,
        )

    def _details(self, decision: Decision) -> dict[str, object]:
        """Where we broke, by what the target was fenced if not as usual, what its script lacks, how it was before and after."""
        fence = {"fence": str(self.fencing)} if self.fencing.how is not Fence.QUERY and decision.conversation else {}
        looked = decision.after and not decision.verdict.is_quiet
        health = {"health": {"before": decision.before, "after": decision.after}} if looked else {}
        script = {"script": decision.script} if decision.script else {}
        wrote = {"wrote": list(decision.wrote)} if decision.wrote and not decision.verdict.is_quiet else {}
        beside = {"laws_beside": list(decision.beside)} if decision.beside and not decision.verdict.is_quiet else {}
        left = {LEFT: list(decision.left)} if decision.left[0] else {}
        return {
            **({"trace": decision.trace} if decision.trace else {}),
            **fence,
            **script,
            **health,
            **beside,
            **wrote,
            **left,
        }

    @property
    def _place(self) -> Place:
        return self._target.side.value, self._profile

    def law_results(self, *, resumed: bool = True) -> LawResults:
        """Return where the laws' results are added up, with what was heard before the run was resumed."""
        earlier = self._register.earlier if resumed else None
        heard = earlier.law_reports(self._place) if earlier else {}
        return LawResults(
            self._place, self._register.journal.note_attempt if self._register.journal else no_note, heard
        )

    def learnt_habits(self) -> LearntHabits | None:
        """What was learnt of the target before the run was resumed."""
        return self._register.earlier.learnt_habits(self._place) if self._register.earlier else None

    def note_habits(self, habits: TargetHabits) -> None:
        """Write what was learnt of the target into the journal, unless it is there."""
        if self._register.journal is not None and self.learnt_habits() is None:
            self._register.journal.note_habits(LearntHabits.of(self._place, habits))

    def earlier_deaths(self) -> list[Death]:
        """Return the deaths that no case was charged with before the run was resumed."""
        died = self._register.earlier.deaths(self._place) if self._register.earlier else []
        return [
            Death(
                Unhealthy(one.verdict, one.cause, None, one.wrote),
                tuple((label, conversation_of(text)) for label, text in one.during),
            )
            for one in died
        ]

    def note_death(self, death: Death) -> None:
        """Write a death into the journal."""
        if self._register.journal is None:
            return
        role, profile = self._place
        ill = death.unhealthy
        died = Died(
            role=role,
            profile=profile,
            verdict=ill.verdict,
            cause=ill.cause,
            wrote=ill.wrote,
            during=tuple((label, text_of(conversation)) for label, conversation in death.during),
        )
        self._register.journal.note_death(died, guarded=self._register.guarded)

    def laws(self, laws: Iterable[type[Law]], wanted: Iterable[type[Law]], law_results: LawResults) -> None:
        """Each law that is wanted, and each that found something."""
        asked = frozenset(wanted)
        for law in laws:
            said = law_results.of(law.id)
            if law in asked or said.causes:
                self._law(law, said)

    def _law(self, law: type[Law], said: LawCount) -> None:
        key = self.key(law.requirement, law.id)
        if not said.causes:
            verdict = Verdict.PASS if said.subjects else Verdict.NOT_OBSERVED
            self._register.add(key, verdict, details={"subjects": said.subjects})
            return
        causes = {cause: said.causes[cause] for cause in sorted(said.causes)}
        level = level_of(law.requirement)
        verdicts = {cause: verdict_of(said.shown[cause].finding, level) for cause in causes}
        verdict = worst(verdicts.values())
        causes = {cause: count for cause, count in causes.items() if verdicts[cause] is verdict}
        text = next(self._unlisted(key, verdict, causes), next(iter(causes)))
        shown = said.shown[text]
        self._register.add(
            key,
            verdict,
            cause=text,
            end=shown.finding.end,
            conversation=shown.conversation,
            finding=shown.finding,
            causes=causes,
            read=AS_WRITTEN if shown.finding.follows else None,
            repeat=self._register.repeat(shown.label, str(self._target.reach)),
            details={"subjects": said.subjects, "during": shown.label, **_seen_in(said, causes)},
        )

    def _unlisted(self, key: Key, verdict: Verdict, causes: Iterable[str]) -> Iterator[str]:
        """The causes that no known deviation lists: they are the ones to tell."""
        return (cause for cause in causes if self._known.entry(key, verdict, cause) is None)

    def stays_up(self, deaths: list[Death], unhealthy: Unhealthy | None, slow: Unhealthy | None) -> None:
        """Whether it lived: deaths that no case repeats, an illness from the start, slowness, or a pass."""
        key = self.key(STAYS_UP, STAYS_UP)
        if deaths:
            parts = deaths[0].during
            labels = [label for label, _ in parts]
            self._register.add(
                key,
                deaths[0].unhealthy.verdict,
                cause=deaths[0].unhealthy.cause,
                conversation=replace(evidence.merge(parts), about=ended(deaths[0].unhealthy)),
                repeat="",
                details={"deaths": len(deaths), "during": labels, "script": NO_CASE},
            )
            return
        state = unhealthy or slow or Unhealthy(Verdict.PASS, "")
        told = self._told_already(key) if state.verdict.is_stuck else ""
        if told:  # what is ill from the start is said once, by the check that knows what it is
            self._register.add(key, Verdict.NOT_OBSERVED, cause=f"{state.cause} ({told} judges that)", repeat="")
        else:
            self._register.add(key, state.verdict, cause=state.cause, conversation=state.conversation, repeat="")

    def _told_already(self, key: Key) -> str:
        """The first check of plain work that failed in this role."""
        plain = BASIC[self._target.side]
        here = (one for one in self._register.judgements if one.key.role == key.role and one.verdict is Verdict.FAIL)
        return next((one.key.check for one in here if one.key.check in plain or one.key.check.startswith(ROUTED)), "")

    def note_lost_message(self, looks: Sequence[Unhealthy], asked: int) -> None:
        """What a node lost that is alive: it did its work when it was asked again.

        `looks` missed a message, `asked` is how many queries and looks there were. A look at which an application refused a command
        with a reason missed none: a library may reconnect, and be ready for commands some milliseconds after the handshake.
        """
        looks = [one for one in looks if one.awaited]
        if not looks:
            return
        awaited = Counter(one.awaited for one in looks).most_common(1)[0][0]
        shown = next(one for one in looks if one.awaited == awaited)
        times = sum(one.awaited == awaited for one in looks)
        times += sum(one.finding is not None and one.finding.expected == awaited for one in self._unanswered)
        self._register.add(
            self.key(COMES.get(awaited, STAYS_UP), STAYS_UP),
            Verdict.FLAKY,
            cause=f"{awaited} did not come, and came when it was asked for again",
            conversation=shown.conversation,
            details={
                "found": {"path": "asked again", "expected": awaited, "got": SILENCE},
                "lost": {"times": times, "of": asked},
            },
            repeat="",
        )

    def vectors(self, check: str, requirement: str, row: RowVerdict, more: Sequence[str] = ()) -> None:
        """What vectors say of a requirement, and the command, with `more` words, that plays those again which are red."""
        red = row.details.get("vectors") or ["*"]
        first = str(red[0]) if isinstance(red, list) else "*"
        words = ["zconform", "vectors", "play", str(self._target.reach), first, *more]
        self._register.add(
            self.key(row.breaks or requirement, check),
            row.verdict,
            cause=row.cause,
            read=row.reading,
            details=row.details,
            repeat=shlex.join(words),
            shows=row.record,
        )

    def write_rows_seen(self, rows: SeenRows, laws: Iterable[type[Law]], law_results: LawResults) -> None:
        """What the target was seen to read, and to write and how often."""
        counts = {law.id: law_results.of(law.id) for law in laws}
        said = {law: Verdict.FAIL if count.causes else Verdict.PASS for law, count in counts.items() if count.subjects}
        here = [one for one in self._register.judgements if (one.key.role, one.key.profile) == self._place]
        for check, verdict, cause, details in rows.verdicts(lambda row: law_results.of(row).subjects, said, here):
            self._register.add(self.key(row_of(check), check), verdict, cause=cause, details=details, repeat="")

    def cannot_start(self, cause: str) -> None:
        """The profile could not be had, although the target says that it can."""
        self._register.add(self.key(STAYS_UP, STAYS_UP), Verdict.ERROR, cause=cause, repeat="")


def _seen_in(said: LawCount, causes: Iterable[str]) -> dict[str, object]:
    """The checks in whose conversations a law was broken, unless that is nearly everywhere: it tells nothing of the cause then."""
    labels = frozenset[str]().union(*(said.labels[cause] for cause in causes))
    return {"seen_in": sorted(labels)} if len(labels) <= MOST_PLACES else {}


def link_of(target: NodeTarget) -> str:
    """The link protocol over which the target is judged."""
    return link_protocol(target.reach)
