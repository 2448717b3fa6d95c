"""Target strings: one string names one target, on the command line, in a file, and in pytest's `--target`.

    wheel:1.9.0?role=client&profile=short-lease      KIND:REST?OPTION=VALUE&OPTION=VALUE
    tcp/127.0.0.1:7447                               a locator: the kind is its protocol
    reference                                        a bare kind, where its rest may be left out

The options of a string whose rest is a command start at its last `?` that is followed by `name=`; a command that
ends like that itself is written with a closing `?`.
"""

from __future__ import annotations

import enum
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, Self, TypeVar
from urllib.parse import quote, unquote

from zenoh_harness.errors import UsageError, current_name, unknown
from zenoh_harness.links.changing import parse_rules
from zenoh_harness.links.locators import LINKS, PROTOCOLS, Locator


class Face(enum.Enum):
    """The interface of a target."""

    NODE = "node"
    """Reached over a link; speaks the protocol."""
    CODEC = "codec"
    """Decodes bytes and encodes meanings."""


@dataclass(frozen=True, slots=True)
class TargetKind:
    """A kind of target: one row of `KINDS`."""

    name: str
    rest: str
    """What follows the colon, as printed in help; empty if nothing may follow."""
    required: bool
    """Whether the rest is required."""
    faces: frozenset[Face]
    options: frozenset[str]
    """Options of this kind besides the common ones."""
    adapter: str = ""
    """The module below `zenoh_harness.targets.adapters`; empty for a kind that is reserved and cannot be reached."""

    @property
    def beginning(self) -> str:
        """The kind as a target string begins: `wheel`, `exec:`, `tcp/`."""
        return self.name + ("/" if self.name in PROTOCOLS else ":") * self.required


COMMON_OPTIONS: Final = frozenset({"profile", "name"})
"""`profile` pins one profile; `name` is the name in reports."""
NODE_OPTIONS: Final = COMMON_OPTIONS | {"through", "before", "after"}
"""`before` and `after` are commands around each start of a node; `through` are rules for a tap that changes what the node sends."""

_NODE, _CODEC = frozenset({Face.NODE}), frozenset({Face.CODEC})
_LAUNCHED: Final = frozenset({"role", "as", "zid", "link"})

KINDS: Final[Mapping[str, TargetKind]] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            TargetKind("wheel", "VERSION", False, _NODE, _LAUNCHED, "wheel"),
            TargetKind("exec", "COMMAND", True, _NODE, _LAUNCHED | {"agent", "listen", "version"}, "command"),
            TargetKind(
                "docker",
                "IMAGE",
                True,
                _NODE,
                _LAUNCHED | {"args", "build", "config", "env", "memory", "pull"},
                "docker",
            ),
            TargetKind("python", "MODULE:NAME", True, _NODE, frozenset({"role", "version"}), "inprocess"),
            TargetKind("stdio", "COMMAND", True, _CODEC, frozenset(), "stdio"),
            TargetKind("lib", "PATH", True, _CODEC, frozenset(), "library"),
            TargetKind("reference", "", False, _NODE | _CODEC, _LAUNCHED | {"face"}, "reference"),
            TargetKind("faulty", "NAME", True, _NODE | _CODEC, _LAUNCHED | {"face"}, "reference"),
            TargetKind("variant", "NAME", True, _NODE, _LAUNCHED, "reference"),
            *(
                TargetKind(
                    protocol, "ADDRESS", True, _NODE, frozenset({"role", "version"}), "address" * (protocol in LINKS)
                )
                for protocol in PROTOCOLS
            ),
        )
    }
)
"""Every kind of target."""

RENAMED: Final[Mapping[str, str]] = MappingProxyType({"wrong": "faulty"})
"""Old names of kinds, which are still read."""

VALUES: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "role": frozenset({"router", "peer", "client"}),
        "as": frozenset({"responder", "initiator"}),
        "face": frozenset({"node", "codec"}),
        "agent": frozenset({"stdio", "none"}),
        "build": frozenset({"release", "quick"}),
        "link": frozenset(LINKS),
        "pull": frozenset({"missing", "always", "never"}),
    }
)
"""Options with a fixed set of values."""

