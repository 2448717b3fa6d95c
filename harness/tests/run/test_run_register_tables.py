"""What is registered of a decision: the reading it follows, and what a known deviation makes of it."""

import datetime as dt
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from run_registers import MUST, key, register

from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.spec.errata import Erratum, Stance
from zenoh_harness.errors import Enough
from zenoh_harness.files.known import ListedDeviation
from zenoh_harness.run import runner
from zenoh_harness.run.write import register as registering
from zenoh_harness.run.write.register import reading

READINGS = {
    # stances of a requirement's errata, in their order: the reading of a target that passes
    (): None,
    ("PIN",): "as erratum:pin-0",
    ("DEV",): "as written",
    ("GAP",): None,
    ("BOTH",): None,
    ("PIN", "PIN"): "as erratum:pin-0",
    ("DEV", "PIN"): "as erratum:pin-1",
    ("GAP", "PIN"): "as erratum:pin-1",
    ("BOTH", "PIN"): "as erratum:pin-1",
    ("PIN", "GAP", "DEV"): "as erratum:pin-0",
    ("DEV", "DEV"): "as written",
    ("DEV", "GAP"): None,
    ("DEV", "BOTH"): None,
    ("GAP", "BOTH"): None,
}

SHIPPED = {
    "message-reference/length-prefix": "as erratum:prefix-per-batch",
    "session-establishment/low-latency-needs-both": "as erratum:open-confirms-nothing",
    "push/put-ext-shm": "as written",
    "message-reference/frame-sn": None,
    "session-establishment/lease-effective-minimum": None,
    MUST: None,
    "no/such-requirement": None,
}
"""Requirements as they ship, and the reading of a target that passes."""

TODAY, LATER, EARLIER = dt.date(2030, 1, 2), dt.date(2030, 1, 3), dt.date(2030, 1, 1)


@pytest.fixture
def differing(monkeypatch):
    """A requirement `a/b` whose errata have the given stances."""

    def made(stances):
        named = {f"{stance.lower()}-{number}": stance for number, stance in enumerate(stances)}
        errata = {
            name: Erratum(id=name, text="", baseline="", evidence=("seen",), stance=Stance(stance))
            for name, stance in named.items()
        }
        monkeypatch.setattr(registering, "errata", lambda: errata)
        monkeypatch.setattr(registering, "requirements", lambda: {"a/b": SimpleNamespace(erratum=tuple(named))})

    return made


@pytest.mark.parametrize("stances", READINGS, ids=lambda stances: "-".join(stances) or "none")
@pytest.mark.parametrize("verdict", Verdict, ids=lambda verdict: verdict.value)
def test_the_reading_of_every_mixture_of_stances(differing, stances, verdict):
    """Only a pass tells which of two readings was followed."""
    differing(stances)
    assert reading("a/b", verdict) == (READINGS[stances] if verdict is Verdict.PASS else None)


@pytest.mark.parametrize("requirement", SHIPPED)
def test_the_reading_of_requirements_that_ship(tmp_path, requirement):
    made = register(tmp_path)
    assert made.add(key(requirement=requirement), Verdict.PASS).reading == SHIPPED[requirement]
    assert made.add(key(requirement=requirement), Verdict.FAIL).reading is None
    assert made.add(key(requirement=requirement), Verdict.FAIL, read="as written").reading == "as written"


def listed(expires=None, verdict=Verdict.FAIL):
    return ListedDeviation(
        verdict=verdict, cause="stage *: silence", reason="so it is", check="close/one", expires=expires
    )


def deviating(folder, *seen, expires=None):
    """What is registered of several verdicts with their causes, where `listed` is known."""
    made = register(folder, listed(expires), today=TODAY)
    for verdict, cause in seen:
        made.add(key(), Verdict(verdict), cause=cause)
    return made


RIGHT, OTHER = "stage open: silence", "stage open: OpenAck"

