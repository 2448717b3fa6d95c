"""The verbs, the pins and the one script of CI are what the repository says they are."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
VERBS = (
    "test",
    "quick",
    "lint",
    "types",
    "arch",
    "vectors",
    "conform",
    "fuzz",
    "report",
    "bench",
    "docs",
    "dist",
    "soak",
)
PASSED = ("CI", "DOCKER_*", "JAVA_HOME", "PIP_*", "UV_*", "CARGO_*", "RUSTUP_*", "SSL_CERT_*", "ZCONFORM_*")
REQUIREMENT = re.compile(r'^\s*"(?P<name>[A-Za-z0-9_.-]+)(?P<extras>\[.*?\])?(?P<range>[^"]*)",?\s*(?P<why>#.*)?$')


@pytest.fixture(scope="module")
def tox() -> configparser.ConfigParser:
    settings = configparser.ConfigParser(interpolation=None)
    settings.read(ROOT / "tox.ini")
    return settings


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_is_there_and_says_what_it_does(tox, verb):
    assert tox[f"testenv:{verb}"]["description"]


@pytest.mark.parametrize("name", PASSED)
def test_what_the_machine_says_reaches_the_tools(tox, name):
    assert name in tox["testenv"]["pass_env"].split()


def pinned() -> set[str]:
    return {line.partition("==")[0] for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def asked() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    every = [project["dependencies"], *project["optional-dependencies"].values()]
    names = [re.split(r"[^A-Za-z0-9_.-]", line)[0] for lines in every for line in lines]
    return sorted({normal(name) for name in names} - {project["name"]})


@pytest.mark.parametrize("name", asked())
def test_each_dependency_is_pinned(name):
    assert name in pinned(), "make constraints.txt again, as its head tells"


def test_the_pins_name_no_place():
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9-]+==[^\s;]+( ; .*)?", line) for line in lines)


def test_each_dependency_says_what_it_is_for():
    lists = re.compile(r"^\w+ = \[\n(.*?)^\]", re.MULTILINE | re.DOTALL)
    silent = []
    for block in lists.findall((ROOT / "pyproject.toml").read_text()):
        for line, before in zip(block.splitlines(), ["", *block.splitlines()], strict=False):
            found = REQUIREMENT.match(line)
            text = before.lstrip().startswith("#") or (found and found["why"])
            if found and re.match(r"[<>=~]", found["range"]) and not text:
                silent.append(line.strip())
    assert not silent


ROWS = ("lint", "types", "arch", "vectors", "docs"), ("fuzz", "dist")
"""The parts that .ci/run runs side by side."""


@pytest.fixture
def ci(tmp_path: Path):
    """Runs .ci/run in a folder whose `toxw` fails the verbs named; returns the exit code and what was printed."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/run", tmp_path / ".ci")
    (tmp_path / ".ci/packages").write_text("# none is asked for\n")

    def run(failing: str, more: str = "") -> tuple[int, list[str]]:
        script = f"""#!/bin/sh
echo "verb $2, CI=$CI"
[ "$2" = test ] && echo "===== 3 passed, 1 skipped in 0.12s ====="
{more}case " {failing} " in *" $2 "*) exit 1;; esac
"""
        builder = tmp_path / ".tox/image/bin/zconform"
        builder.parent.mkdir(parents=True, exist_ok=True)
        builder.write_text(f'#!/bin/sh\necho "image $*"\ncase " {failing} " in *" build "*) exit 1;; esac\n')
        (tmp_path / "toxw").write_text(script)
        for program in (builder, tmp_path / "toxw"):
            program.chmod(0o755)
        done = subprocess.run([str(tmp_path / ".ci/run")], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()

    return run


def test_ci_runs_each_part_and_ends_with_pytests_summary(ci):
    code, lines = ci("")
    assert code == 0
    ran = [line.split()[1].rstrip(",") for line in lines if line.startswith("verb ")]
    assert ran == ["image,fuzz", *ROWS[0], *ROWS[1], "conform", "test"]
    assert all(line.endswith("CI=true") for line in lines if line.startswith("verb "))
    assert lines[-1] == "===== 3 passed, 1 skipped in 0.12s ====="


def test_ci_runs_two_rows_of_parts_side_by_side(ci, tmp_path):
    """The last part of the first row and the first part of the second wait for each other: one after the other, they fail."""
    os.mkfifo(tmp_path / "met")
    meets = 'timeout 20 sh -c "{}" || exit 1;;'
    writes, reads = meets.format("echo here > met"), meets.format("read line < met")
    code, lines = ci("", f"case $2 in {ROWS[0][-1]}) {writes} {ROWS[1][0]}) {reads} esac\n")

    assert code == 0, lines


@pytest.mark.parametrize("failing", ["lint", "dist", "conform", "test"])
def test_ci_goes_on_after_a_red_part_and_is_red(ci, failing):
    code, lines = ci(failing)
    assert code == 1
    again = f"== {failing}, again"
    told_twice = sum(line.startswith("verb ") for line in lines[lines.index(again) :]) if again in lines else 0
    assert bool(told_twice) is (failing in ROWS[1])
    assert sum(line.startswith("verb ") for line in lines) == 10 + told_twice
    assert any(re.fullmatch(rf"{failing} +\d+ s  FAILED", line) for line in lines)
    assert lines[-2:] == [f"== failed: {failing}", "===== 3 passed, 1 skipped in 0.12s ====="]


def test_a_part_that_passes_its_ceiling_is_red(ci, tmp_path, monkeypatch):
    """The clock of this machine goes a day on each time that it is read."""
    (tmp_path / "date").write_text('#!/bin/sh\necho x >> "$0.read"; echo $((86400 * $(wc -l < "$0.read")))\n')
    (tmp_path / "date").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    code, lines = ci("lint")
    assert code == 1
    assert any(re.fullmatch(r"test +86400 s  TOO LONG, at most \d+ s", line) for line in lines)
    assert any(re.fullmatch(r"lint +\d+ s  FAILED", line) for line in lines)
    assert lines[-2].startswith("== failed: ")
    assert lines[-2].endswith(" ".join(["", *ROWS[0], *ROWS[1], "image", "conform", "test"]))


def test_ci_is_red_without_the_image_and_shows_why(ci):
    code, lines = ci("build")
    assert code == 1
    assert "image targets build zenohd --profile quick" in lines
    assert lines[-2] == "== failed: image"


def test_each_package_of_the_machine_says_what_it_is_for():
    lines = [line for line in (ROOT / ".ci/packages").read_text().splitlines() if not line.startswith("#")]
    assert lines
    assert all(re.fullmatch(r"[a-z0-9.+-]+ +# .+", line) for line in lines)