_OPTIONS_AT: Final = re.compile(r"\?(?=[a-z][a-z_]*=[^?\s]*$)")
_KIND_AT: Final = re.compile(r"([A-Za-z][A-Za-z0-9_-]*)(?:([:/])(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reach:
    """A parsed target string."""

    kind: str
    """A key of `KINDS`."""
    rest: str = ""
    """Version, command, image, path, faulty node, or address of the locator; empty if left out."""
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """The options after `?`, decoded."""

    @property
    def locator(self) -> Locator | None:
        """The locator, if the kind is a link protocol."""
        return Locator.parse(f"{self.kind}/{self.rest}") if self.kind in PROTOCOLS else None

    @property
    def faces(self) -> frozenset[Face]:
        """The interfaces of the target; the option `face` selects one."""
        face = self.options.get("face")
        return frozenset({Face(face)}) if face else KINDS[self.kind].faces

    def with_options(self, **options: str) -> Self:
        """Return the same target with some options set."""
        return replace(self, options=MappingProxyType({**self.options, **options}))

    def reported_name(self, name: str) -> str:
        """Return the name to report for a target reported_name `name`; a node behind a changing tap gets another name."""
        through = self.options.get("through")
        return self.options.get("name") or (f"{name} through {through}" if through else name)

    def dress(self, target: Any) -> Any:
        """Return the target with the attributes from its file, if it was named by one."""
        return target

    def __hash__(self) -> int:
        return hash((self.kind, self.rest, tuple(sorted(self.options.items()))))

    def __str__(self) -> str:
        border = "/" if self.kind in PROTOCOLS else ":"
        body = f"{self.kind}{border}{self.rest}" if self.rest else self.kind
        tail = "&".join(f"{name}={quote(value, safe='/:,.')}" for name, value in sorted(self.options.items()))
        if tail:
            return f"{body}?{tail}"
        return f"{body}?" if _OPTIONS_AT.search(body) or body.endswith("?") else body


def reachable() -> list[str]:
    """Return the kinds of target that can be reached; the others are reserved."""
    return [name for name, kind in KINDS.items() if kind.adapter]


AnyReach = TypeVar("AnyReach", bound=Reach)


def parse(text: str) -> Reach:
    """Parse a target string. Raises UsageError, which offers the nearest name."""
    body, options = _split_options(text.strip())
    match = _KIND_AT.fullmatch(body)
    if match is None:
        raise UsageError(
            f"cannot read the target string {text!r}",
            step="target string",
            hint="as in wheel:1.10.2, exec:./node {port}, tcp/127.0.0.1:7447",
        )
    name, border, rest = current_name(match.group(1), RENAMED), match.group(2), match.group(3) or ""
    if name not in KINDS:
        raise unknown("kind of target", name, reachable())
    _check_border(text, name, border, rest)
    _check_options(KINDS[name], options)
    reach = Reach(name, rest, MappingProxyType(options))
    reach.locator  # noqa: B018  raises for a locator that cannot be read
    return reach


def split_command(command: str, step: str = "target string") -> list[str]:
    """Split a command into words as a shell does. Raises UsageError."""
    try:
        return shlex.split(command)
    except ValueError as why:
        raise UsageError(f"cannot split the command {command!r} into words", step=step, seen=str(why)) from why


def add_options(reach: AnyReach, options: str) -> AnyReach:
    """Return the same target with `name=value&name=value` added. Raises UsageError for an option that its kind lacks."""
    added = _pairs(options)
    _check_options(KINDS[reach.kind], added)
    return reach.with_options(**added)


def _split_options(text: str) -> tuple[str, dict[str, str]]:
    if text.endswith("?"):
        return text[:-1], {}
    cut = _OPTIONS_AT.search(text)
    return (text, {}) if cut is None else (text[: cut.start()], _pairs(text[cut.end() :]))


def _pairs(text: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for pair in text.split("&"):
        name, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"option {pair!r} has no value", step="target string", hint=f"write {pair}=VALUE")
        if name in options:
            raise UsageError(f"option {name!r} is given twice", step="target string")
        options[name] = unquote(value)
    return options


def _check_border(text: str, name: str, border: str | None, rest: str) -> None:
    kind = KINDS[name]
    wanted = "/" if name in PROTOCOLS else ":"
    if border is not None and border != wanted:
        raise UsageError(
            f"{text!r}: expected {wanted!r} after {name}, not {border!r}",
            step="target string",
            hint=f"write {name}{wanted}{kind.rest}",
        )
    if kind.required and not rest.strip():
        raise UsageError(f"{name} needs its {kind.rest}", step="target string", hint=f"write {name}{wanted}{kind.rest}")
    if rest and not kind.rest:
        raise UsageError(
            f"{name} takes nothing after it, but {rest!r} follows", step="target string", hint=f"write {name}"
        )


def _check_options(kind: TargetKind, options: Mapping[str, str]) -> None:
    for name, value in options.items():
        understood = kind.options | (NODE_OPTIONS if Face.NODE in kind.faces else COMMON_OPTIONS)
        if name not in understood:
            raise unknown(f"option of {kind.name}", name, understood)
        if name in VALUES and value not in VALUES[name]:
            raise unknown(f"value of {name}", value, VALUES[name])
    if "through" in options:
        parse_rules([options["through"]])
