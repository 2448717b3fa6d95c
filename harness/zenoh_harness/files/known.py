"""Known deviations: a file that lists the expected deviations of a target, each with verdict, cause and reason.

    [[deviation]]
    requirement = "session-establishment/unknown-version-is-unsupported"  # or check = "..."
    versions    = ">=1.0.0"
    role        = "responder"            # optional, so are profile, link, parameters, kind (wheel, docker, ..), node (router, ..)
    verdict     = "fail"
    cause       = "stage init: Close(INVALID) where *"   # * matches any text
    reason      = "one refusal path for every malformed INIT"
    evidence    = "s> 03 02"
    see         = "https://..."          # details; one of see, public and owner is required
    public      = "https://..."          # the public report of a crash, zombie, panic or hang
    owner       = "us"
    reproduced_by = ["faulty-node"]      # shows this very deviation; any other faulty node must not be excused
    sometimes   = true                   # depends on the node's build or configuration, or on a race: it may be absent
    expires     = 2027-01-01

`versions` may name commits instead, as `commit 1a2b3c4`, separated by commas. The list is strict in both directions: a
deviation with another verdict or cause than listed is not excused, and an entry whose deviation no longer occurs is
`gone`, which fails a run, too.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from zenoh_conformance.judging.verdict import Judgement, Key, Verdict
from zenoh_harness.errors import UsageError, nearest
from zenoh_harness.files import faults, list_text
from zenoh_harness.files.faults import FileFault, Row

SUFFIX: Final = ".known.toml"
_TEXTS: Final = (
    "requirement", "check", "role", "profile", "link", "kind", "node", "evidence", "see", "public", "owner",
)  # fmt: skip
_EXPECTED: Final = {verdict.value: verdict for verdict in Verdict if verdict.is_red(strict=True)}
"""The verdicts that an entry may have."""

OF_MODELS: Final = "models/"
"""How the checks of models begin."""

COMMIT: Final = re.compile(r"commit\s+([0-9a-f]{7,40})")


@dataclass(frozen=True, slots=True)
class Commits:
    """Versions given as commits, by the first 7 to 40 digits of their hashes."""

    hashes: tuple[str, ...]

    def __str__(self) -> str:
        return ", ".join(f"commit {each}" for each in self.hashes)

    def names(self, version: str) -> bool:
        """Return whether a version (`1a2b3c4d..`, `1.10.2-5-g1a2b3c4`) is one of these commits."""
        words = [word.removeprefix("g") for word in re.split(r"[^0-9a-z]+", version.lower())]
        return any(
            len(word) >= 7 and (word.startswith(each) or each.startswith(word))
            for word in words
            for each in self.hashes
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedDeviation:
    """One entry of a list. An empty field matches everything."""

    verdict: Verdict
    cause: str
    reason: str
    requirement: str = ""
    check: str = ""
    versions: SpecifierSet | Commits = field(default_factory=SpecifierSet)
    role: str = ""
    profile: str = ""
    link: str = ""
    kind: str = ""
    """The target kind (wheel, docker, ..): the same node aborts in a container and survives in a Python process."""
    node: str = ""
    """The mode of the node: router, peer or client."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    evidence: str = ""
    see: str = ""
    """Address or file with details."""
    public: str = ""
    """Address of the public report; without one, a crash, zombie, panic or hang is under embargo."""
    owner: str = ""
    sometimes: bool = False
    """Whether the deviation may be absent, depending on the node's build or configuration; the entry is never `gone`."""
    reproduced_by: tuple[str, ...] = ()
    """The faulty nodes that reproduce the very deviation that is excused."""
    expires: dt.date | None = None
    """The first day on which the entry excuses nothing."""

    @property
    def name(self) -> str:
        """The id of the entry's check or, if it names none, of its requirement."""
        return self.check or self.requirement

    def settled_by(self, key: Key) -> bool:
        """Return whether a judgement of this key tells that the entry's deviation has gone, if it is a pass.

        A check that found a deviation of another requirement than its own passes under its own.
        """
        return self._is_where(key) if self.check else self.about(key)

    def about(self, key: Key) -> bool:
        """Return whether the entry applies to the judgement of this key, whatever its verdict."""
        return self.requirement in ("", key.requirement) and self._is_where(key)

    def _is_where(self, key: Key) -> bool:
        """Return whether check, place, version and parameters are those of the entry."""
        if self.check not in ("", key.check):
            return False
        wanted = (
            (self.role, key.role),
            (self.profile, key.profile),
            (self.link, key.link),
        )
        parameters = dict(key.parameters)
        return (
            all(not listed or listed == has for listed, has in wanted)
            and all(parameters.get(name) == value for name, value in self.parameters.items())
            and covers(self.versions, key.version)
        )

    def includes(self, other: ListedDeviation) -> bool:
        """Return whether a model that passes over this entry passes over the other: what came and what was due, at any step."""
        mine, its = (one.cause.rpartition(": ")[2] for one in (self, other))
        return self.requirement == other.requirement and (matches(self.cause, other.cause) or matches(mine, its))

    def over(self, today: dt.date) -> bool:
        """Return whether the entry has expired."""
        return self.expires is not None and today >= self.expires

    def expects(self, verdict: Verdict, cause: str) -> bool:
        """Return whether verdict and cause are those of the entry."""
        return verdict is self.verdict and matches(self.cause, cause)


