"""No entry of a list hides a fault of another kind: each shipped list is compared with the faulty nodes."""

import pytest

from zenoh_conformance.judging.verdict import Exit
from zenoh_harness import cli
from zenoh_harness.commands import known as command
from zenoh_harness.commands.known import faults_of
from zenoh_harness.faulty import all_faulty_nodes
from zenoh_harness.faulty.excused import excuses
from zenoh_harness.files import known
from zenoh_harness.files.faults import FileFault

COOKIE = """[[deviation]]
check   = "establishment-cookie/a-longer-cookie-is-refused"
verdict = "fail"
cause   = "stage open: OpenAck where a refusal is required"
reason  = "what follows the sealed part of a cookie is not looked at"
owner   = "us"
"""
HIDDEN = "checks-no-cookie-of-a-bare-proposal"
MEANT = "compares-the-beginning-of-a-cookie"


@pytest.fixture
def listed(tmp_path):
    """A function that writes a list and returns its path."""

    def write(text):
        path = tmp_path / "mine.known.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("laws", [False, pytest.param(True, marks=pytest.mark.soak)])
@pytest.mark.parametrize("path", known.shipped_lists(), ids=lambda path: path.name)
def test_no_shipped_entry_hides_a_fault(path, laws):
    assert faults_of(path, laws=laws) == []


def test_an_entry_that_is_too_wide_is_told_with_the_fault_that_it_hides(listed):
    """An entry for what follows a cookie hid a node that checks no cookie at all of some peers."""
    wide = listed(f'{COOKIE}reproduced_by = ["{MEANT}"]\n')
    [fault] = faults_of(wide, laws=False)
    assert fault["wrong"].startswith(
        f"excuses faulty:{HIDDEN}, on which establishment-cookie/a-longer-cookie-is-refused["
    )


@pytest.mark.parametrize(
    "more", ['parameters = { what = "zero-behind" }', 'link = "udp"', 'role = "initiator"', 'cause = "x"']
)
def test_an_entry_that_names_its_place_leaves_the_check_its_teeth(listed, more):
    text = COOKIE.replace(COOKIE.splitlines()[3], more) if more.startswith("cause") else f"{COOKIE}{more}\n"
    nodes = [all_faulty_nodes()[HIDDEN]]
    assert list(excuses(known.read(listed(text)), nodes)) == []
    assert [each.node for each in excuses(known.read(listed(COOKIE)), nodes)] == [HIDDEN]


def test_an_entry_of_a_law_is_compared_with_what_the_law_finds(listed):
    text = COOKIE.replace("establishment-cookie/a-longer-cookie-is-refused", "law/request-id-in-range")
    text = text.replace("stage open: OpenAck where a refusal", "request.id: * where *")
    nodes = [all_faulty_nodes()["passes-ids-on"]]
    assert [each.label for each in excuses(known.read(listed(text)), nodes)] == ["law/request-id-in-range"]
    assert list(excuses(known.read(listed(text)), nodes, laws=False)) == []


def test_who_reproduces_it_is_a_list_of_faulty_nodes_that_do(listed, capsys):
    path = listed(f'{COOKIE}reproduced_by = ["{MEANT}", "{HIDDEN}", "nobody"]\n')
    assert cli.invoke(["known", "check", str(path), "--no-laws"]) == Exit.NOT_CONFORMING
    assert "there is no faulty node nobody" in capsys.readouterr().out
    assert [each["wrong"] for each in faults_of(listed(f'{COOKIE}reproduced_by = ["{MEANT}", "{HIDDEN}"]\n'))] == []
    with pytest.raises(FileFault, match="must be a list of names"):
        known.read(listed(f"{COOKIE}reproduced_by = [1]\n"))


@pytest.mark.parametrize("code", [Exit.CONFORMING, Exit.NOT_CONFORMING])
def test_a_list_is_compared_with_a_release(listed, monkeypatch, code):
    """An entry that the release does not show fails, as in a run with that list."""
    path, asked = listed(f'{COOKIE}reproduced_by = ["{MEANT}", "{HIDDEN}"]\n'), []

    class Ran:
        exit = code

    def one_target(shell, reach, options, lists):
        asked.append((str(reach), options.depth, lists))
        return Ran

    monkeypatch.setattr(command, "one_target", one_target)
    assert cli.invoke(["known", "check", str(path), "--no-laws", "--target", "reference"]) == code
    assert asked == [("reference", "quick", (path,))]
