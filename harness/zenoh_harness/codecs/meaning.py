"""Meanings as far as a codec made of structs can tell them.

zenoh-rust's structs hold no difference between an absent field and its default, nor between seconds and the same time
in milliseconds; they hold each extension once, and those that they do not know only inside data messages. Whatever
differs after `comparable` differs in fact.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

DATA: Final = frozenset({"Put", "Del", "Query", "Reply", "Err"})
"""Messages whose unknown extensions are kept."""

DEFAULT_EXTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "QoS": {"value": 5}, "NodeId": {"value": 0}, "QueryTarget": {"value": 0}, "Budget": {"value": 0},
    "Patch": {"value": 0}, "QueryableInfo": {"value": 0}, "WireExpr": {"flags": 0, "scope": 0},
}  # fmt: skip
"""Extensions that mean the same as their absence."""

DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "Init": {"resolution": 0x0A, "batch_size": 65535},
    "Join": {"resolution": 0x0A, "batch_size": 8192},
    "Put": {"encoding": {"id": 0}}, "Err": {"encoding": {"id": 0}},
    "Query": {"consolidation": 0, "parameters": ""}, "Reply": {"consolidation": 0},
    "Hello": {"locators": []}, "QueryBody": {"encoding": {"id": 0}},
}  # fmt: skip
"""Fields that mean the same as their absence, by kind."""

NAMED: Final = 0x20
"""Option N of INTEREST, which says that a suffix follows; zenoh-rust writes an empty one as none."""

ZIDS: Final = frozenset({"zid"})


def comparable(means: Any, kind: str = "") -> Any:
    """A meaning as the structs hold it: defaults left out, times in one unit, extensions once and by name."""
    if isinstance(means, list):
        return [comparable(item) for item in means]
    if not isinstance(means, Mapping):
        return means
    fields = {name: _field(name, value) for name, value in means.items() if name != "exts"}
    if exts := _exts(means.get("exts", ()), kind):
        fields["exts"] = exts
    if fields.get("suffix") == "":
        del fields["suffix"]
    if kind == "Interest" and isinstance(fields.get("key"), Mapping) and "suffix" not in fields["key"]:
        fields["options"] = int(fields.get("options", 0)) & ~NAMED
    for name, default in DEFAULTS.get(kind, {}).items():
        if fields.get(name) == default:
            del fields[name]
    return _in_milliseconds(fields)


def _field(name: str, value: Any) -> Any:
    if name in ZIDS and isinstance(value, str):
        while value.startswith("00"):
            value = value[2:]
        return value
    return comparable(value, name)


def _exts(exts: Any, kind: str) -> list[tuple[str, Any]]:
    """By name, the last of each; unknown ones in their order, where they are kept."""
    named: dict[str, Any] = {}
    unknown = []
    for ext in exts:
        name, fields = next(iter(ext.items()))
        if name == "Unknown":
            unknown += [("Unknown", fields)] if kind in DATA else []
        else:
            named[name] = comparable(fields, name)
    kept = [(name, fields) for name, fields in sorted(named.items()) if fields != DEFAULT_EXTS.get(name)]
    return kept + unknown


def _in_milliseconds(fields: dict[str, Any]) -> dict[str, Any]:
    if "lease" in fields:
        seconds = fields.pop("lease_in_seconds", False)
        fields["lease"] = int(fields["lease"]) * (1000 if seconds else 1)
    return fields
