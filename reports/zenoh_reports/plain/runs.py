"""A run: one results file, read once, with what lies beside it, and the key under which every page names it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from zenoh_conformance.judging.verdict import Exit, Judgement, Verdict, exit_code
from zenoh_harness.errors import UsageError
from zenoh_harness.files import results
from zenoh_harness.files.evidence import slug
from zenoh_harness.files.faults import FileFault
from zenoh_reports.plain.local_paths import without_local_paths
from zenoh_reports.plain.versions import version_key

RESULTS: Final = "results.jsonl"
SUBMISSION: Final = "submission.json"
INTEROP: Final = "interop"
"""The kind of a run whose target is a pair of nodes."""

WORDS: Final = {
    Exit.CONFORMING: "conforms",
    Exit.NOT_CONFORMING: "deviates",
    Exit.USAGE: "was not started",
    Exit.CANNOT_GO_ON: "could not go on",
    Exit.NOTHING_JUDGED: "nothing judged",
}
"""An exit code as a word."""
INCOMPLETE: Final = "incomplete"
LISTED: Final = "known deviations"
"""The word of a run that exits 0 because all that deviates is listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunIdentity:
    """What makes one column of every table, and no other: two nights, or a wheel and a container, stay two."""

    name: str
    version: str
    kind: str
    reach: str
    role: str
    file: str
    """The first 12 digits of the results file's SHA-256."""

    @property
    def order(self) -> tuple[Any, ...]:
        """Where it stands among others: by name, version, kind, role."""
        return (self.name, version_key(self.version), self.kind, self.role, self.reach)


@dataclass(kw_only=True)
class Run:
    """One results file."""

    identity: RunIdentity
    results: results.Results
    folder: Path
    digest: str
    """SHA-256 of the results file."""
    about: dict[str, Any] = field(default_factory=dict)
    """What its submission says of implementation, date and reproduction; empty where there is none."""
    label: str = ""
    """As people name it among the others."""
    slug: str = ""
    """Its part of an address."""
    judgements: list[Judgement] = field(default_factory=list)
    """All but what is under embargo."""

    @property
    def interop(self) -> bool:
        """Whether it is about two nodes with each other."""
        return self.identity.kind == INTEROP

    @property
    def complete(self) -> bool:
        """Whether it came to its end."""
        return self.results.complete

    @property
    def embargoed(self) -> int:
        """Findings that are counted and told nowhere."""
        footer = self.results.footer
        leaked = sum(one.embargo for one in self.results.judgements)
        return max(footer.embargoed if footer else 0, leaked)

    @cached_property
    def exit(self) -> Exit:
        """The exit code that follows from what the file holds; that of a run without a footer is never 0."""
        footer = self.results.footer
        if footer is None:
            return Exit.CANNOT_GO_ON
        derived = exit_code((one.verdict for one in self.judgements), interrupted=bool(footer.pending))
        stated = Exit(footer.exit) if footer.exit in set(Exit) else Exit.CANNOT_GO_ON
        return max((derived, stated), key=_GRAVITY.index)

    @property
    def word(self) -> str:
        """The verdict in one word."""
        if not self.complete:
            return INCOMPLETE
        listed = self.exit is Exit.CONFORMING and any(one.verdict is Verdict.KNOWN for one in self.judgements)
        return LISTED if listed else WORDS[self.exit]

    @property
    def green(self) -> bool:
        """Whether its exit code is 0 and may be shown so."""
        return self.complete and self.exit is Exit.CONFORMING

    @property
    def why_incomplete(self) -> str:
        """Why it is not complete; empty when it is."""
        if self.complete:
            return ""
        footer = self.results.footer
        reason = footer.why if footer and footer.why else "the run ended before it could say why"
        pending = len(self.results.pending)
        if not pending:
            return reason if self.results.planned else f"{reason}, and before it could say what it would judge"
        return f"{reason}; {pending:,} planned check{' was' if pending == 1 else 's were'} not judged"

    @property
    def repeat(self) -> str:
        """The command that does the run again: as it was given, or what follows from the target."""
        header = self.results.header
        if header.command:
            return header.command
        words = (
            ["zconform", "interop", *header.reach.split(" <- ")] if self.interop else ["zconform", "run", header.reach]
        )
        depth = next((found[0] for one in self.judgements if (found := _DEPTH.search(one.repeat))), "")
        return shlex.join([*words, *(["--seed", str(header.seed)] if header.seed else []), *depth.split()])

    @property
    def date(self) -> str:
        """When the run began, as its header tells it; else the day that its submission tells, or nothing."""
        return self.results.header.date or str(self.about.get("date", ""))

    @property
    def when(self) -> str:
        """The same for people: `2026-01-31 12:00 UTC`."""
        found = re.fullmatch(r"(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}):\d{2}Z", self.date)
        return f"{found[1]} {found[2]} UTC" if found else self.date

    def inside(self, relative: str) -> Path | None:
        """A file of this run by its relative path; None where there is none, or where the path leads out of the folder."""
        if "\0" in relative:
            return None
        try:
            path = (self.folder / relative).resolve()
            return path if path.is_relative_to(self.folder.resolve()) and path.is_file() else None
        except OSError:
            return None


_DEPTH: Final = re.compile(r"--depth (?:quick|full|nightly)\b")
"""In the command that repeats a judgement: how deep the run went."""
_GRAVITY: Final = (Exit.CONFORMING, Exit.NOTHING_JUDGED, Exit.NOT_CONFORMING, Exit.USAGE, Exit.CANNOT_GO_ON)


