"""Known deviations: what they excuse, what they do not, what has gone, and what a file may not say."""

import datetime as dt
import json
import tomllib
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
from packaging.specifiers import SpecifierSet

from zenoh_conformance.cases.case import all_cases
from zenoh_conformance.judging.finding import OUR_FAULT
from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.judging.talks import THEY, WE, findings, told
from zenoh_conformance.judging.verdict import Judgement, Key, Verdict
from zenoh_conformance.messages import Declare, DKeyExpr, DSubscriber, Interest, USubscriber
from zenoh_conformance.messages.interest import InterestMode
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.reading.names import plain
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.errors import UsageError
from zenoh_harness.files import judged, known
from zenoh_harness.files.faults import FileFault
from zenoh_harness.files.scripts import STAYS_UP
from zenoh_harness.run.attempt.model_cases import model_cases
from zenoh_harness.scripting.shipped import script_cases

ENTRY = """
[[deviation]]
requirement = "push/put"
check = "push-put/drops"
versions = ">=1.0,<2"
role = "responder"
parameters = { bit = 3 }
verdict = "fail"
cause = "stage * where Close is required"
reason = "so it is"
owner = "us"
expires = 2030-01-01
"""
CAUSE = "stage open: OpenAck where Close is required"


def judgement(
    verdict=Verdict.FAIL, cause=CAUSE, *, version="1.10.2", role="responder", bit="3", check="push-put/drops"
):
    key = Key(target="t", version=version, role=role, profile="default", link="tcp", requirement="push/put",
              check=check,
              parameters=(("bit", bit),))  # fmt: skip
    return Judgement(key=key, level="MUST", verdict=verdict, cause=cause)


@pytest.fixture
def listed(tmp_path):
    path = tmp_path / "t.known.toml"
    path.write_text(ENTRY)
    return known.load([path], today=dt.date(2029, 1, 1))


def test_what_is_listed_is_excused(listed):
    assert listed.excuse(judgement()).reason == "so it is"
    assert listed.gone() == []


@pytest.mark.parametrize(
    "other",
    [
        judgement(cause="stage open: silence"),
        judgement(Verdict.CRASH),
        judgement(version="2.0"),
        judgement(version="what"),
        judgement(role="initiator"),
        judgement(bit="4"),
        judgement(check="push-put/other"),
    ],
)
def test_what_is_not_quite_listed_is_not_excused(listed, other):
    assert listed.excuse(other) is None


@pytest.mark.parametrize(
    ("pattern", "cause", "due"),
    [
        ("stage open: silence", "stage open: silence", True),
        ("stage *: silence", "stage open: silence", True),
        ("*", "", True),
        ("panicked at *: no entry", "panicked at a.rs:1:\nat b.rs:2: no entry", True),
        ("stage *: silence", "stage open: silence and more", False),
        ("stage *: silence", "in stage open: silence", False),
        ("stage open. silence", "stage open: silence", False),
        ("Stage *", "stage open: silence", False),
    ],
)
def test_a_cause_matches_as_a_whole_and_a_star_any_text(pattern, cause, due):
    assert known.matches(pattern, cause) is due


@pytest.mark.parametrize("field", ["requirement", "check", "role", "profile", "link"])
def test_an_entry_excuses_only_where_it_is_about(field):
    entry = known.ListedDeviation(verdict=Verdict.FAIL, cause="*", reason="so it is", **{field: "here"})
    here, elsewhere = (replace(judgement().key, **{field: value}) for value in ("here", "elsewhere"))
    assert (entry.about(here), entry.about(elsewhere)) == (True, False)


@pytest.mark.parametrize(("kind", "excused"), [("docker", True), ("wheel", False), ("", False)])
def test_an_entry_about_one_kind_excuses_no_other(kind, excused, tmp_path):
    """A panic that ends a container is survived in a Python process: there the same crash is news."""
    path = tmp_path / "t.known.toml"
    path.write_text(ENTRY.replace("verdict =", 'kind = "docker"\nverdict ='))
    one = known.load([path], today=dt.date(2029, 1, 1), kind=kind)
    assert (one.excuse(judgement()) is not None) is excused
    one.excuse(judgement(Verdict.PASS, ""))
    assert known.load([path], kind="wheel").gone() == []


