"""Going on with a run that was killed, interrupted, or could not go on: nothing is judged twice, and the file becomes one run's."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.judging.shown_rows import READ, WRITTEN
from zenoh_conformance.judging.verdict import Judgement, Verdict
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.errors import UsageError
from zenoh_harness.files import results
from zenoh_harness.files.results import Header, Results, label
from zenoh_harness.files.scripts import STAYS_UP
from zenoh_harness.run.attempt.options import Options
from zenoh_harness.run.store import embargo, journal
from zenoh_harness.run.store.journal import Died, LawReport, LearntHabits, Memory, Place

_OF_LISTS: Final = ("known/", "judged/")
"""Checks of the lists, which are made once all else is judged."""
_OF_WHOLE: Final = ("law/", WRITTEN, READ, STAYS_UP)
"""Checks that are judged when all others of a profile are."""
CODEC: Final = "codec"
"""The role in which each judgement stands by itself."""
SAME: Final = ("reach", "name", "version", "digest", "role", "harness", "seed", "facts")
"""What the headers of both parts of a run have in common."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierRun:
    """What stands of a run before it was resumed."""

    header: Header
    planned: tuple[str, ...]
    kept: tuple[Judgement, ...]
    secret: tuple[Judgement, ...]
    """Those under embargo that fell in it."""
    memory: Memory
    complete: Results | None = None
    """The run, if nothing is left to judge."""

    @property
    def labels(self) -> frozenset[str]:
        """The planned checks that are judged."""
        return frozenset(label(one.key) for one in (*self.kept, *self.secret))

    def law_reports(self, place: Place) -> Mapping[str, list[LawReport]]:
        """What the laws heard in a role and profile, by check."""
        return self.memory.heard_in(place)

    def learnt_habits(self, place: Place) -> LearntHabits | None:
        """What was learnt of the target there, if it was had."""
        return self.memory.learnt.get(place)

    def deaths(self, place: Place) -> list[Died]:
        """The deaths there that no case was charged with, and that no check which is run again was part of alone."""
        here = [one for one in self.memory.died if (one.role, one.profile) == place]
        judged = self.labels
        return [one for one in here if any(f"{one.role} {one.profile} {name}" in judged for name, _ in one.during)]


def before(out: Path) -> Results | None:
    """The results of the run to go on with; None if it was killed before it had planned. Raises FileFault for damage."""
    path = out / "results.jsonl"
    if not path.exists() or b"\n" not in path.read_bytes():
        return None
    found = results.read(path)
    return found if found.planned or found.judgements or found.footer else None


def terms_of(options: Options) -> dict[str, Any]:
    """The options on which verdicts depend, and that neither header nor plan show."""
    listed = repr(list(options.known.deviations)).encode()
    required = repr(options.required and sorted(options.required)).encode()
    return {
        "--depth": options.depth,
        "--timeout": options.timeout,
        "--fresh": options.fresh,
        "--with-embargoed": options.with_embargoed,
        "--known": blake2b(listed + required, digest_size=8).hexdigest(),
    }


def earlier(
    options: Options, header: Header, planned: Iterable[str], withheld: Collection[str], secret: Path
) -> EarlierRun | None:
    """What stands of the run in `options.out`; None if there is nothing.

    `header` and `planned` are those of the run now; `withheld` are the checks that are left out of it because they are under
    embargo. Raises UsageError for another run, and FileFault for a damaged file.
    """
    found = before(options.out)
    if found is None:
        return None
    memory = journal.read(options.out / journal.JOURNAL, secret)
    fell = _fell(found, header, memory, withheld, options.data_folder)
    _check_same(options, found, header, memory)
    _check_plan(options.out, found, tuple(planned), {label(one.key) for one in fell}, withheld)
    left = tuple(one for one in found.planned if one.split(" ", 2)[2] not in withheld)
    kept = tuple(_standing_judgements(found, left, memory))
    return EarlierRun(
        header=found.header,
        planned=left,
        kept=kept,
        secret=fell,
        memory=memory,
        complete=found if found.complete else None,
    )


def _fell(
    found: Results, now: Header, memory: Memory, withheld: Collection[str], base: Path | None
) -> tuple[Judgement, ...]:
    """The judgements under embargo that fell in the run: those of the user's data folder that the plan does not have any more.

    A run that is killed has a journal, which says how many there were before it; a complete one has none any more.
    """
    every = embargo.kept_judgements(found.header.name, now.version, base) if memory.terms or found.complete else []
    kept = every[memory.embargoed :]
    planned = set(found.planned)
    return tuple(one for one in kept if label(one.key) not in planned or label(one.key).split(" ", 2)[2] in withheld)


def _check_same(options: Options, found: Results, now: Header, memory: Memory) -> None:
    was, terms = found.header, terms_of(options)
    pairs = [(name, getattr(was, name), getattr(now, name)) for name in SAME]
    pairs += [(name, memory.terms.get(name, term), term) for name, term in terms.items()]
    differs = [pair for pair in pairs if pair[1] != pair[2]]
    if differs:
        name, old, new = differs[0]
        change = "another list" if name == "--known" else f"{old!r}, and it is {new!r} now"
        raise _another(options.out, f"{name} was {change}", was.command)


def _check_plan(
    out: Path, found: Results, planned: tuple[str, ...], secret: Collection[str], withheld: Collection[str]
) -> None:
    now, then = set(planned), set(found.planned)
    gone = sorted(one for one in then - now if one.split(" ", 2)[2] not in withheld)
    new = sorted(now - then - set(secret))
    if gone or new:
        which = f"{gone[0]} was planned, and is not now" if gone else f"{new[0]} was not planned, and is now"
        raise _another(out, which, found.header.command)


def _another(out: Path, differs: str, command: str) -> UsageError:
    ran = f"it ran as: {command}" if command else ""
    hint = "give target and options of that run, or leave out --resume"
    return UsageError(f"the results in {out} are of another run", step="--resume", seen=(differs, ran), hint=hint)


def _standing_judgements(found: Results, planned: tuple[str, ...], memory: Memory) -> list[Judgement]:
    """The judgements that stand: where a check of a role and profile is left, its laws are judged again over all conversations.

    Without a journal nobody knows what the laws heard there, and its checks run again, too.
    """
    judged = {label(one.key) for one in found.judgements}
    unfinished = {tuple(one.split(" ", 2)[:2]) for one in planned if one not in judged}

    def stands(one: Judgement) -> bool:
        whole = (one.key.role, one.key.profile) not in unfinished or one.key.role == CODEC
        return whole or (bool(memory.terms) and not one.key.check.startswith(_OF_WHOLE))

    return [one for one in found.judgements if stands(one) and not one.key.check.startswith(_OF_LISTS)]


# --- what judgements say to those that come after them


def verdict_before_lists(one: Judgement) -> Verdict:
    """The verdict as it fell, before a list of known deviations excused it."""
    listed = dict(one.details).get("known", {}).get("expected")
    return Verdict(listed) if listed else one.verdict


def as_fallen(one: Judgement) -> Judgement:
    """The judgement with its verdict before a list of known deviations excused it."""
    return replace(one, verdict=verdict_before_lists(one))


def finding_of(one: Judgement) -> Finding | None:
    """The finding of a judgement, as far as the results keep it."""
    kept = dict(one.details).get("found")
    if verdict_before_lists(one) is not Verdict.FAIL or not isinstance(kept, Mapping):
        return None
    path, expected, got, why = (str(kept.get(name, "")) for name in ("path", "expected", "got", "why"))
    return Finding(
        requirement=one.key.requirement, sender=Side(one.key.role), path=path, expected=expected, got=got, why=why
    )
