"""Rules by which a tap changes what one side says, as text and as values. No sockets, no clock.

drop:response_final          every one; its FRAME goes on with the rest, or not at all when nothing is left in it
drop:init.exts.patch         a segment by its path; the lengths and chain bits around it are made true
double:frame@3               the third of each link
set:close.reason=0           a number (VLE; below 128 that is one byte), bytes (`0x0a0b`), else text
delay:0.2:keep_alive         it and what comes after it, 0.2 seconds later
throttle:2000                bytes a second
reorder:frame@2-3            those in the opposite order
drop:push@25%                a quarter of them, drawn from the seed
seed:7                       what is drawn, is drawn from this
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from zenoh_conformance.wire import registry, vle
from zenoh_conformance.wire.segment import Segments
from zenoh_harness.errors import UsageError, unknown

SEPARATOR: Final = ","
"""Between the rules of a target string."""

_SHAPES: Final = {
    "drop": "drop:PATH[@WHICH]",
    "double": "double:PATH[@WHICH]",
    "set": "set:PATH[@WHICH]=VALUE",
    "delay": "delay:SECONDS:PATH[@WHICH]",
    "throttle": "throttle:BYTES",
    "reorder": "reorder:PATH@FIRST-LAST",
    "seed": "seed:NUMBER",
}
_PATH: Final = r"(?P<path>[a-z][a-z0-9_.\[\]]*)(?:@(?P<which>[0-9]+(?:-[0-9]*)?|[0-9.]+%))?"
_FORMS: Final = {
    "drop": re.compile(_PATH),
    "double": re.compile(_PATH),
    "set": re.compile(_PATH + r"=(?P<value>.*)", re.DOTALL),
    "delay": re.compile(r"(?P<amount>[0-9]*\.?[0-9]+):" + _PATH),
    "throttle": re.compile(r"(?P<amount>[1-9][0-9]*)"),
    "reorder": re.compile(_PATH),
    "seed": re.compile(r"(?P<amount>[0-9]+)"),
}


@dataclass(frozen=True, slots=True)
class Which:
    """Which of those that a path names; they are counted from 1, on each link anew."""

    first: int = 1
    last: int | None = None
    """None: to the end of the link."""
    share: float = 1.0
    """The part of them that is drawn, 0 to 1."""

    def meets(self, number: int, draw: float) -> bool:
        """Whether the one with this number is meant; `draw` is a number of [0, 1)."""
        return self.first <= number and (self.last is None or number <= self.last) and draw < self.share


@dataclass(frozen=True, slots=True)
class Rule:
    """One change."""

    action: str
    path: str = ""
    """Of a message or a segment, beginning with the kind of a message; empty for `throttle` and `seed`."""
    which: Which = Which()
    value: bytes = b""
    """What is set."""
    amount: float = 0.0
    """Seconds of a delay, bytes a second of a throttle, or the seed."""

    @property
    def whole(self) -> bool:
        """Whether a message as such is meant."""
        return "." not in self.path

    def places(self, message: Segments) -> list[str]:
        """The paths in a transport message at which the rule's path stands, in order."""
        wanted = self.path.split(".")
        found: dict[str, None] = {}
        for path in message.paths():
            parts = path.split(".")
            for at in range(len(parts) - len(wanted) + 1):
                if parts[at : at + len(wanted)] == wanted:
                    found[".".join(parts[: at + len(wanted)])] = None
        return list(found)

    def edit(self, message: Segments, place: str) -> Segments:
        """The transport message with what stands at `place` dropped, doubled or set; lengths are made true."""
        if self.action == "drop":
            return message.cut(place)
        return message.double(place) if self.action == "double" else message.replace(place, self.value)


def parse_rules(texts: Iterable[str]) -> tuple[Rule, ...]:
    """The rules that some texts hold, one or several in each; UsageError (exit 2) says what is wrong with one."""
    return tuple(parse_rule(text) for several in texts for text in several.split(SEPARATOR))


def parse_rule(text: str) -> Rule:
    """One rule; UsageError shows the form, and the nearest name for what is unknown."""
    action, _, rest = text.strip().partition(":")
    if action not in _FORMS:
        raise unknown("change", action, _FORMS, step="rule")
    match = _FORMS[action].fullmatch(rest)
    if match is None:
        raise UsageError(f"cannot read the rule {text!r}", step="rule", hint=f"write {_SHAPES[action]}")
    given = match.groupdict()
    path, which = given.get("path") or "", _which(given.get("which"))
    if path and path.split(".")[0] not in (kinds := _kinds()):
        raise unknown("kind of message", path.split(".")[0], kinds, step="rule")
    if action == "reorder" and (which.last is None or which.last == which.first):
        raise UsageError(f"{text!r} does not say which", step="rule", hint="write reorder:PATH@2-3")
    return Rule(action, path, which, _value(given.get("value") or ""), float(given.get("amount") or 0))


def seed_of(rules: Iterable[Rule]) -> int:
    """What is drawn from: the last `seed:`, else 0."""
    return next((int(rule.amount) for rule in reversed(tuple(rules)) if rule.action == "seed"), 0)


def rate_of(rules: Iterable[Rule]) -> float | None:
    """Bytes a second: the slowest `throttle:`; None when there is none."""
    return min((rule.amount for rule in rules if rule.action == "throttle"), default=None)


def _kinds() -> set[str]:
    """The messages that a link carries, as paths name them."""
    layers = [layer for layer in registry.LAYERS if layer != "scouting"]
    return {registry.of(cls).path for layer in layers for cls in registry.kinds(layer).values()}


def _which(text: str | None) -> Which:
    if text is None:
        return Which()
    if text.endswith("%"):
        return Which(share=float(text[:-1]) / 100)
    first, dash, last = text.partition("-")
    return Which(int(first), int(last) if last else None if dash else int(first))


def _value(text: str) -> bytes:
    if text.isdecimal():
        return vle.encode(int(text))
    if text.startswith("0x"):
        try:
            return bytes.fromhex(text[2:])
        except ValueError as why:
            raise UsageError(f"{text!r} are no bytes", step="rule", seen=str(why), hint="two digits a byte") from why
    return text.encode()
