"""The names of messages and extensions as a table, from the vectors themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from zenoh_vectors.loader import Vector, load

EXTENSION = re.compile(r"(?:.*\.)?(?P<owner>\w+)(?:\[[0-9]+\])?\.exts\.(?P<slug>\w+)\.header")
NOTE = re.compile(r"(?P<name>\w+), id 0x(?P<id>[0-9a-f]+), (?P<enc>unit|z64|zbuf)(?P<mandatory>, mandatory)?(, Z)?")
HEADER = re.compile(r"(?:.*\.)?(?P<owner>[a-z_]+)(?:\[[0-9]+\])?\.header")
LANES = ("Control", "RealTime", "InteractiveHigh", "InteractiveLow", "DataHigh", "Data", "DataLow", "Background")
"""The names of the priorities by number (primitives#priority)."""

SNS = """
## The next sequence numbers of JOIN

`QoS` of JOIN holds `sns`: eight pairs, `[reliable, best_effort]`; the place is the priority. In `segments` they are called
`join.exts.qos.sns[PLACE].reliable` and `.best_effort`. Without `QoS`, `next_sn_reliable` and `next_sn_best_effort` are those of Data.

| in `means` | priority | in `segments` |
|---|---|---|
"""

HEAD = "# Names\n\nMessages and extensions as paths (`segments`) and meanings (`means`) call them.\n"


def table(vectors: Iterable[Vector] | None = None) -> str:
    """A Markdown table: messages with the low five bits of their header; extensions with message, id, encoding and M."""
    messages: dict[str, int] = {}
    extensions: set[tuple[str, str, str, str, str]] = set()
    for vector in load() if vectors is None else vectors:
        for segment in vector.segments if vector.canonical else ():
            path, note = EXTENSION.fullmatch(segment.path), NOTE.fullmatch(segment.note)
            if path and note and note["name"] != "Unknown":
                mandatory = "yes" if note["mandatory"] else "no"
                extensions.add((path["owner"], note["name"], "0x" + note["id"], note["enc"], mandatory))
            elif not path and (message := HEADER.fullmatch(segment.path)):
                messages.setdefault(message["owner"], segment.data[0] & 0x1F)
    rows = [f"| `{name}` | {ident:#04x} |" for name, ident in sorted(messages.items())]
    more = [
        f"| `{owner}` | `{name}` | {rest} |"
        for owner, name, *others in sorted(extensions)
        for rest in (" | ".join(others),)
    ]
    heads = ("| in | extension in `means` | id | encoding | mandatory |", "|---|---|---|---|---|")
    parts = (HEAD, "| message in paths | id |", "|---|---|", *rows, "", *heads, *more, SNS.rstrip("\n"), *_sns(), "")
    return "\n".join(parts)


def _sns() -> Iterator[str]:
    for place, lane in enumerate(LANES):
        for at, channel in enumerate(("reliable", "best_effort")):
            yield f"| `sns[{place}][{at}]` | {place} {lane}, {channel} | `sns[{place}].{channel}` |"
