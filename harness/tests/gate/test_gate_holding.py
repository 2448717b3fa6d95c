"""A run held against a list: every kind of red, what is told and not red, and the edits. No target is started."""

import datetime as dt
from dataclasses import replace

import pytest

from zenoh_conformance.judging.verdict import Exit, Judgement, Key, Verdict
from zenoh_harness.errors import UsageError
from zenoh_harness.files.faults import FileFault
from zenoh_harness.gate import editing, entries, report
from zenoh_harness.gate.alerts import alerts_of_gate
from zenoh_harness.gate.comparison import GateReason, compare, exit_code_of

COOKIE = "session-establishment/cookie-must-match"
CHANGED = "establishment-cookie/a-changed-cookie-is-refused"
INVENTED = "establishment-cookie/an-invented-cookie-is-refused"
OPENED = "stage open: OpenAck where a refusal is required"


def judgement(
    verdict, cause="", check=CHANGED, requirement=COOKIE, version="1.2", profile="default", level="MUST", **more
):
    parameters = tuple(more.pop("parameters", {}).items())
    key = Key(
        target="mine", version=version, role="responder", profile=profile, link="tcp", requirement=requirement, check=check,
        parameters=parameters,
    )  # fmt: skip
    return Judgement(key=key, level=level, verdict=Verdict(verdict), cause=cause, **more)


def entry(check=CHANGED, cause=OPENED, reason="so it is", owner="us", **more):
    lines = [f'{name} = "{value}"' for name, value in more.items()]
    words = [
        f'check = "{check}"',
        'verdict = "fail"',
        f'cause = "{cause}"',
        f'reason = "{reason}"',
        f'owner = "{owner}"',
    ]
    text = [line for line in words if line.partition(" ")[0] not in more]
    return "\n".join(["[[deviation]]", *text, *lines]) + "\n"


TODAY = dt.date(2026, 6, 1)


def held(tmp_path, text, *judgements, kind="exec", **more):
    path = tmp_path / "mine.known.toml"
    path.write_bytes(text.encode())
    return compare(judgements, entries.read_entries(path), kind=kind, today=TODAY, **more)


def kinds(found):
    return [(item.kind, item.placed.number if item.placed else None) for item in found.items]


FAILS = judgement("fail", OPENED)
MODEL = "models/establishment"
OF_MODEL = entry(MODEL, requirement="session-establishment/refusal-is-close")
"""As it is written for a model that found a deviation from another requirement than that which it passes under."""


def test_what_the_harness_could_not_judge_is_no_alert_of_the_gate(tmp_path):
    """It is red, and no line of the user's repository brings it about."""
    found = held(tmp_path, entry(cause="other"), FAILS, judgement("error", "our own", check=INVENTED))
    assert kinds(found) == [(GateReason.CHANGED, 1), (GateReason.ERROR, None)]
    assert [(one.why, one.first.cause) for one in alerts_of_gate(found, tmp_path, None)] == [("changed", OPENED)]


