"""A repository with a gate, from its first list to a fixed deviation, against the reference and faulty nodes."""

import json
import re
import sys
from pathlib import Path

import pytest
from sarif_rules import check_for_hosts

from zenoh_harness.cli import invoke
from zenoh_harness.errors import UsageError
from zenoh_harness.files import results
from zenoh_harness.gate import editing
from zenoh_harness.run import runner
from zenoh_harness.run.vectors.codec_run import golden

INVENTED = "establishment-cookie/an-invented-cookie-is-refused"
BEFORE = "faulty:believes-any-cookie?role=router&name=sample"
AFTER = "reference?role=router&name=sample"


@pytest.fixture
def gate(tmp_path, monkeypatch, capsys):
    """Run `zconform gate` in the sample repository: exit code and what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)

    def run(*words):
        code = invoke(["gate", *words, "--known", "sample.known.toml", "--only", INVENTED])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return run


def test_from_the_first_list_to_a_fixed_deviation(gate, tmp_path, monkeypatch):
    listed = tmp_path / "sample.known.toml"

    code, text = gate(AFTER)
    assert code == 2
    assert "zconform gate init TARGET --known sample.known.toml" in text

    code, text = gate("init", AFTER)
    assert (code, "sample.known.toml: 0 entries" in text) == (0, True)
    assert gate(AFTER)[0] == 0

    # a new fault
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "page.md"))
    code, text = gate("judge", BEFORE, "--summary", "s.md", "--junit", "j.xml", "--sarif", "s.sarif")
    assert code == 1
    assert "NEW      session-establishment/cookie-must-match  (MUST, responder)" in text
    assert text.splitlines()[-1] == "Exit 1: red: 1 new"
    assert re.search(r"^Judged: \d+ of \d+ \(\d+ %\) of the behaviour that applies", text, re.MULTILINE)
    assert "the checks that this run left out: " in text.partition("More can be judged with")[2]
    assert (tmp_path / "page.md").read_text() == (tmp_path / "s.md").read_text()
    assert 'failures="1"' in (tmp_path / "j.xml").read_text()
    assert len(json.loads((tmp_path / "s.sarif").read_text())["runs"][0]["results"]) == 1
    shown = next(one for one in results.read(tmp_path / "zconform-gate").judgements if one.evidence)
    assert (tmp_path / "zconform-gate" / shown.evidence).exists()

    # accepted, with a reason that somebody writes
    listed.write_text("# our list\n" + listed.read_text())
    code, text = gate("update", BEFORE)
    assert "1 entries, 1 of them without a reason" in text
    listed.write_text(
        listed.read_text().replace("due: say why this is accepted, and until when", "the next release mends it")
    )
    assert gate(BEFORE)[0] == 0

    # and mended
    code, text = gate(AFTER, "--format", "json")
    assert code == 1
    (item,) = json.loads(text)["items"]
    assert item["kind"] == "fixed"
    first, last = item["lines"]
    assert "[[deviation]]" in listed.read_text().splitlines()[first - 1]
    assert "owner" in listed.read_text().splitlines()[last - 1]
    assert gate("update", AFTER)[0] == 0
    assert listed.read_text().startswith("# our list\n")
    assert "[[deviation]]" not in listed.read_text()
    assert gate(AFTER)[0] == 0


def test_the_first_list_makes_its_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert invoke(["gate", "init", AFTER, "--known", "ci/lists/sample.known.toml", "--only", INVENTED]) == 0
    assert (tmp_path / "ci/lists/sample.known.toml").exists()


def test_a_list_that_cannot_be_written_after_the_run_is_kept_beside_the_results(tmp_path, monkeypatch, capsys):
    """The folder may go, and the disk may fill, while the target is judged."""
    monkeypatch.chdir(tmp_path)
    whole = editing.write_list

    def write(path, text):
        if path.parent == Path("ci"):
            raise UsageError(f"cannot write {path}", step="write the list", seen="No space left on device")
        whole(path, text)

    monkeypatch.setattr(editing, "write_list", write)
    assert invoke(["gate", "init", BEFORE, "--known", "ci/sample.known.toml", "--only", INVENTED]) == 2
    assert "the list is in zconform-gate/sample.known.toml: move it to its place" in capsys.readouterr().err
    assert "[[deviation]]" in (tmp_path / "zconform-gate/sample.known.toml").read_text()


def test_a_cause_that_changed_is_red_and_its_entry_is_edited_in_place(gate, tmp_path):
    listed = tmp_path / "sample.known.toml"
    gate("init", BEFORE)
    listed.write_text(
        listed.read_text().replace("stage open: OpenAck where a refusal is required", "stage init: silence")
    )
    code, text = gate(BEFORE)
    assert code == 1
    assert "CHANGED  session-establishment/cookie-must-match" in text
    assert "listed   fail: stage init: silence (lines" in text
    gate("update", BEFORE)
    assert listed.read_text().count("[[deviation]]") == 1
    assert gate(BEFORE)[0] == 0


def test_a_case_of_a_later_revision_does_not_turn_the_build_red(gate, monkeypatch):
    from zenoh_harness.commands import gate as command

    gate("init", AFTER)
    code, text = gate("judge", BEFORE, "--require", "1.0.9")
    assert (code, "known: 1.0.0" in text or "did you mean 1.0.0" in text) == (2, True)
    assert gate("judge", BEFORE, "--require", "1.0.0")[0] == 1
    monkeypatch.setattr(command, "requirements_of", lambda text: {text: frozenset({"close/close-ends-the-link"})})
    code, text = gate("judge", BEFORE, "--require", "0.9.0")
    assert code == 0
    assert "Not required yet: session-establishment/cookie-must-match (fail: stage open: OpenAck" in text


def test_what_was_judged_before_and_is_not_now_is_red_until_it_is_accepted(tmp_path, monkeypatch, capsys):
    """All of a few vectors against the reference's codec, since a selection says nothing of what is missing."""
    monkeypatch.chdir(tmp_path)
    few = golden()[::40]
    monkeypatch.setattr(runner, "golden", lambda: few)
    codec = f"stdio:{sys.executable} -m zenoh_harness.cli codec"
    words = [codec, "--known", "c.known.toml"]
    assert invoke(["gate", "init", *words]) == 0
    judged = (tmp_path / "c.judged").read_text()
    assert f"codec default {next(one.covers[0] for one in few if one.covers)}" in judged
    assert invoke(["gate", *words]) == 0
    (tmp_path / "c.judged").write_text(judged + "codec default close/close-ends-the-link\n")
    capsys.readouterr()
    assert invoke(["gate", *words]) == 1
    text = capsys.readouterr().out
    assert "LOST     close/close-ends-the-link" in text
    assert "Exit 1: red: 1 lost" in text
    assert invoke(["gate", "update", *words]) == 0
    assert (tmp_path / "c.judged").read_text() == judged


