"""Known targets: one TOML file each, ours in the package, the user's in their project.

    # zconform.toml, or targets/<name>.toml with the same table called [target]
    [targets.mynode]
    reach    = "exec:./mynode --listen {locator}"
    about    = "what it is"
    claims   = ["qos", "low-latency"]
    profiles = { low-latency = "exec:./mynode --listen {locator} --low-latency" }

A name stands wherever a target string can; options after it are added: `mynode?profile=low-latency`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from zenoh_harness.errors import UsageError, nearest, unknown
from zenoh_harness.files import records
from zenoh_harness.files.faults import regular
from zenoh_harness.identity import Identity
from zenoh_harness.profiles import DEFAULT, Profile
from zenoh_harness.targets.reach import KINDS, Reach, add_options, parse, reachable
from zenoh_harness.targets.target import NodeInstance, NodeTarget, known_profile, open_target

PROJECT: Final = "zconform.toml"
FOLDER: Final = "targets"
WORD: Final = re.compile(r"[A-Za-z0-9_.-]+")
"""Matches a name of a target."""
_FIELDS: Final = frozenset(
    {"name", "about", "language", "homepage", "reach", "claims", "profiles", "embargo", "panics"}
)
_POLICIES: Final = ("upstream", "own")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTarget:
    """A target as its file describes it."""

    name: str
    about: str = ""
    language: str = ""
    homepage: str = ""
    reach: tuple[str, ...]
    """Target strings; the name alone means the first one."""
    claims: frozenset[str] = frozenset()
    """Capabilities that it must have; a probe that misses one is a failure."""
    profiles: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Profile to the target string that starts it in that profile."""
    embargo: str = "own"
    """`upstream`: grave findings are embargoed until they are public; `own`: none is."""
    panics: tuple[str, ...] = ()
    """Patterns of panic lines in its output, besides the common ones; `*` matches any text."""
    where: str = ""
    """The file that describes it."""


@dataclass(frozen=True, slots=True)
class NamedReach(Reach):
    """The first target string of a known target, printed as the target's name."""

    known: KnownTarget | None = None

    __hash__ = Reach.__hash__

    @property
    def added(self) -> Mapping[str, str]:
        """The options that the file does not set."""
        assert self.known is not None
        given = parse(self.known.reach[0]).options
        return {name: value for name, value in self.options.items() if given.get(name) != value}

    def dress(self, target: NodeTarget) -> NodeTarget:
        """Return the target with the attributes from its file."""
        assert self.known is not None
        return KnownNode(target, self.known, self.added)

    def __str__(self) -> str:
        assert self.known is not None
        return str(Reach(self.known.name, "", self.added))


class Catalogue:
    """All targets that have a name."""

    def __init__(self, known: Sequence[KnownTarget]) -> None:
        self._known = {target.name: target for target in known}

    @classmethod
    def load(cls, project: Path | None = None) -> Catalogue:
        """Load our targets, then those of the project folder (by default the current one), which replace ours of the same name."""
        return cls([*_load_shipped(), *_load_project(project or Path.cwd())])

    def __iter__(self) -> Iterator[KnownTarget]:
        return iter(sorted(self._known.values(), key=lambda target: target.name))

    def get(self, name: str) -> KnownTarget | None:
        """Return the target of that name, or None."""
        return self._known.get(name)

    def reach(self, text: str) -> Reach:
        """Parse a target string or a known name, with options. Raises UsageError with the nearest name."""
        name, question, options = text.strip().partition("?")
        known = self._known.get(name)
        if known is not None:
            first = parse(known.reach[0])
            named = NamedReach(first.kind, first.rest, first.options, known)
            return add_options(named, options) if question else named
        if WORD.fullmatch(name) and name not in KINDS:
            raise unknown("target", name, [*self._known, *reachable()])
        return parse(text)

    def open(self, text: str) -> NodeTarget:
        """Return the node target of a target string or a known name, not started yet."""
        return open_target(self.reach(text))