def covers(versions: SpecifierSet | Commits, version: str) -> bool:
    """Return whether a version is in the range or among the commits.

    A version that PEP 440 does not allow is in the empty range only.
    """
    if isinstance(versions, Commits):
        return versions.names(version)
    if not str(versions):
        return True
    try:
        return versions.contains(Version(version), prereleases=True)
    except InvalidVersion:
        return False


def matches(pattern: str, cause: str) -> bool:
    """Return whether a cause matches a pattern, in which `*` matches any text."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), cause, re.DOTALL) is not None


@dataclass(slots=True)
class Known:
    """The entries that apply to a run, and which of them occurred in it."""

    deviations: Sequence[ListedDeviation] = ()
    today: dt.date = dt.date.max
    """The date with which `expires` is compared; `date.max`: no entry expires."""
    _met: set[int] = field(default_factory=set)
    _settled: dict[int, Judgement] = field(default_factory=dict)
    _open: set[int] = field(default_factory=set)

    def excuse(self, judgement: Judgement, causes: Iterable[str] = ()) -> ListedDeviation | None:
        """Return the entry that lists this judgement, or None; remember for `gone` which entries occurred.

        `causes`: all causes of a judgement with several, as a law's. Each must be listed; the first cause's entry is
        returned.
        """
        every = tuple(causes) or (judgement.cause,)
        about = [
            (index, one)
            for index, one in enumerate(self.deviations)
            if one.about(judgement.key) and not self.is_over(one)
        ]
        found = [
            next(((index, one) for index, one in about if one.expects(judgement.verdict, cause)), None)
            for cause in every
        ]
        for entry in found:
            if entry is not None:
                self._met.add(entry[0])
        for index, one in enumerate(self.deviations):
            if judgement.verdict.says_nothing or self.is_over(one) or not one.settled_by(judgement.key):
                continue
            if judgement.verdict is Verdict.PASS:
                self._settled.setdefault(index, judgement)
            else:
                self._open.add(index)
        return found[0][1] if found and found[0] is not None and None not in found else None

    def entry(self, key: Key, verdict: Verdict, cause: str) -> ListedDeviation | None:
        """Return the first entry that lists a deviation, or None, without remembering it for `gone`."""
        every = (one for one in self.deviations if one.about(key) and one.expects(verdict, cause))
        return next((one for one in every if not self.is_over(one)), None)

    def requirements(self, version: str, *, role: str = "", model: str = "") -> Mapping[str, tuple[str, ...]]:
        """Return the requirements from which this version is known to deviate, each with the patterns of its causes.

        An entry that names a check and no requirement stands under its check. These are what a model passes over. An entry for a
        model is not among them, nor one that excuses what an entry for `model` does: the model must meet its own entry again, or
        the entry would be gone while the deviation is there. An entry that is never gone (`sometimes`) is passed over.
        """
        found: dict[str, tuple[str, ...]] = {}
        present = [
            one for one in self.deviations
            if covers(one.versions, version) and not self.is_over(one) and role in ("", one.role or role)
        ]  # fmt: skip
        of_models = [one for one in present if one.check.startswith(OF_MODELS) and not one.sometimes]
        own = [one for one in of_models if one.check == model]
        for one in present:
            if one not in of_models and not any(one.includes(each) for each in own):
                about = one.requirement or one.check
                found[about] = (*found.get(about, ()), one.cause)
        return found

    def gone(self) -> list[tuple[ListedDeviation, Judgement]]:
        """Return the entries whose judgements all passed, each with one of these judgements."""
        return [
            (self.deviations[index], shown)
            for index, shown in sorted(self._settled.items())
            if index not in self._met and index not in self._open and not self.deviations[index].sometimes
        ]

    def was_met(self, one: ListedDeviation) -> bool:
        """Return whether the deviation of an entry occurred."""
        return any(self.deviations[index] is one for index in self._met)

    def expired(self, judgement: Judgement) -> ListedDeviation | None:
        """Return the expired entry that lists this judgement, or None."""
        expected = (
            one
            for one in self.deviations
            if one.about(judgement.key) and one.expects(judgement.verdict, judgement.cause)
        )
        return next((one for one in expected if self.is_over(one)), None)

    def is_over(self, one: ListedDeviation) -> bool:
        """Return whether an entry has expired, and excuses nothing."""
        return self.today != dt.date.max and one.over(self.today)


def load(paths: Iterable[Path], *, today: dt.date | None = None, kind: str = "") -> Known:
    """Read lists of known deviations, without the entries for another target kind. Raises FileFault with the entry.

    `today`: the date for `expires`, by default the current one in UTC; `kind`: the target kind, such as wheel.
    """
    return of([one for path in paths for one in read(path)], today=today, kind=kind)


def of(
    entries: Iterable[ListedDeviation],
    *,
    today: dt.date | None = None,
    kind: str | None = "",
    nodes: Collection[str] = (),
) -> Known:
    """Return the entries that apply to a target of this kind with these nodes.

    `kind`: None for all kinds.
    `nodes`: the modes (router, peer, client) of the target's nodes; if it is empty, entries for all modes apply.
    """
    about = [one for one in entries if kind in (None, one.kind or kind) and (not nodes or one.node in ("", *nodes))]
    return Known(about, today or dt.datetime.now(dt.UTC).date())


def find(name: str) -> Path:
    """Return the path of a list, given a file or the name of a list that ships, such as `zenoh-rust`.

    Raises UsageError with the most similar name.
    """
    path = Path(name)
    if path.exists():
        return path
    shipped = {each.name.removesuffix(SUFFIX): each for each in shipped_lists()}
    if name in shipped:
        return shipped[name]
    hint = nearest(name, shipped) or "a file, or the name of a list that ships"
    raise UsageError(f"no list of known deviations {name!r}", step="known deviations", hint=hint)


def shipped_lists() -> list[Path]:
    """Return the paths of the lists that ship with the harness, sorted."""
    return sorted((Path(__file__).parents[1] / "targets" / "known").glob(f"*{SUFFIX}"))


def read(path: Path) -> list[ListedDeviation]:
    """Return the entries of one list. Raises FileFault with the entry."""
    text = list_text.parse(path)
    if stray := sorted(text.keys() - {"deviation"}):
        raise FileFault(path, None, f"unknown table {stray[0]!r}", hint="each entry is a [[deviation]]")
    entries = text.get("deviation", [])
    if not isinstance(entries, list):
        raise FileFault(path, None, "[deviation] must be written [[deviation]], one for each entry")
    read_ones = [_deviation(path, number, row) for number, row in enumerate(entries, 1)]
    no_doubles(path, read_ones)
    return read_ones


_FIELDS: Final = frozenset(field.name for field in fields(ListedDeviation))


def _deviation(path: Path, number: int, row: Row) -> ListedDeviation:
    where = f"{path}: entry {number}"
    if strange := sorted(row.keys() - _FIELDS):
        raise FileFault(where, None, f"no such field {strange[0]!r}", hint=nearest(strange[0], _FIELDS))
    if not (row.get("requirement") or row.get("check")):
        raise FileFault(where, None, "needs 'requirement' or 'check'")
    text = {name: faults.field(where, None, row, name, str, "") for name in _TEXTS}
    needed = {name: faults.field(where, None, row, name, str) for name in ("cause", "reason")}
    if not needed["reason"].strip():
        raise FileFault(where, None, "'reason' must say why it is so")
    if not any(text[name].strip() for name in ("see", "public", "owner")):
        raise FileFault(where, None, "needs 'see' or 'public', a link, or 'owner', who looks after it")
    if not needed["cause"].strip("* "):
        raise FileFault(where, None, "'cause' must say what is expected: a deviation for another cause is not excused")
    verdict = _EXPECTED.get(faults.field(where, None, row, "verdict", str))
    if verdict is None:
        raise FileFault(where, None, f"'verdict' cannot be {row['verdict']!r}", hint=f"one of {', '.join(_EXPECTED)}")
    parameters = {name: str(value) for name, value in faults.field(where, None, row, "parameters", dict, {}).items()}
    return ListedDeviation(
        **text,
        **needed,
        verdict=verdict,
        parameters=parameters,
        versions=_versions(where, row),
        sometimes=faults.field(where, None, row, "sometimes", bool, False),
        reproduced_by=_names(where, row, "reproduced_by"),
        expires=_date(where, row),
    )


def _names(where: str, row: Row, name: str) -> tuple[str, ...]:
    names = faults.field(where, None, row, name, list, [])
    if not all(isinstance(each, str) for each in names):
        raise FileFault(where, None, f"{name!r} must be a list of names")
    return tuple(names)


def _versions(where: str, row: Row) -> SpecifierSet | Commits:
    text = faults.field(where, None, row, "versions", str, "")
    if "commit" in text:
        found = [COMMIT.fullmatch(part.strip()) for part in text.split(",")]
        hashes = tuple(each.group(1) for each in found if each)
        if len(hashes) == len(found):
            return Commits(hashes)
        raise FileFault(
            where, None, f"'versions' names no commits: {text!r}", hint='as in "commit 1a2b3c4, commit 5d6e7f8"'
        )
    try:
        return SpecifierSet(text)
    except InvalidSpecifier as why:
        raise FileFault(where, None, f"'versions' is no range: {text!r}", hint='as in ">=1.0.0,<1.10"') from why


def _date(where: str, row: Row) -> dt.date | None:
    text: Any = row.get("expires")
    if text is None or (isinstance(text, dt.date) and not isinstance(text, dt.datetime)):
        return text
    try:
        return dt.date.fromisoformat(text)
    except (TypeError, ValueError) as why:
        raise FileFault(where, None, f"'expires' is no date: {text!r}", hint="as in 2027-01-31") from why


def no_doubles(path: Path, entries: Sequence[ListedDeviation], *, since: int = 0) -> None:
    """Raise FileFault if two entries are the same except for reason and links.

    `since`: the index of this file's first entry, if `entries` begins with those of other lists.
    """
    seen: dict[str, int] = {}
    for index, one in enumerate(entries):
        first = seen.setdefault(repr(_identity(one)), index)
        if first != index:
            which = f"entry {first - since + 1}" if first >= since else "an entry of another list that is read"
            raise FileFault(f"{path}: entry {index - since + 1}", None, f"says what {which} says")


def _identity(one: ListedDeviation) -> tuple[object, ...]:
    return (
        one.requirement,
        one.check,
        str(one.versions),
        one.role,
        one.profile,
        one.link,
        one.kind,
        one.node,
        dict(one.parameters),
        one.verdict,
        one.cause,
    )
