"""A run that was killed goes on: nothing is judged twice, and the file is that of a run that nobody disturbed."""

import itertools
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from run_fakes import World

from zenoh_conformance.cases.case import Case
from zenoh_conformance.judging.engine import Judged
from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.judging.verdict import Exit, Verdict
from zenoh_conformance.reading.conversation import Conversation, Side
from zenoh_harness import cli
from zenoh_harness.errors import UsageError
from zenoh_harness.files import results
from zenoh_harness.files.results import ResultsWriter, label
from zenoh_harness.run.attempt.attempt import AttemptOutcome, Went
from zenoh_harness.run.judge.law_results import LawResults
from zenoh_harness.run.overload import prevented_judgements
from zenoh_harness.run.plan.plan import Item
from zenoh_harness.run.report.compare import changes
from zenoh_harness.run.store.journal import JOURNAL, Journal, LearntHabits, read
from zenoh_harness.targets.habits import TargetHabits

pytestmark = pytest.mark.spread

WRONG = "faulty:believes-any-cookie?role=router"
REPEATED = 5
"""Conversations that a law may have judged more or less in a run that was resumed."""
RARELY = {Verdict.PASS, Verdict.NOT_OBSERVED}
"""Verdicts of a law that has so few conversations to judge that it may meet none: which session ends first decides that."""
FEW = (
    "--only",
    "establishment-cookie/*",
    "--only",
    "establishment-sane/*",
    "--only",
    "law/cookie*",
    "--depth",
    "quick",
)


@pytest.fixture
def snapshots(tmp_path, monkeypatch):
    """A function that returns a copy of the results folder after each line that was written since, as a kill there leaves it."""
    made, numbers = [], itertools.count()

    def keep(folder):
        copy = tmp_path / "snapshots" / f"{os.getpid()}-{next(numbers)}"  # a role may run in a fork
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(".lock", "*.new"))
        made.append(copy)

    for writer, folder in ((ResultsWriter, lambda one: one.path.parent), (Journal, lambda one: one.path.parent)):
        write = writer._write

        def written(self, *words, write=write, folder=folder):
            write(self, *words)
            keep(folder(self))

        monkeypatch.setattr(writer, "_write", written)

    def taken():
        monkeypatch.undo()
        return made

    return taken


