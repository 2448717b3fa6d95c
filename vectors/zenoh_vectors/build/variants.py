"""Other meanings that say the same: a decoder may leave out what it skipped, and what stands at its default.

What a decoder cannot tell from its absence, no writer has to send: such bytes are not canonical.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

Fields = dict[str, Any]
Reduce = Callable[[str, Fields], Fields | None]
"""Kind and fields to fewer fields; None when the whole says no more than its absence."""

INFO_BITS = 0xFFFF01
"""What QueryableInfo has a meaning for: complete, and sixteen bits of distance."""
QUIET: dict[str, Fields] = {
    "QoS": {"value": 5}, "NodeId": {"value": 0}, "QueryTarget": {"value": 0}, "Patch": {"value": 0}, "Budget": {"value": 0},
    "QueryableInfo": {"value": 0}, "WireExpr": {"flags": 0, "scope": 0},
}  # fmt: skip
"""Extensions that say what their absence says."""
DEFAULTS: dict[str, tuple[Fields, ...]] = {
    "Put": ({"encoding": {"id": 0}},), "Err": ({"encoding": {"id": 0}},), "Hello": ({"locators": []},),
    "Query": ({"consolidation": 0}, {"parameters": ""}), "Reply": ({"consolidation": 0},),
    "Init": ({"resolution": 0x0A, "batch_size": 65535},), "Join": ({"resolution": 0x0A, "batch_size": 8192},),
}  # fmt: skip
"""Fields that, together, say what their absence says."""


def skipped(kind: str, fields: Fields) -> Fields | None:
    """Without extensions that nobody knows."""
    return None if kind == "Unknown" else fields


def gathered(kind: str, fields: Fields) -> Fields | None:
    """With extensions that nobody knows behind the others."""
    if "exts" in fields:
        return {**fields, "exts": sorted(fields["exts"], key=lambda ext: "Unknown" in ext)}
    return fields


def unshared(kind: str, fields: Fields) -> Fields | None:
    """Without the optional extensions of nodes that share memory."""
    if kind in ("Init", "Open") and "exts" in fields:
        return _with_exts(fields, [ext for ext in fields["exts"] if not {"Shm", "ShmAnswer"} & ext.keys()])
    return fields


def defaulted(kind: str, fields: Fields) -> Fields | None:
    """Without what stands at its default."""
    if kind == "QueryableInfo":
        fields = {"value": int(fields["value"]) & INFO_BITS}
    if QUIET.get(kind) == fields:
        return None
    for text in DEFAULTS.get(kind, ()):
        if all(fields.get(name) == value for name, value in text.items()):
            fields = {name: value for name, value in fields.items() if name not in text}
    if fields.get("key", {}).get("suffix") == "":
        fields = {**fields, "key": {name: value for name, value in fields["key"].items() if name != "suffix"}}
        if kind == "Interest":
            fields["options"] &= ~0x20
    if kind in ("Open", "Join") and not fields["lease_in_seconds"] and int(fields["lease"]) % 1000 == 0:
        fields = {**fields, "lease_in_seconds": True, "lease": int(fields["lease"]) // 1000}
    return fields


def unnamed(kind: str, fields: Fields) -> Fields | None:
    """Without an empty suffix, where the options go on saying N: a decoder may keep the byte and not the difference."""
    if kind == "Interest" and fields.get("key", {}).get("suffix") == "":
        return {**fields, "key": {name: value for name, value in fields["key"].items() if name != "suffix"}}
    return fields


def unmapped(kind: str, fields: Fields) -> Fields | None:
    """Without the side of the mapping where the header has no M."""
    if kind in ("DKeyExpr", "Interest") and "key" in fields:
        return {**fields, "key": {name: value for name, value in fields["key"].items() if name != "mapping"}}
    return fields


def _with_exts(fields: Fields, exts: list[Any]) -> Fields:
    rest = {name: value for name, value in fields.items() if name != "exts"}
    return {**rest, "exts": exts} if exts else rest


def reduced(node: Any, by: Reduce) -> Any:
    """A meaning with one reduction applied throughout."""
    if isinstance(node, list):
        return [reduced(item, by) for item in node]
    if not isinstance(node, dict):
        return node
    if len(node) == 1 and (kind := next(iter(node)))[:1].isupper():
        fields = _inside(node[kind], by)
        return {kind: by(kind, fields) or {}}
    return _inside(node, by)


def _inside(fields: Fields, by: Reduce) -> Fields:
    out = {name: reduced(value, by) for name, value in fields.items() if name != "exts"}
    exts = []
    for ext in fields.get("exts", ()):
        kind, text = next(iter(ext.items()))
        if (kept := by(kind, text)) is not None:
            exts.append({kind: kept})
    return {**out, "exts": exts} if exts else out


def variants(means: Fields) -> list[Fields]:
    """All meanings that say the same, fullest first, without `means` itself."""
    found: list[Fields] = []
    reductions = [by for by in (gathered, skipped, unshared, unnamed, defaulted, unmapped) if reduced(means, by) != means]
    for size in range(1, len(reductions) + 1):
        for chosen in combinations(reductions, size):
            text: Any = means
            for by in chosen:
                text = reduced(text, by)
            if text != means and text not in found:
                found.append(text)
    return found


def is_plain(means: Fields) -> bool:
    """Whether this is the shortest encoding of the meaning."""
    return all(reduced(means, by) == means for by in (skipped, defaulted))


def needs_of(paths: list[str]) -> list[str]:
    """What only some builds can do: payloads in shared memory."""
    shared = any(part in ("shm", "shm_answer", "body_shm") for path in paths for part in path.split("."))
    return ["shm"] if shared else []
