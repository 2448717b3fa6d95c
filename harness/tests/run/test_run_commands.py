"""The commands around a run, end to end, against the reference and faulty nodes in processes of their own."""

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import psutil
import pytest

from zenoh_conformance.cases.faults import faults
from zenoh_conformance.judging.verdict import Verdict
from zenoh_harness import cli
from zenoh_harness.files import results
from zenoh_harness.run import runner
from zenoh_harness.run.store.run_folder import claimed
from zenoh_harness.run.vectors.codec_run import golden

pytestmark = pytest.mark.long(40)

COOKIE = "establishment-cookie/an-invented-cookie-is-refused"
SANE = "establishment-sane/a-sane-handshake-is-accepted"
WRONG = "faulty:believes-any-cookie?role=router"
RIGHT = "reference?role=router"
COMING = "reference?role=client"


def zconform(*words):
    return cli.invoke([str(word) for word in words])


def test_what_passes_is_0_and_leaves_results(tmp_path, capsys):
    assert zconform("run", RIGHT, "--only", SANE, "--out", tmp_path / "r") == 0
    assert "Exit 0: conforms" in capsys.readouterr().out
    read = results.read(tmp_path / "r")
    assert read.complete
    assert [one.verdict.value for one in read.judgements] == ["pass", "pass"]
    assert not (tmp_path / "r" / "evidence").exists()
    assert not (tmp_path / "r" / ".lock").exists()


def test_a_deviation_is_1_and_tells_requirement_cause_and_command(tmp_path, capsys):
    assert zconform("run", WRONG, "--only", COOKIE, "--out", tmp_path / "r") == 1
    text = capsys.readouterr().out
    assert "FAIL   session-establishment/cookie-must-match" in text
    assert re.search(r"seen +stage open: OpenAck\n +expected +a refusal\n", text)
    assert "page     session-establishment, section " in text
    assert text.index("FAIL ") < text.index("requirements  ")  # the reason before the table
    assert re.search(f"repeat +zconform run '{re.escape(WRONG)}' --only {COOKIE}", text)


def test_the_command_that_it_prints_repeats_it_and_so_does_its_script(tmp_path, capsys):
    zconform("run", WRONG, "--only", COOKIE, "--out", tmp_path / "r")
    script = next((tmp_path / "r" / "evidence").glob("*.script"))
    assert zconform("replay", script, WRONG) == 1
    assert "believes-any-cookie" in capsys.readouterr().out
    assert zconform("replay", script, RIGHT, "--save", tmp_path / "c.jsonl") == 0
    assert zconform("explain", tmp_path / "c.jsonl") == 0


def test_a_known_deviation_is_0_and_one_that_has_gone_is_1(tmp_path, capsys):
    known = tmp_path / "k.toml"
    known.write_text(
        f'[[deviation]]\ncheck="{COOKIE}"\nverdict="fail"\ncause="stage open: OpenAck *"\nreason="so"\nowner="us"\n'
    )
    common = ("--only", COOKIE, "--known", known)
    assert zconform("run", WRONG, *common, "--out", tmp_path / "a") == 0
    assert zconform("run", RIGHT, *common, "--out", tmp_path / "b") == 1
    assert "listed as fail" in capsys.readouterr().out


