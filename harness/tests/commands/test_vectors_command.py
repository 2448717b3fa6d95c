"""`zconform vectors`: list, show, check, export; each exit code with a sample."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from zenoh_harness.commands.vectors import command
from zenoh_harness.errors import HarnessError

pytestmark = pytest.mark.long

GOOD = {
    "id": "open/sample", "about": "a sample", "covers": ["session-establishment/open-id"], "layer": "transport",
    "bytes": "22", "segments": [["open.header", "22", ""]], "means": {"Open": {}}, "canonical": False, "source": "x",
    "confirmed_by": [],
}  # fmt: skip

CODEC = """
import json, sys
for line in sys.stdin:
    told = json.loads(line)
    command = told["cmd"]
    if command == "start":
        answer = {"ok": True, "identity": {"name": "tiny", "version": "1", "language": "python"},
                  "layers": ["vle"], "capabilities": ["decode"]}
    elif command == "capability":
        answer = {"ok": False, "unimplemented": True}
    elif command == "stop":
        answer = {"ok": True}
    elif command == "encode":
        answer = {"seq": told["seq"], "unimplemented": True, "why": "reads only"}
    else:
        data = bytes.fromhex(told["bytes"])
        WRONG
        if not data or data[0] > 127:
            answer = {"seq": told["seq"], "ok": False, "why": "more than one byte", "at": 0}
        else:
            means = {"Vle": {"value": data[0]}}
            answer = {"seq": told["seq"], "ok": True, "means": means, "size": 1, "encoded": data[:1].hex(), "debug": None}
    print(json.dumps(answer), flush=True)
"""


def run(*arguments):
    """Exit code, or the error that the command line tells with its own code, and what was printed."""
    ended = CliRunner().invoke(command, arguments, standalone_mode=False)
    if ended.exception is not None and not isinstance(ended.exception, SystemExit):
        return ended.exception, ended.output
    return ended.return_value or 0, ended.output


@pytest.fixture
def codec(tmp_path):
    """A codec that knows integers of one byte; its fault is a line of Python."""

    def made(fault: str = "pass") -> str:
        (tmp_path / "codec.py").write_text(CODEC.replace("WRONG", fault))
        return f"stdio:{sys.executable} {tmp_path / 'codec.py'}"

    return made


def test_a_list_tells_layer_and_outcome():
    code, out = run("list", "init/whatami-*")
    assert code == 0 and "init/whatami-unassigned" in out and "refused" in out


def test_a_list_by_requirement():
    code, out = run("list", "--covering", "session-establishment/lease-unit", "-q")
    assert code == 0 and out.splitlines() and all(line.startswith("open/") for line in out.splitlines())


def listed(*words):
    """The first word of each line, and the lines."""
    lines = run("list", *words, "-q")[1].splitlines()
    return [line.split()[0] for line in lines], lines


def test_many_numbers_of_one_field_are_a_line():
    (few, lines), (each, _) = listed("interest/*"), listed("interest/*", "--all")
    assert len(few) < len(each)
    assert {name for name in few if "*" not in name} <= set(each)
    line = next(line for line in lines if " interest.id with " in line)
    assert line.startswith("interest/id-*")
    assert "numbers: 0, 1, " in line


def test_the_core_and_what_nobody_has_confirmed_can_be_asked_for():
    core, lines = listed("--core", "--all")
    assert 300 < len(core) < 600
    assert sum(" refused " in line for line in lines) > 100
    assert {"scout", "hello", "keyexpr"} <= {name.split("/")[0] for name in core}
    assert listed("--core", "--unconfirmed") == ([], [])
    names, lines = listed("put/*", "--unconfirmed")
    assert "put/shm-no-slice" in names
    assert all(line.endswith("(not confirmed)") for line in lines)


def test_a_vector_that_nobody_confirms_says_why():
    _, out = run("show", "put/shm-no-slice")
    assert "agreed   no other implementation" in out
    assert "zenoh-codec 1.10.2 cannot: " in out


def test_a_pattern_without_vectors_offers_the_nearest():
    error, _ = run("list", "opne/syn")
    assert isinstance(error, HarnessError) and "opne/syn" in str(error)


def test_a_vector_is_shown_in_pieces():
    code, out = run("show", "open/syn-in-seconds")
    assert code == 0 and "open.lease" in out and "session-establishment/lease-unit" in out


def test_a_conversation_is_shown_step_by_step():
    code, out = run("show", "handshake/plain")
    assert code == 0 and out.count("initiator:") == 2 and out.count("responder:") == 2


def test_ours_agrees_with_everything():
    code, out = run("check")
    assert code == 0 and "fail" not in out


def test_a_codec_that_knows_little_passes_what_it_knows(codec):
    code, out = run("check", codec(), "--only", "vle/value-12[67]", "-V")
    assert code == 0 and "2 vectors: 2 pass" in out


def test_a_deviation_is_one_and_is_named(codec):
    code, out = run("check", codec(), "--only", "vle/value-*")
    assert code == 1 and "vle/value-128 " in out and "more than one byte" in out


def test_a_codec_that_dies_is_one_too(codec):
    code, out = run("check", codec("if data == b'\\x7f': sys.exit(3)"), "--only", "vle/value-12[67]")
    assert code == 1 and "crash" in out and "1 pass" in out


def test_garbage_is_our_trouble_and_the_others_go_on(codec):
    code, out = run(
        "check", codec("if data == b'\\x7f': print('hello', flush=True); continue"), "--only", "vle/value-12[67]"
    )
    assert code == 3 and "error" in out and "1 pass" in out


def test_nothing_judged_is_four(codec):
    code, out = run("check", codec(), "--only", "open/syn-in-*")
    assert code == 4 and "unimplemented" in out


def test_the_verdicts_as_data(codec):
    code, out = run("check", codec(), "--only", "vle/value-127", "--format", "json")
    text = json.loads(out)
    assert code == 0 and text["verdicts"] == {"pass": 1} and text["vectors"][0]["id"] == "vle/value-127"


@pytest.mark.parametrize(("entry", "words"), [
    (GOOD | {"bytes": "23"}, ("open.json", "open/sample", "bytes")),
    (GOOD | {"covers": ["session-establishment/opne-id"]}, ("open.json", "open/sample", "covers", "opne-id")),
    (GOOD | {"layer": "x"}, ("open.json", "open/sample", "layer")),
])  # fmt: skip
def test_a_file_that_is_no_good_is_named(tmp_path, entry, words):
    (tmp_path / "open.json").write_text(json.dumps({"format": 1, "message": "open", "vectors": [entry]}))
    for where in (tmp_path, tmp_path / "open.json"):
        error, _ = run("check", str(where))
        assert isinstance(error, HarnessError) and error.exit_code == 2
        assert all(word in str(error) for word in words)


def test_a_good_file_is_read(tmp_path):
    (tmp_path / "open.json").write_text(json.dumps({"format": 1, "message": "open", "vectors": [GOOD]}))
    assert run("check", str(tmp_path))[0] == 0


def test_they_are_given_away(tmp_path):
    assert run("export", str(tmp_path / "out"))[0] == 0
    assert (tmp_path / "out" / "consumer.py").is_file() and (tmp_path / "out" / "data" / "open.json").is_file()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "x").write_text("")
    error, _ = run("export", str(tmp_path / "mine"))
    assert isinstance(error, HarnessError) and Path(tmp_path / "mine" / "x").exists()