def same(one, other):
    """Whether two runs say the same: verdicts, causes, exit code, each judgement once, and whether the laws had about as much to judge.

    What a busy machine kept from being judged in one of them is not compared.
    How often a red check is repeated depends on what was repeated before, and a law counts repetitions, too.
    """
    whole, resumed = results.read(one), results.read(other)
    doubles = Counter((label(judgement.key), judgement.key.requirement) for judgement in resumed.judgements)
    assert set(doubles.values()) <= {1}
    busy = {label(judgement.key) for run in (whole, resumed) for judgement in prevented_judgements(run.judgements)}
    counts, rare = subjects(resumed), {name for name, count in subjects(whole).items() if count <= REPEATED}
    pairs = {name: (count, counts[name]) for name, count in subjects(whole).items()}
    others = {name: pair for name, pair in pairs.items() if abs(pair[0] - pair[1]) > max(REPEATED, pair[0] // 5)}
    assert busy or others == {}  # a check that met a busy machine is repeated, or ends early
    changed = [change for change in changes(whole, resumed) if label(change.key) not in busy]
    assert [one for one in changed if label(one.key) not in rare or not verdicts_of(one) <= RARELY] == []
    assert resumed.complete
    assert (resumed.footer.exit, resumed.footer.judged, resumed.footer.embargoed) == (
        whole.footer.exit,
        whole.footer.judged,
        whole.footer.embargoed,
    )
    assert {name.name for name in other.iterdir()} <= {"results.jsonl", "evidence"}
    named = {judgement.evidence for judgement in resumed.judgements if judgement.evidence}
    assert all((other / name).exists() for name in named)


def verdicts_of(change):
    return {one.verdict for one in (change.before, change.after) if one is not None}


def subjects(run):
    return {
        label(one.key): one.details.get("subjects", 0) for one in run.judgements if one.key.check.startswith("law/")
    }


def cut(folder):
    """Cut the last line of the results in its middle."""
    path = folder / "results.jsonl"
    path.write_bytes(path.read_bytes()[:-7])


def full_world(folder, **more):
    world = World(folder, profiles=("default", "low-latency"), **more)
    world.case("good")
    world.case("bad", lambda times, world: "no cookie")
    world.case("rests", lambda times, world: "wrong", control="fake/bad")
    world.case("other", profile="low-latency")
    return world


def dies_once():
    """An act that ends the target when it is done for the first time, in whichever process."""
    done = []

    def act(times, world):
        if not done:
            done.append(True)
            world.kills()(times, world)

    return act


@pytest.mark.parametrize("current", [False, True], ids=["open", "under embargo"])
def test_killed_after_any_line_a_run_goes_on_to_the_same_end(tmp_path, snapshots, current):
    killer = full_world(tmp_path / "w", current=current)
    killer.case("killer", killer.kills())
    data = tmp_path / "data"
    killer.run(data_folder=data)
    for number, folder in enumerate(snapshots()):
        kept = tmp_path / f"data{number}"
        shutil.copytree(data, kept) if current and number else None
        world = full_world(folder, current=current)
        world.case("killer", world.kills())
        world.out = folder
        before = (
            [one.key.check for one in results.read(folder).judgements] if (folder / "results.jsonl").exists() else []
        )
        world.run(data_folder=kept if before else tmp_path / "none" / str(number), resume=True)
        if not current:
            same(killer.out, folder)
        assert results.read(folder).complete
        assert not any(world.ran[name.removeprefix("fake/"),] for name in before)


def test_what_was_judged_is_not_run_again(tmp_path, snapshots):
    world = full_world(tmp_path / "w")
    world.run()
    *_, last = (one for one in snapshots() if (one / "results.jsonl").exists() and not results.read(one).footer)
    again = full_world(last)
    again.out = last
    again.run(resume=True)
    assert again.ran == Counter()
    same(world.out, last)


def test_a_death_that_no_case_repeats_is_not_lost(tmp_path, snapshots):
    world = World(tmp_path / "w")
    world.case("a")
    world.case("b", dies_once())
    world.run()
    folders = [one for one in snapshots() if (one / JOURNAL).exists() and '"died"' in (one / JOURNAL).read_text()]
    after = [one for one in folders if results.read(one).judgements]
    assert after
    for folder in after:
        again = World(folder)
        again.out = folder
        again.case("a")
        again.case("b")
        again.run(resume=True)
        same(world.out, folder)
        assert results.read(folder).footer.exit == Exit.NOT_CONFORMING


def test_a_run_that_could_not_go_on_is_resumed(tmp_path):
    world = World(tmp_path / "w", starts_left=1)
    world.case("a")
    world.case("b", dies_once())
    first = world.run()
    assert (first.exit, len(first.footer.pending)) == (Exit.CANNOT_GO_ON, 2)
    again = World(tmp_path / "w")
    again.case("a")
    again.case("b")
    ran = again.run(resume=True)
    verdicts = {one.key.check: one.verdict.value for one in ran.judgements}
    assert verdicts == {"fake/a": "pass", "fake/b": "pass", "target/stays-up": "pass"}
    assert len(results.read(again.out).judgements) == 3


def test_what_was_learnt_is_not_learnt_otherwise_by_a_run_that_goes_on(tmp_path):
    """On a busy machine a large node may be taken for a small one, in the first part of a run or in the second."""
    place, learnt = ("responder", "default"), TargetHabits(answer=0.1, half_open=9, lacks=frozenset({"finals"}))
    journal = Journal(tmp_path / JOURNAL, tmp_path / "secret")
    journal.note_habits(LearntHabits.of(place, learnt))
    journal.note_habits(LearntHabits.of(place, TargetHabits(half_open=1)))
    memory = read(journal.path)
    busy = TargetHabits(answer=0.3, half_open=1, sessions=1, lacks=frozenset({"several-links"}))
    assert memory.learnt[place].put_into(busy) == replace(learnt, answer=0.3)


def test_a_run_writes_down_what_it_learnt(tmp_path, snapshots):
    world = full_world(tmp_path / "w")
    world.run()
    last = [one for one in snapshots() if (one / JOURNAL).exists()][-1]
    assert set(read(last / JOURNAL).learnt) == {("responder", "default"), ("responder", "low-latency")}


def test_a_finding_of_a_law_is_not_lost(tmp_path, snapshots):
    whole = tmp_path / "whole"
    assert cli.invoke(["run", WRONG, *FEW, "--out", str(whole), "-q"]) == 1
    folders = snapshots()
    for folder in random.Random(3).sample(folders, 4):
        shutil.copytree(folder, tmp_path / "r", dirs_exist_ok=False)
        if (tmp_path / "r/results.jsonl").exists() and len(results.read(tmp_path / "r").judgements) > 2:
            cut(tmp_path / "r")
        assert cli.invoke(["run", WRONG, *FEW, "--out", str(tmp_path / "r"), "-q", "--resume"]) == 1
        same(whole, tmp_path / "r")
        shutil.rmtree(tmp_path / "r")


def test_a_law_counts_each_check_once(tmp_path):
    law = all_laws()["law/cookie-echo"]

    def outcome(name, subjects, *causes):
        found = tuple(Finding(requirement=law.requirement, sender=Side.RESPONDER, why=cause) for cause in causes)
        case = Case(id=f"some/{name}", requirement=law.requirement, function=print, about=name)
        said = (Judged(law, Side.RESPONDER, subjects, found),)
        return AttemptOutcome(
            item=Item(case, {}), went=Went.HELD, laws=said, conversation=Conversation(about={"of": name})
        )

    place = ("responder", "default")
    journal = Journal(tmp_path / JOURNAL, tmp_path / "secret")
    first = LawResults(place, journal.note_attempt)
    for one in (outcome("b", 3, "why"), outcome("a", 5, "why"), outcome("c", 7, "other")):
        first.add(one)
    journal.go_on()
    second = LawResults(place, journal.note_attempt, read(journal.path).heard_in(place))
    second.add(outcome("c", 11))
    count = second.of(law.id)
    assert (count.subjects, count.causes) == (3 + 5 + 11, {"why": 2})
    assert (count.shown["why"].label, count.shown["why"].conversation.about) == ("some/a", {"of": "a"})
    again = LawResults(place, earlier=read(journal.path).heard_in(place))
    assert again.of(law.id).subjects == 3 + 5 + 11


def test_without_its_journal_an_unfinished_profile_is_judged_again(tmp_path, snapshots):
    world = full_world(tmp_path / "w")
    world.run()
    folder = next(
        one for one in snapshots() if (one / "results.jsonl").exists() and len(results.read(one).judgements) == 2
    )
    (folder / JOURNAL).unlink()
    again = full_world(folder)
    again.out = folder
    again.run(resume=True)
    assert again.ran[("good",)] == 1
    same(world.out, folder)


@pytest.mark.parametrize(
    ("change", "told"),
    [({"seed": 4}, "seed was 0"), ({"depth": "quick"}, "facts was"), ({"timeout": 3.0}, "--timeout was")],
)
def test_another_run_is_refused(tmp_path, snapshots, change, told):
    world = full_world(tmp_path / "w")
    world.run()
    folder = next(one for one in snapshots() if (one / "results.jsonl").exists() and results.read(one).judgements)
    again = full_world(folder)
    again.out = folder
    kept = (folder / "results.jsonl").read_bytes()
    with pytest.raises(UsageError, match="are of another run") as refused:
        again.run(resume=True, **change)
    assert told in str(refused.value)
    assert (folder / "results.jsonl").read_bytes() == kept


def test_another_plan_is_refused(tmp_path):
    world = full_world(tmp_path / "w")
    world.run()
    world.case("more")
    with pytest.raises(UsageError, match="are of another run") as refused:
        world.run(resume=True)
    assert "fake/more was not planned, and is now" in str(refused.value)


def test_a_complete_run_is_only_told_again(tmp_path):
    world = full_world(tmp_path / "w")
    first = world.run()
    kept, ran = (world.out / "results.jsonl").read_bytes(), Counter(world.ran)
    assert world.run(resume=True).judgements == first.judgements
    assert (world.ran, (world.out / "results.jsonl").read_bytes()) == (ran, kept)


def test_a_complete_run_whose_target_died_under_embargo_is_only_told_again(tmp_path):
    world, data = full_world(tmp_path / "w", current=True), tmp_path / "data"
    world.case("dies", dies_once())
    first = world.run(data_folder=data)
    assert first.footer.embargoed == 1
    kept = (world.out / "results.jsonl").read_bytes()
    assert world.run(data_folder=data, resume=True).footer == first.footer
    assert (world.out / "results.jsonl").read_bytes() == kept


@pytest.mark.parametrize("content", [None, b"", b'{"type":"header","for'], ids=["none", "empty", "cut"])
def test_where_nothing_was_begun_a_run_begins(tmp_path, capsys, content):
    folder = tmp_path / "r"
    folder.mkdir()
    if content is not None:
        (folder / "results.jsonl").write_bytes(content)
    words = ["run", "reference?role=router&as=responder", "--only", "establishment-sane/a-sane-handshake-is-accepted"]
    assert cli.invoke([*words, "--out", str(folder), "--resume"]) == 0
    assert "starting from the beginning" in capsys.readouterr().err
    assert results.read(folder).complete


@pytest.mark.parametrize("other", [("--repeat", "2"), ("--last-failed",)])
def test_options_that_exclude_each_other(other, capsys):
    assert cli.invoke(["run", "reference", "--resume", *other]) == 2
    assert "--resume goes on with one run" in capsys.readouterr().err


def kill_and_resume(words, folder, seed, whole):
    """Kill a command at a moment drawn from the seed, and resume it; nothing is left in its temporary folder."""
    temporary = folder.parent / f"{folder.name}-tmp"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary), "XDG_DATA_HOME": str(folder.parent / "data")}
    command = [sys.executable, "-m", "zenoh_harness.cli", *words, "--out", str(folder), "-q"]
    running = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    moment = random.Random(seed).uniform(0.05, 0.95) * whole
    try:
        reached(running, folder, moment)
    finally:
        running.kill()
        running.wait()
    again = subprocess.run([*command, "--resume"], env=environment, capture_output=True, text=True, check=False)
    emptied(temporary)
    return again