def test_results_are_the_same_bytes_again(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    for name in ("a", "b"):
        zconform("run", WRONG, "--only", "establishment-cookie/a-shortened*", "--out", tmp_path / name, "-q")
    assert (tmp_path / "a" / "results.jsonl").read_bytes() == (tmp_path / "b" / "results.jsonl").read_bytes()


def test_usage_is_2_with_the_nearest_name(tmp_path, capsys):
    assert zconform("run", "referense", "--out", tmp_path) == 2
    assert "did you mean reference?" in capsys.readouterr().err
    assert zconform("run", RIGHT, "--only", "establishment-sane/a-sane-handshake-is-acepted") == 2
    assert "did you mean establishment-sane/a-sane-handshake-is-accepted" in capsys.readouterr().err
    assert zconform("run", RIGHT, "--dept", "quick") == 2
    assert "--depth" in capsys.readouterr().err
    assert zconform("replay", "no-such-script", RIGHT) == 2
    assert zconform("cases", "show", "a-sane-handshake") == 2
    assert zconform("laws", "show", "cookie-eco") == 2
    assert "law/cookie-echo" in capsys.readouterr().err


def test_a_target_that_is_not_there_is_3_with_readable_results(tmp_path, capsys):
    assert zconform("run", "exec:/no/such/program {port}", "--only", SANE, "--out", tmp_path / "r") == 3
    assert "/no/such/program" in capsys.readouterr().err
    read = results.read(tmp_path / "r")
    assert not read.complete
    assert f"responder default {SANE}" in read.pending


def test_two_runs_do_not_share_a_folder(tmp_path, capsys):
    with claimed(tmp_path / "r"):
        assert zconform("run", RIGHT, "--only", SANE, "--out", tmp_path / "r") == 2
    assert "another run writes into" in capsys.readouterr().err


def test_nothing_to_judge_is_4(tmp_path):
    assert zconform("run", "reference?face=codec", "--only", SANE, "--out", tmp_path / "r") == 4


def test_what_changed_is_told(tmp_path, capsys):
    zconform("run", RIGHT, "--only", COOKIE, "--out", tmp_path / "a", "-q")
    zconform("run", WRONG, "--only", COOKIE, "--out", tmp_path / "b", "-q")
    capsys.readouterr()
    assert zconform("diff", tmp_path / "a", tmp_path / "b", "--format", "json") == 1
    (changed,) = json.loads(capsys.readouterr().out)
    assert (changed["before"], changed["after"].partition(":")[0]) == ("pass", "fail")
    assert zconform("diff", tmp_path / "b", tmp_path / "a") == 0
    assert zconform("diff", tmp_path / "a", tmp_path / "a") == 0
    assert "nothing changed" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words", [("cases", "list"), ("laws", "list"), ("cases", "show", COOKIE), ("laws", "show", "cookie-echo")]
)
def test_lists_speak_to_people_and_to_programs(words, capsys):
    assert zconform(*words) == 0
    assert "session-establishment/" in capsys.readouterr().out
    assert zconform(*words, "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)[0]["requirement"]


def test_explain_reads_hex_files_and_standard_input(tmp_path, capsys, monkeypatch):
    (tmp_path / "x.bin").write_bytes(b"\x03\x02")
    (tmp_path / "x.hex").write_text("03 02\n")
    for source in ("0302", "0x03 0x02", tmp_path / "x.bin", tmp_path / "x.hex"):
        assert zconform("explain", source) == 0
        assert "INVALID" in capsys.readouterr().out
    assert zconform("explain", "03") == 1
    assert zconform("explain", tmp_path / "nothing") == 2


def started(tmp_path, *words):
    """A run in a process of its own, once its target is up."""
    command = [sys.executable, "-m", "zenoh_harness.cli", "run", *map(str, words), "--out", str(tmp_path / "r")]
    (tmp_path / "tmp").mkdir(exist_ok=True)
    env = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=env, start_new_session=True, **pipes)


def left_by(tmp_path, below):
    """What a run of that folder left behind: processes that it had, and temporary folders."""
    return [*psutil.wait_procs(below, timeout=10)[1], *(tmp_path / "tmp").iterdir()]


def lines_of(path: Path):
    return path.read_text().count("\n") if path.exists() else 0


def wait_for(process, holds):
    """Until it holds, looking again whenever the process has had a moment; fails when the process ends first."""
    for _ in range(600):
        if holds():
            return
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
        break
    assert holds(), process.communicate()


@pytest.mark.parametrize(
    ("number", "target", "jobs"),
    [
        (signal.SIGINT, RIGHT, 1),
        (signal.SIGTERM, COMING, 4),
        pytest.param(signal.SIGTERM, RIGHT, 1, marks=pytest.mark.soak),
        pytest.param(signal.SIGINT, COMING, 4, marks=pytest.mark.soak),
    ],
)
def test_a_signal_ends_it_in_order_with_its_results(tmp_path, number, target, jobs):
    process = started(tmp_path, target, "--jobs", jobs)
    wait_for(process, lambda: lines_of(tmp_path / "r" / "results.jsonl") > 20)
    children = psutil.Process(process.pid).children(recursive=True)
    os.kill(process.pid, number)
    _, text = process.communicate(timeout=30)
    assert process.returncode == 3
    assert "interrupted" in text
    read = results.read(tmp_path / "r")
    assert read.footer is not None
    assert read.footer.why == "interrupted"
    assert read.pending
    assert len(read.judgements) >= 18
    assert children
    assert not left_by(tmp_path, children)


