"""The step for GitHub's builds and the hook for lists of deviations, as far as they can be run without the service."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from zenoh_harness.cli import invoke

ROOT = Path(__file__).resolve().parents[3]
ACTION = (ROOT / "action.yml").read_text()
ONLY = "establishment-cookie/an-invented-cookie-is-refused"
WRONG = "faulty:believes-any-cookie?role=router&name=sample"
RIGHT = "reference?role=router&name=sample"


def script() -> str:
    """The step's shell text."""
    (body,) = re.findall(r"^ {6}run: \|\n((?: {8}.*\n|\n)+)", ACTION, re.MULTILINE)
    return re.sub(r"(?m)^ {8}", "", body)


def test_every_input_reaches_the_shell_by_its_environment_alone():
    """What a workflow is given is never pasted into the shell's text."""
    assert "${{" not in script()
    inputs = re.findall(r"^  (\w+):\n    description", ACTION.partition("\noutputs:")[0], re.MULTILINE)
    assert len(inputs) == 6
    for name in inputs:
        assert f"ZC_{name.upper()}: ${{{{ inputs.{name} }}}}" in ACTION
        assert f"ZC_{name.upper()}" in script()


def test_its_shell_is_read_by_bash_without_a_remark():
    done = subprocess.run(["bash", "-n"], input=script(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    if linter := shutil.which("shellcheck"):
        done = subprocess.run([linter, "-s", "bash", "-"], input=script(), capture_output=True, text=True, check=False)
        assert done.stdout == ""


@pytest.fixture
def step(tmp_path):
    """Run the step with a target: its exit code, and what it wrote for the service."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/zconform"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m zenoh_harness.cli "$@"\n')
    program.chmod(0o755)
    (tmp_path / "our list.known.toml").write_text("# nothing is accepted\n")

    def run(target: str, more: str = "") -> tuple[int, str]:
        environment = {
            **os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "RUNNER_TEMP": str(tmp_path),
            "GITHUB_OUTPUT": str(tmp_path / "output"), "GITHUB_STEP_SUMMARY": str(tmp_path / "page.md"),
            "PYTHONPATH": os.pathsep.join(sys.path), "ZC_ACTION": str(ROOT), "ZC_TARGET": target, "ZC_DEPTH": "quick",
            "ZC_KNOWN": "our list.known.toml", "ZC_REQUIRE": "1.0.0", "ZC_VERSION": "", "ZC_ARGUMENTS": f"--only {ONLY} {more}",
        }  # fmt: skip
        done = subprocess.run(
            ["bash", "-c", script()], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout + done.stderr

    return run


def test_the_step_is_red_with_a_fault_and_leaves_all_that_the_page_shows(step, tmp_path):
    code, text = step(WRONG)
    assert (code, "Exit 1: red: 1 new" in text) == (1, True)
    written = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
    results = f"{tmp_path}/zconform-gate"
    assert written == {"exit": "1", "results": results, "sarif": f"{results}/gate.sarif"}
    assert "### ❌ sample" in (tmp_path / "page.md").read_text()
    for name in ("results.jsonl", "junit.xml", "gate.sarif", "evidence"):
        assert (tmp_path / "zconform-gate" / name).exists()


def test_the_step_is_green_without_one_and_2_for_a_wrong_option(step, tmp_path):
    assert step(RIGHT)[0] == 0
    (tmp_path / "output").unlink()
    (tmp_path / "zconform-gate/gate.sarif").unlink()
    assert step(RIGHT, "--dept quick")[0] == 2
    assert "sarif=" not in (tmp_path / "output").read_text()


def test_the_hook_reads_lists_and_names_what_is_wrong(tmp_path, capsys):
    assert "entry: zconform gate check" in (ROOT / ".pre-commit-hooks.yaml").read_text()
    right, wrong = tmp_path / "right.known.toml", tmp_path / "wrong.known.toml"
    right.write_text("# nothing\n")
    wrong.write_text("[[deviation]]\ncheck = 'no/such'\n")
    assert invoke(["gate", "check", str(right)]) == 0
    assert invoke(["gate", "check", str(right), str(wrong)]) == 2
    text = capsys.readouterr().err
    assert f"{right}: 0 entries" in text
    assert f"{wrong}: entry 1" in text
