"""Shards, repetitions, and what was red once more: one results file of several, and nothing green that was red."""

from contextlib import nullcontext
from dataclasses import replace

import pytest

from zenoh_conformance.judging.verdict import Exit, Judgement, Key, Verdict
from zenoh_harness.cli import invoke
from zenoh_harness.errors import CannotGoOn, UsageError
from zenoh_harness.files import merging, results
from zenoh_harness.files.faults import FileFault
from zenoh_harness.files.results import Header, Results, ResultsWriter
from zenoh_harness.run.attempt.options import Options
from zenoh_harness.run.plan.plan import Shard, matches
from zenoh_harness.run.repetitions import failed, last_failed, repeated
from zenoh_harness.run.runner import Ran

COOKIES = "establishment-cookie/*"
WRONG = "faulty:believes-any-cookie?role=router&name=sample"
RIGHT = "reference?role=router&name=sample"


def judgement(verdict, cause="", check="close/one", evidence=None):
    key = Key(
        target="t", version="1", role="responder", profile="default", link="tcp", requirement="close/x", check=check
    )
    return Judgement(key=key, level="MUST", verdict=Verdict(verdict), cause=cause, evidence=evidence)


def part(folder, *judgements, version="1", planned=(), code=Exit.CONFORMING):
    header = Header(reach="x", name="t", version=version, role="responder", kind="exec")
    with ResultsWriter(folder / "results.jsonl", header, planned) as writer:
        for one in judgements:
            writer.judgement(one)
        writer.footer(code)
    return folder, results.read(folder)


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ("pass pass", "pass"), ("pass fail", "flaky"), ("fail fail", "fail"), ("pass known", "flaky"), ("pass slow", "slow"),
        ("pass not-observed", "pass"), ("not-observed not-observed", "not-observed"), ("crash fail", "crash"),
        ("error pass", "pass"), ("error error", "error"), ("warn pass", "flaky"),
    ],
)  # fmt: skip
def test_repetitions_are_counted_and_never_make_green(verdicts, expected):
    same = [judgement(verdict, "so") for verdict in verdicts.split()]
    made = merging.steady(same)
    assert made.verdict.value == expected
    assert sum(made.details["repeated"]["verdicts"].values()) == len(same)
    assert merging.steady(same[::-1]).verdict is made.verdict


@pytest.mark.parametrize(
    ("pick", "verdicts", "shown"),
    [
        (merging.worst, "fail crash", 2),
        (merging.worst, "crash fail", 1),
        (merging.worst, "fail fail", 1),
        (merging.newest, "fail fail", 2),
        (merging.newest, "crash fail", 2),
        (merging.steady, "fail fail", 1),
        (merging.steady, "warn fail", 2),
        (merging.steady, "fail warn", 1),
    ],
)
def test_the_evidence_is_that_of_the_judgement_that_counts(tmp_path, pick, verdicts, shown):
    """Each part has the evidence of a check under the same name."""
    parts = []
    for number, verdict in enumerate(verdicts.split(), 1):
        folder = tmp_path / str(number)
        (folder / "evidence").mkdir(parents=True)
        (folder / "evidence" / "x.jsonl").write_text(f"cause {number}")
        parts.append(part(folder, judgement(verdict, f"cause {number}", evidence="evidence/x.jsonl")))
    [made] = merging.merge(parts, pick, tmp_path / "whole").judgements
    assert made.cause == f"cause {shown}"
    assert made.evidence == "evidence/x.jsonl"
    assert (tmp_path / "whole" / made.evidence).read_text() == made.cause


def test_what_was_judged_again_stands_and_says_what_was_before(tmp_path):
    first = part(tmp_path / "a", judgement("fail", "bad"), judgement("pass", check="close/two"))
    again = part(tmp_path / "b", judgement("pass"))
    made = merging.merge([first, again], merging.newest, tmp_path / "a")
    one, two = made.judgements
    assert (one.verdict, one.details["before"]) == (Verdict.PASS, [{"verdict": "fail", "cause": "bad", "attempts": 1}])
    assert one.attempts == 2
    assert two.verdict is Verdict.PASS
    assert results.read(tmp_path / "a").judgements == made.judgements


def test_the_worst_of_shards_counts_and_its_evidence_comes_along(tmp_path):
    for name, text in (("a", "first"), ("b", "second")):
        (tmp_path / name / "evidence").mkdir(parents=True)
        (tmp_path / name / "evidence" / "x.jsonl").write_text(text)
        (tmp_path / name / "evidence" / "x.script").write_text(text)
    first = part(
        tmp_path / "a", judgement("pass"), planned=["responder default close/one", "responder default close/two"]
    )
    second = part(tmp_path / "b", judgement("fail", "bad", evidence="evidence/x.jsonl"))
    made = merging.merge([first, second], merging.worst, tmp_path / "whole")
    assert made.judgements[0].verdict is Verdict.FAIL
    assert (tmp_path / "whole/evidence/x.jsonl").read_text() == "second"
    assert (tmp_path / "whole/evidence/x.script").read_text() == "second"
    assert made.footer.exit == Exit.CANNOT_GO_ON
    assert made.pending == ("responder default close/two",)


