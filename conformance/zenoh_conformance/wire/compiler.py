"""From a declaration to its three functions: read, trace (a reading that marks segments), write."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import extensions, notes, registry
from .errors import DecodeError, Diagnostic, EncodeError, beyond, ended
from .extensions import NO_EXTS, Exts
from .layer import Enc
from .nested import call
from .source import Source
from .types import Vle, reserved_bits

if TYPE_CHECKING:
    from .declare import Declaration, Field

Z = 0x80
SIZE = Vle(32)
TAKEN = frozenset(
    {"data", "at", "end", "found", "mark", "prefix", "header", "head", "begin", "child", "item", "out", "packed"}
)
"""Names that generated lines use for themselves."""


def build(declaration: Declaration, *, after_exts: frozenset[str]) -> None:
    """Compile the three functions; the extension chain stands before the fields `after_exts`."""
    if clash := TAKEN & {field.name for field in declaration.fields}:
        raise ValueError(f"{declaration.name}: a field cannot be called {', '.join(sorted(clash))}")
    declaration.read = _reader(declaration, after_exts, traced=False)
    declaration.trace = _when_called(lambda: _reader(declaration, after_exts, traced=True))
    declaration.write = _writer(declaration, after_exts)


def _when_called(make: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    """What `make` makes, made once it is called: nobody traces most of the messages."""
    made: list[Callable[..., Any]] = []

    def call(*arguments: Any) -> Any:
        if not made:
            made.append(make())
        return made[0](*arguments)

    return call


def _reader(of: Declaration, after_exts: frozenset[str], *, traced: bool) -> Any:
    signature = "data, at, end, found" + (", mark, prefix" if traced else "")
    out = Source(f"read_{of.path}({signature})", traced=traced)
    if of.kind == "message":
        _read_header(of, out)
    elif of.kind == "extension":
        _read_extension_header(of, out)
    chain = of.extensions is not None
    for field in of.fields:
        if chain and field.name in after_exts:
            _read_chain(of, out)
            chain = False
        _read_field(of, field, out)
    if chain:
        _read_chain(of, out)
    if of.kind == "extension" and of.id >> 5 == Enc.ZBUF:
        _read_surplus(of, out)
    names = [field.name for field in of.fields] + ["exts"] * (of.extensions is not None)
    if names:
        out.make("item", of.cls, names, names)
    else:
        out(f"item = {out.name(of.cls(), 'ONLY')}")
    out("return item, at")
    return out.finish(f"{'trace' if traced else 'read'} {of.name}")


def _read_header(of: Declaration, out: Source) -> None:
    path = f"{of.path}.header"
    out("header = data[at]")  # the caller has seen that it is there
    if reserved := sum(0x80 >> place for place, cell in enumerate(of.cells) if cell == "X"):
        with out.block(f"if header & {reserved:#x}:"):
            out(f"found.append({out.name(reserved_bits, 'reserved_bits')}(at, {path!r}, header, {reserved:#x}))")
    for field in of.fields:
        if field.presence and field.presence.how == "flag":
            out(f"{field.name} = header & {of.mask(field.presence.what):#x} != 0")
        elif field.presence and field.presence.how == "bits":
            _read_bits(of, field, out)
    out("at += 1")
    if out.traced:
        chain = f"('chain', prefix + '{of.path}.exts')" if of.extensions is not None else "None"
        out.mark(path, f"{out.name(header_note(of), 'header_note')}[header]", chain)


def _read_bits(of: Declaration, field: Field, out: Source) -> None:
    assert field.presence
    assert field.values
    mask = of.mask(field.presence.what)
    shift = (mask & -mask).bit_length() - 1
    values = {int(each): each for each in field.values}
    out(f"{field.name} = {out.name(values, field.name.upper())}.get(header >> {shift} & {mask >> shift})")
    with out.block(f"if {field.name} is None:"):
        why = f"{field.presence.what} has a reserved value"
        out(f"raise {out.name(DecodeError, 'DecodeError')}(at, {of.path + '.header'!r}, {why!r})")


def _read_extension_header(of: Declaration, out: Source) -> None:
    enc = Enc(of.id >> 5)
    text = f"{of.name}, extension {of.id & 0x0F:#x} {enc.word}" + ", mandatory" * (of.id >> 4 & 1)
    out("at += 1")
    out.mark(f"{of.path}.header", repr(text), "('chain', prefix[:-1])")
    if enc is Enc.ZBUF:
        path = f"{of.path}.length"
        out("begin = at")
        SIZE.read_count(out, "size", path)
        out.mark(path, f"{out.name(notes.size, 'size_note')}(size)", f"('vle', prefix + {of.path!r})")
        with out.block("if size > end - at:"):
            out(f"raise {out.name(beyond, 'beyond')}(begin, {path!r}, size, end - at)")
        out("end = at + size")


def _read_surplus(of: Declaration, out: Source) -> None:
    with out.block("if at < end:"):
        out(f"found.append({out.name(surplus, 'surplus')}(at, {of.path!r}, end - at))", "at = end")
        out.mark(f"{of.path}.surplus", "'beyond the content'")


def _read_field(of: Declaration, field: Field, out: Source) -> None:
    if field.wire is None:
        return
    condition = None
    if field.presence:
        given = field.presence.how == "given"
        condition = f"header & {of.mask(field.presence.what):#x}" if given else field.presence.what
    if condition is None:
        field.wire.read(out, field.name, of.root + field.name)
        return
    with out.block(f"if {condition}:"):
        field.wire.read(out, field.name, of.root + field.name)
    with out.block("else:"):
        out(f"{field.name} = None")


def _read_chain(of: Declaration, out: Source) -> None:
    declared = [registry.of(each) for each in of.extensions or ()]
    table = {each.id: each.trace if out.traced else each.read for each in declared}
    names = {each.id: each.path for each in declared}
    unknown = extensions.skip_unknown if of.lenient else extensions.read_unknown
    with out.block(f"if not header & {Z:#x}:"):
        out(f"exts = {out.name(NO_EXTS, 'NO_EXTS')}")
    with out.block("else:"):
        out("exts, seen, head = [], [], header")
        with out.block(f"while head & {Z:#x}:"):
            with out.block("if at >= end:"):
                out(f"raise {out.name(ended, 'ended')}(end, '{of.path}.exts', 'another extension')")
            out("head = data[at]")
            with out.block("if head & 0x7f in seen:"):
                out(
                    f"found.append({out.name(extensions.duplicate, 'duplicate')}(at, head, {out.name(names, 'NAMES')}))"
                )
            with out.block("else:"):
                out("seen.append(head & 0x7f)")
            out(f"child = {out.name(table, 'EXTENSIONS')}.get(head & 0x7f, {out.name(unknown, unknown.__name__)})")
            for each in declared:
                if each.only:
                    with out.block(f"if head & 0x7f == {each.id:#x} and not ({each.only}):"):
                        out(f"child = {out.name(unknown, unknown.__name__)}")
            call(out, "child", "item", repr(f"{of.path}.exts."))
            out("exts.append(item)")
        out(f"exts = {out.name(Exts, 'Exts')}(exts)")


def _writer(of: Declaration, after_exts: frozenset[str]) -> Any:
    out = Source(f"write_{of.path}(value, out{', more' if of.kind == 'extension' else ''})")
    for field in of.fields:
        out(f"{field.name} = value.{field.name}")
    if of.extensions is not None:
        out("exts = value.exts")
    if of.kind == "message":
        _write_header(of, out)
    zbuf = of.kind == "extension" and of.id >> 5 == Enc.ZBUF
    if of.kind == "extension":
        out(f"out.append({of.id:#x} | more)")
    if zbuf:
        out("whole, out = out, bytearray()")
    chain = of.extensions is not None
    for field in of.fields:
        if chain and field.name in after_exts:
            _write_chain(of, out)
            chain = False
        _write_field(of, field, out)
    if chain:
        _write_chain(of, out)
    if zbuf:
        out("size, content, out = len(out), out, whole")
        SIZE.write(out, "size", f"{of.path}.length")
        out("out += content")
    return out.finish(f"write {of.name}")


def _write_header(of: Declaration, out: Source) -> None:
    out(f"header = {of.id:#x}")
    done: set[str] = set()
    for field in of.fields:
        if not field.presence or field.presence.how == "when" or field.presence.what in done:
            continue
        mask = of.mask(field.presence.what)
        if field.presence.how == "bits":
            out(f"header |= {field.name} << {(mask & -mask).bit_length() - 1}")
            continue
        done.add(field.presence.what)
        test = field.name if field.presence.how == "flag" else f"{field.name} is not None"
        with out.block(f"if {test}:"):
            out(f"header |= {mask:#x}")
    if of.extensions is not None:
        with out.block("if exts:"):
            out(f"header |= {Z:#x}")
    for field in of.fields:
        if field.wire:
            field.wire.write_in_header(out, field.name)
    out("out.append(header)")


def _write_field(of: Declaration, field: Field, out: Source) -> None:
    if field.wire is None:
        return
    path = of.root + field.name
    if field.presence is None:
        field.wire.write(out, field.name, path)
        return
    given = field.presence.how == "given"
    condition = f"header & {of.mask(field.presence.what):#x}" if given else field.presence.what
    with out.block(f"if {condition}:"):
        with out.block(f"if {field.name} is None:"):
            out(f"raise {out.name(EncodeError, 'EncodeError')}({path!r}, 'it is missing')")
        field.wire.write(out, field.name, path)
    with out.block(f"elif {field.name} is not None:"):
        out(f"raise {out.name(EncodeError, 'EncodeError')}({path!r}, 'it has no place here')")


def _write_chain(of: Declaration, out: Source) -> None:
    table = {each: registry.of(each).write for each in of.extensions or ()}
    table[extensions.Unknown] = extensions.write_unknown
    with out.block("if exts:"):
        out("left = len(exts)")
        with out.block("for item in exts:"):
            out("left -= 1", f"child = {out.name(table, 'EXTENSIONS')}.get(type(item))")
            with out.block("if child is None:"):
                why = "{type(item).__name__} is no extension of this message"
                out(f"raise {out.name(EncodeError, 'EncodeError')}('{of.path}.exts', f{why!r})")
            for each in map(registry.of, of.extensions or ()):
                if each.only:
                    with out.block(f"if type(item) is {out.name(each.cls, each.name)} and not ({each.only}):"):
                        why = f"{each.name} has no place here"
                        out(f"raise {out.name(EncodeError, 'EncodeError')}('{of.path}.exts', {why!r})")
            out("child(item, out, 0x80 if left else 0)")


def header_note(of: Declaration) -> list[str]:
    """What to say about each value of a message's header: its name, and what its cells say."""
    wide = {field.presence.what: field.values for field in of.fields if field.presence and field.values}
    says = {cell: _says(of, cell) for cell in of.cells}
    text = []
    for header in range(256):
        words = [of.title]
        for cell in dict.fromkeys(of.cells):
            mask = of.mask(cell)
            if cell in wide:
                value = (header & mask) // (mask & -mask)
                words += [each.name.lower() for each in wide[cell] if each == value]
            elif header & mask and cell != "X":
                words.append(f"{cell}: {says[cell]}" if says[cell] else cell)
        text.append(", ".join(words))
    return text


OF_EVERY_MESSAGE = {"Z": "extensions", "N": "suffix", "M": "sender's scope"}
"""What cells say that no field is bound to: a chain follows, and the two of a key expression."""


def _says(of: Declaration, cell: str) -> str:
    """What a set cell says: the fields that it is, or that follow."""
    named = [field.name for field in of.fields if field.presence and field.presence.what == cell]
    return " and ".join(named) or OF_EVERY_MESSAGE.get(cell, "")


def surplus(at: int, path: str, size: int) -> Diagnostic:
    """An extension is longer than what it holds."""
    return Diagnostic(at, path, f"{size} bytes beyond the content", "non-canonical")
