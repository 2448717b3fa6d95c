"""Generate messages from the declarations: valid ones, preferring edge values."""

from __future__ import annotations

from functools import singledispatch
from random import Random
from typing import Any, Final

from zenoh_conformance import messages  # noqa: F401  importing them is what fills the registry
from zenoh_conformance.primitives import Encoding, EncodingType, KeyExpr, WireExpr
from zenoh_conformance.primitives.payload import Payload
from zenoh_conformance.primitives.zid import PackedBits, PackedZid, ZenohID, ZidType
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.wire import (
    Blob,
    Body,
    ByEnc,
    Composite,
    Enc,
    EncodeError,
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
from zenoh_conformance.wire.declare import Declaration
from zenoh_conformance.wire.sampling import Choices, Values
from zenoh_fuzz import inputs
from zenoh_fuzz.inputs.seeds import EDGES

TEXTS: Final = ("", "a", "a/b", "demo/example/**", "*", "tcp/127.0.0.1:7447", "a=1;b=2", "k\u00e9", "x" * 40)
"""Values of text fields."""


def an_input(random: Random) -> bytes:
    """Return an input of one to three messages."""
    number = random.randrange(len(inputs.LAYERS))
    if number == inputs.VLE:
        return bytes([number]) + vle.encode(_integer(random, vle.MOST))
    count = random.choice((1, 1, 2, 3)) if number >= inputs.BATCH else 1
    layers = {inputs.BATCH: Layer.TRANSPORT, inputs.LOWLATENCY: Layer.NETWORK}
    layer = layers.get(number) or inputs.MESSAGE_LAYERS[number]
    return bytes([number]) + b"".join(a_message(layer, random) for _ in range(count))


def a_message(layer: Layer, random: Random) -> bytes:
    """Return the bytes of one message of a layer."""
    cls = random.choice(tuple(registry.kinds(layer).values()))
    try:
        return encode(value_of(registry.of(cls), random))
    except EncodeError:  # values that are valid alone, but not together
        return bytes([registry.of(cls).id])


def value_of(declared: Declaration, random: Random) -> Any:
    """Return a value of a declared class."""
    choices = Choices(
        coin=lambda: random.random() < 0.5,
        among=random.choice,
        wire=lambda kind, values: wire(kind, values, random),
        chain=lambda declared: _chain(declared, random),
    )
    return choices.value_of(declared)


def _chain(declared: Declaration, random: Random) -> Exts[Any]:
    table = list(declared.extensions or ())
    count = random.choice((0, 0, 1, 1, 2, 3, len(table)))
    chosen = [random.choice((*table, Unknown)) for _ in range(count)]
    return Exts(an_extension(each, random) for each in chosen)


def an_extension(kind: type, random: Random) -> Any:
    """Return an extension of a class, or an unknown one."""
    if kind is not Unknown:
        return value_of(registry.of(kind), random)
    enc = random.choice(list(Enc))
    return Unknown(id=random.randrange(9, 16), enc=enc, value=_by_enc(enc, random))


def _by_enc(enc: Enc, random: Random) -> Any:
    return {Enc.UNIT: None, Enc.Z64: _integer(random, vle.MOST), Enc.ZBUF: _bytes(random)}[enc]


def _integer(random: Random, most: int) -> int:
    if random.random() < 0.6:
        return random.randrange(min(most, 20) + 1)
    return min(random.choice(EDGES), most)


def _bytes(random: Random, least: int = 0, most: int = 12) -> bytes:
    return random.randbytes(random.randint(least, max(least, most)))


@singledispatch
def wire(kind: WireType, values: Values, random: Random) -> Any:
    """Return a value of a wire type, given the fields before it. Raises TypeError for an unregistered type."""
    raise TypeError(f"nothing makes a {type(kind).__name__}")


wire.register(Vle, lambda kind, values, random: _integer(random, kind.most))
wire.register(
    Fixed,
    lambda kind, values, random: random.randint(kind.least, (1 << 8 * kind.size) - 1) & ~kind.reserved or kind.least,
)
wire.register(
    PackedBits,
    lambda kind, values, random: random.choice(list(kind.values)) if kind.values else random.randint(0, kind.mask),
)
wire.register(ZidType, lambda kind, values, random: ZenohID(_bytes(random, 0, 15) + bytes([random.randint(1, 255)])))
wire.register(
    PackedZid,
    lambda kind, values, random: (
        None if kind.present and random.random() < 0.5 else wire.dispatch(ZidType)(kind, values, random)
    ),
)
wire.register(
    EncodingType,
    lambda kind, values, random: Encoding(_integer(random, 0xFFFF), _bytes(random) if random.random() < 0.4 else None),
)
wire.register(Composite, lambda kind, values, random: value_of(registry.of(kind.cls), random))
wire.register(Body, lambda kind, values, random: value_of(registry.of(random.choice(kind.kinds)), random))
wire.register(ByEnc, lambda kind, values, random: _by_enc(values["enc"], random))


@wire.register
def _(kind: Blob, values: Values, random: Random) -> Any:
    least, most = (kind.sizes.start, kind.sizes.stop - 1) if kind.sizes else (0, 12)
    if not kind.text:
        return _bytes(random, least, most)
    text = random.choice(TEXTS)
    return text if least <= len(text.encode()) <= most or not kind.sizes else "r" * least


@wire.register
def _(kind: Payload, values: Values, random: Random) -> bytes:
    if not any(type(each) is kind.marker for each in values["exts"]):
        return _bytes(random)
    parts = [(random.randrange(2), _bytes(random)) for _ in range(random.randrange(3))]
    return vle.encode(len(parts)) + b"".join(bytes([of]) + vle.encode(len(data)) + data for of, data in parts)


@wire.register
def _(kind: KeyExpr, values: Values, random: Random) -> WireExpr:
    scope, suffix = _integer(random, 0xFFFF), wire(kind.suffix, values, random)
    if kind.byte != "header":
        byte = values[kind.byte]
        return WireExpr(scope, suffix if byte & kind.n else None, byte & kind.m != 0)
    return WireExpr(scope, suffix if random.random() < 0.7 else None, bool(kind.m) and random.random() < 0.5)


@wire.register
def _(kind: Messages, values: Values, random: Random) -> tuple[Any, ...]:
    kinds = tuple(registry.kinds(kind.layer).values())
    return tuple(value_of(registry.of(random.choice(kinds)), random) for _ in range(random.choice((1, 1, 2))))


@wire.register
def _(kind: Many, values: Values, random: Random) -> tuple[Any, ...]:
    count = kind.count if isinstance(kind.count, int) else random.randrange(4)
    return tuple(wire(kind.item, values, random) for _ in range(count))
