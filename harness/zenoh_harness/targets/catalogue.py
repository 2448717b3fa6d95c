"""Known targets: a TOML a target, ours beside the package, the user's own in their project.

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
from zenoh_harness.identity import Identity
from zenoh_harness.profiles import DEFAULT, Profile
from zenoh_harness.targets.reach import KINDS, Reach, add_options, parse
from zenoh_harness.targets.target import NodeInstance, NodeTarget, known_profile, open_target

PROJECT: Final = "zconform.toml"
FOLDER: Final = "targets"
WORD: Final = re.compile(r"[A-Za-z0-9_.-]+")
"""What can only be a name."""
_FIELDS: Final = frozenset(
    {"name", "about", "language", "homepage", "reach", "claims", "profiles", "embargo", "panics"}
)
_POLICIES: Final = ("upstream", "own")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTarget:
    """One file's word about a target."""

    name: str
    about: str = ""
    language: str = ""
    homepage: str = ""
    reach: tuple[str, ...]
    """How it is reached; the first is meant when only its name is given."""
    claims: frozenset[str] = frozenset()
    """Capabilities that it must have: a probe that misses one is a failure."""
    profiles: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Profile -> the target string that starts it so."""
    embargo: str = "own"
    """`upstream`: what is grave is kept back until it is public; `own`: nothing is."""
    panics: tuple[str, ...] = ()
    """What a line of its output holds when it has panicked, beside the forms that everybody knows; `*` for any stretch."""
    where: str = ""
    """The file that says it."""


@dataclass(frozen=True, slots=True)
class NamedReach(Reach):
    """The first target string of a known target, which prints as its name."""

    known: KnownTarget | None = None

    __hash__ = Reach.__hash__

    @property
    def added(self) -> Mapping[str, str]:
        """The options that the file does not give."""
        assert self.known is not None
        given = parse(self.known.reach[0]).options
        return {name: value for name, value in self.options.items() if given.get(name) != value}

    def dress(self, target: NodeTarget) -> NodeTarget:
        """The target with what its file says of it."""
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
        """Ours, then those of the project folder (by default the current one), which may replace ours by name."""
        folder = project or Path.cwd()
        return cls([*_shipped(), *_own(folder)])

    def __iter__(self) -> Iterator[KnownTarget]:
        return iter(sorted(self._known.values(), key=lambda target: target.name))

    def get(self, name: str) -> KnownTarget | None:
        """The target of that name."""
        return self._known.get(name)

    def reach(self, text: str) -> Reach:
        """A target string or a known name, with options; UsageError offers the nearest of both."""
        name, question, options = text.strip().partition("?")
        known = self._known.get(name)
        if known is not None:
            first = parse(known.reach[0])
            named = NamedReach(first.kind, first.rest, first.options, known)
            return add_options(named, options) if question else named
        if WORD.fullmatch(name) and name not in KINDS:
            raise unknown("target", name, [*self._known, *KINDS])
        return parse(text)

    def open(self, text: str) -> NodeTarget:
        """The node target behind a target string or a known name, not started yet."""
        return open_target(self.reach(text))


def find(text: str) -> Reach:
    """A target string, or the name of a target that ships or that the current folder knows; its files are read for names only."""
    name = text.strip().partition("?")[0]
    return Catalogue.load().reach(text) if WORD.fullmatch(name) else parse(text)


class KnownNode:
    """A target with what its file says of it: claims, and a target string of its own for some profiles."""

    def __init__(self, target: NodeTarget, known: KnownTarget, options: Mapping[str, str]) -> None:
        self._below, self._known = target, known
        self._others = {
            name: open_target(parse(reach).with_options(**options)) for name, reach in known.profiles.items()
        }
        self.reach = target.reach
        self.embargo = known.embargo
        for one in (target, *self._others.values()):
            if known.panics and hasattr(one, "panics"):
                one.panics = known.panics
        self.side = target.side
        self.role = target.role
        self.claims = known.claims | target.claims
        self.restartable = target.restartable
        self.apart = all(one.apart for one in (target, *self._others.values()))
        self.profiles: Mapping[str, Profile] = {
            **target.profiles,
            **{name: known_profile(name) for name in known.profiles},
        }

    @property
    def identity(self) -> Identity:
        """Who it says it is, under the name that it has in its file."""
        found = self._below.identity
        return replace(found, name=self._known.name, language=found.language or self._known.language)

    def start(self, profile: str = DEFAULT) -> NodeInstance:
        """Start it in `profile`, by the target string that the file gives for it."""
        other = self._others.get(profile)
        if other is None:
            return self._below.start(profile)
        node = other.start()
        node.profile = self.profiles[profile]
        return node


def _shipped() -> Iterator[KnownTarget]:
    folder = files("zenoh_harness") / "targets" / "known"
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        if path.name.endswith(".toml") and not path.name.endswith(".known.toml"):
            yield _known(tomllib.loads(path.read_text(encoding="utf-8"))["target"], path.name)


def _own(folder: Path) -> Iterator[KnownTarget]:
    project = folder / PROJECT
    if project.is_file():
        for name, about in _read(project).get("targets", {}).items():
            yield _known({"name": name, **about}, str(project))
    for path in sorted((folder / FOLDER).glob("*.toml")):
        if not path.name.endswith(".known.toml") and (about := _read(path).get("target")) is not None:
            yield _known({"name": path.stem, **about}, str(path))


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as why:
        raise UsageError(f"cannot read {path}", step="known targets", seen=str(why)) from why


def _known(about: Mapping[str, Any], where: str) -> KnownTarget:
    for word in set(about) - _FIELDS:
        raise UsageError(f"{where} says {word!r}, which is no field", step="known targets", hint=nearest(word, _FIELDS))
    reach = about.get("reach", ())
    strings = (reach,) if isinstance(reach, str) else tuple(reach)
    if not strings or not all(isinstance(one, str) for one in strings):
        raise UsageError(
            f"{where} does not say how {about['name']} is reached", step="known targets", hint="reach = 'exec:...'"
        )
    for text in (*strings, *about.get("profiles", {}).values()):
        parse(text)
    if about.get("embargo", _POLICIES[0]) not in _POLICIES:
        raise UsageError(
            f"{where}: embargo is {' or '.join(_POLICIES)}", step="known targets", seen=str(about["embargo"])
        )
    return KnownTarget(
        name=about["name"],
        about=about.get("about", ""),
        language=about.get("language", ""),
        homepage=about.get("homepage", ""),
        reach=strings,
        claims=frozenset(about.get("claims", ())),
        profiles=MappingProxyType(dict(about.get("profiles", {}))),
        embargo=about.get("embargo", "own"),
        panics=tuple(about.get("panics", ())),
        where=where,
    )
