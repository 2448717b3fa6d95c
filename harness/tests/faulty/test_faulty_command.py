"""`zconform faulty`: lists them, prints what is red on which and why, and says so when one is not as it should be."""

from __future__ import annotations

import json

import pytest

from zenoh_conformance.cases.case import all_cases
from zenoh_conformance.messages import Open
from zenoh_harness.cli import invoke
from zenoh_harness.commands import faulty as command
from zenoh_harness.faulty import FaultyNode, all_faulty_nodes, fault, faulty, table
from zenoh_harness.reference import Reference
from zenoh_harness.reference.link import Link

CATCHER = "establishment-cookie/an-invented-cookie-is-refused"
AREAS = ("establishment-cookie/", "establishment-sane/", "close-scope/")


@pytest.fixture(autouse=True)
def _few_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cases of a few areas: a row of all of them is judged in `test_faulty_table.py`."""
    cases = {name: case for name, case in all_cases().items() if name.startswith(AREAS)}
    monkeypatch.setattr(table, "all_cases", lambda: cases)


class BelievesAnyCookie(Reference):
    """Takes whatever comes back."""

    def cookie_matches(self, link: Link, open_: Open) -> bool:
        return True


def declared(monkeypatch: pytest.MonkeyPatch, caught_by: tuple[str, ...], also: dict[str, str]) -> None:
    """One faulty node instead of all."""
    one = FaultyNode("trusting", BelievesAnyCookie, caught_by, "Takes whatever\ncomes back.", also)
    monkeypatch.setattr(command, "all_faulty_nodes", lambda: {"trusting": one})


def test_it_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["faulty", "believes-any-cookie"]) == 0
    assert "establishment-cookie/" in capsys.readouterr().out


def test_it_prints_what_is_red_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["faulty", "closes-one-*", "--run"]) == 0
    out = capsys.readouterr().out

    assert "closes-one-link-of-a-session: Takes CLOSE with S for CLOSE without" in out
    assert "    caught by   close-scope/close-of-a-session-ends-all-its-links: the session's other link" in out
    assert "WRONG" not in out


def test_a_red_that_nobody_explains_is_exit_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    declared(monkeypatch, (CATCHER, "law/cookie-echo"), {"law/nothing-after-close": "never"})

    assert invoke(["faulty", "trusting", "--run"]) == 1
    out = capsys.readouterr().out
    assert f"caught by   {CATCHER}" in out
    assert "unexplained establishment-cookie/" in out
    assert "WRONG       law/cookie-echo must detect the fault and is not red" in out
    assert "WRONG       the node explains law/nothing-after-close" in out


def test_all_that_is_explained_is_exit_0(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    declared(monkeypatch, (CATCHER,), {"*": "it takes any cookie"})

    assert invoke(["faulty", "trusting", "--run", "--format", "json"]) == 0
    [text] = json.loads(capsys.readouterr().out)
    assert {red["is"] for red in text["red"]} == {"caught by", "also"}
    assert text["wrong"] == []


def test_by_check_tells_what_no_faulty_node_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    declared(monkeypatch, (CATCHER,), {"*": "it takes any cookie"})

    assert invoke(["faulty", "--by-check"]) == 1
    out = capsys.readouterr().out
    assert f"{CATCHER}: trusting" in out
    assert "law/nothing-after-close: RED ON NONE" in out


def test_an_unknown_name_gets_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["faulty", "believes-any-cooky"]) == 2
    assert "believes-any-cookie" in capsys.readouterr().err


def test_two_nodes_of_one_name_are_an_error() -> None:
    assert "believes-any-cookie" in all_faulty_nodes()
    with pytest.raises(ValueError, match="two faulty nodes are called believes-any-cookie"):
        fault("believes-any-cookie", "Another one.", cookie_matches=lambda: True, caught_by=CATCHER)


def test_a_fault_of_a_hook_that_there_is_not_is_an_error() -> None:
    with pytest.raises(TypeError, match="Reference has no hook 'cookie_fits'"):
        faulty("cookie_fits", caught_by=CATCHER)(lambda open_: True)
