"""Edits of a message's segments: each does one odd thing, and corrects the surrounding lengths or not, at random."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from random import Random
from typing import Final

from zenoh_conformance.reading.codec import Segments, encode
from zenoh_conformance.wire import EncodeError, Layer, Segment, registry, vle
from zenoh_fuzz.inputs.seeds import EDGES

from . import generate

Edit = Callable[[Segments, Random], Segments]

ODD_TEXTS: Final = (
    b"",
    b"/",
    b"a//b",
    b"a/",
    b"**/**",
    b"**/*",
    b"$*",
    b"a$*$*b",
    b"#",
    b"?",
    b"@",
    b"@a/*",
    b"tcp/a",
    b"tcp/a:1#k=v",
    b"tcp/a:1?b=2;a=1",
    b"tcp/a:1?x#y",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"a\x00b",
    b"\xc3\xa9",
)
"""Strings that are invalid as text, key or locator, or not in canonical form."""

SIZES: Final = (0, 1, 2, 15, 16, 17, 32, 33, 127, 128, 255, 256, 257, 300)
"""Sizes at which lengths change their form or meaning."""


class DoesNotFitError(Exception):
    """The edit does not apply to this message."""


def _choose(found: list[str], random: Random) -> str:
    if not found:
        raise DoesNotFitError
    return random.choice(found)


def _recompute(random: Random) -> bool:
    """Whether to recompute the lengths around an edit."""
    return random.random() < 0.6


def number(segments: Segments, random: Random) -> Segments:
    """Replace a segment by an edge value, in its shortest form or a longer one."""
    value = random.choice(EDGES)
    data = vle.encode(value)
    if random.random() < 0.15 and len(data) < 9:
        data = vle.overlong(value, random.randint(len(data), 9))
    return segments.replace(_choose(segments.paths(), random), data, recompute=_recompute(random))


def length(segments: Segments, random: Random) -> Segments:
    """Replace a length or a count by a wrong one, near the right value or far from it."""
    measured = [one for one in segments if one.measure and one.measure.form in ("vle", "count")]
    if not measured:
        raise DoesNotFitError
    one = random.choice(measured)
    true, _ = vle.decode(one.data)
    near = (true + 1, max(true - 1, 0), true + 2, true * 2, true + 127)
    value = random.choice(near if random.random() < 0.5 else EDGES)
    return segments.replace(one.path, vle.encode(value & vle.MOST), recompute=False)


def flag(segments: Segments, random: Random) -> Segments:
    """Flip a bit of a header, and keep the body."""
    path = _choose([one.path for one in segments if one.path.endswith((".header", ".packed")) and one.data], random)
    data = bytearray(segments.get(path).data)
    data[0] ^= 1 << random.choice((5, 6, 7, 5, 6, 4, 3, 0))
    return segments.replace(path, bytes(data), recompute=False)


def bit(segments: Segments, random: Random) -> Segments:
    """Flip a bit of any segment."""
    path = _choose([one.path for one in segments if one.data], random)
    data = bytearray(segments.get(path).data)
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return segments.replace(path, bytes(data), recompute=_recompute(random))


def cut(segments: Segments, random: Random) -> Segments:
    """Remove a segment, or a whole part of the message."""
    return segments.cut(_part(segments, random), recompute=_recompute(random))


def double(segments: Segments, random: Random) -> Segments:
    """Repeat a part of the message."""
    return segments.double(_part(segments, random), recompute=_recompute(random))


def swap(segments: Segments, random: Random) -> Segments:
    """Swap two parts."""
    return segments.swap(_part(segments, random), _part(segments, random), recompute=_recompute(random))


def stuff(segments: Segments, random: Random) -> Segments:
    """Replace a segment by a run of bytes."""
    data = (
        random.randbytes(1) * random.choice(SIZES) if random.random() < 0.5 else random.randbytes(random.choice(SIZES))
    )
    return segments.replace(_choose(segments.paths(), random), data, recompute=_recompute(random))


def text(segments: Segments, random: Random) -> Segments:
    """Replace text or bytes by an odd string."""
    path = _choose([one.path for one in segments if one.path.endswith((".bytes", ".suffix", ".name", "]"))], random)
    return segments.replace(path, random.choice(ODD_TEXTS), recompute=random.random() < 0.9)


def _part(segments: Segments, random: Random) -> str:
    """Return the path of a segment, or of a part around it."""
    path = _choose(segments.paths(), random)
    while random.random() < 0.4 and "." in path:
        path = path.rpartition(".")[0]
    return path


# --- extensions -------------------------------------------------------------------------------------------------------


def _extensions(segments: Segments) -> list[str]:
    return [
        one.path.removesuffix(".header") for one in segments if ".exts." in one.path and one.path.endswith(".header")
    ]


def extension(segments: Segments, random: Random) -> Segments:
    """Insert an extension: a known one, one of another message, or an unknown one."""
    head = _choose([one.path for one in segments if one.measure and one.measure.form == "chain"], random)
    owner, inside, _ = head.removesuffix(".header").partition(".exts.")
    where = head.removesuffix(".header") if inside else before_chain(segments, owner)
    data, name = _an_extension(random)
    return segments.insert_after(where, Segment(f"{owner}.exts.{name}.header", data), recompute=random.random() < 0.85)


def before_chain(segments: Segments, owner: str) -> str:
    """Return the segment after which the extension chain of a message begins, or would begin; its header if unclear."""
    first = next((index for index, one in enumerate(segments) if one.path.startswith(f"{owner}.exts.")), None)
    return f"{owner}.header" if not first else segments[first - 1].path


def _an_extension(random: Random) -> tuple[bytes, str]:
    if random.random() < 0.6:
        kind = random.choice(registry.EXTENSIONS)
        try:
            out = bytearray()
            registry.of(kind).write(generate.an_extension(kind, random), out, 0)
            return bytes(out), registry.of(kind).path
        except EncodeError:
            pass
    header = random.choice((0x00, 0x20, 0x40, 0x60)) | random.choice((0, 0x10)) | random.randrange(16)
    content = {0x20: vle.encode(random.choice(EDGES)), 0x40: b"\x01\x00"}.get(header & 0x60, b"")
    return bytes([header]) + content, f"unknown_{header & 0x0F}"


def encoding(segments: Segments, random: Random) -> Segments:
    """Change the ENC or M of an extension, and keep its content."""
    path = f"{_choose(_extensions(segments), random)}.header"
    head = segments.get(path).data[0] ^ random.choice((0x20, 0x40, 0x60, 0x10))
    return segments.replace(path, bytes([head]), recompute=False)


def many(segments: Segments, random: Random) -> Segments:
    """Insert hundreds of unknown extensions into one chain."""
    head = _choose([one.path for one in segments if one.measure and one.measure.form == "chain"], random)
    owner, inside, _ = head.removesuffix(".header").partition(".exts.")
    where = head.removesuffix(".header") if inside else before_chain(segments, owner)
    size, header = random.choice((16, 254, 255, 256, 257, 300)), random.choice((0x0F, 0x0E, 0x2F))
    return segments.insert_after(where, crowd(owner, size, header))


def crowd(owner: str, size: int, header: int) -> Segment:
    """Return a segment of `size` extensions with one header, for the chain of `owner`."""
    value = b"\x01" * (header >> 5)
    data = (bytes([header | 0x80]) + value) * (size - 1) + bytes([header]) + value
    return Segment(f"{owner}.exts.unknown_{header & 15}.header", data)


# --- messages ---------------------------------------------------------------------------------------------------------


@cache
def _layers() -> Mapping[str, Layer]:
    return {registry.of(cls).path: registry.of(cls).layer or Layer.TRANSPORT for cls in registry.MESSAGES}


def body(segments: Segments, random: Random) -> Segments:
    """Replace a carried message by another one, of the same layer or of a wrong one."""
    carried = []
    for one in segments:
        owner = one.path.removesuffix(".header")
        if owner != one.path and "." in owner and owner.rpartition(".")[2] in _layers():
            carried.append(owner)
    path = _choose(carried, random)
    layer = _layers()[path.rpartition(".")[2]] if random.random() < 0.8 else random.choice(list(registry.LAYERS))
    return segments.replace(path, generate.a_message(layer, random), recompute=True)


def another(segments: Segments, random: Random) -> Segments:
    """Append a message."""
    layer = random.choice((Layer.TRANSPORT, Layer.NETWORK, Layer.NETWORK))
    return Segments((*segments, Segment("another", generate.a_message(layer, random))))


def writes(cls: type) -> bytes:
    """Return the bytes of a value of a class; for tests."""
    return encode(generate.value_of(registry.of(cls), Random(0)))


EDITS: Final[Mapping[str, Edit]] = {
    edit.__name__: edit
    for edit in (
        number,
        length,
        flag,
        bit,
        cut,
        double,
        swap,
        stuff,
        text,
        extension,
        encoding,
        many,
        body,
        another,
    )
}
"""Edits by the name in reports."""
