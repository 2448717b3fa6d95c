"""`zconform requirements`: lists, shows, finds the nearest, and says what a newer text changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from zenoh_conformance.spec.coverage import BEGIN, END, cover
from zenoh_conformance.spec.lock import Lock
from zenoh_conformance.spec.requirement import read_requirements, requirements
from zenoh_conformance.spec.specification import digests
from zenoh_harness.cli import invoke
from zenoh_harness.commands import requirements as command

ECHO = "session-establishment/cookie-echo"


@pytest.fixture(autouse=True)
def few_witnesses(monkeypatch: pytest.MonkeyPatch) -> None:
    """One law covers one requirement: what else there is does not count here."""
    monkeypatch.setattr(command, "coverage", lambda: cover(requirements(), [("law", "law/cookie-echo", [ECHO])]))


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of pages, each as short as its headings, to which the lock is made."""
    from zenoh_conformance.spec.specification import pages

    for page in pages().values():
        lines = [section.heading or section.begins for section in page.sections]
        (tmp_path / f"{page.name}.txt").write_text("\n".join(lines), encoding="utf-8")
    made = Lock(revision="1.0.0", draft=True, levels={}, sections=digests(tmp_path))
    monkeypatch.setattr(command, "lock", lambda: made)
    return tmp_path


def test_it_lists_what_matches(capsys: pytest.CaptureFixture[str]) -> None:
    """A line each, with level, id, standing and words."""
    assert invoke(["requirements", "list", "session-establishment/cookie-*"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert lines[0].split()[:3] == ["MUST", ECHO, "covered"]
    assert "excused" in lines[4]


def test_uncovered_leaves_out_the_covered(capsys: pytest.CaptureFixture[str]) -> None:
    """What is owed, excused or forgotten stays."""
    assert invoke(["requirements", "list", "--uncovered", "--format", "json", "session-establishment/cookie-*"]) == 0
    assert ECHO not in {row["id"] for row in json.loads(capsys.readouterr().out)}


def test_levels_are_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    """One or several."""
    assert invoke(["requirements", "list", "--level", "SHOULD", "--level", "MAY", "--format", "json"]) == 0
    assert {row["level"] for row in json.loads(capsys.readouterr().out)} == {"SHOULD", "MAY"}


def test_it_shows_one_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    """Words, place, errata with both readings, and what judges it."""
    assert invoke(["requirements", "show", ECHO, "session-establishment/lease-effective-minimum"]) == 0
    shown = capsys.readouterr().out
    assert "section    session-establishment#cookie, session-establishment#open-wire-format" in shown
    assert "law        law/cookie-echo" in shown
    assert "erratum    effective-lease (ZD-55, BOTH)" in shown


def test_it_shows_one_to_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    """The same as JSON."""
    assert invoke(["requirements", "show", "--format", "json", ECHO]) == 0
    [shown] = json.loads(capsys.readouterr().out)
    assert shown["by"] == {"law": ["law/cookie-echo"]}
    assert shown["standing"] == "covered"


@pytest.mark.parametrize("arguments", [["show", "session-establishment/cooky-echo"], ["list", "push/cookie-echo"]])
def test_an_unknown_id_offers_the_nearest(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2."""
    assert invoke(["requirements", *arguments]) == 2
    assert f"did you mean {ECHO}" in capsys.readouterr().err


def test_the_same_text_has_not_drifted(text: Path) -> None:
    """Exit code 0."""
    assert invoke(["requirements", "drift", str(text)]) == 0


def test_a_changed_section_names_its_requirements(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1, and nothing else is named."""
    page = text / "session-establishment.txt"
    page.write_text(page.read_text(encoding="utf-8").replace("Lease", "Lease\nnow longer"), encoding="utf-8")
    assert invoke(["requirements", "drift", "--format", "json", str(text)]) == 1
    [row] = json.loads(capsys.readouterr().out)
    assert (row["section"], row["is"]) == ("session-establishment#lease", "changed")
    assert "session-establishment/lease-effective-minimum" in row["requirements"]
    assert ECHO not in row["requirements"]


def test_a_page_that_is_not_there_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, with the file that was looked for."""
    assert invoke(["requirements", "drift", str(tmp_path)]) == 2
    assert "message-reference.txt: cannot be read" in capsys.readouterr().err


def test_the_table_is_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    """As the documentation holds it."""
    assert invoke(["requirements", "table"]) == 0
    assert capsys.readouterr().out.startswith("| page | MUST |")


def test_marks_are_settled_in_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mark of what is covered is struck, the ceiling falls, and the documentation has the new table."""
    files, pages_ = tmp_path / "conformance/zenoh_conformance/spec/requirements", tmp_path / "docs/pages"
    for folder in (files, pages_):
        folder.mkdir(parents=True)
    text = '[a]\nlevel = "MUST"\nbinds = "both"\nref = ["p#a"]\nsays = "So."\nowed = "law"\n'
    (files / "p.toml").write_text(text, encoding="utf-8")
    (pages_ / "coverage.md").write_text(BEGIN + END, encoding="utf-8")
    sample = read_requirements({"p.toml": text})
    monkeypatch.setattr(command, "coverage", lambda: cover(sample, [("law", "law/a", ["p/a"])]))

    assert invoke(["requirements", "settle", str(tmp_path)]) == 0

    assert (files / "p.toml").read_text(encoding="utf-8") == text.replace('owed = "law"\n', "")
    assert (files / "owed.ceiling").read_text(encoding="utf-8") == "0\n"
    assert "| **all** | 1 " in (pages_ / "coverage.md").read_text(encoding="utf-8")


def test_no_checkout_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, and what a checkout is."""
    assert invoke(["requirements", "settle", str(tmp_path)]) == 2
    assert "CHECKOUT is the folder that contains" in capsys.readouterr().err


def test_the_lock_is_written_from_pages(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A draft unless told otherwise."""
    assert invoke(["requirements", "lock", "--final", str(text)]) == 0
    shown = capsys.readouterr().out
    assert "draft = false" in shown
    assert f'"{ECHO}" = "MUST"' in shown