@pytest.mark.parametrize(
    ("nodes", "excused"), [(["peer"], True), (["router", "peer"], True), (["router"], False), ([], True)]
)
def test_an_entry_about_peers_excuses_no_router(nodes, excused, tmp_path):
    path = tmp_path / "t.known.toml"
    path.write_text(ENTRY.replace("verdict =", 'node = "peer"\nverdict ='))
    one = known.of(known.read(path), today=dt.date(2029, 1, 1), nodes=nodes)
    assert (one.excuse(judgement()) is not None) is excused


def test_a_deviation_that_passes_has_gone(listed):
    listed.excuse(judgement(Verdict.PASS, ""))
    assert [one.check for one, _ in listed.gone()] == ["push-put/drops"]


def test_what_shows_sometimes_only_is_excused_and_has_never_gone(tmp_path):
    path = tmp_path / "t.known.toml"
    path.write_text(ENTRY.replace("verdict =", "sometimes = true\nverdict ="))
    listed = known.load([path], today=dt.date(2029, 1, 1))
    listed.excuse(judgement(Verdict.PASS, ""))
    assert listed.gone() == []
    assert listed.excuse(judgement()) is not None


@pytest.mark.parametrize("also", [judgement(), judgement(cause="other"), judgement(Verdict.ERROR, "")])
def test_a_deviation_that_shows_or_cannot_be_told_has_not_gone(listed, also):
    listed.excuse(judgement(Verdict.PASS, ""))
    listed.excuse(also)
    assert listed.gone() == []


@pytest.mark.parametrize("verdict", [Verdict.NOT_OBSERVED, Verdict.NOT_APPLICABLE, Verdict.UNIMPLEMENTED])
def test_what_met_nothing_keeps_no_deviation(listed, verdict):
    listed.excuse(judgement(verdict, ""))
    assert listed.gone() == []
    listed.excuse(judgement(Verdict.PASS, ""))
    assert [one.check for one, _ in listed.gone()] == ["push-put/drops"]


@pytest.mark.parametrize(
    ("version", "shows"),
    [
        ("1a2b3c4d5e", True),
        ("1.10.2-5-g1a2b3c4", True),
        ("5d6e7f8", True),
        ("1a2b3c", False),
        ("1.10.2", False),
        ("", False),
    ],
)
def test_versions_may_be_commits(version, shows, tmp_path):
    path = tmp_path / "t.known.toml"
    path.write_text(ENTRY.replace(">=1.0,<2", "commit 1a2b3c4, commit 5d6e7f8"))
    assert (known.load([path], today=dt.date(2029, 1, 1)).excuse(judgement(version=version)) is not None) is shows


@pytest.mark.parametrize(
    ("version", "named"),
    [
        ("1a2b3c4d5e", True),
        ("1a2b3c4d5e6f", True),
        ("1.10.2-5-g1a2b3c4", True),
        ("1a2b3c4d5f", False),
        ("1a2b3c4f", False),
        ("1a2b3c", False),
    ],
)
def test_a_commit_is_compared_as_far_as_both_are_written(version, named):
    assert known.Commits(("1a2b3c4d5e",)).names(version) is named


def test_an_undeclaration_that_overtakes_its_declaration_is_listed_as_the_law_tells_it():
    """What three sessions that declare and undeclare make of zenoh-rust now and then; no run makes it happen at will."""
    gone = Declare(body=USubscriber(id=0))
    held = Declare(interest_id=1, body=DSubscriber(id=0, key=WireExpr(scope=1, mapping=True)))
    asked = Interest(id=1, mode=InterestMode.CURRENT_FUTURE, options=0x02)
    named = Declare(body=DKeyExpr(expr_id=1, key=plain("t/1")))

    [found] = findings("law/undeclared-was-declared", told([(WE, asked), (THEY, named), (THEY, gone), (THEY, held)]))

    key = judgement(check="law/undeclared-was-declared").key
    listed = known.load([known.find("zenoh-rust")])
    excused = listed.entry(key, Verdict.FAIL, found.cause)
    assert excused is not None
    assert excused.sometimes

    [never] = findings("law/undeclared-was-declared", told([(WE, asked), (THEY, named), (THEY, gone)]))
    assert listed.entry(key, Verdict.FAIL, never.cause) is None


def test_a_list_that_ships_is_found_by_its_name():
    assert known.find("zenoh-rust").name == "zenoh-rust.known.toml"
    with pytest.raises(UsageError, match="zenoh-rast") as unknown:
        known.find("zenoh-rast")
    assert "zenoh-rust" in str(unknown.value)