@pytest.mark.parametrize(
    ("names", "begins"), [(("x", "y"), "20260131T120000Z-"), (("y", "x"), "20260131T120000Z-"), (("x", ""), "")]
)
def test_the_whole_is_named_by_its_parts_and_begins_with_the_first(tmp_path, names, begins):
    parts = []
    for number, name in enumerate(names):
        _, read = part(tmp_path / str(number), judgement("pass"))
        header = replace(read.header, run=name, date=f"2026-01-31T12:00:0{number}Z")
        parts.append((tmp_path / str(number), Results(header, judgements=read.judgements, footer=read.footer)))
    made = [merging.merge(parts, merging.worst, tmp_path / f"whole{number}").header.run for number in (1, 2)]
    assert made[0] == made[1]
    assert made[0].startswith(begins)
    assert bool(made[0]) is bool(begins)


def secret(check="close/secret"):
    return replace(judgement("crash", "a secret", check=check), embargo=True)


@pytest.mark.parametrize("verdict", ["pass", "not-observed", "fail"])
@pytest.mark.parametrize("pick", [merging.worst, merging.newest, merging.steady])
def test_a_finding_under_embargo_is_counted_and_red_in_the_whole_too(tmp_path, verdict, pick):
    """Only the footers of the parts know of it."""
    first = part(tmp_path / "a", judgement(verdict), secret(), code=Exit.NOT_CONFORMING)
    second = part(tmp_path / "b", judgement("not-observed", check="close/two"), code=Exit.NOTHING_JUDGED)
    for number, parts in enumerate([(first, second), (second, first)]):
        made = merging.merge(parts, pick, tmp_path / f"whole{number}")
        assert (made.footer.exit, made.footer.embargoed) == (Exit.NOT_CONFORMING, 1)


@pytest.mark.parametrize(("pick", "count"), [(merging.worst, 2), (merging.newest, 1), (merging.steady, 1)])
def test_findings_under_embargo_of_shards_add_up_and_those_of_repetitions_do_not(tmp_path, pick, count):
    parts = [part(tmp_path / name, judgement("pass"), secret(name), code=Exit.NOT_CONFORMING) for name in "ab"]
    assert merging.merge(parts, pick, tmp_path / "whole").footer.embargoed == count


def test_a_finding_that_was_withheld_makes_nothing_red(tmp_path):
    """An earlier run found it; this one left it out and exited 0."""
    folder = tmp_path / "a"
    header = Header(reach="x", name="t", version="1", role="responder", kind="exec")
    with ResultsWriter(folder / "results.jsonl", header) as writer:
        writer.judgement(judgement("pass"))
        writer.withhold(1)
        writer.footer(Exit.CONFORMING)
    made = merging.merge([(folder, results.read(folder))], merging.worst, tmp_path / "whole")
    assert (made.footer.exit, made.footer.embargoed) == (Exit.CONFORMING, 1)


@pytest.mark.parametrize(
    ("differs", "word"),
    [
        ({"name": "u"}, "target"), ({"version": "2"}, "target"), ({"digest": "sha256:2"}, "target"), ({"seed": 1}, "seed"),
        ({"harness": "9"}, "harness"), ({"role": "initiator"}, ""), ({"reach": "y", "profiles": ("qos",)}, ""),
    ],
    ids=str,
)  # fmt: skip
def test_parts_of_different_targets_are_refused(tmp_path, differs, word):
    """The last of three parts differs."""
    parts = [part(tmp_path / name, judgement("pass")) for name in "abc"]
    folder, last = parts[-1]
    parts[-1] = folder, replace(last, header=replace(last.header, **differs))
    with pytest.raises(FileFault, match=f"has another {word}:") if word else nullcontext():
        merging.merge(parts, merging.worst, tmp_path / "whole")


def test_each_check_is_in_one_shard():
    labels = [f"close/{number}" for number in range(100)]
    shards = [Shard.read(f"{number}/3") for number in (1, 2, 3)]
    assert all(sum(shard.has(label) for shard in shards) == 1 for label in labels)
    assert all(sum(shard.has(label) for label in labels) > 15 for shard in shards)


@pytest.mark.parametrize("text", ["", "1", "1/", "/2", "a/b", "0/2", "3/2", "1/2/3", "-1/2"])
def test_a_shard_is_one_of_so_many(text):
    with pytest.raises(UsageError, match="no shard"):
        Shard.read(text)


