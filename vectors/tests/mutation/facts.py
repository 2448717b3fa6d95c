"""A fault for each layout that a requirement tells, made from the codec's own declarations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from mutation.engine import Change, Code, Entry, Mutant, NoSuchPlace, Text, source_of, tables_with
from zenoh_conformance.spec.requirement import Fact, Requirement, requirements
from zenoh_conformance.wire import compiler, registry
from zenoh_conformance.wire.declare import Declaration
from zenoh_conformance.wire.errors import DecodeError

Made = Iterator[tuple[str, tuple[Change, ...]]]


def mutants() -> Iterator[Mutant]:
    """One or more for each requirement that a codec can keep and whose block says where."""
    for requirement in requirements().values():
        if requirement.fact is not None and requirement.fact.fact in RULES:
            yield from _of(requirement, requirement.fact)


def _of(requirement: Requirement, fact: Fact) -> Iterator[Mutant]:
    for owner in _owners(fact):
        for name, changes in RULES[fact.fact](fact, owner):
            where = f" in {owner.cls.__module__.rpartition('.')[2]}" if not fact.message else ""
            yield Mutant(
                f"{requirement.id}: {name}{where}", changes, requirement.id, (owner.path.replace("_", "-") + "/",)
            )


OF_ONE = ("frame", "join", "init", "open")
"""Modules of messages whose extensions are their own, whatever they are called."""


def _owners(fact: Fact) -> list[Declaration]:
    """The declaration that the fact is about: of a message, or of an extension that stands for several messages."""
    if fact.message:
        return [each for each in map(registry.of, registry.MESSAGES) if each.cls.__name__ == fact.message]
    if fact.ext:
        kinds = [registry.of(each) for each in registry.EXTENSIONS]
        return [
            each for each in kinds if each.name == fact.ext and each.cls.__module__.rpartition(".")[2] not in OF_ONE
        ]
    return []


def extension(of: Declaration, name: str) -> Declaration:
    """The extension of this name in the message's table."""
    return next(each for each in map(registry.of, of.extensions or ()) if each.name == name)


# --- helpers that mutants call -----------------------------------------------------------------------------------------


def corrupt(value: Any) -> Any:
    """Another value of the same type."""
    match value:
        case bool():
            return not value
        case int():
            return type(value)(value ^ 1) if type(value) is int else value
        case bytes():
            return value + b"\0"
        case str():
            return value + "x"
        case tuple():
            return value[:-1]
        case None:
            return None
    raise DecodeError(0, "", "read as something else")


def swapped(value: Any, of: int, mask: int = -1) -> Any:
    """`of` taken for its neighbour, and the other way round."""
    if value is None or value & mask not in (of, of ^ 1):
        return value
    other = value ^ 1
    try:
        return type(value)(other)
    except ValueError as none:
        raise DecodeError(0, "", "no such value") from none


def refuse(value: int, mask: int) -> int:
    """The value, unless one of these bits is set."""
    if value & mask:
        raise DecodeError(0, "", "a reserved bit")
    return value


HELPERS: dict[str, Callable[..., Any]] = {"corrupt": corrupt, "swapped": swapped, "refuse": refuse}


def text(of: Declaration, old: str, new: str, nth: int | None = None) -> tuple[Change, ...]:
    """The reader with other text, and with the helpers at hand."""
    names = of.read.__globals__
    known: dict[str, Any] = {**HELPERS, "DecodeError": DecodeError}
    return (*(Entry(names, name, known[name]) for name in known if name in new), Text(of.read, old, new, nth))


def mask_of(bits: str) -> int:
    """`5:3` -> 0b111000."""
    high, _, low = bits.partition(":")
    return sum(1 << bit for bit in range(int(low or high), min(int(high), 63) + 1))


# --- a rule for each kind of fact --------------------------------------------------------------------------------------


def of_id(fact: Fact, of: Declaration) -> Made:
    """The message under an id that nobody has."""
    every = {each.__name__: registry.of(each).read for each in registry.MESSAGES}
    tables = [*registry.READERS.values()]
    tables += [
        table
        for table in tables_with(every, of.read)
        if isinstance(table, list) and not any(table is one for one in tables)
    ]
    changes: list[Change] = []
    for table in tables:
        if len(table) == 32 and table[of.id] is of.read:
            changes += [Entry(table, of.id, None), Entry(table, 0x0F, of.read)]
    yield "another id", tuple(changes)


def of_flag(fact: Fact, of: Declaration) -> Made:
    """The flag in another bit, or never looked at."""
    if fact.flag in ("ENC", "Mod"):
        yield "one bit lower", text(of, "header >> 5 & 3", "header >> 4 & 3")
    elif fact.flag == "Z":
        yield "never looked at", text(of, "if not header & 0x80:", "if True:")
    else:
        mask = 1 << (fact.bit or 0)
        yield "in the other bit", text(of, f"header & {mask:#x}", f"header & {0x60 ^ mask:#x}")
        yield "never looked at", text(of, f"header & {mask:#x}", "header & 0x0")