def test_what_was_not_judged_at_all_has_not_gone(listed):
    assert listed.gone() == []


def test_an_expired_entry_excuses_nothing(listed):
    listed.today = dt.date(2030, 1, 1)
    assert listed.excuse(judgement()) is None
    assert listed.expired(judgement()) is not None


@pytest.mark.parametrize(
    ("entry", "version", "deviates"),
    [
        ({}, "1.10.2", True),
        ({"versions": SpecifierSet("<1.10")}, "1.10.2", False),
        ({"versions": SpecifierSet("<1.10")}, "1.9.0", True),
        ({"expires": dt.date(2029, 1, 1)}, "1.10.2", False),
        ({"expires": dt.date(2029, 1, 2)}, "1.10.2", True),
    ],
    ids=str,
)
def test_a_version_deviates_from_what_a_valid_entry_lists_for_it(entry, version, deviates):
    """Models pass over what the version is known to deviate from, for the causes that are listed, and nothing else."""
    row = {"requirement": "push/put", "verdict": Verdict.FAIL, "cause": "*", "reason": "so", **entry}
    found = known.Known([known.ListedDeviation(**row)], dt.date(2029, 1, 1)).requirements(version)
    assert found == ({"push/put": ("*",)} if deviates else {})


def test_what_is_listed_for_a_check_stands_under_the_check():
    row = {"check": "push-put/drops", "verdict": Verdict.FAIL, "cause": "*", "reason": "so"}
    assert known.Known([known.ListedDeviation(**row)]).requirements("1.10.2") == {"push-put/drops": ("*",)}


def test_a_model_meets_its_own_entry_again():
    """It passes over what checks found, and over nothing that an entry for it excuses: that would be gone without being mended."""

    def entry(check, requirement, cause, role=""):
        return known.ListedDeviation(
            verdict=Verdict.FAIL, cause=cause, reason="so", check=check, requirement=requirement, role=role
        )

    model = "models/establishment"
    listed = known.Known(
        [
            entry(model, "r/one", "await-init: OpenAck where a refusal is required"),
            entry("area/check", "r/one", "stage open: OpenAck where a refusal is required"),
            entry("area/check", "r/one", "stage open: silence where a refusal is required"),
            entry("models/closing", "r/two", "live: silence where the end of the link is required"),
            entry("area/another", "r/three", "*", role="initiator"),
        ],
        dt.date(2029, 1, 1),
    )

    of_model = listed.requirements("1", role="responder", model=model)
    of_another = listed.requirements("1", role="initiator", model="models/closing")

    assert of_model == {"r/one": ("stage open: silence where a refusal is required",)}
    assert of_another == {
        "r/one": (
            "stage open: OpenAck where a refusal is required", "stage open: silence where a refusal is required"
        ),
        "r/three": ("*",),
    }  # fmt: skip


def test_several_causes_must_all_be_listed(listed):
    assert listed.excuse(judgement(), [CAUSE, "stage init: what where Close is required"]) is not None
    assert listed.excuse(judgement(), [CAUSE, "stage init: silence"]) is None


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (("requirement", "requirment"), "did you mean requirement"),
        (('requirement = "push/put"\ncheck = "push-put/drops"\n', ""), "needs 'requirement' or 'check'"),
        (('verdict = "fail"', 'verdict = "pass"'), "'verdict' cannot be"),
        (('cause = "stage * where Close is required"', 'cause = "*"'), "'cause' must say"),
        (('cause = "stage * where Close is required"', ""), "'cause' is missing"),
        ((">=1.0,<2", "about 1"), "'versions' is no range"),
        ((">=1.0,<2", "commit 1a2"), "'versions' names no commits"),
        (('owner = "us"', ""), "needs 'see'"),
        (('owner = "us"', 'owner = " "'), "needs 'see'"),
        (('reason = "so it is"', 'reason = ""'), "'reason' must say"),
        (("expires = 2030-01-01", 'expires = "soon"'), "'expires' is no date"),
        (("[[deviation]]", "[deviation]"), "must be written [[deviation]]"),
        (("[[deviation]]", "[[deviations]]"), "unknown table"),
        (("[[deviation]]", "[[deviation"), "is no TOML"),
        (('check = "push-put/drops"', "check = 3"), "'check' must be str"),
    ],
)
def test_a_file_that_is_wrong_says_where(tmp_path, change, word):
    path = tmp_path / "t.known.toml"
    path.write_text(ENTRY.replace(*change))
    with pytest.raises(FileFault) as refused:
        known.read(path)
    assert word in str(refused.value)


