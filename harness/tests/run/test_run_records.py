"""What is recorded of staying up: deaths that no case repeats, an illness from the start, slowness, or a pass."""

import pytest
from run_fakes import FakeTarget
from run_registers import register

from zenoh_conformance.judging.verdict import Verdict
from zenoh_harness.files.known import Known
from zenoh_harness.run.group import Death
from zenoh_harness.run.lifecycle import Unhealthy
from zenoh_harness.run.records import Records

CRASH, HANG = Unhealthy(Verdict.CRASH, "signal 9"), Unhealthy(Verdict.HANG, "it accepts no link")
ILL, SLOW = Unhealthy(Verdict.ZOMBIE, "from the start: silence"), Unhealthy(Verdict.SLOW, "works, past its budget")


@pytest.mark.parametrize(
    ("deaths", "unhealthy", "slow", "due"),
    [
        ([CRASH, HANG], None, None, CRASH),
        ([HANG, CRASH], None, None, HANG),
        ([HANG], ILL, SLOW, HANG),
        ([], ILL, SLOW, ILL),
        ([], None, SLOW, SLOW),
        ([], None, None, Unhealthy(Verdict.PASS, "")),
    ],
    ids=["crash-first", "hang-first", "death-of-an-ill-one", "ill", "slow", "well"],
)
def test_a_death_outranks_an_illness_and_that_outranks_slowness(tmp_path, deaths, unhealthy, slow, due):
    made = register(tmp_path)
    records = Records(FakeTarget(), "default", made, Known(), 0)
    records.stays_up([Death(each, ()) for each in deaths], unhealthy, slow)
    [judgement] = made.judgements
    assert (judgement.verdict, judgement.cause) == (due.verdict, due.cause)
    assert judgement.details.get("deaths", 0) == len(deaths)