@pytest.mark.parametrize(
    ("text", "seen", "expected"),
    [
        ("", FAILS, [(GateReason.NEW, None)]),
        (entry(), FAILS, []),
        (entry(cause="stage init: *"), FAILS, [(GateReason.CHANGED, 1)]),
        (entry(verdict="crash"), FAILS, [(GateReason.CHANGED, 1)]),
        (entry(INVENTED), FAILS, [(GateReason.NEW, None)]),
        (entry(expires="2026-06-01"), FAILS, [(GateReason.EXPIRED, 1)]),
        (entry(expires="2026-06-02"), FAILS, []),
        (entry(cause="stage init: *", expires="2026-06-01"), FAILS, [(GateReason.NEW, None)]),
        (entry(cause="stage init: *", expires="2026-06-01") + entry(cause="a: *"), FAILS, [(GateReason.CHANGED, 2)]),
        (entry(cause="stage init: *") + entry(expires="2026-06-01"), FAILS, [(GateReason.EXPIRED, 2)]),
        (entry(), (FAILS, judgement("fail", "stage init: x")), [(GateReason.NEW, None)]),
        (entry(), judgement("pass"), [(GateReason.FIXED, 1)]),
        (OF_MODEL, judgement("pass", check=MODEL), [(GateReason.FIXED, 1)]),
        (OF_MODEL, judgement("fail", OPENED, check=MODEL), [(GateReason.NEW, None)]),
        (OF_MODEL, judgement("pass"), []),
        (entry(versions=">=2"), judgement("pass"), []),
        (entry(versions=">=2"), FAILS, [(GateReason.NEW, None)]),
        (entry(kind="wheel"), FAILS, [(GateReason.NEW, None)]),
        (entry(), judgement("not-observed"), []),
        ("", judgement("error", "we broke"), [(GateReason.ERROR, None)]),
        ("", judgement("fail", "was judged before", check="judged/no-longer"), [(GateReason.LOST, None)]),
        ("", judgement("warn", "a bit"), []),
        ("", judgement("flaky", "now so, now so"), [(GateReason.NEW, None)]),
    ],
)  # fmt: skip
def test_each_kind(tmp_path, text, seen, expected):
    assert kinds(held(tmp_path, text, *(seen if isinstance(seen, tuple) else (seen,)))) == expected


def test_of_a_run_that_was_cut_short_nothing_is_fixed(tmp_path):
    assert not held(tmp_path, entry(), judgement("pass"), complete=False).red


def test_strict_makes_warnings_red(tmp_path):
    assert kinds(held(tmp_path, "", judgement("warn", "a bit"), strict=True)) == [(GateReason.NEW, None)]


@pytest.mark.parametrize(
    ("text", "seen", "why"),
    [
        (entry(versions=">=2"), judgement("pass"), "is about versions >=2; the target is 1.2"),
        (entry(kind="wheel"), judgement("pass"), "targets of kind wheel"),
        (entry(), judgement("not-observed", "met nothing"), "is not-observed: met nothing"),
        (entry(profile="qos-off"), judgement("pass"), "another role, profile, depth or selection"),
        (entry(expires="2026-01-01"), judgement("pass"), "expired on 2026-01-01"),
    ],
)
def test_an_entry_that_met_nothing_is_told_with_the_reason(tmp_path, text, seen, why):
    found = held(tmp_path, text, seen)
    assert not found.red
    assert [why in one.why for one in found.idle] == [True]


@pytest.mark.parametrize("causes", [{OPENED: 2, "stage open: silence": 1}, [OPENED, "stage open: silence"]])
def test_a_law_is_excused_when_each_of_its_causes_is(tmp_path, causes):
    """`zconform run` writes causes with their counts, `zconform interop` without."""
    law = judgement("fail", OPENED, details={"causes": causes})
    found = held(tmp_path, entry(), law)
    assert kinds(found) == [(GateReason.NEW, None)]
    assert [one.cause for one in found.unlisted] == ["stage open: silence"]
    assert not held(tmp_path, entry() + entry(cause="stage open: silence"), law).red


def test_what_is_under_embargo_is_counted_and_nothing_else(tmp_path):
    found = held(tmp_path, "", judgement("crash", "a secret", embargo=True), judgement("pass"))
    assert (found.red, found.embargoed, found.items, found.unlisted) == (True, 1, (), ())


LIST = f"""\
# Ours. Look here first.

# the old parser
{entry(owner="me").replace('owner = "me"', 'owner = "me"   # still')}
# the new one
{entry(INVENTED)}"""


def updated(tmp_path, text, *judgements):
    found = held(tmp_path, text, *judgements)
    return editing.updated_list(text, found, judgements, "due: who")


def test_update_without_a_change_changes_no_byte(tmp_path):
    for text in (LIST, LIST.replace("\n", "\r\n")):
        assert updated(tmp_path, text, FAILS, judgement("fail", OPENED, INVENTED)) == text


def test_what_is_fixed_goes_with_its_comment_and_the_rest_stays(tmp_path):
    after = updated(tmp_path, LIST, judgement("pass"), judgement("fail", OPENED, INVENTED))
    assert after == f"# Ours. Look here first.\n\n# the new one\n{entry(INVENTED)}"