def reached(running, folder, share):
    """Wait until so many judgements are written, in all files below the folder, or the command has ended."""
    while running.poll() is None:
        if sum(path.read_bytes().count(b'"type":"judgement"') for path in folder.rglob("results.jsonl")) >= share:
            return
        time.sleep(0.005)


def emptied(folder):
    """Wait until what ends what was started has removed its folders."""
    deadline = time.monotonic() + 60
    while list(folder.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not list(folder.iterdir())


@pytest.fixture
def busy_machine(monkeypatch):
    """The machine as it is: the whole run in this process waits as long as the runs in processes of their own."""
    monkeypatch.undo()


def ran_whole(words, folder):
    assert cli.invoke([*words, "--out", str(folder), "-q"]) in (0, 1)
    return sum(len(results.read(path).judgements) for path in folder.rglob("results.jsonl"))


RUN = ("run", "reference?role=router", "--only", "establishment-*", "--only", "law/*", "--depth", "quick")
SHORT = ("run", WRONG, *FEW)
MATRIX = ("matrix", "reference?role=router", WRONG, *FEW, "--again", "0")


@pytest.mark.parametrize("words", [SHORT, pytest.param(MATRIX, marks=pytest.mark.soak)], ids=["run", "matrix"])
def test_killed_once_it_is_resumed(words, tmp_path, busy_machine):
    check_kills(words, tmp_path, kills=1)


@pytest.mark.soak
@pytest.mark.parametrize(("words", "kills"), [(RUN, 10), (MATRIX, 10), (("run", "wheel:1.10.2", *FEW), 5)])
def test_killed_at_random_moments_it_is_resumed(words, kills, tmp_path, busy_machine):
    check_kills(words, tmp_path, kills=kills)


def check_kills(words, tmp_path, kills):
    whole = tmp_path / "whole"
    count = ran_whole(words, whole)
    for seed in range(kills):
        folder = tmp_path / str(seed)
        again = kill_and_resume(words, folder, seed, count)
        assert again.returncode in (0, 1), again.stderr
        for path in whole.rglob("results.jsonl"):
            same(path.parent, folder / path.parent.relative_to(whole))
        shutil.rmtree(folder)


def test_a_folder_for_questions_asked_again_is_gone(tmp_path, monkeypatch):
    stale = tmp_path / "m" / "again"
    stale.mkdir(parents=True)
    assert cli.invoke(["matrix", "reference?role=router&as=responder", *FEW, "--out", str(tmp_path / "m"), "-q"]) == 0
    assert not stale.exists()
    assert Path(tmp_path / "m" / "matrix.json").exists()
