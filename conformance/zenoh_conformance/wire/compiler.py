"""Compiles the three functions of a declaration: read, trace (a reader that also marks segments), write."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from . import extensions, notes, registry
from .errors import DecodeError, Diagnostic, EncodeError, excessive_length, unexpected_end
from .extensions import NO_EXTS, Exts
from .layer import Enc
from .nested import add_call
from .source import FunctionSource
from .types import Vle, report_reserved

if TYPE_CHECKING:
    from .declare import Declaration, Field

Z = 0x80
SIZE = Vle(32)
TAKEN = frozenset(
    ["data", "at", "end", "diagnostics", "mark", "prefix", "header", "head", "begin", "child", "item", "out", "packed"]
)
"""The local variables of generated functions, which no field may be called."""


def build(declaration: Declaration, *, after_exts: frozenset[str]) -> None:
    """Compile the three functions; the extension chain comes before the fields `after_exts`."""
    if clash := TAKEN & {field.name for field in declaration.fields}:
        raise ValueError(f"{declaration.name}: a field cannot be called {', '.join(sorted(clash))}")
    declaration.read = _reader(declaration, after_exts, traced=False)
    declaration.trace = _defer(lambda: _reader(declaration, after_exts, traced=True))
    declaration.write = _writer(declaration, after_exts)


def _defer(make: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    """Make a function at its first call: most messages are never traced."""
    made = cache(make)
    return lambda *arguments: made()(*arguments)


def _reader(of: Declaration, after_exts: frozenset[str], *, traced: bool) -> Any:
    signature = "data, at, end, diagnostics" + (", mark, prefix" if traced else "")
    out = FunctionSource(f"read_{of.path}({signature})", traced=traced)
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


def _read_header(of: Declaration, out: FunctionSource) -> None:
    path = f"{of.path}.header"
    out("header = data[at]")  # the caller has checked that there is a byte
    if reserved := of.mask("X"):
        report_reserved(out, "header", reserved, "at", path)
    for field in of.fields:
        if field.presence and field.presence.how == "flag":
            out(f"{field.name} = header & {of.mask(field.presence.what):#x} != 0")
        elif field.presence and field.presence.how == "bits":
            _read_bits(of, field, out)
    out("at += 1")
    if out.traced:
        chain = f"('chain', prefix + '{of.path}.exts')" if of.extensions is not None else "None"
        out.mark(path, f"{out.name(header_note(of), 'header_note')}[header]", chain)


def _read_bits(of: Declaration, field: Field, out: FunctionSource) -> None:
    assert field.presence
    assert field.values
    mask = of.mask(field.presence.what)
    shift = (mask & -mask).bit_length() - 1
    values = {int(value): value for value in field.values}
    out(f"{field.name} = {out.name(values, field.name.upper())}.get(header >> {shift} & {mask >> shift})")
    why = f"{field.presence.what} has a reserved value"
    out.raise_if(f"{field.name} is None", DecodeError, f"at, {of.path + '.header'!r}, {why!r}")


def _read_extension_header(of: Declaration, out: FunctionSource) -> None:
    enc = Enc(of.id >> 5)
    text = f"{of.name}, extension {of.id & 0x0F:#x} {enc.word}" + ", mandatory" * (of.id >> 4 & 1)
    out("at += 1")
    out.mark(f"{of.path}.header", repr(text), "('chain', prefix[:-1])")
    if enc is Enc.ZBUF:
        path = f"{of.path}.length"
        out("begin = at")
        SIZE.read_count(out, "size", path)
        out.mark(path, f"{out.name(notes.size, 'size_note')}(size)", f"('vle', prefix + {of.path!r})")
        out.raise_if("size > end - at", excessive_length, f"begin, {path!r}, size, end - at")
        out("end = at + size")


def _read_surplus(of: Declaration, out: FunctionSource) -> None:
    with out.block("if at < end:"):
        out(f"diagnostics.append({out.name(surplus, 'surplus')}(at, {of.path!r}, end - at))", "at = end")
        out.mark(f"{of.path}.surplus", "'beyond the content'")


def _read_field(of: Declaration, field: Field, out: FunctionSource) -> None:
    if field.wire is None:
        return
    if field.presence is None:
        field.wire.read(out, field.name, of.root + field.name)
        return
    with out.block(f"if {of.condition(field.presence)}:"):
        field.wire.read(out, field.name, of.root + field.name)
    with out.block("else:"):
        out(f"{field.name} = None")


def _read_chain(of: Declaration, out: FunctionSource) -> None:
    declared = [registry.of(extension) for extension in of.extensions or ()]
    table = {extension.id: extension.trace if out.traced else extension.read for extension in declared}
    names = {extension.id: extension.path for extension in declared}
    unknown = extensions.skip_unknown if of.lenient else extensions.read_unknown
    with out.block(f"if not header & {Z:#x}:"):
        out(f"exts = {out.name(NO_EXTS, 'NO_EXTS')}")
    with out.block("else:"):
        out("exts, seen, head = [], [], header")
        with out.block(f"while head & {Z:#x}:"):
            out.raise_if("at >= end", unexpected_end, f"end, '{of.path}.exts', 'another extension'")
            out("head = data[at]")
            with out.block("if head & 0x7f in seen:"):
                duplicate = out.name(extensions.duplicate, "duplicate")
                out(f"diagnostics.append({duplicate}(at, head, {out.name(names, 'NAMES')}))")
            with out.block("else:"):
                out("seen.append(head & 0x7f)")
            out(f"child = {out.name(table, 'EXTENSIONS')}.get(head & 0x7f, {out.name(unknown, unknown.__name__)})")
            for extension in declared:
                if extension.only:
                    with out.block(f"if head & 0x7f == {extension.id:#x} and not ({extension.only}):"):
                        out(f"child = {out.name(unknown, unknown.__name__)}")
            add_call(out, "child", "item", repr(f"{of.path}.exts."))
            out("exts.append(item)")
        out(f"exts = {out.name(Exts, 'Exts')}(exts)")


def _writer(of: Declaration, after_exts: frozenset[str]) -> Any:
    out = FunctionSource(f"write_{of.path}(value, out{', more' if of.kind == 'extension' else ''})")
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


def _write_header(of: Declaration, out: FunctionSource) -> None:
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


def _write_field(of: Declaration, field: Field, out: FunctionSource) -> None:
    if field.wire is None:
        return
    path = of.root + field.name
    if field.presence is None:
        field.wire.write(out, field.name, path)
        return
    with out.block(f"if {of.condition(field.presence)}:"):
        out.raise_if(f"{field.name} is None", EncodeError, f"{path!r}, 'it is missing'")
        field.wire.write(out, field.name, path)
    with out.block(f"elif {field.name} is not None:"):
        out(f"raise {out.name(EncodeError, 'EncodeError')}({path!r}, 'it has no place here')")


def _write_chain(of: Declaration, out: FunctionSource) -> None:
    table = {extension: registry.of(extension).write for extension in of.extensions or ()}
    table[extensions.Unknown] = extensions.write_unknown
    with out.block("if exts:"):
        out("left = len(exts)")
        with out.block("for item in exts:"):
            out("left -= 1", f"child = {out.name(table, 'EXTENSIONS')}.get(type(item))")
            why = "{type(item).__name__} is no extension of this message"
            out.raise_if("child is None", EncodeError, f"'{of.path}.exts', f{why!r}")
            for extension in map(registry.of, of.extensions or ()):
                if extension.only:
                    misplaced = f"type(item) is {out.name(extension.cls, extension.name)} and not ({extension.only})"
                    why = f"{extension.name} has no place here"
                    out.raise_if(misplaced, EncodeError, f"'{of.path}.exts', {why!r}")
            out("child(item, out, 0x80 if left else 0)")


def header_note(of: Declaration) -> list[str]:
    """The notes on all 256 values of a message's header: the message's name, and the meaning of each set cell."""
    wide = {field.presence.what: field.values for field in of.fields if field.presence and field.values}
    meanings = {cell: _meaning(of, cell) for cell in of.cells}
    notes = []
    for header in range(256):
        words = [of.title]
        for cell in dict.fromkeys(of.cells):
            mask = of.mask(cell)
            if cell in wide:
                value = (header & mask) // (mask & -mask)
                words += [member.name.lower() for member in wide[cell] if member == value]
            elif header & mask and cell != "X":
                words.append(f"{cell}: {meanings[cell]}" if meanings[cell] else cell)
        notes.append(", ".join(words))
    return notes


OF_EVERY_MESSAGE = {"Z": "extensions", "N": "suffix", "M": "sender's scope"}
"""The meaning of cells that no field is bound to: the extension chain, and the two of a key expression."""


def _meaning(of: Declaration, cell: str) -> str:
    """The meaning of a set cell: the fields that it holds, or that follow."""
    names = [field.name for field in of.fields if field.presence and field.presence.what == cell]
    return " and ".join(names) or OF_EVERY_MESSAGE.get(cell, "")


def surplus(at: int, path: str, size: int) -> Diagnostic:
    """The diagnostic for an extension that is longer than its content."""
    return Diagnostic(at, path, f"{size} bytes beyond the content", "non-canonical")
