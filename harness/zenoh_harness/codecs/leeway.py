"""What a codec may change when it writes again what it read; one rule for vectors, runs and fuzzing.

It may write an integer in fewer bytes, order extensions as it likes, write a field that has its default value or leave it out
(`meaning.comparable` sees no difference there), clear reserved bits, and leave out what it may skip: unknown extensions with M=0,
and extensions that no page declares or that belong to shared memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final

import zenoh_conformance.messages  # noqa: F401 - fills the registry
from zenoh_conformance.wire import registry
from zenoh_harness.codecs.meaning import DEFAULT_EXTS, DEFAULTS

NamedExt = tuple[str, Any]
"""An extension in comparable form: its name and its fields."""

SKIPPABLE: Final[Mapping[str, frozenset[str]]] = {
    "TsStack": frozenset(),
    "BodyShm": frozenset(),
    "ShmAnswer": frozenset(),
    "Shm": frozenset({"Init", "Open"}),
}
"""Optional extensions that no page declares, or of shared memory; with the messages in which they are, empty for all."""

BEYOND: Final[Mapping[tuple[str, str], int]] = {("Open.RemoteBound", "value"): ~0xFF}
"""Bits that a reader may cut off although the field holds them: wire-reference, section 1.2."""


def reduce_to(ours: Any, theirs: Any, kind: str = "") -> Any:
    """Return a meaning without what a codec may lose, as far as it is lost in `theirs`; both in comparable form."""
    if isinstance(ours, list) and isinstance(theirs, list):
        return [reduce_to(*pair, kind) for pair in zip(ours, theirs, strict=False)] + ours[len(theirs) :]
    if not isinstance(ours, Mapping) or not isinstance(theirs, Mapping):
        return ours
    out = {name: reduce_to(value, theirs.get(name), name) for name, value in ours.items() if name != "exts"}
    for name, value in clear_reserved(kind, out).items():
        if value == theirs.get(name, DEFAULTS.get(kind, {}).get(name)):
            out[name] = value
            if name not in theirs:
                del out[name]
    if exts := list(_reduce_exts(kind, ours.get("exts", ()), theirs.get("exts", ()))):
        out["exts"] = exts
    return out


def _reduce_exts(kind: str, ours: Iterable[NamedExt], theirs: Sequence[NamedExt]) -> Iterable[NamedExt]:
    written = {name: fields for name, fields in theirs if name != "Unknown"}
    for name, fields in ours:
        if name == "Unknown":
            if fields.get("mandatory") or (name, fields) in theirs:
                yield name, fields
            continue
        plain = {**fields, **clear_reserved(f"{kind}.{name}", fields)}
        if name in written:
            yield name, plain if plain == written[name] else reduce_to(fields, written[name], name)
        elif not (plain == DEFAULT_EXTS.get(name) or _may_skip(kind, name)):
            yield name, fields


def _may_skip(kind: str, name: str) -> bool:
    return name in SKIPPABLE and (not SKIPPABLE[name] or kind in SKIPPABLE[name])


def clear_reserved(place: str, fields: Mapping[str, Any]) -> dict[str, int]:
    """Return the fields of a message, or of an extension `Message.Extension`, that have reserved bits set, without these bits."""
    masks = ((name, mask) for (at, name), mask in _reserved_bits().items() if at == place and name in fields)
    return {name: int(fields[name]) & ~mask for name, mask in masks if int(fields[name]) & mask}


@cache
def _reserved_bits() -> dict[tuple[str, str], int]:
    """Return place and field to reserved bits, as the declarations have them."""
    found = dict(BEYOND)
    for message in map(registry.of, registry.MESSAGES):
        exts = map(registry.of, message.extensions or ())
        places = [(message.name, message), *((f"{message.name}.{ext.name}", ext) for ext in exts)]
        for place, declared in places:
            for field in declared.fields:
                if mask := getattr(field.wire, "reserved", 0):
                    found[place, field.name] = mask
    return found