@pytest.fixture
def alerts(gate, tmp_path):
    """Run the gate with `--sarif` in a repository: its exit code, and uri, line and message of each result."""
    (tmp_path / ".git").mkdir()

    def run(*words):
        code, _ = gate(*words, "--sarif", "gate.sarif")
        (run,) = check_for_hosts(tmp_path / "gate.sarif", tmp_path)["runs"]
        places = [(one["locations"][0]["physicalLocation"], one["message"]["text"]) for one in run["results"]]
        return code, [(place["artifactLocation"]["uri"], place["region"]["startLine"], text) for place, text in places]

    return run


def test_a_green_gate_of_a_node_with_known_deviations_opens_no_alert(gate, alerts):
    gate("init", BEFORE)
    assert alerts(BEFORE) == (0, [])


def test_a_new_failure_is_one_alert_at_a_line_that_exists(gate, alerts, tmp_path):
    gate("init", AFTER)
    code, ((uri, line, text),) = alerts(BEFORE)
    assert (code, uri, line) == (1, "sample.known.toml", 1)
    assert text.startswith("new: fail: stage open: OpenAck where a refusal is required")
    (tmp_path / "src").mkdir()
    (tmp_path / "src/router.c").write_text("int main(void);\n")
    code, ((uri, line, _),) = alerts(BEFORE, "--sarif-location", "src/router.c")
    assert (uri, line) == ("src/router.c", 1)


def test_a_mended_deviation_and_a_changed_one_are_alerts_at_their_entries(gate, alerts, tmp_path):
    gate("init", BEFORE)
    listed = tmp_path / "sample.known.toml"
    listed.write_text("# a line before\n\n" + listed.read_text())
    block = listed.read_text().splitlines().index("[[deviation]]") + 1
    code, ((uri, line, text),) = alerts(AFTER)
    assert (code, uri, line, text.partition(":")[0]) == (1, "sample.known.toml", block, "fixed")
    listed.write_text(listed.read_text().replace("stage open: OpenAck where a refusal is required", "another"))
    code, ((uri, line, text),) = alerts(BEFORE)
    assert (code, uri, line, text.partition(":")[0]) == (1, "sample.known.toml", block, "changed")


def test_stored_results_give_the_same_alert(gate, alerts):
    gate("init", AFTER)
    straight = alerts(BEFORE)
    code = invoke(["gate", "results", "zconform-gate", "--known", "sample.known.toml", "--sarif", "again.sarif"])
    assert code == straight[0]
    assert Path("again.sarif").read_text() == Path("gate.sarif").read_text()


def test_a_location_that_does_not_exist_is_refused_before_the_run(gate):
    gate("init", AFTER)
    code, text = gate(AFTER, "--sarif", "gate.sarif", "--sarif-location", "no/such.c")
    assert (code, "there is no file no/such.c" in text) == (2, True)
