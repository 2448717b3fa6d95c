"""Rules by which a tap changes the messages of one side, as text and as values. No sockets, no clock.

drop:response_final          drop all; their FRAMEs keep their other messages, an empty FRAME is dropped too
drop:init.exts.patch         drop a segment by its path; the lengths and chain bits around it are recomputed
double:frame@3               repeat the third of each link
set:close.reason=0           set a number (VLE; below 128 that is one byte), bytes (`0x0a0b`), or a text
delay:0.2:keep_alive         forward the message, and all after it, 0.2 seconds later
throttle:2000                limit the bytes per second
reorder:frame@2-3            forward the second and third in reverse order
drop:push@25%                drop a random quarter
seed:7                       seed of everything random
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from zenoh_conformance.wire import Segments, registry, vle
from zenoh_harness.errors import UsageError, unknown

SEPARATOR: Final = ","
"""The separator of rules in a target string."""

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
    """Selects among the matches of a path, which are counted from 1 on each link."""

    first: int = 1
    last: int | None = None
    """None: to the end of the link."""
    share: float = 1.0
    """The probability of each match, 0 to 1."""

    def meets(self, number: int, draw: float) -> bool:
        """Whether the match with this number is selected; `draw` is a random number in [0, 1)."""
        return self.first <= number and (self.last is None or number <= self.last) and draw < self.share


@dataclass(frozen=True, slots=True)
class Rule:
    """One change of a message."""

    action: str
    path: str = ""
    """The path of a message or segment, beginning with the kind of a message; empty for `throttle` and `seed`."""
    which: Which = Which()
    value: bytes = b""
    """The new bytes of `set`."""
    amount: float = 0.0
    """Seconds of a delay, bytes per second of a throttle, or the seed."""

    def places(self, message: Segments) -> list[str]:
        """The paths in a transport message that match the rule's path, in order."""
        wanted = self.path.split(".")
        places: dict[str, None] = {}
        for path in message.paths():
            parts = path.split(".")
            for at in range(len(parts) - len(wanted) + 1):
                if parts[at : at + len(wanted)] == wanted:
                    places[".".join(parts[: at + len(wanted)])] = None
        return list(places)

    def edit(self, message: Segments, place: str) -> Segments:
        """Drop, double or set the segments at `place`, and recompute the lengths around them."""
        if self.action == "drop":
            return message.cut(place)
        return message.double(place) if self.action == "double" else message.replace(place, self.value)


def parse_rules(texts: Iterable[str]) -> tuple[Rule, ...]:
    """Parse texts with one or several rules each. Raises UsageError (exit 2)."""
    return tuple(parse_rule(rule) for text in texts for rule in text.split(SEPARATOR))


def parse_rule(text: str) -> Rule:
    """Parse one rule. Raises UsageError with the form of the rule, or the nearest known name."""
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
        raise UsageError(f"{text!r} does not say which messages", step="rule", hint="write reorder:PATH@2-3")
    return Rule(action, path, which, _value(given.get("value") or ""), float(given.get("amount") or 0))


def seed_of(rules: Iterable[Rule]) -> int:
    """The seed: the last `seed:`, else 0."""
    return next((int(rule.amount) for rule in reversed(tuple(rules)) if rule.action == "seed"), 0)


def rate_of(rules: Iterable[Rule]) -> float | None:
    """The bytes per second of the slowest `throttle:`; None when there is none."""
    return min((rule.amount for rule in rules if rule.action == "throttle"), default=None)


def _kinds() -> set[str]:
    """The kinds of messages on a link, as in paths."""
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
            hint = "write two digits for each byte"
            raise UsageError(f"{text!r} are no bytes", step="rule", seen=str(why), hint=hint) from why
    return text.encode()
