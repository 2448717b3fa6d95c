"""What a live node makes of what we send: for each row two messages, and how what is seen differs.

The nodes' log tells what they read; what follows from it is seen by an application on the node, by another session of
ours to which it forwards, or by us, in what it answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from zenoh_conformance.reading import codec
from zenoh_conformance.wire import Layer
from zenoh_harness.foreign.confirm.live import Probe, read_by_nodes
from zenoh_harness.foreign.live.company import Company
from zenoh_harness.foreign.live.debug import Text, Tree, Value, parse
from zenoh_harness.foreign.live.variants import MessagePair, message, variants
from zenoh_harness.foreign.live.witness import LONGEST, LiveWitness

TABLE: Final = "effects.json"
"""The file of the last answers, beside this module."""

WHY_NOT: Final[Mapping[str, str]] = {
    "open.exts.shm": "this release answers shared memory with bytes (ShmAnswer) and skips the number unread",
    "open.exts.shm.value": "this release answers shared memory with bytes (ShmAnswer) and skips the number unread",
}
"""Rows of which a live node shows nothing."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One row of the table."""

    row: str
    doc: str
    log: str
    """How the log of the node that reads both messages differs; empty when it does not."""
    seen: str
    """What else differs, and for whom; empty when nothing does."""
    why: str
    """Why nothing can be seen; empty when something is."""


def write(path: Path, release: str) -> list[Effect]:
    """Fill the table of a release: one row a line, the same for the same answers."""
    found = list(effects(release))
    rows = [json.dumps({name: value for name, value in asdict(each).items() if value}) for each in found]
    head = json.dumps({"witness": f"zenoh-rust {release}"})[:-1]
    path.write_text(f'{head}, "rows": [\n' + ",\n".join(rows) + "\n]}\n", encoding="utf-8")
    return found


def effects_table() -> dict[str, Any]:
    """Return the table that is in the repository: `witness`, and `rows`, each with the fields of an Effect that are not empty."""
    found: dict[str, Any] = json.loads(
        (files("zenoh_harness") / "foreign" / "live" / TABLE).read_text(encoding="utf-8")
    )
    return found


def effects(release: str) -> Iterator[Effect]:
    """One a row, in the order of the declarations."""
    rows = list(variants())
    logs = read_by_nodes(release, [probe for row in rows for probe in (_probe(row, row.one), _probe(row, row.other))])
    with Company("effects", release=release, log="error") as company:
        witness = LiveWitness(company)
        for row in rows:
            one, other = next(logs), next(logs)
            seen = witness.difference(row)
            log = read(one, other) if one and other else ""
            yield Effect(row.row, row.doc, log, seen, "" if log or seen else WHY_NOT.get(row.row, ""))


def _probe(row: MessagePair, means: Mapping[str, Any]) -> Probe:
    data = codec.encode(message(row.layer, means))
    if row.layer is Layer.NETWORK:
        data = b"\x25\x00" + data
    return Probe(data, scouting=row.layer is Layer.SCOUTING)


def read(one: str, other: str) -> str:
    """The first place at which two texts of a log differ: `ext_attachment: None -> Some(..)`."""
    path, before, after = next(_differences(parse(one), parse(other), ""), ("", "", ""))
    return f"{path}: {_short(before)} -> {_short(after)}" if path else ""


def _differences(one: Value, other: Value, path: str) -> Iterator[tuple[str, Value, Value]]:
    if isinstance(one, Tree) and isinstance(other, Tree) and one.name == other.name:
        for name in one.fields:
            yield from _differences(one.fields[name], other.fields.get(name), name)
        for pair in zip(one.items, other.items, strict=False):
            yield from _differences(*pair, path)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for pair in zip(one, other, strict=True):
            yield from (
                _differences(*pair, path)
                if isinstance(pair[0], Tree)
                else ([(path, one, other)] if pair[0] != pair[1] else [])
            )
    elif one != other:
        yield path, one, other


def _short(value: Value) -> str:
    """A part of a log, as the log writes it."""
    shown = _as_in_log(value)
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}..."


def _as_in_log(value: Value) -> str:
    if isinstance(value, Text):
        return f'"{value.text}"'
    if isinstance(value, list):
        return f"[{', '.join(map(_as_in_log, value))}]"
    if isinstance(value, Tree):
        inside = ", ".join(
            [f"{name}: {_as_in_log(each)}" for name, each in value.fields.items()] or map(_as_in_log, value.items)
        )
        return f"{value.name} {{ {inside} }}" if value.fields else f"{value.name}({inside})"
    return str(value)