def test_a_second_sigterm_does_not_end_what_the_first_one_has_written(tmp_path):
    process = started(tmp_path, RIGHT, "--jobs", "1")
    wait_for(process, lambda: lines_of(tmp_path / "r" / "results.jsonl") > 2)
    while process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.001)
    process.communicate()
    footer = results.read(tmp_path / "r").footer
    assert footer is not None
    assert footer.why == "interrupted"


def test_killed_itself_its_results_are_readable_and_nothing_is_left(tmp_path):
    process = started(tmp_path, RIGHT, "--jobs", "1")
    wait_for(process, lambda: lines_of(tmp_path / "r" / "results.jsonl") > 20)
    children = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.communicate()
    read = results.read(tmp_path / "r")
    assert read.footer is None
    assert read.pending
    assert not left_by(tmp_path, children)


def test_a_target_that_is_kept_can_be_reached_until_we_are_interrupted(tmp_path):
    process = started(tmp_path, RIGHT, "--only", SANE, "--keep")
    text = next(line for line in process.stderr if "running: " in line)
    node = psutil.Process(int(re.search(r"process (\d+)", text).group(1)))
    where = re.search(r"tcp/\S+", text).group(0)
    assert zconform("run", where, "--only", SANE, "--out", tmp_path / "again", "-q") == 0
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 0
    assert not left_by(tmp_path, [node])


SOME = ("--only", "session-establishment/cookie*", "--only", "establishment-init/a-cut-proposal-is-refused")
"""Some forty judgements that take little time."""


def killed_from_outside(folder, after):
    """A run whose target is killed once so many lines are written; what it leaves."""
    process = started(folder, RIGHT, *SOME, "--jobs", "2")
    results_file = folder / "r" / "results.jsonl"
    wait_for(process, lambda: lines_of(results_file) > after or process.poll() is not None)
    below = psutil.Process(process.pid).children(recursive=True)
    for one in below:
        with contextlib.suppress(psutil.NoSuchProcess):
            if "zenoh_harness.commands.peer" in one.cmdline():
                one.kill()
    process.communicate(timeout=300)
    assert not left_by(folder, below)
    return process.returncode, results.read(folder / "r")


def charges_none(code, read):
    """Whether a death from outside is the target's check's, and no case's."""
    assert code == 1
    assert read.complete
    assert [one.key.check for one in read.judgements if one.verdict.value == "crash"] == ["target/stays-up"]
    assert not [one for one in read.judgements if one.verdict.value in ("fail", "flaky", "error", "hang", "zombie")]


def test_a_target_killed_from_outside_charges_no_case(tmp_path):
    charges_none(*killed_from_outside(tmp_path, 3))


FAULTS = {"dies": "crash", "zombie": "zombie", "hangs": "hang"}


def struck(folder, fault):
    """A run against a node that a strange cookie brings down; what it leaves."""
    node = f"exec:{sys.executable} {(Path(__file__).parents[1] / 'dying_node.py')} {{port}} {fault}"
    some = ("--only", COOKIE, "--only", "establishment-init/a-cut-proposal-is-refused")
    code = zconform("run", node, *some, "--depth", "quick", "--out", folder / "r", "-q")
    return code, results.read(folder / "r")


def charges_the_guilty(code, read, verdict):
    """Whether the case that sends a strange cookie, and no other, is charged."""
    assert code == 1
    assert read.complete
    assert [one.key.check for one in read.judgements if one.verdict.value == verdict] == [COOKIE]
    others = [one for one in read.judgements if one.key.check != COOKIE]
    assert {one.verdict.value for one in others} <= {"pass", "slow"}, others  # a busy machine may be slow


@pytest.mark.parametrize("fault", ["dies", "zombie"])
def test_only_the_case_that_brings_it_down_is_charged(tmp_path, fault):
    charges_the_guilty(*struck(tmp_path, fault), FAULTS[fault])