def of_field(fact: Fact, of: Declaration) -> Made:
    """The field read by another type."""
    holder, name = (
        (extension(of, fact.ext), fact.field.rpartition(".")[2]) if fact.ext and fact.message else (of, fact.field)
    )
    if name == "body":
        yield "another id of the body", text(of, "CHILDREN[data[at] & 0x1f]", "CHILDREN[data[at] & 0x1f ^ 1]")
        return
    if name == "packed":
        yield "nibbles changed over", text(of, "packed = data[at]", "packed = data[at] >> 4 | (data[at] & 15) << 4")
        return
    if fact.wire == "unit":
        yield "with a value", text(holder, "at += 1", "at += 2", 0)
        return
    yield from _types(holder, name.replace("[]", ""), fact)


def _types(of: Declaration, name: str, fact: Fact) -> Made:
    local = name.replace(".", "_")
    item = f"key.{name.partition('.')[2]}" if name.startswith("key.") else f"item.{name}"
    source = source_of(of.read)
    for size in (f"{local}_size", local, f"{local}_number"):
        if f"({size} := data[at]) < 0x80" in source:
            yield "of seven bits", text(of, f"({size} := data[at]) < 0x80", f"({size} := data[at] & 0x7f) < 0x80")
            break
    if f"at += {local}_size" in source:
        yield "one byte more", text(of, f"at += {local}_size", f"at += {local}_size + 1")
    if f"{local} = {local}.decode()" in source:
        yield "Latin-1", text(of, f"{local}.decode()", f"{local}.decode('latin-1')")
    if f"{local} = data[at] | data[at + 1] << 8" in source:
        yield (
            "high byte first",
            text(of, f"{local} = data[at] | data[at + 1] << 8", f"{local} = data[at] << 8 | data[at + 1]"),
        )
    value = f"key_{name.partition('.')[2]}" if name.startswith("key.") else name
    if f"{item} = {value}\n" in source:
        yield "another value", text(of, f"{item} = {value}\n", f"{item} = corrupt({value})\n")


def of_order(fact: Fact, of: Declaration) -> Made:
    """The first two fields changed over; where there is but one, a byte too many."""
    holder = extension(of, fact.ext) if fact.ext and fact.message else of
    names = [each.name for each in holder.fields]
    wire = [each for each in holder.fields if each.wire is not None]
    first = wire[0] if wire else None
    if first is None:
        yield "a byte more", text(of, "at += 1", "at += 2", 0)
        return
    if len(wire) > 1 and wire[1].presence is None and first.presence is None:
        mixed = list(holder.fields)
        here, there = mixed.index(first), mixed.index(wire[1])
        mixed[here], mixed[there] = mixed[there], mixed[here]
        yield f"{first.name} behind {wire[1].name}", rebuilt(holder, tuple(mixed), _after(holder))
    if holder.extensions is not None:
        late = _after(holder)
        yield "extensions elsewhere", rebuilt(holder, holder.fields, frozenset(names) if not late else frozenset())


def _after(of: Declaration) -> frozenset[str]:
    names = list(of.cls.__dataclass_fields__)
    return frozenset(names[names.index("exts") + 1 :] if "exts" in names else ())


def rebuilt(of: Declaration, fields: tuple[Any, ...], after: frozenset[str]) -> tuple[Change, ...]:
    """The reader of a declaration that says otherwise."""
    other = replace(of, fields=fields)
    compiler.build(other, after_exts=after)
    return (Code(of.read, other.read),)


def of_extension(fact: Fact, of: Declaration) -> Made:
    """The extension under another id, with the other M, with another encoding."""
    if of.kind == "extension":
        return
    table = of.read.__globals__["EXTENSIONS"]
    header = extension(of, fact.ext).id
    enc = 0x20 if header & 0x40 == 0 else 0x40
    others = {"another id": header & 0x70 | 0x0C, "the other M": header ^ 0x10, "another encoding": header ^ enc}
    for name, other in others.items():
        if other not in table:
            yield name, (Entry(table, header, DELETED_READER), Entry(table, other, table[header]))


def DELETED_READER(data: bytes, at: int, end: int, found: list[Any]) -> Any:  # noqa: N802 - stands where a reader does
    """What a codec does with a header that it does not have in its table."""
    from zenoh_conformance.wire.extensions import read_unknown

    return read_unknown(data, at, end, found)


def of_reserved(fact: Fact, of: Declaration) -> Made:
    """Refused where it is to be passed over."""
    old = "diagnostics.append(reserved_bits("
    yield "refused", text(of, old, "raise DecodeError(0, '', '') if True else (reserved_bits(", 0)


