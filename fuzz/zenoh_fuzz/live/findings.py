"""Work with the findings of live campaigns: run them again, make them smaller, merge corpora."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.primitives import WhatAmI
from zenoh_fuzz.campaign.record import ledger_row
from zenoh_fuzz.triage.minimise import keep
from zenoh_harness.errors import UsageError
from zenoh_harness.files import campaigns, scripts
from zenoh_harness.files.campaigns import FindingRow
from zenoh_harness.run.store import embargo
from zenoh_harness.targets.lookup import open_checked

from . import seeds
from .acts import Input
from .input_scripts import input_of, role_of
from .triage import ORACLE, SEEN_ONCE, Minimiser, row_of
from .trial import Symptom, Trial

REPEATS = 3
"""Times that a finding is run before it counts as gone."""


def is_live(place: Path) -> bool:
    """Return whether that is the folder of a live campaign, or of one of its findings."""
    if (place / campaigns.FINDING).is_file():
        return campaigns.read_finding(place).oracle == ORACLE
    return campaigns.kind_of(place) == "live"


def inputs_of(row: FindingRow) -> tuple[tuple[Input, ...], WhatAmI]:
    """Return the inputs of a finding, and what our sessions said they are."""
    script = scripts.parse(bytes.fromhex(row.input).decode(), row.id)
    return input_of(script), role_of(script)


def replay(row: FindingRow, targets: Sequence[str] = ()) -> list[FindingRow]:
    """Run a finding on its targets, or on others; return what shows, as findings of now."""
    made, role = inputs_of(row)
    found = []
    for target in targets or row.targets:
        trial = Trial(open_checked(target), role)
        try:
            outcomes = (trial.run(made) for _ in range(REPEATS))
            symptom = next((outcome.symptom for outcome in outcomes if outcome.symptom is not None), None)
        finally:
            trial.stop()
        if symptom is not None:
            found.append(row_of(trial, symptom, made, confirmed=True))
    return found


def symptom_of(row: FindingRow) -> Symptom:
    """Return the symptom of a stored finding, to look for it again; its verdict is that of the row and not known here."""
    return Symptom(rule=row.rule, about=row.signature.partition(": ")[2], verdict=Verdict.FAIL, why=row.why)


def recover_ledger(folder: Path) -> dict[str, FindingRow]:
    """Return the ledger of a campaign, with what was stored when the campaign was killed before it was listed."""
    ledger = campaigns.read_ledger(folder)
    stored = (
        campaigns.read_finding(path.parent) for path in folder.glob(f"{campaigns.FINDINGS}/*/{campaigns.FINDING}")
    )
    lost = {row.id: ledger_row(row) for row in stored if row.id not in ledger}
    if lost:
        ledger |= lost
        campaigns.write_ledger(folder, ledger)
    return ledger


def unfinished_findings(folder: Path, ledger: Mapping[str, FindingRow]) -> Iterator[FindingRow]:
    """Yield the findings of a ledger that were confirmed and not minimised, in full; those under embargo from the user's folder."""
    for name, listed in ledger.items():
        place = (embargo.folder() / "fuzz" if listed.embargo else folder) / campaigns.FINDINGS / name
        if (place / campaigns.FINDING).is_file():
            row = campaigns.read_finding(place)
            if row.standing == "new" and not row.why.endswith(SEEN_ONCE):
                yield row


def minimise(place: Path) -> FindingRow:
    """Make the inputs of a stored finding smaller, and store it. Raises UsageError if it does not show any more."""
    row = campaigns.read_finding(place)
    made, role = inputs_of(row)
    trial = Trial(open_checked(row.targets[0]), role)
    minimiser = Minimiser(trial, symptom_of(row))
    try:
        confirmed = minimiser.confirm(made, sure=False)
        if not confirmed:
            raise UsageError(
                f"{place}: the script does not show this finding on {row.targets[0]}",
                step="minimise",
                hint="another version of the target may have fixed it: promote --as fixed",
            )
        smallest = minimiser.smallest(confirmed)
    finally:
        trial.stop()
    assert minimiser.seen is not None
    small = replace(
        row_of(trial, minimiser.seen, smallest, confirmed=True, minimised=True),
        id=row.id,
        count=row.count,
        embargo=row.embargo,
    )
    keep(place, small)
    return small


def merge(folder: Path, others: Sequence[Path]) -> tuple[int, int]:
    """Take seeds of other places into the corpus; return how many scripts it held before and holds now."""
    corpus = folder / "corpus"
    corpus.mkdir(exist_ok=True)
    before = len(list(corpus.iterdir()))
    for place in others:
        for made in seeds.seeds_from(place):
            seeds.keep(corpus, made)
    return before, len(list(corpus.iterdir()))


def coverage(folder: Path) -> list[str]:
    """Return which small spaces the workers of a campaign have tried, and how often each edit was used."""
    import json
    from collections import Counter

    spaces, used = Counter[str](), Counter[str]()
    for path in sorted(folder.glob("state-*.json")):
        state = json.loads(path.read_text())
        spaces.update(state["spaces"])
        used.update(state["used"])
    lines = [f"{name:<24} {count} inputs tried" for name, count in sorted(spaces.items())]
    return lines + [f"edit {name:<19} used {count} times" for name, count in used.most_common()]
