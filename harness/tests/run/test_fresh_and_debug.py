"""Targets of their own, cases under a person's eyes, commands around a start, and the most that a case may take."""

import io
import re
import sys

import pytest

from zenoh_conformance.judging.verdict import Verdict
from zenoh_harness.cli import invoke
from zenoh_harness.commands import run as command
from zenoh_harness.errors import CannotStart, UsageError
from zenoh_harness.files import results
from zenoh_harness.run.plan.allowance import seconds_of
from zenoh_harness.targets.reach import parse
from zenoh_harness.targets.target import open_target

COOKIE = "establishment-cookie/a-changed-cookie-is-refused"
INVENTED = "establishment-cookie/an-invented-cookie-is-refused"
SANE = "establishment-sane/a-sane-handshake-is-accepted"
NODE = "reference?role=router&face=node"


def script(path, text):
    path.write_text(f"import os\n{text}\n")
    return f"{sys.executable}%20{path}"


@pytest.fixture
def counted(tmp_path):
    """A target string that notes each start and end, and what was noted."""
    notes = tmp_path / "notes"
    line = "open({notes!r}, 'a').write('{word} ' + os.environ['ZCONFORM_PROFILE'] + '\\n')"
    words = {
        when: script(tmp_path / f"{when}.py", line.format(notes=str(notes), word=when)) for when in ("before", "after")
    }
    return f"{NODE}&before={words['before']}&after={words['after']}", lambda: notes.read_text().split("\n")[:-1]


def test_each_judgement_has_a_target_of_its_own_with_fresh(tmp_path, counted):
    target, notes = counted
    words = ["run", target, "--only", SANE, "--only", INVENTED, "--depth", "quick", "-q"]
    assert invoke([*words, "--out", str(tmp_path / "one")]) == 0
    usual = [(one.key, one.verdict) for one in results.read(tmp_path / "one").judgements]
    once = len(notes())
    assert once == 2
    assert set(notes()) == {"before default", "after default"}
    assert invoke([*words, "--fresh", "--out", str(tmp_path / "two")]) == 0
    found = [(one.key, one.verdict) for one in results.read(tmp_path / "two").judgements]
    assert sorted(found, key=repr) == sorted(usual, key=repr)
    starts = notes()[once:].count("before default")
    cases = sum(one.check.startswith("establishment-") for one, _ in found)
    assert starts == notes()[once:].count("after default") > cases == 2


def test_what_is_not_ours_to_start_cannot_be_fresh(tmp_path, capsys):
    assert invoke(["run", "tcp/127.0.0.1:1", "--fresh", "--out", str(tmp_path)]) == 2
    assert "is not ours to start again" in capsys.readouterr().err


def test_a_command_that_fails_is_told_with_what_it_wrote(tmp_path):
    failing = script(tmp_path / "f.py", "print('no licence'); raise SystemExit(7)")
    with pytest.raises(CannotStart, match="failed") as told:
        open_target(parse(f"{NODE}&before={failing}")).start()
    assert "exit code 7" in str(told.value)
    assert "no licence" in str(told.value)
    with pytest.raises(UsageError, match="cannot split the command"):
        open_target(parse(f"{NODE}&before='x"))


def test_the_command_after_is_done_once_and_where_the_start_failed(tmp_path, counted):
    target, notes = counted
    node = open_target(parse(target)).start()
    node.stop()
    node.stop()
    assert notes() == ["before default", "after default"]


class Person(io.StringIO):
    def isatty(self):
        return True


def test_one_case_under_a_persons_eyes(tmp_path, capsys, monkeypatch):
    held = []
    monkeypatch.setattr(command, "keep_running", lambda _shell, kept, code: held.extend(kept) or code)
    person = Person("\ngo\n")
    monkeypatch.setattr("sys.stdin", person)
    try:
        assert invoke(["run", NODE, "--debug", COOKIE, "--depth", "quick", "--out", str(tmp_path)]) == 2
        assert "means 4 judgements" in capsys.readouterr().err
        assert invoke(["run", NODE, "--debug", INVENTED, "--out", str(tmp_path)]) == 0
        shown = capsys.readouterr().err
        assert re.search(r"process \d+ listens at tcp/127\.0\.0\.1:\d+", shown)
        assert "step 1, on us:" in shown
        assert re.search(r"\bversion\b", shown)
        assert shown.count("Enter sends it") == 2
        assert "step 2, on us:" in shown
        assert person.read() == ""
        assert len(held) == 1
        assert held[0].vitals().running
    finally:
        for node in held:
            node.stop()


@pytest.mark.parametrize(
    ("check", "why"), [("establishment-cookie/x", "matches no check"), ("law/init-syn-first", "is no case")]
)
def test_what_cannot_be_debugged_is_told(tmp_path, capsys, check, why):
    assert invoke(["run", NODE, "--debug", check, "--out", str(tmp_path)]) == 2
    assert why in capsys.readouterr().err


def test_a_case_takes_no_longer_than_it_is_told(tmp_path):
    assert seconds_of("3s", "--timeout") == 3
    with pytest.raises(UsageError, match="is no time"):
        seconds_of("soon", "--timeout")
    words = ["run", NODE, "--only", INVENTED, "--timeout", "0.0001s", "-q", "--out", str(tmp_path)]
    assert invoke(words) == 0
    said = {one.key.check: one for one in results.read(tmp_path).judgements}
    assert said[INVENTED].verdict is Verdict.SLOW
