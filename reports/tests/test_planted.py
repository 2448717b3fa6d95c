"""Thirty violations in a fleet of forty nodes: each found, at its packet and its node; nobody else is accused."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from fleets import captured

from zenoh_conformance.codec import encode
from zenoh_conformance.law import all_laws
from zenoh_conformance.messages.init import Compression, Patch
from zenoh_conformance.wire.extensions import Exts
from zenoh_harness.auditing import judge_file
from zenoh_reports.plain import audit, tables, traffic
from zenoh_reports.plain.packets import packets

Steps = list[tuple[bool, Any]]
NODES, OPENING, TCP = 40, 7, 3
"""Packets that open a session; of these TCP's own."""


def change(at: int, **fields: Any) -> Callable[[Steps], int]:
    """One message of the handshake with other fields; which."""

    def edit(steps: Steps) -> int:
        to_server, message = steps[at]
        steps[at] = (to_server, replace(message, **fields))
        return at

    return edit


def another_version(steps: Steps) -> int:
    raw = bytearray(encode(steps[0][1]))
    raw[1] = 7
    steps[0] = (True, bytes(raw))
    return 0


def raised_resolution(steps: Steps) -> int:
    steps[0] = (True, replace(steps[0][1], resolution=0x05, batch_size=65535))
    return 1


VIOLATIONS: dict[str, Callable[[Steps], int]] = {
    "session-establishment/init-version-current": another_version,
    "session-establishment/cookie-echo": change(2, cookie=b"another"),
    "session-establishment/compression-needs-both": change(1, exts=Exts([Compression()])),
    "session-establishment/resolution-not-raised": raised_resolution,
    "session-establishment/initial-sn-in-range": change(3, initial_sn=1 << 40),
    "session-establishment/patch-at-most-offered": change(1, exts=Exts([Patch(value=1)])),
}


def test_each_violation_is_found_where_it_is(tmp_path: Path) -> None:
    planted: dict[int, tuple[str, int, str]] = {}

    def plant(index: int, steps: Steps) -> None:
        if index < 30:
            requirement, edit = list(VIOLATIONS.items())[index % len(VIOLATIONS)]
            step = edit(steps)
            node = f"10.0.1.{index}" if steps[step][0] else f"10.0.0.{1 + index % 4}"
            planted[index] = (requirement, OPENING * index + TCP + step + 1, node)

    file = captured(tmp_path, nodes=NODES, frames=800, plant=plant)
    found = tables.findings(audit.whole_audit(traffic.sorted_rows(packets([str(file)]))))
    laws = [law for law in all_laws().values() if law not in audit.too_wide()]
    there = judge_file(file, laws=laws).audit.charges

    missed = set(planted.values()) - {(row.requirement, row.packet, row.node) for row in found}
    assert not missed
    assert {row.connection.partition(":")[0] for row in found} == {f"10.0.1.{index}" for index in planted}
    assert Counter((row.law, row.packet, row.cause) for row in found) == Counter(
        (charge.law, charge.packet, charge.cause) for charge in there
    )
