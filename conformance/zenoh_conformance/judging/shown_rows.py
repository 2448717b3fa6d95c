"""Which layouts of the specification the bytes of a message show: the rows of the tables that its sender has written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final, NamedTuple

from zenoh_conformance.messages import Init
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.reading.connection import Seen, kind_of
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.spec.requirement import Fact, Requirement, requirements
from zenoh_conformance.wire import registry
from zenoh_conformance.wire.declare import Declaration

Shows = Callable[[Any], bool]
"""Whether a message shows a row."""

WRITTEN: Final = "written/"
"""What the id of a check begins with that judges a row by what a target writes; the requirement follows."""

READ: Final = "read/"
"""What the id of a check begins with that judges a row by how a target reads it in cases; the requirement follows."""

OF_ONE: Final = ("frame", "join", "init", "open")
"""Modules of messages whose extensions are their own, whatever they are called."""

ALWAYS: Final = ("id", "order", "carrier", "reserved", "rest", "extensions", "meaning")
"""Kinds of facts that each message of the class shows."""


def shown_rows(seen: Seen) -> Iterator[str]:
    """Yield the requirements whose layout a message shows, those of the messages inside it not included."""
    if isinstance(seen.message, Exception | bytes):
        return
    declaration = registry.of(type(seen.message))
    yield from _rows_of(declaration).always
    yield from _other_rows(seen, declaration)


def _other_rows(seen: Seen, declaration: Declaration) -> Iterator[str]:
    """Yield the rows that not every message of its kind shows."""
    message, rows = seen.message, _rows_of(declaration)
    for row, shows in rows.sometimes:
        if shows(message):
            yield row
    if getattr(message, "exts", None):
        for row, shows in rows.extended:
            if shows(message):
                yield row
    for row in _layouts().get((*map(kind_of, seen.around), kind_of(message))[-2:], ()):
        yield row


class RowCount:
    """Counts how often one side of a conversation writes each row; to be called with each message."""

    def __init__(self, side: Side) -> None:
        """Begin with none."""
        self.side = side
        self._kinds: Counter[Declaration] = Counter()
        """Messages, for the rows that each one of its kind shows."""
        self._others: Counter[str] = Counter()

    def __call__(self, seen: Seen) -> None:
        """Count the rows of one message."""
        if seen.sender is self.side and not isinstance(seen.message, Exception | bytes):
            declaration = registry.of(type(seen.message))
            self._kinds[declaration] += 1
            self._others.update(_other_rows(seen, declaration))

    @property
    def rows(self) -> Counter[str]:
        """Requirement to how often its row was written."""
        counts = self._others.copy()
        for declaration, times in self._kinds.items():
            for row in _rows_of(declaration).always:
                counts[row] += times
        return counts


def mask_of(bits: str) -> int:
    """The mask of `high:low`, or of one bit."""
    high, _, low = bits.partition(":")
    return sum(1 << bit for bit in range(int(low or high), int(high) + 1))


class Rows(NamedTuple):
    """The rows of one kind of message."""

    always: tuple[str, ...]
    sometimes: tuple[tuple[str, Shows], ...]
    extended: tuple[tuple[str, Shows], ...]
    """Those that no message without extensions shows."""


@cache
def _rows_of(declaration: Declaration) -> Rows:
    rows = [(one, one.fact) for one in requirements().values() if one.fact is not None and one.binds != "receiver"]
    found = [
        (requirement.id, shows)
        for requirement, fact in rows
        if is_of(fact, declaration) and (shows := _shows(fact, declaration)) is not None
    ]
    found += PRIMITIVES.items()
    of_exts = {one.id for one, fact in rows if ext_and_field(fact)[0]}
    always = tuple(row for row, shows in found if shows is _always)
    others = [(row, shows) for row, shows in found if shows is not _always]
    return Rows(
        always, *(tuple(one for one in others if (one[0] in of_exts) is extended) for extended in (False, True))
    )


def _always(_message: Any) -> bool:
    return True


def is_of(fact: Fact, declaration: Declaration) -> bool:
    """Whether a fact is about a message, or about an extension that it shares with others."""
    if fact.message:
        return bool(fact.message == declaration.cls.__name__)
    return bool(fact.ext) and extension_of(declaration, fact.ext, shared=True) is not None


def extension_of(declaration: Declaration, name: str, *, shared: bool = False) -> type[Any] | None:
    """The class of a message's extension; None if it has none of that name, or, where asked for, none that others share."""
    for cls in declaration.extensions or ():
        if registry.of(cls).name == name and not (shared and cls.__module__.rpartition(".")[2] in OF_ONE):
            return cls
    return None


