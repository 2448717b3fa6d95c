"""The journal of a run, `resume.jsonl`: what `--resume` needs beside the results; it is deleted when all is judged.

A law is judged once a profile, over all conversations; after a kill, its findings and the number of its subjects would be lost with the
process. So each attempt is written down before its judgement is, and each death that no case is charged with. What was learnt of the
target at the beginning decides what can be judged; a busy machine might teach it otherwise the second time, so it is written down, too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import IO, Any, Final

import msgspec

from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.reading.conversation import Conversation
from zenoh_harness.files import conversations, records
from zenoh_harness.files.faults import FileFault, Row
from zenoh_harness.targets.habits import TargetHabits

JOURNAL: Final = "resume.jsonl"

MEASURED: Final = ("half_open", "sessions", "turns_away", "message")
"""Fields of the habits that say what a target has room for; they take many links to measure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LawFinding:
    """One finding of a law; with the conversation, as the lines of its file, where it is the one that evidence shows."""

    law: str
    finding: Finding
    conversation: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LawReport:
    """What the laws said of one attempt."""

    where: tuple[str, str, str]
    """Role, profile, and check with parameters."""
    subjects: Mapping[str, int]
    found: tuple[LawFinding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Died:
    """A death that no case is charged with."""

    role: str
    profile: str
    verdict: Verdict
    cause: str
    wrote: tuple[str, ...] = ()
    during: tuple[tuple[str, str], ...] = ()
    """The checks that ran, each with its conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearntHabits:
    """The habits of a target that decide what can be judged of it, and that load may hide: as the run learnt them at first."""

    role: str
    profile: str
    half_open: int | None = None
    sessions: int | None = None
    turns_away: bool = False
    message: int | None = None
    lacks: tuple[str, ...] = ()

    @classmethod
    def of(cls, place: Place, habits: TargetHabits) -> LearntHabits:
        """Those of a target that was studied."""
        role, profile = place
        lacks = tuple(sorted(habits.lacks))
        return cls(role=role, profile=profile, lacks=lacks, **{name: getattr(habits, name) for name in MEASURED})

    def put_into(self, habits: TargetHabits) -> TargetHabits:
        """The habits, with these in place of what was measured."""
        return replace(habits, lacks=frozenset(self.lacks), **{name: getattr(self, name) for name in MEASURED})


Place = tuple[str, str]
"""Role and profile."""


@dataclass(slots=True)
class Memory:
    """What a journal says."""

    terms: Mapping[str, Any] = field(default_factory=dict)
    """The options of the run; empty if there is no journal."""
    embargoed: int = 0
    """Lines of the target's file of embargoed judgements when the run began."""
    heard: dict[tuple[str, str, str], list[LawReport]] = field(default_factory=dict)
    died: list[Died] = field(default_factory=list)
    learnt: dict[Place, LearntHabits] = field(default_factory=dict)
    """By role and profile, what was learnt of the target when the run began."""

    def heard_in(self, place: Place) -> dict[str, list[LawReport]]:
        """What the laws said in one role and profile, by check."""
        return {where[2]: heard for where, heard in self.heard.items() if where[:2] == place}


class Journal:
    """Writes the journal; several threads may, and a forked copy of the process: each line is one write at the file's end."""

    def __init__(self, path: Path, secret: Path) -> None:
        """`secret` is where the deaths of a target under embargo are written."""
        self.path, self.secret = path, secret
        self._lock = Lock()
        self._out: dict[Path, IO[bytes]] = {}

    def begin(self, terms: Mapping[str, Any], embargoed: int) -> None:
        """Start anew."""
        self.path.unlink(missing_ok=True)
        self._write(self.path, {"terms": dict(terms), "embargoed": embargoed})

    def go_on(self) -> None:
        """Mark that what follows is of a run that was resumed: what a check did before counts no more if it runs again."""
        self._write(self.path, {"resumed": True})

    def note_attempt(self, heard: LawReport) -> None:
        """Write down what the laws said of an attempt."""
        self._write(self.path, {"heard": heard})

    def note_habits(self, learnt: LearntHabits) -> None:
        """Write down what was learnt of the target: a run that goes on judges by the same."""
        self._write(self.path, {"learnt": learnt})

    def note_death(self, died: Died, *, guarded: bool) -> None:
        """Write down a death; where nobody else reads it, if the target is under embargo."""
        self._write(self.secret if guarded else self.path, {"died": died})

    def close(self, *, delete: bool) -> None:
        """Close the files, and delete them if nothing is left to resume."""
        with self._lock:
            for out in self._out.values():
                out.close()
            self._out.clear()
        for path in (self.path, self.secret) if delete else ():
            path.unlink(missing_ok=True)

    def _write(self, path: Path, row: Row) -> None:
        line = msgspec.json.encode(row) + b"\n"
        with self._lock:
            if path not in self._out:
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._out[path] = path.open("ab", buffering=0)
            self._out[path].write(line)


def read(*paths: Path) -> Memory:
    """Read the files of a journal that are there; a last line that was cut off is ignored. Raises FileFault."""
    memory, session, of = Memory(), 0, dict[tuple[str, str, str], int]()
    for path in paths:
        for row in _rows(path):
            if "terms" in row:
                memory.terms, memory.embargoed = row["terms"], row.get("embargoed", 0)
            elif "resumed" in row:
                session += 1
            elif "heard" in row:
                heard = records.read_from(path, LawReport, row["heard"])
                if of.setdefault(heard.where, session) != session:
                    of[heard.where] = session
                    memory.heard.pop(heard.where)
                memory.heard.setdefault(heard.where, []).append(heard)
            elif "learnt" in row:
                learnt = records.read_from(path, LearntHabits, row["learnt"])
                memory.learnt.setdefault((learnt.role, learnt.profile), learnt)
            elif "died" in row:
                memory.died.append(records.read_from(path, Died, row["died"]))
    return memory


def _rows(path: Path) -> list[Row]:
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")
    try:
        return [
            json.loads(line) for line in lines[:-1]
        ]  # behind the last newline is nothing, or a line that was cut off
    except ValueError as why:
        raise FileFault(path, None, f"is damaged: {why}", hint="leave out --resume") from why


def bare(finding: Finding) -> Finding:
    """The finding as the journal keeps it: without its event, its time rounded as those of a conversation's file."""
    return replace(finding, event=None, time=round(finding.time, 6))


def text_of(conversation: Conversation) -> str:
    """Return the lines of a conversation's file."""
    return "".join(conversations.lines(conversation))


def conversation_of(text: str) -> Conversation:
    """Return the conversation of such lines; an empty one where there are none."""
    return conversations.parse(text.splitlines(keepends=True)) if text else Conversation()


def no_note(_heard: LawReport) -> None:
    """Write nothing down."""
