"""`--sarif` of `run` and `merge`: where failures are shown, and what the complete form is for."""

import json
from pathlib import Path

import pytest
from sarif_rules import check_for_hosts, check_form

from zenoh_harness.cli import invoke
from zenoh_harness.commands._exports import Exports
from zenoh_harness.files import known

WRONG = "faulty:believes-any-cookie?role=router&name=sample"
ONLY = ("--only", "establishment-cookie/an-invented-cookie-is-refused")


@pytest.fixture(autouse=True)
def repository(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def uris(repository, name="s.sarif"):
    (run,) = check_for_hosts(repository / name, repository)["runs"]
    return [one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in run["results"]]


def test_a_run_shows_a_failure_at_the_named_file_a_list_the_project_or_the_results(repository, capsys):
    words = ["run", WRONG, *ONLY, "--sarif", "s.sarif", "--out", "r"]
    assert invoke(words) == 1
    assert uris(repository) == ["r/results.jsonl"]
    assert "--sarif-location FILE names a file of your repository" in capsys.readouterr().err

    (repository / "zconform.toml").write_text("")
    assert invoke(words) == 1
    assert uris(repository) == ["zconform.toml"]
    assert "--sarif-location" not in capsys.readouterr().err

    (repository / "ours.known.toml").write_text("# nothing yet\n")
    assert invoke([*words, "--known", "ours.known.toml"]) == 1
    assert uris(repository) == ["ours.known.toml"]

    (repository / "README.md").write_text("# ours\n")
    assert invoke([*words, "--known", "ours.known.toml", "--sarif-location", "README.md"]) == 1
    assert uris(repository) == ["README.md"]


OURS, SHIPPED = Path("ours.known.toml"), known.shipped_lists()[0]


@pytest.mark.parametrize(
    ("named", "lists", "project", "due"),
    [
        (None, [], False, None),
        (None, [SHIPPED], False, None),
        (None, [SHIPPED, OURS], True, OURS),
        (None, [Path("gone.known.toml")], True, Path("zconform.toml")),
        (Path("README.md"), [OURS], True, Path("README.md")),
    ],
)
def test_failures_are_shown_at_a_file_of_the_users_repository(repository, named, lists, project, due):
    """A list that ships is none."""
    for file in (OURS, Path("README.md"), *([Path("zconform.toml")] if project else [])):
        file.write_text("")
    assert Exports(sarif_location=named)._location(lists) == due


def test_a_location_that_does_not_exist_is_refused_before_the_run(repository, capsys):
    assert invoke(["run", "reference", *ONLY, "--sarif", "s.sarif", "--sarif-location", "no.md", "--out", "r"]) == 2
    assert "there is no file no.md" in capsys.readouterr().err
    assert not (repository / "r").exists()


def test_merge_writes_both_forms(repository):
    for part in (1, 2):
        assert invoke(["run", WRONG, *ONLY, "--shard", f"{part}/2", "--out", f"shard-{part}"]) in (1, 4)
    words = ["merge", "shard-1", "shard-2", "--out", "whole", "--sarif", "s.sarif", "--sarif-complete", "all.sarif"]
    assert invoke(words) == 1
    assert uris(repository) == ["whole/results.jsonl"]
    complete = json.loads((repository / "all.sarif").read_text())
    check_form(complete)
    assert any("evidence" in str(one["locations"]) for one in complete["runs"][0]["results"])


def test_a_run_without_a_failure_writes_a_file_without_results(repository):
    assert invoke(["run", "reference?role=router", *ONLY, "--sarif", "s.sarif"]) == 0
    assert uris(repository) == []