def ext_and_field(fact: Fact) -> tuple[str, str]:
    """The names of the extension, empty for none, and of the field that a fact is about."""
    head, _, tail = fact.field.partition(".")
    if head[:1].isupper():
        return head, tail
    return fact.ext, fact.field


def _shows(fact: Fact, declaration: Declaration) -> Shows | None:
    if fact.fact in ALWAYS:
        return _always
    if fact.fact == "flag":
        return _flag(fact, declaration)
    ext, name = ext_and_field(fact)
    value = _value(ext, name, declaration)
    if fact.fact in ("extension", "field", "presence"):
        return lambda message: value(message) is not None
    if fact.fact == "value":
        return _equals(fact, name, value)
    if fact.fact == "bits":
        mask = mask_of(fact.bits) if "zid" != name != "packed" and mask_of(fact.bits).bit_count() == 1 else 0
        return lambda message: (got := value(message)) is not None and (not mask or bool(got & mask))
    return None


def _equals(fact: Fact, name: str, value: Callable[[Any], Any]) -> Shows:
    if name == "resolution":
        return lambda message: (got := value(message)) is not None and fact.value in (got & 3, got >> 2 & 3)
    mask = 7 if fact.field == "QoS.value" else -1
    return lambda message: (got := value(message)) is not None and got & mask == fact.value


def _flag(fact: Fact, declaration: Declaration) -> Shows | None:
    if fact.flag == "Z":
        return _has_extensions
    if fact.flag in ("N", "M") and any(field.name == "key" for field in declaration.fields):
        name = {"N": "suffix", "M": "mapping"}[fact.flag]
        return lambda message: message.key is not None and bool(getattr(message.key, name))
    for field in declaration.fields:
        if field.presence is not None and field.presence.what == fact.flag:
            how, name = field.presence.how, field.name
            if how == "bits":
                return _always
            return lambda message: (got := getattr(message, name)) is not None and got is not False
    return None


def _value(ext: str, name: str, declaration: Declaration) -> Callable[[Any], Any]:
    """What reads a field of a message, or of its extension; None where it is absent."""
    parts = [part.removesuffix("[]") for part in name.split(".") if part and part not in ("packed", "fsn", "rid")]
    cls = extension_of(declaration, ext) if ext else None

    if not ext and len(parts) == 1:
        name = parts[0]
        return lambda message: item if (item := getattr(message, name, None)) != () else None

    def read(message: Any) -> Any:
        item = message if not ext else None if cls is None else message.exts.get(cls)
        for part in parts:
            if item is None:
                return None
            item = getattr(item, part, item if ext else None)
        return item if item != () else None

    return read


# --- what stands on no table of one message ------------------------------------------------------------------------------


@cache
def _layouts() -> dict[tuple[str, ...], tuple[str, ...]]:
    """A message and what carries it to the rows that draw them together."""
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for requirement in requirements().values():
        if requirement.fact is not None and requirement.fact.fact == "layout":
            pair = drawn_in(requirement)
            found[pair] = (*found.get(pair, ()), requirement.id)
    return found


def drawn_in(requirement: Requirement) -> tuple[str, ...]:
    """The kinds of the carrier and of what it carries, innermost last, of a row that draws both: its phrase names them."""
    words = re.findall(r"push|put|query|request|response|reply|err|final|frame", requirement.id.partition("/")[2])
    kinds = ["response_final" if word == "final" else word for word in words]
    return tuple(reversed(kinds)) if kinds[-1] == "frame" else tuple(kinds[-2:])


def _key(message: Any) -> WireExpr | None:
    key = getattr(message, "key", None)
    return key if isinstance(key, WireExpr) else None


def _has_extensions(message: Any) -> bool:
    return bool(getattr(message, "exts", ()))


PRIMITIVES: Final[dict[str, Shows]] = {
    "primitives/header-id": _always,
    "primitives/header-flags": _always,
    "primitives/header-z": _has_extensions,
    "primitives/zid-length": lambda message: isinstance(message, Init),
    "primitives/zid-byte-order": lambda message: isinstance(message, Init),
    "primitives/wire-expr-scope": lambda message: (key := _key(message)) is not None and bool(key.scope),
    "primitives/wire-expr-suffix": lambda message: (key := _key(message)) is not None and bool(key.suffix),
    "primitives/extension-id": _has_extensions,
    "primitives/extension-mandatory-bit": _has_extensions,
    "primitives/vle-seven-bits": lambda message: getattr(message, "sn", None) is not None and message.sn > 0x7F,
}