EXCUSED = {
    # verdict, cause, expiry: what is registered, whether it says that the entry has expired
    ("fail", RIGHT, None): ("known", False),
    ("fail", RIGHT, LATER): ("known", False),
    ("fail", RIGHT, TODAY): ("fail", True),
    ("fail", RIGHT, EARLIER): ("fail", True),
    ("fail", OTHER, None): ("fail", False),
    ("fail", OTHER, EARLIER): ("fail", False),
    ("crash", RIGHT, None): ("crash", False),
    ("hang", RIGHT, None): ("hang", False),
    ("zombie", RIGHT, None): ("zombie", False),
    ("flaky", RIGHT, None): ("flaky", False),
    ("warn", RIGHT, None): ("warn", False),
    ("error", RIGHT, None): ("error", False),
    ("pass", "", None): ("pass", False),
    ("not-observed", "", None): ("not-observed", False),
}


@pytest.mark.parametrize("row", EXCUSED, ids=lambda row: f"{row[0]}-{row[1][-7:]}-{row[2]}")
def test_what_a_known_deviation_makes_of_a_verdict(tmp_path, row):
    verdict, cause, expires = row
    [judgement] = deviating(tmp_path, (verdict, cause), expires=expires).judgements
    assert (judgement.verdict.value, "expired" in judgement.details) == EXCUSED[row]
    if judgement.verdict is Verdict.KNOWN:
        until = {"expires": str(expires)} if expires else {}
        assert judgement.details["known"] == {"expected": "fail", "reason": "so it is", "see": "", "public": ""} | until
        assert judgement.cause == cause


GONE = {
    # what came of the checks that the entry is about: whether it has gone
    (): False,
    ("pass",): True,
    ("pass", "pass"): True,
    ("fail",): False,
    ("pass", "fail"): False,
    ("fail", "pass"): False,
    ("crash",): False,
    ("pass", "crash"): False,
    ("not-observed",): False,
    ("not-applicable",): False,
    ("unimplemented",): False,
}


@pytest.mark.parametrize("expires", [None, EARLIER], ids=["valid", "expired"])
@pytest.mark.parametrize("verdicts", GONE, ids=lambda verdicts: "-".join(verdicts) or "nothing")
def test_a_deviation_that_has_gone_is_a_fault_of_the_run(tmp_path, verdicts, expires):
    """One that has expired excuses nothing, and so cannot be gone."""
    made = deviating(tmp_path, *((each, RIGHT) for each in verdicts), expires=expires)
    before = len(made.judgements)
    runner._strict_checks(made, made._options, [])
    added = [(one.key.check, one.verdict.value) for one in made.judgements[before:]]
    assert added == ([("known/has-gone", "fail")] if GONE[verdicts] and expires is None else [])


@pytest.mark.parametrize("verdict", Verdict, ids=lambda verdict: verdict.value)
@pytest.mark.parametrize("strict", [False, True])
def test_a_run_ends_at_its_last_allowed_deviation_once(tmp_path, strict, verdict):
    made = register(tmp_path, strict=strict, max_fail=2)
    made.add(key("close/one"), verdict)
    with pytest.raises(Enough) if verdict.is_red(strict=strict) else nullcontext():
        made.add(key("close/two"), verdict)
    made.add(key("close/three"), verdict)
    assert len(made.judgements) == 3


@pytest.mark.parametrize("causes", [{RIGHT: 3, OTHER: 1}, {OTHER: 1, RIGHT: 3}])
def test_of_several_causes_each_must_be_listed(tmp_path, causes):
    made = register(tmp_path, listed(), today=TODAY)
    assert made.add(key(), Verdict.FAIL, cause=RIGHT, causes=causes).verdict is Verdict.FAIL
    assert (
        made.add(key(), Verdict.FAIL, cause=RIGHT, causes={RIGHT: 1, "stage init: silence": 1}).verdict.value == "known"
    )