def test_what_changed_is_edited_in_its_place_and_its_reason_is_due(tmp_path):
    after = updated(tmp_path, LIST, judgement("fail", "stage open: silence"), judgement("fail", OPENED, INVENTED))
    assert after == LIST.replace(OPENED, "stage open: silence", 1).replace(
        '"so it is"', '"due: the cause has changed; before: so it is"', 1
    )


def test_of_several_changes_of_an_entry_the_first_is_taken_in(tmp_path):
    causes = ["stage open: silence", "stage open: Close(INVALID)"]
    found = held(tmp_path, entry(), *(judgement("fail", cause) for cause in causes))
    assert [one.cause for one in found.changed.values()] == causes[:1]


def test_what_is_new_comes_at_the_end_with_the_files_line_ends(tmp_path):
    new = judgement("fail", 'a "cause"', INVENTED)
    text = entry().replace("\n", "\r\n")
    after = updated(tmp_path, text, FAILS, new)
    assert after.startswith(text + "\r\n[[deviation]]\r\n")
    assert "\n" not in after.replace("\r\n", "")
    assert not held(tmp_path, after, FAILS, new).red


def test_an_expired_entry_is_left_to_a_person(tmp_path):
    text = entry(expires="2026-01-01")
    assert updated(tmp_path, text, FAILS) == text


@pytest.mark.parametrize("values", [("0", "1"), ("0",)])
def test_a_first_list_names_parameters_only_where_not_all_deviate(tmp_path, values):
    seen = [
        judgement("fail" if value in values else "pass", OPENED if value in values else "", parameters={"at": value})
        for value in ("0", "1")
    ]
    text = editing.new_list(held(tmp_path, "", *seen), seen, "due: who")
    assert ("parameters" in text) == (len(values) == 1)
    found = held(tmp_path, text, *seen)
    assert not found.red
    assert len(found.due) == 1


def test_an_unsteady_verdict_is_not_taken_in_and_a_quarantine_needs_an_owner_and_an_end(tmp_path):
    seen = judgement("flaky", "now so, now so")
    found = held(tmp_path, "", seen)
    assert editing.new_list(found, [seen], "due: who") == editing.HEAD
    assert editing.unlistable(found) == [CHANGED]
    with pytest.raises(FileFault, match="needs 'owner' and 'expires'"):
        held(tmp_path, entry(verdict="flaky"), seen)
    assert not held(tmp_path, entry(verdict="flaky", cause="*so*", expires="2026-07-01"), seen).red


@pytest.mark.parametrize("cause", ["", " ", "*"])
def test_a_deviation_without_a_cause_is_not_taken_in(tmp_path, cause):
    """A list with an entry without a cause is refused when it is read."""
    seen = judgement("fail", cause)
    found = held(tmp_path, "", seen)
    assert editing.new_list(found, [seen], "due: who") == editing.HEAD
    assert editing.unlistable(found) == [CHANGED]


def test_entries_in_another_form_have_no_lines_and_are_not_edited(tmp_path):
    path = tmp_path / "mine.known.toml"
    path.write_text(
        f'deviation = [{{ check = "{CHANGED}", verdict = "fail", cause = "x", reason = "y", owner = "z" }}]\n'
    )
    placed = entries.read_entries(path)
    assert placed[0].place == f"entry 1 of {path}"
    with pytest.raises(UsageError, match="has an entry that cannot be edited"):
        editing.check_editable(placed)


def told(tmp_path, found, code=Exit.NOT_CONFORMING):
    return report.GateReport(
        title="mine 1.2 as responder", held=found, code=code, out=tmp_path, update="zconform gate update x"
    )


def test_the_screen_stays_one_screen_and_says_which_lines_to_delete(tmp_path):
    checks = [judgement("fail", f"cause {number}", INVENTED, requirement=f"x/{number}") for number in range(30)]
    found = held(tmp_path, entry(), judgement("pass"), *checks)
    lines = list(report.screen_lines(told(tmp_path, found)))
    assert len(lines) < 60
    assert "and 23 more: --summary FILE lists all of them" in lines
    assert lines[-1] == "Exit 1: red: 30 new, 1 fixed"
    first = "\n".join(report.screen_lines(told(tmp_path, held(tmp_path, entry(), judgement("pass")))))
    assert f"delete   lines 1-6 of {tmp_path}/mine.known.toml" in first