def of_bits(fact: Fact, of: Declaration) -> Made:
    """The bits somewhere else, never looked at, or refused."""
    mask, name = mask_of(fact.bits), fact.field.rpartition(".")[2]
    if fact.field == "zid" and fact.bits == "7:4":
        yield "the other nibble", text(of, "(packed >> 4) + 1", "(packed & 15) + 1")
    elif fact.field == "zid":
        yield "the bit beside", text(of, "if packed & 0x8:", "if packed & 0x4:")
    elif fact.field in ("whatami", "what"):
        yield "one bit higher", text(of, f"packed & {mask:#x}", f"packed >> 1 & {mask:#x}")
    elif fact.field == "packed":
        yield "refused", text(of, "packed = data[at]", f"packed = refuse(data[at], {mask:#x})")
    elif fact.field == "resolution" and mask == 0xF0:
        return  # what a reader makes of them is left open; `by_hand` has a writer that sets them
    elif fact.field in ("options", "resolution") or fact.field.startswith("resolution."):
        field = fact.field.partition(".")[0]
        yield _bit_change(of, field, f"{field} = data[at]\n", f"{field} = CHANGED(data[at], {mask:#x})\n", fact, mask)
    else:
        holder = extension(of, fact.field.partition(".")[0]) if of.kind == "message" else of
        yield _bit_change(holder, name, "item.value = value\n", f"item.value = CHANGED(value, {mask:#x})\n", fact, mask)


def _bit_change(
    of: Declaration, name: str, old: str, new: str, fact: Fact, mask: int
) -> tuple[str, tuple[Change, ...]]:
    reserved = mask in (0x40, 0x80, 0xF8, 0xF0) and fact.field != "options"
    if reserved:
        return "refused", text(of, old, new.replace("CHANGED", "refuse"))
    start, _, rest = new.partition("CHANGED(")
    value, _, _ = rest.partition(",")
    return "never looked at", text(of, old, f"{start}{value} & ~{mask:#x}\n")


def of_value(fact: Fact, of: Declaration) -> Made:
    """The value taken for its neighbour."""
    value = fact.value or 0
    if fact.field in ("enc", "mode"):
        name = fact.field.upper()
        table = of.read.__globals__[name]
        other = value ^ 1 if value ^ 1 in table else 0
        yield "taken for another", (Entry(table, value, table[other]), Entry(table, other, table[value]))
    elif fact.field == "resolution":
        yield "taken for another", text(of, "resolution = data[at]\n", f"resolution = swapped(data[at], {value}, 3)\n")
    elif fact.field.endswith(".value"):
        holder = extension(of, fact.field.partition(".")[0]) if of.kind == "message" else of
        mask = 7 if holder.name == "QoS" else -1
        yield (
            "taken for another",
            text(holder, "item.value = value\n", f"item.value = swapped(value, {value}, {mask})\n"),
        )
    else:
        old = f"item.{fact.field} = {fact.field}\n"
        yield "taken for another", text(of, old, f"item.{fact.field} = swapped({fact.field}, {value})\n")


def of_meaning(fact: Fact, of: Declaration) -> Made:
    """The unit the other way round."""
    yield (
        "the other way round",
        text(of, "item.lease_in_seconds = lease_in_seconds", "item.lease_in_seconds = not lease_in_seconds"),
    )


def of_presence(fact: Fact, of: Declaration) -> Made:
    """One of two fields without the other."""
    yield "one without the other", text(of, "if header & 0x40:", "if header & 0x0:", 1)


def of_carrier(fact: Fact, of: Declaration) -> Made:
    """A carrier that does not take it."""
    every = {each.__name__: registry.of(each).read for each in registry.MESSAGES}
    for name, function in every.items():
        for table in tables_with({name: function}, of.read):
            if isinstance(table, list) and table is not registry.READERS.get(of.layer or ""):
                yield f"not in {name}", (Entry(table, of.id, None),)


def of_extensions(fact: Fact, of: Declaration) -> Made:
    """What no table has is refused."""
    yield "refused", text(of, "head = data[at]", "head = refuse(data[at], 0x0f)")


def of_rest(fact: Fact, of: Declaration) -> Made:
    """Only the first message is read."""
    yield "one only", text(of, "while at < end and", "while not messages and at < end and")


RULES: dict[str, Callable[[Fact, Declaration], Made]] = {
    "id": of_id, "flag": of_flag, "field": of_field, "order": of_order, "extension": of_extension, "reserved": of_reserved,
    "bits": of_bits, "value": of_value, "meaning": of_meaning, "presence": of_presence, "carrier": of_carrier,
    "extensions": of_extensions, "rest": of_rest,
}  # fmt: skip
"""By the kind of fact; the others are in `by_hand`."""

__all__ = ["NoSuchPlace", "mutants"]
