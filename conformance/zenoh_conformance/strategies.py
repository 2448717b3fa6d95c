"""Hypothesis strategies for every message, made from the declarations.

The values are canonical: they encode, and the bytes decode to the same values without a diagnostic.
"""

from __future__ import annotations

from functools import cache, singledispatch
from typing import Any

from hypothesis import strategies as st

from . import messages  # noqa: F401 - importing them is what fills the registry
from .primitives.encoding import Encoding, EncodingType
from .primitives.payload import Payload
from .primitives.wire_expr import KeyExpr, WireExpr
from .primitives.zid import PackedBits, PackedZid, ZenohID, ZidType
from .wire import (
    Blob,
    Body,
    ByEnc,
    Composite,
    Enc,
    Exts,
    Fixed,
    Layer,
    Many,
    Messages,
    Unknown,
    Vle,
    WireType,
    registry,
    vle,
)
from .wire.declare import Declaration
from .wire.sampling import Choices, Values

SMALL = 12
"""The largest size, in bytes, of values without a bound."""


@cache
def of(cls: type) -> st.SearchStrategy[Any]:
    """Any value of a declared class.  Raises KeyError for a class that is not declared."""
    return _build(registry.of(cls))


@cache
def of_layer(layer: Layer) -> st.SearchStrategy[Any]:
    """Any message of a layer."""
    return st.one_of([of(cls) for cls in registry.kinds(layer).values()])


@st.composite
def _build(draw: st.DrawFn, declared: Declaration) -> Any:
    choices = Choices(
        coin=lambda: draw(st.booleans()),
        among=lambda values: draw(st.sampled_from(values)),
        wire=lambda kind, values: draw(wire(kind, values)),
        chain=lambda declared: draw(chain(declared)),
    )
    return choices.value_of(declared)


@cache
def chain(declared: Declaration, most: int = 3) -> st.SearchStrategy[Exts[Any]]:
    """Extensions in and outside the message's table, each at most once."""
    known = [of(extension) for extension in declared.extensions or ()]
    taken = {registry.of(extension).id for extension in declared.extensions or ()}
    return st.lists(st.one_of([*known, _unknown(taken)]), max_size=most, unique_by=_header).map(Exts)


def known_chain(declared: Declaration, most: int = 3) -> st.SearchStrategy[Exts[Any]]:
    """Extensions in the message's table, each at most once."""
    known = [of(extension) for extension in declared.extensions or ()]
    return st.lists(st.one_of(known), max_size=most, unique_by=_header).map(Exts) if known else st.just(Exts())


def _header(extension: Any) -> int:
    return extension.header if isinstance(extension, Unknown) else registry.of(type(extension)).id


def _unknown(taken: set[int]) -> st.SearchStrategy[Unknown]:
    headers = [enc << 5 | number for enc in Enc for number in range(16) if enc << 5 | number not in taken]
    return st.sampled_from(headers).flatmap(
        lambda header: st.builds(
            Unknown, id=st.just(header & 0x0F), enc=st.just(Enc(header >> 5)), value=_by_enc(Enc(header >> 5))
        )
    )


def _by_enc(enc: Enc) -> st.SearchStrategy[Any]:
    return {Enc.UNIT: st.none(), Enc.Z64: integers(vle.MOST), Enc.ZBUF: st.binary(max_size=SMALL)}[enc]


def integers(most: int) -> st.SearchStrategy[int]:
    """Integers from 0 to `most`, often those at which the encoding grows by a byte."""
    borders = [border for bits in range(7, 64, 7) for border in ((1 << bits) - 1, 1 << bits) if border <= most]
    return st.one_of(st.integers(0, min(most, 200)), st.sampled_from([0, *borders, most]), st.integers(0, most))


@singledispatch
def wire(kind: WireType, values: Values) -> st.SearchStrategy[Any]:
    """Any value of a wire type, given the earlier fields.  Raises TypeError for a type without a strategy."""
    raise TypeError(f"no strategy for {type(kind).__name__}")


@wire.register
def _(kind: Vle, values: Values) -> st.SearchStrategy[int]:
    most = kind.known - 1 if kind.known else kind.most
    return integers(min(most, (kind.reserved & -kind.reserved) - 1) if kind.reserved else most)


wire.register(
    Fixed,
    lambda kind, values: st.integers(kind.least, (1 << 8 * kind.size) - 1).map(lambda value: value & ~kind.reserved),
)
wire.register(
    PackedBits,
    lambda kind, values: st.sampled_from(list(kind.values)) if kind.values else st.integers(0, kind.mask),
)
wire.register(Composite, lambda kind, values: of(kind.cls))
wire.register(Body, lambda kind, values: st.one_of([of(message) for message in kind.kinds]))
wire.register(Messages, lambda kind, values: st.lists(of_layer(Layer(kind.layer)), min_size=1, max_size=3).map(tuple))
wire.register(ByEnc, lambda kind, values: _by_enc(values["enc"]))
wire.register(
    EncodingType, lambda kind, values: st.builds(Encoding, integers(0xFFFF), st.none() | st.binary(max_size=SMALL))
)


@wire.register
def _(kind: Blob, values: Values) -> st.SearchStrategy[Any]:
    least = kind.sizes.start if kind.sizes else 0
    if kind.text:
        return st.text(st.characters(codec="utf-8"), min_size=least, max_size=SMALL // 2)
    return st.binary(min_size=least, max_size=SMALL)


@wire.register
def _(kind: Payload, values: Values) -> st.SearchStrategy[bytes]:
    if any(type(extension) is kind.marker for extension in values["exts"]):
        part = st.tuples(st.sampled_from([0, 1]), st.binary(max_size=SMALL))
        return st.lists(part, max_size=3).map(_encode_slices)
    return st.binary(max_size=SMALL)


def _encode_slices(parts: list[tuple[int, bytes]]) -> bytes:
    return vle.encode(len(parts)) + b"".join(bytes([kind]) + vle.encode(len(data)) + data for kind, data in parts)


@wire.register
def _(kind: ZidType, values: Values) -> st.SearchStrategy[ZenohID]:
    head = st.binary(max_size=15)
    return st.builds(lambda low, high: ZenohID(low + bytes([high])), head, st.integers(1, 255))


@wire.register
def _(kind: PackedZid, values: Values) -> st.SearchStrategy[Any]:
    whole = wire.dispatch(ZidType)(kind, values)
    return st.none() | whole if kind.present else whole


@wire.register
def _(kind: KeyExpr, values: Values) -> st.SearchStrategy[WireExpr]:
    suffix = wire(kind.suffix, values)
    if kind.byte != "header":
        byte = values[kind.byte]
        suffix = suffix if byte & kind.n else st.none()
        return st.builds(WireExpr, wire(kind.scope, values), suffix, st.just(byte & kind.m != 0))
    mapping = st.booleans() if kind.m else st.just(False)
    return st.builds(WireExpr, wire(kind.scope, values), st.none() | suffix, mapping)


@wire.register
def _(kind: Many, values: Values) -> st.SearchStrategy[tuple[Any, ...]]:
    least, most = (kind.count, kind.count) if isinstance(kind.count, int) else (0, 3)
    return st.lists(wire(kind.item, values), min_size=least, max_size=most).map(tuple)