@dataclass(frozen=True, slots=True)
class Unread:
    """A file that could not be read, and why."""

    file: str
    why: str


def found(places: Iterable[Path]) -> list[Path]:
    """Every results file that the arguments name, each once, sorted. Raises UsageError for a folder without any."""
    files: dict[Path, Path] = {}
    for place in places:
        inside = sorted(place.rglob(RESULTS)) if place.is_dir() else [place]
        if not inside:
            raise UsageError(
                f"{place} holds no {RESULTS}", step="report", hint="name a folder that `zconform run --out` wrote"
            )
        for file in inside:
            files.setdefault(file.resolve(), file)
    return [files[key] for key in sorted(files)]


def load(files: Sequence[Path], *, local_paths: bool = True) -> tuple[list[Run], list[Unread]]:
    """Every run in the order of the pages, named apart; and the files that cannot be read. A copy of a file counts once.

    Without `local_paths` the texts of the runs state no local folder.
    """
    runs: dict[str, Run] = {}
    unread: list[Unread] = []
    for file in files:
        try:
            run = read(file, local_paths=local_paths)
        except FileFault as fault:
            unread.append(
                Unread(
                    file.name if file.parent == Path() else f"{file.parent.name}/{file.name}",
                    f"line {fault.line}: {fault.why}" if fault.line else fault.why,
                )
            )
            continue
        runs.setdefault(run.digest, run)
    ordered = sorted(runs.values(), key=lambda run: (run.identity.order, run.date, run.digest))
    name_apart(ordered)
    return ordered, unread


def read(file: Path, *, local_paths: bool = True) -> Run:
    """One results file with its submission. Raises FileFault."""
    read_one = results.read(file) if local_paths else without_local_paths(results.read(file))
    digest = sha256(file.read_bytes()).hexdigest()
    header = read_one.header
    identity = RunIdentity(
        name=header.name or "unnamed", version=header.version, kind=header.kind, reach=header.reach, role=header.role,
        file=digest[:12],
    )  # fmt: skip
    public = [one for one in read_one.judgements if not one.embargo]
    return Run(
        identity=identity, results=read_one, folder=file.parent, digest=digest, judgements=public,
        about=submitted(file.parent / SUBMISSION),
    )  # fmt: skip


def submitted(file: Path) -> dict[str, Any]:
    """What a submission beside the results says; nothing where there is none. Raises FileFault."""
    if not file.is_file():
        return {}
    try:
        text = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as why:
        raise FileFault(file, None, f"is no JSON: {why}") from why
    if not isinstance(text, dict):
        raise FileFault(file, None, f"expected an object, found {type(text).__name__}")
    return text


def name_apart(runs: Sequence[Run]) -> None:
    """Give each run a label and an address: name and version, and of the rest only what tells it from others."""
    for run in runs:
        one = run.identity
        alike = [
            other.identity for other in runs if (other.identity.name, other.identity.version) == (one.name, one.version)
        ]
        words = [one.name if run.interop else f"{one.name} {one.version}".strip()]
        if len({other.kind for other in alike}) > 1:
            words.append(one.kind)
        alike = [other for other in alike if other.kind == one.kind]
        if len({other.role for other in alike}) > 1:
            words.append(one.role)
        alike = [other for other in alike if other.role == one.role]
        if len(alike) > 1:
            words.append(run.when or one.file[:8])
        run.label = " ".join(shown(word) for word in words)
    taken: set[str] = set()
    for run in reversed(runs):
        run.slug = _free(address(f"{run.identity.name}-{run.identity.version}-{run.identity.kind}"), run, taken)
        taken.add(run.slug)
    labels = [run.label for run in runs]
    for run in runs:
        if labels.count(run.label) > 1:
            run.label = f"{run.label} {run.identity.file[:8]}"


def address(text: str) -> str:
    """A name of words, hyphens and single dots for a file, the same on every system."""
    return re.sub(r"\.{2,}", ".", slug(text)).lower()


def _free(wanted: str, run: Run, taken: set[str]) -> str:
    return wanted if wanted not in taken else f"{wanted}-{run.identity.file}"


LONGEST: Final = 120
"""Characters of a name that is shown."""


def shown(text: str, longest: int = LONGEST) -> str:
    """Text as it may be shown in one line: what is not printable as an escape, what is too long cut in the middle."""
    if len(text) <= longest and text.isprintable() and _BIDI.isdisjoint(text):
        return text
    size = f" ({len(text)} characters)" if longest >= LONGEST else ""
    cut = text if len(text) <= longest else f"{text[: longest * 2 // 3]}..{text[-longest // 4 :]}{size}"
    return "".join(char if char.isprintable() and char not in _BIDI else escaped(char) for char in cut)


def shown_lines(text: str) -> str:
    """Text of several lines in which nothing but the line ends is other than printable."""
    return "\n".join(shown(line, 2000) for line in text.splitlines())


def clean(text: str) -> str:
    """Text in which nothing but line ends is other than printable; as long as it was."""
    if text.isprintable() and _BIDI.isdisjoint(text):
        return text
    return "".join(
        char if char == "\n" or (char.isprintable() and char not in _BIDI) else escaped(char) for char in text
    )


_BIDI: Final = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""What changes the direction of the text around it."""


def escaped(char: str) -> str:
    """A character as an escape that everybody can read."""
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def judged(run: Run) -> int:
    """How many judgements say something about the target."""
    return sum(one.verdict.is_judged for one in run.judgements)