@pytest.mark.parametrize(
    ("pattern", "name", "due"),
    [
        ("close/one", "close/one", True),
        ("close/one", "close/one[at=1]", True),
        ("close/one[at=1]", "close/one[at=1]", True),
        ("close/o*", "close/one[at=1]", True),
        ("at=1]", "close/one[at=1]", False),
        ("close/one[at=2]", "close/one[at=1]", False),
        ("close/on", "close/one[at=1]", False),
        ("close/one", "close/ones", False),
    ],
)
def test_a_pattern_takes_a_check_with_and_without_its_parameters(pattern, name, due):
    assert matches(pattern, name) is due


def test_what_failed_is_named_as_only_takes_it(tmp_path):
    _, read = part(
        tmp_path, judgement("fail"), judgement("pass", check="close/two"), judgement("fail", check="known/has-gone"),
        judgement("error", check="close/four"), judgement("not-observed", check="close/five"),
        judgement("warn", check="close/six"), judgement("crash", check="close/seven"), judgement("known", check="close/eight"),
        planned=["responder default close/three[at=1 2]"],
    )  # fmt: skip
    assert failed(read) == ["close/one", "close/four", "close/seven", "close/three[at=1 2]"]


def test_what_a_list_had_to_say_before_is_said_anew(tmp_path):
    """A deviation that had gone is back, or its entry is; the second run alone knows."""
    gone = judgement("fail", "listed, and it passes", check="known/has-gone")
    lost = judgement("fail", "was judged before", check="judged/no-longer")
    _, before = part(tmp_path, judgement("fail", "bad"), judgement("pass", check="close/two"), gone, lost)

    def run(options):
        folder, read = part(options.out, judgement("pass"))
        return Ran(header=read.header, judgements=tuple(read.judgements), footer=read.footer, out=folder)

    made = last_failed(run, Options(out=tmp_path), before)

    assert [(one.key.check, one.verdict.value) for one in made.judgements] == [
        ("close/one", "pass"),
        ("close/two", "pass"),
    ]
    assert made.exit is Exit.CONFORMING
    assert results.read(tmp_path).judgements == list(made.judgements)


@pytest.mark.parametrize(
    ("ends", "ran", "code", "verdict"),
    [
        ([None, None, None], 3, Exit.CONFORMING, "pass"),
        ([None, "gone", None], 2, Exit.CANNOT_GO_ON, "pass"),
        (["gone", None, None], 1, Exit.CANNOT_GO_ON, "pass"),
    ],
    ids=["to the end", "second", "first"],
)
def test_a_repetition_that_could_not_go_on_ends_the_run(tmp_path, ends, ran, code, verdict):
    """A target that cannot be had any more is not asked again; what it said before is kept."""
    folders = []

    def run(options):
        why = ends[len(folders)]
        folders.append(options.out)
        planned = ["responder default close/one", *(["responder default close/two"] if why else [])]
        folder, read = part(options.out, judgement("pass"), planned=planned, code=Exit(3 if why else 0))
        stopped = CannotGoOn(why) if why else None
        return Ran(
            header=read.header, judgements=tuple(read.judgements), footer=read.footer, out=folder, stopped=stopped
        )

    made = repeated(run, Options(out=tmp_path), 3)

    assert [folder.name for folder in folders] == [str(number + 1) for number in range(ran)]
    assert (made.exit, [one.verdict.value for one in made.judgements]) == (code, [verdict])
    assert (made.stopped is None) is (code is Exit.CONFORMING)


def test_shards_merge_into_what_one_run_says(tmp_path, capsys):
    run = ("run", WRONG, "--only", COOKIES, "--depth", "quick", "-q")
    assert invoke([*run, "--out", f"{tmp_path}/all"]) == 1
    for number in (1, 2):
        invoke([*run, "--shard", f"{number}/2", "--out", f"{tmp_path}/{number}"])
    junit = tmp_path / "j.xml"
    assert invoke(["merge", f"{tmp_path}/1", f"{tmp_path}/2", "--out", f"{tmp_path}/both", "--junit", f"{junit}"]) == 1
    whole, both = results.read(tmp_path / "all"), results.read(tmp_path / "both")
    said = [{(one.key, one.verdict, one.cause) for one in read.judgements} for read in (whole, both)]
    assert said[0] == said[1]
    assert sum(one.verdict is Verdict.FAIL for one in whole.judgements) > 5
    assert all((tmp_path / "both" / one.evidence).exists() for one in both.judgements if one.evidence)
    assert b"<failure" in junit.read_bytes()

    # and the gate holds the merged results against a list, without a target
    known = tmp_path / "k.known.toml"
    known.write_text("# nothing\n")
    capsys.readouterr()
    assert invoke(["gate", "results", f"{tmp_path}/both", "--known", f"{known}"]) == 1
    assert "NEW      session-establishment/cookie-must-match" in capsys.readouterr().out