def test_new_deviations_of_one_cause_are_one_finding_and_listed_ones_are_never_part_of_it(tmp_path):
    """The list matches judgements before they are folded."""
    new = [judgement("fail", "stage init: x", check=INVENTED), judgement("fail", "stage init: y", check="x/y")]
    found = held(tmp_path, entry(), FAILS, *new)
    assert [item.kind for item in found.items] == [GateReason.NEW] * 2
    assert [fault.judgements for fault in found.findings] == [tuple(new)]
    lines = list(report.screen_lines(told(tmp_path, found)))
    assert lines[-1] == "Exit 1: red: 1 new"
    assert "  also     stage init: y (x/y)" in lines
    assert "; also stage init: y (x/y)" in report.as_markdown(told(tmp_path, found))
    (finding,) = report.as_json(told(tmp_path, found))["findings"]
    assert (finding["requirement"], finding["places"]) == (COOKIE, 2)
    (alert,) = alerts_of_gate(found, tmp_path, None)
    assert alert.judgements == tuple(new)


def test_a_target_writes_no_markup_into_the_summary(tmp_path):
    evil = "a | b <img src=x> [click](http://x) `c` \x1b[2J @all\nnext"
    text = report.as_markdown(told(tmp_path, held(tmp_path, "", judgement("fail", evil))))
    row = next(line for line in text.splitlines() if line.startswith("| new"))
    assert "<img" not in row
    assert "\x1b" not in row
    assert row.replace("\\|", "").count("|") == 6
    assert "\\[click\\]" in row


def test_counts_say_what_the_list_leaves(tmp_path):
    found = held(tmp_path, entry(), FAILS, judgement("pass", check=INVENTED), judgement("not-observed", check="x/y"))
    assert found.counts[Verdict.KNOWN] == 1
    assert told(tmp_path, found).counted == "2 judged: 1 as required, 1 as listed; 1 do not apply or met nothing"


def test_an_error_of_the_harness_is_counted_apart_from_what_was_judged(tmp_path):
    found = held(tmp_path, "", judgement("pass"), judgement("error", "we broke", check=INVENTED))
    assert told(tmp_path, found).counted == "1 judged: 1 as required; 1 ended in an error of the harness"


@pytest.mark.parametrize(("verdict", "red"), [("fail", False), ("flaky", False), ("crash", True)])
def test_what_is_not_required_yet_is_shown_and_not_red_but_a_death_is(tmp_path, verdict, red):
    seen = judgement(verdict, "so")
    found = held(tmp_path, "", seen, required=frozenset({"close/close-ends-the-link"}))
    assert found.red is red
    text = "\n".join(report.screen_lines(told(tmp_path, found)))
    assert (f"Not required yet: {COOKIE} ({verdict}: so)" in text) is not red
    assert held(tmp_path, "", seen, required=frozenset({COOKIE})).red


def test_each_revision_has_its_own_line(tmp_path):
    found = held(tmp_path, "", FAILS)
    two = {"1.0.0": frozenset({COOKIE}), "0.9.0": frozenset({"close/close-ends-the-link"})}
    text = list(report.screen_lines(replace(told(tmp_path, found), revisions=two)))
    assert "Revision 1.0.0: 1 red" in text
    assert "Revision 0.9.0: green" in text


@pytest.mark.parametrize(
    ("seen", "complete", "secret", "code"),
    [
        ("pass", True, False, 0), ("fail", True, False, 1), ("pass", True, True, 1), ("error", True, False, 3),
        ("fail", False, False, 3), ("not-observed", True, False, 4), ("warn", True, False, 0),
    ],
)  # fmt: skip
def test_the_code_of_results_that_are_there(tmp_path, seen, complete, secret, code):
    assert exit_code_of(held(tmp_path, "", judgement(seen, "so")), complete=complete, secret=secret) == code