@pytest.mark.soak
def test_only_the_case_that_makes_it_hang_is_charged(tmp_path):
    """Its twins are above: each look waits for a target that may go on."""
    charges_the_guilty(*struck(tmp_path, "hangs"), FAULTS["hangs"])


LISTENS, COMES = "25", "8 comes?role=router&as=initiator"
"""How a node loses queries: one that comes to us has several instances, and each of them few sessions."""


def one_finding_of_lost_queries(folder, how, *more):
    """Whether a node that loses queries once in a while is told to lose queries, and nothing else."""
    node = f"exec:{sys.executable} {(Path(__file__).parents[1] / 'losing_node.py')} {{port}} {how}"
    assert zconform("run", node, *more, "--depth", "quick", "--out", folder / "r", "-q") == 1
    [fault] = [one for one in faults(results.read(folder / "r").judgements) if one.verdict.is_wrong]  # others: late
    assert fault.requirement == "reply/final-always-comes"
    assert fault.verdict in {Verdict.FLAKY, Verdict.FAIL}  # a repetition may meet the next loss


def test_a_node_that_loses_a_query_now_and_then_is_no_zombie(tmp_path):
    only = "--only", "establishment-extensions/*", "--only", "establishment-fields/*"
    one_finding_of_lost_queries(tmp_path, LISTENS, *only)


@pytest.mark.soak
@pytest.mark.parametrize("how", [LISTENS, COMES])
def test_ten_times_lost_queries_are_one_finding(tmp_path, how):
    for number in range(10):
        one_finding_of_lost_queries(tmp_path / str(number), how)


@pytest.mark.soak
def test_twenty_five_times_the_guilty_are_charged_and_nothing_is_left(tmp_path, monkeypatch):
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    us = psutil.Process()
    before, open_ones, threads = set(us.children(recursive=True)), us.num_fds(), threading.active_count()
    for number in range(25):
        charges_the_guilty(*struck(tmp_path / str(number), "dies"), "crash")
    assert not left_by(tmp_path, set(us.children(recursive=True)) - before)
    assert us.num_fds() <= open_ones, "files and ports"
    assert threading.active_count() <= threads


@pytest.mark.soak
def test_twenty_five_times_a_death_from_outside_charges_nobody(tmp_path):
    moments = random.Random(0)
    for number in range(25):
        folder = tmp_path / str(number)
        folder.mkdir()
        charges_none(*killed_from_outside(folder, moments.randrange(2, 34)))


def test_one_script_on_two_targets_differs_in_nothing_but_what_is_free(capsys):
    assert zconform("replay", "two-frames-in-one-batch", RIGHT, "--against", "reference?role=router&zid=77777777") == 0
    assert "no difference" in capsys.readouterr().out
    assert (
        zconform("replay", "two-frames-in-one-batch", RIGHT, "--against", "faulty:answers-with-version-8?role=router")
        == 1
    )
    assert "+init.version 08" in capsys.readouterr().out


def test_one_script_on_the_reference_and_on_zenoh_rust_differs_in_nothing_but_what_is_free(capsys):
    assert zconform("replay", "two-frames-in-one-batch", RIGHT, "--against", "wheel") == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--accept",), "--accept needs --judged"),
        (("--judged", "there.judged"), "add --accept to write it"),
        (("--judged", "there.judged", "--accept", "--only", SANE), "leave out --only"),
        (("--judged", "there.judged", "wheel"), "one by one"),
    ],
)
def test_a_list_of_what_was_judged_is_used_or_written_whole(tmp_path, monkeypatch, capsys, words, says):
    monkeypatch.chdir(tmp_path)
    assert zconform("run", RIGHT, *words) == 2
    assert says in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_what_was_judged_once_is_asked_for_again(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(runner, "golden", lambda: golden()[::40])
    codec, listed = f"stdio:{sys.executable} -m zenoh_harness.cli codec", tmp_path / "ours.judged"
    assert zconform("run", codec, "--judged", listed, "--accept", "--out", tmp_path / "first") == 0
    assert zconform("run", codec, "--judged", listed, "--out", tmp_path / "second") == 0
    listed.write_text(listed.read_text() + "codec default page/that-was-judged\n")
    assert zconform("run", codec, "--judged", listed, "--out", tmp_path / "third") == 1
    assert "page/that-was-judged" in capsys.readouterr().out
