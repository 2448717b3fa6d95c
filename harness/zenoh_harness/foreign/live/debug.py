"""Rust's Debug text as a tree: `Put(Put { timestamp: None, payload: ZBuf { slices: [[61, 62]] } })`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

_SPACE: Final = re.compile(r"\s*")
_ATOM: Final = re.compile(r"[^\s,:(){}\[\]\"]+(?::[^\s,(){}\[\]\"]+)*")
"""A word, a number, `10s`, `7710598414586876135/c1`, `tcp/127.0.0.1:7447`."""
_FIELD: Final = re.compile(r"(\w+)\s*:")
_TEXT: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_WORDS: Final = re.compile(r"\[(\w+(?:, \w+)*)\]")
"""A list of words: payloads, which may be long."""
_ESCAPE: Final = re.compile(r"\\(?:u\{([0-9a-fA-F]+)\}|(.))")
_PLAIN: Final = {"n": "\n", "r": "\r", "t": "\t", "0": "\0"}


class Unreadable(ValueError):  # noqa: N818  a fact about the text
    """This is no Debug text."""


@dataclass(frozen=True, slots=True)
class Text:
    """What stood between quotes."""

    text: str


@dataclass(frozen=True, slots=True)
class Tree:
    """A struct or a tuple struct; a unit struct is an atom."""

    name: str
    """Empty for a bare tuple."""
    fields: dict[str, Any] = field(default_factory=dict)
    """Of a struct."""
    items: tuple[Any, ...] = ()
    """Of a tuple."""


Value = Any
"""A Tree, a list, a Text, or an atom as a string."""


def parse(text: str) -> Value:
    """The tree of a whole text.  Raises Unreadable, with the place."""
    value, at = _value(text, 0)
    if text[at:].strip():
        raise Unreadable(f"{text[at : at + 40]!r} is left at {at}")
    return value


def _value(text: str, at: int) -> tuple[Value, int]:
    at = _skip(text, at)
    if found := _TEXT.match(text, at):
        return Text(_ESCAPE.sub(_unescape, found[1])), found.end()
    if found := _WORDS.match(text, at):
        return found[1].split(", "), found.end()
    if text.startswith("[", at):
        return _items(text, at + 1, "]")
    name, end = "", at
    if found := _ATOM.match(text, at):
        name, end = found[0], found.end()
    begin = _skip(text, end)
    if text.startswith("(", begin):
        items, at = _items(text, begin + 1, ")")
        return Tree(name, items=tuple(items)), at
    if name and text.startswith("{", begin):
        fields, at = _fields(text, begin + 1)
        return Tree(name, fields), at
    if not name:
        raise Unreadable(f"a value is expected at {at}, there is {text[at : at + 20]!r}")
    return name, end


def _items(text: str, at: int, close: str) -> tuple[list[Value], int]:
    items: list[Value] = []
    while not text.startswith(close, at := _skip(text, at)):
        value, at = _value(text, at)
        items.append(value)
        at = _skip_separator(text, at, close)
    return items, at + 1


def _fields(text: str, at: int) -> tuple[dict[str, Value], int]:
    fields: dict[str, Value] = {}
    while not text.startswith("}", at := _skip(text, at)):
        name = _FIELD.match(text, at)
        if name is None:
            raise Unreadable(f"a field is expected at {at}, there is {text[at : at + 20]!r}")
        fields[name[1]], at = _value(text, name.end())
        at = _skip_separator(text, at, "}")
    return fields, at + 1


def _skip_separator(text: str, at: int, close: str) -> int:
    at = _skip(text, at)
    if text.startswith(",", at):
        return at + 1
    if not text.startswith(close, at):
        raise Unreadable(f"{close!r} is expected at {at}, there is {text[at : at + 20]!r}")
    return at


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _unescape(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else _PLAIN.get(found[2], found[2])