def shard(folder, *shards, command="", verdict="pass", code=Exit.CONFORMING):
    """The results of one shard on disk."""
    place, read = part(folder, judgement(verdict, check=f"close/{folder.name}"), code=code)
    header = replace(read.header, shards=shards, command=command)
    with results.ResultsWriter(place / "results.jsonl", header) as writer:
        writer.judgement(read.judgements[0])
        writer.footer(code)
    return place


@pytest.mark.parametrize(
    ("held", "told"),
    [
        ([("1/2", "pass")], "shard 2/2 is missing"),
        ([("1/3", "fail")], "shard 2/3, shard 3/3 are missing"),
        ([("1/2", "pass"), ("1/3", "pass")], "shard 2/2, shard 2/3, shard 3/3 are missing"),
        ([("1/2", "pass"), ("2/2", "pass")], ""),
        ([("1/2", "pass"), ("2/2", "pass"), ("1/3", "pass")], ""),
        ([("1/2", "pass"), ("", "pass")], ""),
        ([("0/2", "pass"), ("x", "pass")], ""),
    ],
)
@pytest.mark.parametrize("by_command", [False, True])
def test_merge_names_the_shards_that_are_missing(tmp_path, capsys, held, told, by_command):
    """Earlier versions wrote the shard into the command only."""
    folders = []
    for number, (name, verdict) in enumerate(held):
        code = Exit.CONFORMING if verdict == "pass" else Exit.NOT_CONFORMING
        given = {"command": f"zconform run x --shard {name} --out o"} if by_command else {}
        shards = () if by_command or not name else (name,)
        folders.append(str(shard(tmp_path / str(number), *shards, verdict=verdict, code=code, **given)))
    assert invoke(["merge", *folders, "--out", f"{tmp_path}/m"]) == (3 if told else 0)
    assert told in capsys.readouterr().err
    made = results.read(tmp_path / "m")
    assert made.footer.why == told
    assert made.complete is not bool(told)


def test_a_missing_shard_that_is_merged_later_is_no_longer_missing(tmp_path, capsys):
    parts = [shard(tmp_path / number, f"{number}/3") for number in "123"]
    assert invoke(["merge", *map(str, parts[:2]), "--out", f"{tmp_path}/two"]) == 3
    two = results.read(tmp_path / "two")
    assert two.pending == ("shard 3/3",)
    again = merging.merge([(tmp_path / "two", two), (parts[0], results.read(parts[0]))], merging.newest, tmp_path / "n")
    assert (again.pending, again.footer.exit) == (("shard 3/3",), Exit.CANNOT_GO_ON)
    known = tmp_path / "k.known.toml"
    known.write_text("")
    capsys.readouterr()
    assert invoke(["gate", "results", f"{tmp_path}/two", "--known", f"{known}"]) == 3
    assert "shard 3/3 is missing" in capsys.readouterr().out
    assert invoke(["merge", f"{tmp_path}/two", str(parts[2]), "--out", f"{tmp_path}/all"]) == 0
    assert results.read(tmp_path / "all").header.shards == ()


def test_last_failed_runs_what_was_red_and_leaves_the_rest(tmp_path, capsys):
    out = f"{tmp_path}/r"
    assert invoke(["run", RIGHT, "--last-failed", "--out", out]) == 2
    assert "there are no results" in capsys.readouterr().err
    assert invoke(["run", WRONG, "--only", COOKIES, "--depth", "quick", "--max-fail", "2", "--out", out]) == 1
    assert "ended after 2 deviations" in capsys.readouterr().err
    before = results.read(tmp_path / "r")
    assert before.pending
    assert invoke(["run", WRONG, "--last-failed", "--depth", "quick", "--out", out]) == 1
    after = results.read(tmp_path / "r")
    assert not after.pending
    assert not (tmp_path / "r" / "again").exists()
    assert all((tmp_path / "r" / one.evidence).exists() for one in after.judgements if one.evidence)
    assert len(after.judgements) == 21
    assert sum("before" in one.details for one in after.judgements) >= 2
    assert invoke(["run", RIGHT.replace("sample", "other"), "--last-failed", "--depth", "quick", "--out", out]) == 2


def test_repetitions_of_a_steady_target_are_steady(tmp_path, capsys):
    only = "establishment-cookie/an-invented-cookie-is-refused"
    assert invoke(["run", WRONG, "--only", only, "--repeat", "2", "--out", f"{tmp_path}/r"]) == 1
    one = next(one for one in results.read(tmp_path / "r").judgements if one.key.check == only)
    assert one.details["repeated"] == {"times": 2, "verdicts": {"fail": 2}}
    assert (tmp_path / "r" / one.evidence).exists()
    assert (tmp_path / "r/2/results.jsonl").exists()
