"""Faults that every message can have: cut short, extensions gone wrong, integers at and over their edges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from zenoh_vectors.build.errata import Reading
from zenoh_vectors.build.octets import number, overlong, vle
from zenoh_vectors.build.parts import (
    ENC_NAMES,
    ILLEGAL,
    MANDATORY,
    UNIT,
    Z64,
    ZBUF,
    Ext,
    Fields,
    Message,
    Segment,
    unknown,
)
from zenoh_vectors.build.vector import (
    BAD_ENC,
    MANDATORY_UNKNOWN,
    OUT_OF_RANGE,
    TRUNCATED,
    Vector,
    accept,
    refuse,
    refuse_at,
    slug,
)

Make = Callable[[Sequence[Ext]], Message]
"""Builds one message kind around a chain of extensions."""


def opened(stem: str) -> str:
    """What stands before the rest of an id: a file's name takes a slash, a longer beginning a hyphen."""
    return stem + ("-" if "/" in stem else "/")


def truncations(stem: str, message: Message, *, source: str, stop: Sequence[str] = ()) -> Iterator[Vector]:
    """Cut before each segment and inside each longer one; `stop` names segments that may be cut (rest of batch)."""
    for position, segment in enumerate(message.segments):
        name = segment.path.removeprefix(message.name + ".")
        if name not in stop:
            yield from cuts(f"{opened(stem)}cut", slug(name), message, position, source=source)