def test_what_ships_is_readable_fits_the_schema_and_names_what_exists():
    schema = json.loads((files("zenoh_harness.files") / "schemas" / "known.schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    of_others = (case.id for case in (*script_cases(), *model_cases("quick", 0)))
    checks = {*all_cases(), *all_laws(), *of_others, STAYS_UP, ""}
    for path in Path(str(files("zenoh_harness") / "targets" / "known")).glob("*.known.toml"):
        text = tomllib.loads(path.read_text())
        validator.validate(text)
        assert not validator.is_valid({"deviation": [text["deviation"][0] | {"verdict": "pass"}]})
        for one in known.read(path):
            assert not one.requirement or one.requirement in requirements()
            assert one.check in checks or one.check.startswith("interop/")  # those are scenarios of two nodes


def test_the_same_entry_twice_is_refused(tmp_path):
    path = tmp_path / "t.known.toml"
    path.write_text(ENTRY + ENTRY)
    with pytest.raises(FileFault, match="says what entry 1 says"):
        known.read(path)


@pytest.mark.parametrize(
    "other",
    [
        ("push/put", "push/delete"), ("drops", "keeps"), ("<2", "<3"), ("responder", "initiator"), ("bit = 3", "bit = 4"),
        ('"fail"', '"crash"'), ("stage *", "stage open *"), *(("verdict", f'{name} = "x"\nverdict')
        for name in ("profile", "link", "kind", "node")),
    ],
)  # fmt: skip
def test_entries_that_differ_in_what_they_excuse_stand_side_by_side(tmp_path, other):
    path = tmp_path / "t.known.toml"
    path.write_text(ENTRY + ENTRY.replace(*other))
    assert len(known.read(path)) == 2


def test_what_was_judged_and_is_not_is_missing(tmp_path):
    path = tmp_path / "t.judged"
    judged.write(path, judged.judged_lines([judgement(), judgement(Verdict.NOT_OBSERVED, role="initiator")]))
    assert judged.read(path) == {"responder default push/put"}
    assert judged.missing(judged.read(path), judged.judged_lines([judgement(Verdict.NOT_OBSERVED)])) == [
        "responder default push/put"
    ]
    path.write_text("push/put\n")
    with pytest.raises(FileFault) as refused:
        judged.read(path)
    assert refused.value.line == 1


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("close/reason-expired", "close/expired-lease-is-expired"),
        ("close/reason-connection-to-self", "close/own-zid-is-connection-to-self"),
    ],
)
def test_a_requirement_that_a_law_judged_before_is_found_under_the_one_that_it_judges_now(tmp_path, before, now):
    path = tmp_path / "t.judged"
    path.write_text(f"responder default {before}\n")

    assert judged.missing(judged.read(path), frozenset({f"responder default {now}"})) == []
    assert judged.missing(judged.read(path), frozenset({f"responder default {before}"})) == []
    assert judged.missing(judged.read(path), frozenset({f"initiator default {now}"})) == [f"responder default {before}"]
    assert judged.missing(judged.read(path), frozenset()) == [f"responder default {before}"]


@pytest.mark.parametrize("verdict", Verdict)
def test_only_a_verdict_on_the_target_counts_as_judged(verdict):
    """An error of the harness says nothing about the target."""
    silent = verdict.value in ("not-observed", "not-applicable", "unimplemented", "error")
    assert judged.judged_lines([judgement(verdict)]) == (set() if silent else {"responder default push/put"})
    assert judged.judged_lines([judgement(verdict), judgement()]) == {"responder default push/put"}


@pytest.mark.parametrize("verdict", Verdict)
def test_our_machine_prevents_only_what_was_not_observed(verdict):
    late = judged.prevented_lines([judgement(verdict, f"not reached: {OUR_FAULT[0]} is required")])
    assert bool(late) is (verdict is Verdict.NOT_OBSERVED)


@pytest.mark.parametrize("why", OUR_FAULT)
def test_what_our_machine_was_too_slow_for_is_not_gone(why):
    late = judgement(Verdict.NOT_OBSERVED, f"not reached: {why} is required")

    assert judged.judged_lines([late]) == frozenset()
    assert judged.prevented_lines([late, judgement(Verdict.NOT_OBSERVED, role="initiator")]) == {
        "responder default push/put"
    }
