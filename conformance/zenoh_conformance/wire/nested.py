"""Wire types for values inside values: composites, the messages that another message carries, lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import registry
from .errors import DecodeError, EncodeError, requalify, unexpected_end
from .layer import Enc
from .source import FunctionSource
from .types import Blob, Vle, WireType


def add_call(out: FunctionSource, reader: str, var: str, prefix: str) -> None:
    """Add the call of a nested reader; `prefix` is an expression for the prefix of the paths that it reports."""
    out("begin = at")
    with out.block("try:"):
        traced = f", mark, prefix + {prefix}" if out.traced else ""
        out(f"{var}, at = {reader}(data, at, end, diagnostics{traced})")
    with out.block(f"except {out.name(DecodeError, 'DecodeError')} as refused:"):
        out(f"refused.within({prefix})", "raise")
    with out.block("if diagnostics:"):
        out(f"{out.name(requalify, 'requalify')}(diagnostics, begin, {prefix})")


class Composite(WireType):
    """A dataclass of fields, without a header of its own."""

    def __init__(self, cls: type) -> None:
        self.cls = cls
        self.label = cls.__name__

    def read(self, out: FunctionSource, var: str, path: str) -> None:
        declared = registry.of(self.cls)
        reader = declared.trace if out.traced else declared.read
        add_call(out, out.name(reader, f"read_{declared.path}"), var, repr(f"{path}."))

    def write(self, out: FunctionSource, var: str, path: str) -> None:
        declared = registry.of(self.cls)
        out(f"{out.name(declared.write, f'write_{declared.path}')}({var}, out)")

    def to_json(self, value: Any) -> Any:
        return registry.of(self.cls).fields_to_json(value)

    def from_json(self, json: Any) -> Any:
        return registry.of(self.cls).from_json(json)


class Body(WireType):
    """One message of another layer; the id in its header selects the kind."""

    def __init__(self, kinds: tuple[type, ...]) -> None:
        self.kinds = kinds
        self.label = " | ".join(kind.__name__ for kind in kinds)

    def read(self, out: FunctionSource, var: str, path: str) -> None:
        owner = path.rpartition(".")[0]
        declared = [registry.of(kind) for kind in self.kinds]
        table: list[Callable[..., Any] | None] = [None] * 32
        for each in declared:
            table[each.id] = each.trace if out.traced else each.read
        wanted = " or ".join(each.title for each in declared)
        out.raise_if("at >= end", unexpected_end, f"end, {path!r}, {wanted!r}")
        out(f"child = {out.name(table, 'CHILDREN')}[data[at] & 0x1f]")
        out.raise_if("child is None", unexpected_id, f"at, {path!r}, data[at], {wanted!r}")
        add_call(out, "child", var, repr(f"{owner}."))

    def write(self, out: FunctionSource, var: str, path: str) -> None:
        table = {kind: registry.of(kind).write for kind in self.kinds}
        out(f"child = {out.name(table, 'WRITERS')}.get(type({var}))")
        out.raise_if("child is None", wrong_type, f"{path!r}, {var}, {self.label!r}")
        out(f"child({var}, out)")

    def to_json(self, value: Any) -> Any:
        return registry.to_json(value)

    def from_json(self, json: Any) -> Any:
        return registry.from_json(json, {kind.__name__: kind for kind in self.kinds})


class Messages(WireType):
    """Messages of one layer, back to back, up to the end or to the first byte that is no id of that layer."""

    def __init__(self, layer: str) -> None:
        self.layer = layer
        self.label = f"{layer} messages"

    def read(self, out: FunctionSource, var: str, path: str) -> None:
        tables = registry.TRACERS if out.traced else registry.READERS
        table = out.name(tables[self.layer], "CHILDREN")
        out(f"{var} = []")
        with out.block(f"while at < end and (child := {table}[data[at] & 0x1f]) is not None:"):
            add_call(out, "child", "item", f"f'{path}[{{len({var})}}].'")
            out(f"{var}.append(item)")
        out(f"{var} = tuple({var})")

    def write(self, out: FunctionSource, var: str, path: str) -> None:
        table = out.name(registry.WRITERS[self.layer], "WRITERS")
        with out.block(f"for item in {var}:"):
            out(f"child = {table}.get(type(item))")
            out.raise_if("child is None", wrong_type, f"{path!r}, item, {self.label!r}")
            out("child(item, out)")

    def to_json(self, value: Any) -> Any:
        return [registry.to_json(message) for message in value]

    def from_json(self, json: Any) -> Any:
        kinds = registry.kinds(self.layer)
        return tuple(registry.from_json(message, kinds) for message in json)


class Many(WireType):
    """A list: a fixed number of items, or a count and that many items."""

    def __init__(self, item: WireType, count: Vle | int) -> None:
        self.item, self.count = item, count
        self.label = f"{count.label if isinstance(count, Vle) else count} x {item.label}"

    def read(self, out: FunctionSource, var: str, path: str) -> None:
        reader = out.name(self._item_reader(out.traced), "read_item")
        if isinstance(self.count, Vle):
            self.count.read_count(out, f"{var}_count", f"{path}.count")
            out.mark(f"{path}.count", f"str({var}_count)", f"('count', prefix + {path!r})")
        else:
            out(f"{var}_count = {self.count}")
        out(f"{var} = []")
        with out.block(f"while len({var}) < {var}_count:"):
            add_call(out, reader, "item", f"f'{path}[{{len({var})}}]'")
            out(f"{var}.append(item)")
        out(f"{var} = tuple({var})")

    def _item_reader(self, traced: bool) -> Callable[..., Any]:
        out = FunctionSource(
            f"read_item(data, at, end, diagnostics{', mark, prefix' if traced else ''})", traced=traced
        )
        self.item.read(out, "item", "")
        out("return item, at")
        return out.finish(f"item {self.label}")

    def write(self, out: FunctionSource, var: str, path: str) -> None:
        if isinstance(self.count, Vle):
            out(f"{var}_count = len({var})")
            self.count.write(out, f"{var}_count", f"{path}.count")
        else:
            why = f"exactly {self.count} items are expected"
            out.raise_if(f"len({var}) != {self.count}", EncodeError, f"{path!r}, {why!r}")
        with out.block(f"for item in {var}:"):
            self.item.write(out, "item", f"{path}.item")

    def to_json(self, value: Any) -> Any:
        return [self.item.to_json(item) for item in value]

    def from_json(self, json: Any) -> Any:
        return tuple(self.item.from_json(item) for item in json)


class ByEnc(WireType):
    """Nothing, an integer, or a length and bytes; the earlier field `enc` selects."""

    label = "by ENC"
    number, content = Vle(64), Blob(Vle(64))

    def read(self, out: FunctionSource, var: str, path: str) -> None:
        with out.block("if enc == 1:"):
            self.number.read(out, var, path)
        with out.block("elif enc == 2:"):
            self.content.read(out, var, path)
        with out.block("else:"):
            out(f"{var} = None")

    def write(self, out: FunctionSource, var: str, path: str) -> None:
        kinds = {0: type(None), 1: int, 2: bytes}
        out.raise_if(
            f"not isinstance({var}, {out.name(kinds, 'KINDS')}[enc])", wrong_type, f"{path!r}, {var}, enc.word"
        )
        with out.block("if enc == 1:"):
            self.number.write(out, var, path)
        with out.block("elif enc == 2:"):
            self.content.write(out, var, path)

    def to_json(self, value: int | bytes) -> Any:
        return value.hex() if isinstance(value, bytes) else self.number.to_json(value)

    def from_json_beside(self, json: Any, values: Mapping[str, Any]) -> int | bytes:
        return bytes.fromhex(json) if values["enc"] == Enc.ZBUF else int(json)


def unexpected_id(at: int, path: str, header: int, wanted: str) -> DecodeError:
    """The error for a message of a kind that its carrier does not take."""
    return DecodeError(at, path, f"message id {header & 0x1F:#04x} where {wanted} is expected")


def wrong_type(path: str, value: object, wanted: str) -> EncodeError:
    """The error for a value of a type that its place does not take."""
    return EncodeError(path, f"{type(value).__name__} where {wanted} is expected")