def find(text: str) -> Reach:
    """Parse a target string or the name of a target; files are read only for names."""
    name = text.strip().partition("?")[0]
    return Catalogue.load().reach(text) if WORD.fullmatch(name) else parse(text)


class KnownNode:
    """A target with the attributes from its file: claims, and target strings for some profiles."""

    def __init__(self, target: NodeTarget, known: KnownTarget, options: Mapping[str, str]) -> None:
        self._below, self._known = target, known
        self._others = {
            name: open_target(parse(reach).with_options(**options)) for name, reach in known.profiles.items()
        }
        self.reach = target.reach
        self.embargo = known.embargo
        for below in (target, *self._others.values()):
            if known.panics and hasattr(below, "panics"):
                below.panics = known.panics
        self.side = target.side
        self.role = target.role
        self.claims = known.claims | target.claims
        self.restartable = target.restartable
        self.can_run_beside = all(below.can_run_beside for below in (target, *self._others.values()))
        self.profiles: Mapping[str, Profile] = {
            **target.profiles,
            **{name: known_profile(name) for name in known.profiles},
        }

    @property
    def identity(self) -> Identity:
        """The target's identity, with the name from its file."""
        identity = self._below.identity
        return replace(identity, name=self._known.name, language=identity.language or self._known.language)

    def start(self, profile: str = DEFAULT) -> NodeInstance:
        """Start it in `profile`, by that profile's own target string where the file has one."""
        other = self._others.get(profile)
        if other is None:
            return self._below.start(profile)
        node = other.start()
        node.profile = self.profiles[profile]
        return node


def _load_shipped() -> Iterator[KnownTarget]:
    folder = files("zenoh_harness") / "targets" / "known"
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        if path.name.endswith(".toml") and not path.name.endswith(".known.toml"):
            yield _known(tomllib.loads(path.read_text(encoding="utf-8"))["target"], path.name)


def _load_project(folder: Path) -> Iterator[KnownTarget]:
    project = folder / PROJECT
    if project.is_file():
        for name, about in _tables(_read(project).get("targets", {}), project):
            yield _known({"name": name, **about}, str(project))
    for path in sorted((folder / FOLDER).glob("*.toml")):
        if not path.name.endswith(".known.toml") and "target" in (found := _read(path)):
            for _, about in _tables({"target": found["target"]}, path):
                yield _known({"name": path.stem, **about}, str(path))


def _tables(targets: object, path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The tables of targets, by name. Raises UsageError where there is another value."""
    for name, about in targets.items() if isinstance(targets, dict) else (("targets", targets),):
        if not isinstance(about, dict):
            raise UsageError(f"{path}: {name} is not a table", step="known targets", hint="[targets.NAME]")
        yield name, about


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(regular(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as why:
        raise UsageError(f"cannot read {path}", step="known targets", seen=str(why)) from why


def _known(about: Mapping[str, Any], where: str) -> KnownTarget:
    for word in set(about) - _FIELDS:
        raise UsageError(f"{where} has an unknown field {word!r}", step="known targets", hint=nearest(word, _FIELDS))
    reach = about.get("reach") or ()
    fields = {**about, "reach": [reach] if isinstance(reach, str) else reach, "where": where}
    try:
        known = records.read(KnownTarget, fields)
    except records.RecordFault as why:
        raise UsageError(f"{where}: target {about['name']}: {why}", step="known targets", hint=why.hint) from why
    if not known.reach:
        raise UsageError(
            f"{where} does not say how {known.name} is reached", step="known targets", hint="reach = 'exec:...'"
        )
    for string in (*known.reach, *known.profiles.values()):
        parse(string)
    if known.embargo not in _POLICIES:
        raise UsageError(f"{where}: embargo must be {' or '.join(_POLICIES)}", step="known targets", seen=known.embargo)
    return known
