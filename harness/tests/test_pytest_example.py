"""The example project of the documentation, run in the ways in which people run pytest: the same verdicts each time."""

import re
import shutil
from pathlib import Path

import pytest
from imported import import_all_of_a_run

pytest_plugins = "pytester"
pytestmark = pytest.mark.spread

EXAMPLE = Path(__file__).resolve().parents[2] / "docs/pages/examples/pytest"
TARGET = "python:tiny_node:Node?role=peer&name=tiny"
MINE = f"{TARGET}::responder default cases-mine/a-cookie-has-sixteen-bytes"
LONGER = f"{TARGET}::responder default establishment-cookie/a-longer-cookie-is-refused[what=twice]"
SOME = ("cases-mine/*", "establishment-cookie/a-longer*", "establishment-cookie/an-invented*")
OPTIONS = [
    "--target",
    TARGET,
    "--target-cases",
    "cases_mine.py",
    *[word for one in SOME for word in ("--target-only", one)],
]
KNOWN = ("--target-known", "mine.known.toml")
RIGHT = {"passed": 5, "xfailed": 4}


@pytest.fixture(scope="module")
def _imported():
    import_all_of_a_run()


@pytest.fixture
def project(pytester, monkeypatch):
    for path in EXAMPLE.iterdir():
        if path.is_file() and path.name != "pytest.ini":
            shutil.copy(path, pytester.path)
    (pytester.path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")

    # in CI pytest prints a failure's text a second time, in its last lines
    for name in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)

    def run(*words):
        return pytester.runpytest_subprocess(*OPTIONS, *words)

    return run


@pytest.mark.soak
def test_the_project_as_it_stands_is_right_on_two_workers(pytester, project):
    shutil.copy(EXAMPLE / "pytest.ini", pytester.path / "pytest.ini")
    pytester.runpytest_subprocess("-n", "2", "-k", "cases-mine or longer").assert_outcomes(passed=3, xfailed=4)


def test_any_order_says_the_same(pytester, project):
    pytester.makeconftest(
        "import random, pytest\n@pytest.hookimpl(trylast=True)\n"
        "def pytest_collection_modifyitems(items):\n    random.Random(7).shuffle(items)\n"
    )
    project(*KNOWN).assert_outcomes(**RIGHT)


def test_items_are_named_on_the_command_line_and_by_their_requirement(project):
    asked = "requirement(id='session-establishment/cookie-must-match')"
    project(*KNOWN, MINE, LONGER, f"{TARGET}::responder default target/stays-up", "-m", asked).assert_outcomes(
        passed=1, xfailed=1, deselected=1
    )


def test_a_failure_shows_the_conversation_and_runs_again_alone(project):
    first = project()
    first.assert_outcomes(passed=5, failed=4)
    text = first.stdout.str()
    assert re.search(r"\d  us  responder  \d+ bytes", text)
    assert "open.header" in text or re.search(r"OPEN, A", text)
    assert text.count("  said") == 4
    project("--lf").assert_outcomes(failed=4, deselected=5)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--target", "python:tiny_node:Nod"], "has no callable 'Nod'"),
        (["--target", "python:tiny_nod:Node"], "no module 'tiny_nod'"),
        (["--target", "python:tiny_node"], "is not MODULE:NAME"),
        (["--target-cases", "mine.py"], "there is no file of cases"),
        (["--target-cases", "pytest.ini"], "there is no file of cases"),
        (
            ["--target", "reference?face=codec", "reference?face=codec::codec default vectors/close/reson-0"],
            "did you mean",
        ),
    ],
    ids=["name", "module", "no-name", "no-file", "no-python", "no-item"],
)
@pytest.mark.usefixtures("_imported")
def test_what_cannot_be_had_is_told(pytester, words, why):
    for path in EXAMPLE.iterdir():
        shutil.copy(path, pytester.path)
    (pytester.path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    found = pytester.runpytest_inprocess(
        "-p", "no:randomly", *(["--target", "reference"] if "--target" not in words else []), *words
    )
    assert found.ret == 4
    assert why in found.stderr.str()