def cuts(stem: str, name: str, message: Message, position: int, *, source: str) -> Iterator[Vector]:
    """The data ends before, and in the middle of, the segment at `position`."""
    segment, done = message.segments[position], list(message.segments[:position])
    for word, size in (("before", 0), ("inside", len(segment.data) // 2)):
        if segment.data and (word == "before" or size):
            kept = [*done, segment._replace(data=segment.data[:size], note="cut short")] if size else done
            at, path = short_at(kept, segment.path)
            yield refuse_at(
                f"{stem}-{word}-{name}",
                f"The data ends {word} {segment.path}",
                message.layer,
                kept,
                TRUNCATED,
                at,
                path,
                source=source,
            )


def short_at(kept: Sequence[Segment], path: str) -> tuple[int, str]:
    """Where a reader notices that bytes are missing: at the outermost length that promised them, else at the end."""
    at = 0
    for segment in kept:
        owner, _, last = segment.path.rpartition(".")
        if last == "length" and path.startswith(owner + "."):
            return at, segment.path
        at += len(segment.data)
    return at, path


def lying(
    ident: str, about: str, message: Message, tail: str, claimed: int, *, source: str, errata: Sequence[Reading] = ()
) -> Vector:
    """The length named `tail` promises `claimed` bytes, which are not there."""
    wrong = message.put(tail, vle(claimed), f"{claimed}, more than follow")
    return refuse(ident, about, wrong, TRUNCATED, message.path(tail), source=source, errata=errata)


# --- extension chains ------------------------------------------------------------------------------------------------

FREE = 0x0D
"""An extension id that no table lists anywhere."""


def unknown_samples(mandatory: bool) -> list[Ext]:
    """One of each encoding."""
    return [
        unknown(FREE, UNIT, mandatory),
        unknown(FREE, Z64, mandatory, 300),
        unknown(FREE, ZBUF, mandatory, b"\xab\xcd"),
    ]


def extensions(
    stem: str, make: Make, table: Sequence[Ext], *, source: str, together: Sequence[Ext] | None = None
) -> Iterator[Vector]:
    """Everything that may happen to the chain of one message kind whose defined extensions are `table`."""
    yield from _known(opened(stem), make, table, source, list(table) if together is None else list(together))
    yield from _foreign(opened(stem), make, table, source)
    yield from _neighbours(opened(stem), make, table, source)
    yield from _almost(opened(stem), make, table, source)


def _known(stem: str, make: Make, table: Sequence[Ext], source: str, together: list[Ext]) -> Iterator[Vector]:
    for ext in table:
        only = make([ext])
        yield accept(f"{stem}ext-{slug(ext.slug)}-alone", f"{ext.name} as the only extension", only, source=source)
        yield from _inside(stem, only, ext, source)
        yield accept(
            f"{stem}ext-{slug(ext.slug)}-twice",
            f"{ext.name} two times: the last one counts",
            make([ext, ext]),
            also=[only],
            source=source,
            canonical=False,
            errata=[Reading("ZD-14")],
        )
    if len(together) < 2:
        return
    yield accept(f"{stem}ext-all", "All defined extensions, in the order of the table", make(together), source=source)
    yield accept(
        f"{stem}ext-all-reversed",
        "All defined extensions, last one first: order is free on read",
        make(together[::-1]),
        also=[make(together)],
        source=source,
        canonical=False,
        errata=[Reading("ZD-14")],
    )
    for left, right in pairwise(together):
        yield accept(
            f"{stem}ext-{slug(left.slug)}-then-{slug(right.slug)}",
            f"{left.name} and {right.name}",
            make([left, right]),
            source=source,
        )


def _inside(stem: str, only: Message, ext: Ext, source: str) -> Iterator[Vector]:
    """The data ends inside the extension: after its header, before each part, in the middle of each part."""
    head = f"{only.name}.exts.{ext.slug}."
    for position, segment in enumerate(only.segments):
        if segment.path.startswith(head) and segment.path != head + "header":
            yield from cuts(
                f"{stem}ext-{slug(ext.slug)}-cut", slug(segment.path.removeprefix(head)), only, position, source=source
            )


def _foreign(stem: str, make: Make, table: Sequence[Ext], source: str) -> Iterator[Vector]:
    for ext in unknown_samples(mandatory=False):
        yield accept(
            f"{stem}ext-unknown-optional-{ext.means['enc']}",
            "An unknown extension with M=0 is skipped",
            make([ext]),
            source=source,
            remarks=[("unknown-extension", head_of(make([ext]), ext))],
        )
    for ext in unknown_samples(mandatory=True):
        yield refuse(
            f"{stem}ext-unknown-mandatory-{ext.means['enc']}",
            "An unknown extension with M=1 refuses the message",
            make([ext]),
            MANDATORY_UNKNOWN,
            head_of(make([ext]), ext),
            source=source,
        )
    long = unknown(FREE, ZBUF, value=bytes(128))
    about = "An unknown extension with M=0 whose length has two bytes is skipped"
    yield accept(f"{stem}ext-unknown-optional-zbuf-128-bytes", about, make([long]), source=source)
    blob = unknown(FREE, ZBUF, False, b"\xab\xcd")
    about = "The length of an unknown extension promises more bytes than there are"
    yield lying(f"{stem}ext-unknown-optional-length-lies", about, make([blob]), f"exts.{blob.slug}.length", 200, source=source)
    for mandatory in (False, True):
        bad = unknown(FREE, ILLEGAL, mandatory)
        word = "mandatory" if mandatory else "optional"
        yield refuse(
            f"{stem}ext-unknown-{word}-enc-11",
            "ENC 11 is illegal, whatever the id",
            make([bad]),
            BAD_ENC,
            head_of(make([bad]), bad),
            source=source,
        )


def long_unknowns(stem: str, make: Make, *, source: str) -> Iterator[Vector]:
    """Unknown optional extensions as a reader seldom meets them: each size at which a length grows, and many in a chain."""
    samples = [(f"zbuf-{size}-bytes", unknown(FREE, ZBUF, value=bytes(size))) for size in (0, 1, 127, 255, 256, 16384)]
    samples += [(f"z64-{named(value)}", unknown(FREE, Z64, value=value)) for value in (0, 127, 128, 2**63, 2**64 - 1)]
    for word, ext in samples:
        yield accept(
            f"{opened(stem)}ext-unknown-optional-{word}",
            f"An unknown extension with M=0 is skipped, whatever its size: {word}",
            make([ext]),
            source=source,
        )
    for count in MANY:
        exts = [unknown_samples(mandatory=False)[position % 3] for position in range(count)]
        about = f"{count} unknown extensions with M=0 are skipped"
        yield accept(f"{opened(stem)}ext-unknown-optional-{count}-times", about, make(exts), source=source)


MANY = (17, 33, 129)
"""Of whatever repeats: more than fit into a small table, and a count with two bytes."""


def head_of(message: Message, ext: Ext) -> str:
    """The path of an extension's header in a message."""
    return f"{message.name}.exts.{ext.slug}.header"


def _neighbours(stem: str, make: Make, table: Sequence[Ext], source: str) -> Iterator[Vector]:
    optional, required = unknown_samples(mandatory=False), unknown_samples(mandatory=True)
    for position, ext in enumerate(table):
        before, after, bad = optional[position % 3], optional[(position + 1) % 3], required[position % 3]
        name = f"{stem}ext-{slug(ext.slug)}"
        yield accept(
            f"{name}-after-unknown-optional",
            f"{ext.name} behind an unknown optional extension",
            make([before, ext]),
            source=source,
            canonical=False,
        )
        yield accept(
            f"{name}-before-unknown-optional",
            f"{ext.name} in front of an unknown optional extension",
            make([ext, after]),
            source=source,
            canonical=False,
        )
        yield refuse(
            f"{name}-before-unknown-mandatory",
            f"{ext.name} in front of an unknown mandatory extension",
            make([ext, bad]),
            MANDATORY_UNKNOWN,
            head_of(make([bad]), bad),
            source=source,
        )


HIGH = 0x08
"""The highest bit of an extension's id."""


def as_unknown(ext: Ext, header: int) -> Ext:
    """The same id under another header: what a reader that matches on id, ENC and M takes it for."""
    enc = header & 0x60
    return unknown(header & 0x0F, enc, bool(header & MANDATORY), b"\x05" if enc == ZBUF else 5)


def _almost(stem: str, make: Make, table: Sequence[Ext], source: str) -> Iterator[Vector]:
    """Right id, wrong M or ENC, or the right id but for bit 3: another extension, and an unknown one."""
    known = {ext.header for ext in table}
    for ext in table:
        name = f"{stem}ext-{slug(ext.slug)}"
        if ext.ident < HIGH and ext.ident | HIGH not in {one.ident for one in table}:
            far = unknown(ext.ident | HIGH, ext.header & 0x60, value=b"\x02" if ext.header & ZBUF else 2)
            head = head_of(make([far]), far)
            about = f"{ext.name}'s id with bit 3 set is not {ext.name}"
            yield accept(
                f"{name}-with-bit-3", about, make([far]), source=source, remarks=[("unknown-extension", head)]
            )
        for header in (ext.header ^ MANDATORY, *(ext.header & 0x9F | enc for enc in (UNIT, Z64, ZBUF))):
            if header not in known:
                word = ENC_NAMES[header & 0x60] if header & 0x60 != ext.header & 0x60 else "other-m"
                yield _one_almost(f"{name}-as-{word}", ext, as_unknown(ext, header), make, source)
        bad = unknown(ext.ident, ILLEGAL, bool(ext.header & MANDATORY))
        yield refuse(
            f"{name}-as-enc-11",
            f"{ext.name}'s id with ENC 11",
            make([bad]),
            BAD_ENC,
            head_of(make([bad]), bad),
            source=source,
        )


def _one_almost(ident: str, ext: Ext, other: Ext, make: Make, source: str) -> Vector:
    about = f"{ext.name}'s id under header {other.header:#04x} is not {ext.name}"
    message, head = make([other]), head_of(make([other]), other)
    if other.header & MANDATORY:
        return refuse(ident, about, message, MANDATORY_UNKNOWN, head, source=source, errata=[Reading("ZD-13")])
    return accept(
        ident,
        about,
        message,
        source=source,
        canonical=True,
        errata=[Reading("ZD-13")],
        remarks=[("unknown-extension", head)],
    )


# --- integers --------------------------------------------------------------------------------------------------------

EDGES = (
    0,
    1,
    127,
    128,
    255,
    256,
    16383,
    16384,
    65535,
    2**21 - 1,
    2**21,
    2**28 - 1,
    2**28,
    2**31,
    2**32 - 1,
    2**35 - 1,
    2**35,
    2**42 - 1,
    2**42,
    2**49 - 1,
    2**49,
    2**53 - 1,
    2**53,
    2**56 - 1,
    2**56,
    2**63 - 1,
    2**63,
    2**64 - 1,
)
"""Every value at which a VLE grows by one byte, and the edges of every integer width."""
NAMES = {2**power: f"2-to-{power}" for power in (21, 28, 31, 32, 35, 42, 49, 53, 56, 63, 64)}


def named(value: int) -> str:
    """An integer as part of an id."""
    if value + 1 in NAMES:
        return f"{NAMES[value + 1]}-minus-1"
    return NAMES.get(value, str(value))


def reason(value: int, bits: int) -> str:
    """Why a value is worth a vector: where a width ends, where the integer on the wire grows, or neither."""
    size = len(vle(value))
    widths = [width for width in (8, 16, 31, 32, 53, 63) if value in (2**width - 1, 2**width)]
    if value == 0:
        return "the smallest"
    if value == 2**bits - 1:
        return f"the largest of {bits} bits"
    if size < 9 and len(vle(value + 1)) > size:
        return f"the largest that takes {size} byte{'s' * (size > 1)}"
    if len(vle(value - 1)) < size:
        return f"the first that takes {size} bytes"
    if widths:
        return f"the largest of {widths[0]} bits" if value == 2 ** widths[0] - 1 else f"the first beyond {widths[0]} bits"
    return "a small one"


def edges(bits: int) -> list[int]:
    """The interesting values of an unsigned integer of `bits` bits."""
    return [value for value in EDGES if value < 2**bits]


def integers(
    stem: str,
    message: Message,
    tail: str,
    bits: int,
    meaning: Callable[[int], Fields],
    *,
    source: str,
    over: str = "truncates",
    low: int = 0,
) -> Iterator[Vector]:
    """A VLE field at its edges, overlong, and one above its width; `over` says what a value too big does."""
    stem = f"{opened(stem)}{slug(tail)}"
    for value in edges(bits):
        if value >= low:
            yield accept(
                f"{stem}-{named(value)}",
                f"{message.path(tail)} = {value}: {reason(value, bits)}",
                message.put(tail, vle(value), str(value)).meaning(**meaning(value)),
                source=source,
            )
    yield from overlongs(stem, message, tail, meaning, source=source)
    if bits < 64:
        yield from _over(stem, message, tail, bits, meaning, source, over)


def overlongs(
    stem: str, message: Message, tail: str, meaning: Callable[[int], Fields], *, source: str, value: int = 5
) -> Iterator[Vector]:
    """The same integer in two bytes and in nine."""
    for size in (2, 9):
        long = message.put(tail, overlong(value, size), f"{value} in {size} bytes").meaning(**meaning(value))
        yield accept(
            f"{opened(stem)}overlong-{size}",
            f"{message.path(tail)} = {value}, written in {size} bytes",
            long,
            source=source,
            canonical=False,
            errata=[Reading("ZD-02")],
            remarks=[("overlong-vle", message.path(tail))],
        )


def _over(
    stem: str, message: Message, tail: str, bits: int, meaning: Callable[[int], Fields], source: str, over: str
) -> Iterator[Vector]:
    path = message.path(tail)
    for value in (2**bits, 2**bits + 5, 2**64 - 1):
        wide = message.put(tail, vle(value), f"{value}, above {bits} bits")
        if over == "refuses":
            yield refuse(
                f"{stem}-over-{named_over(value, bits)}",
                f"{path} = {value} does not fit in {bits} bits",
                wide,
                OUT_OF_RANGE,
                path,
                source=source,
                errata=[Reading("ZD-03")],
            )
        elif over == "truncates":
            kept = value & (2**bits - 1)
            whole = Reading("ZD-03", means=wide.meaning(**meaning(value)).means)
            yield accept(
                f"{stem}-over-{named_over(value, bits)}",
                f"{path} = {value} does not fit in {bits} bits: the baseline keeps the low ones",
                wide.meaning(**meaning(kept)),
                source=source,
                canonical=False,
                errata=[whole],
                remarks=[("truncated-value", path)],
            )


def named_over(value: int, bits: int) -> str:
    """An integer above a width as part of an id."""
    return {2**bits: "by-one", 2**bits + 5: "by-six"}.get(value, "most")


def plain(name: str) -> Callable[[int], Fields]:
    """The meaning of a field that is just the integer."""
    return lambda value: {name: number(value)}


def several(*groups: Iterable[Vector]) -> Iterator[Vector]:
    """One after the other."""
    for group in groups:
        yield from group
