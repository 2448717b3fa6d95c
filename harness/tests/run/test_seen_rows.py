"""What a node writes, counted by row, and reads in cases: judged where a check would have seen a fault in it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from zenoh_conformance.judging.engine import judge
from zenoh_conformance.judging.shown_rows import WRITTEN, RowCount
from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.reference import Reference
from zenoh_harness.reference.memory import MemoryScene
from zenoh_harness.run.attempt.options import Options
from zenoh_harness.run.check_names import every_name, requirements_of
from zenoh_harness.run.plan.plan import Selection
from zenoh_harness.run.runner import parts_of, run_target
from zenoh_harness.run.vectors.seen_rows import SeenRows, row_of, written_on
from zenoh_harness.targets.reach import parse

ROW = "session-establishment/init-cookie"
SHOWN = "push/put-payload"


def test_the_rows_of_a_handshake_are_counted_for_their_sender():
    scene = MemoryScene("", Reference, seed=1)
    scene.session("us").fence()
    counts = {side: RowCount(side) for side in Side}
    for count in counts.values():
        judge(scene.conversation, (), watch=count)
    cookie = {side: counts[side].rows["session-establishment/init-cookie"] for side in Side}
    assert cookie == {Side.INITIATOR: 0, Side.RESPONDER: 1}
    assert counts[Side.RESPONDER].rows["message-reference/frame-sn"] >= 1
    assert set(counts[Side.RESPONDER].rows) <= set(requirements())


def said(check, verdict):
    """A judgement of a check."""
    return SimpleNamespace(key=SimpleNamespace(check=check), verdict=verdict)


@pytest.mark.parametrize(
    ("count", "verdicts", "expected"),
    [
        (7, [Verdict.PASS], Verdict.PASS),
        (0, [Verdict.PASS], Verdict.NOT_OBSERVED),
        (7, [Verdict.NOT_OBSERVED], Verdict.NOT_OBSERVED),
        (7, [Verdict.PASS, Verdict.FAIL], Verdict.NOT_OBSERVED),
    ],
)
def test_a_row_rests_on_the_checks_that_show_its_mis_writing(count, verdicts, expected):
    rows = SeenRows(Selection(), Side.RESPONDER, speaks=True)
    checks = {one for fault in written_on()["responder"][SHOWN] for one in fault}
    judgements = [said(check, each) for check in checks for each in verdicts]
    every = rows.verdicts(lambda row: count if row == SHOWN else 0, {}, judgements)
    found = {check: (verdict, details) for check, verdict, _, details in every}
    assert found["written/" + SHOWN] == (expected, {"by": "node", "written": count})


def test_a_law_that_met_something_counts_as_a_check():
    rows = SeenRows(Selection(), Side.RESPONDER, speaks=True)
    table = written_on()["responder"]
    checks = [check for check in rows.checks if check.startswith(WRITTEN)]
    row = next(
        row_of(one) for one in checks if all(any("law/" in law for law in fault) for fault in table[row_of(one)])
    )
    laws = {one: Verdict.PASS for fault in table[row] for one in fault if one.startswith("law/")}
    found = {each[0]: each[1] for each in rows.verdicts(lambda _row: 1, laws, [])}
    assert found[WRITTEN + row] is Verdict.PASS


def test_a_run_counts_what_a_node_wrote(tmp_path: Path):
    case = "routing-plain/a-publication-reaches-a-subscriber"
    options = Options(out=tmp_path, depth="quick", selection=Selection((case, f"written/{SHOWN}")))
    reach = parse("reference?role=router&as=responder")
    ran = run_target(reach, options, parts_of(reach, options))
    [row] = [one for one in ran.judgements if one.key.check == f"written/{SHOWN}"]
    assert row.key.requirement == SHOWN and row.details["written"] > 0


@pytest.mark.parametrize("check", ["vectors/push/put-payload", "written/push/put-payload"])
def test_the_checks_of_rows_can_be_named(check):
    assert requirements_of(check) == (SHOWN,) and check in every_name()
