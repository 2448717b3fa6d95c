"""From a finding as it was met to a finding as it is told: the smallest input of the same signature, explained."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from zenoh_harness.errors import UsageError
from zenoh_harness.files import campaigns
from zenoh_harness.files.campaigns import FindingRow

from .judging import Judge
from .minimise import smallest
from .telling import explained


def reduced(place: Path) -> FindingRow:
    """Minimise and explain the finding in a folder, and keep it there and in the ledger beside.

    UsageError when the input does not show the finding any more.
    """
    row = campaigns.read_finding(place)
    found: dict[bytes, FindingRow] = {}
    with Judge(row.oracle, row.targets, dict(row.versions)) as judge:

        def same(data: bytes) -> bool:
            hit = next((one for one in judge(data) if one.signature == row.signature), None)
            if hit is not None:
                found[data] = hit
            return hit is not None

        data = bytes.fromhex(row.input)
        if not same(data):
            raise UsageError(f"{place}: the input does not show this finding", step="minimise",
                             hint="with other versions of the targets it may have been mended: promote --as fixed")  # fmt: skip
        best = smallest(data, same)
    small = replace(found[best], input=best.hex(), count=row.count, standing=_standing(row), embargo=row.embargo,
                    versions=row.versions)  # fmt: skip
    small = explained(small, str(place))
    keep(place, small)
    return small


def _standing(row: FindingRow) -> str:
    return "minimised" if row.standing == "new" else row.standing


def keep(place: Path, row: FindingRow) -> None:
    """Write a changed finding into its folder, and into the ledger of its campaign where there is one."""
    folder = place.resolve().parent.parent
    campaigns.keep_finding(folder, row)
    ledger = campaigns.read_ledger(folder)
    if row.id in ledger:
        ledger[row.id] = row
        campaigns.write_ledger(folder, ledger)
