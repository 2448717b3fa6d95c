"""What decides a verdict is held by tables: each fault that is planted there turns a test red."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

PLANTED = {
    # the fault: (module, what stands there, what is put there, tests that must be red)
    "no embargo for a hang": (
        "zenoh_conformance.judging.verdict", '"hang", 11, "red grave stuck"', '"hang", 11, "red stuck"',
        "test_run_embargo_tables.py",
    ),
    "no embargo for a zombie": (
        "zenoh_conformance.judging.verdict", '"zombie", 13, "red grave stuck"', '"zombie", 13, "red stuck"',
        "test_run_embargo_tables.py",
    ),
    "exit 1 before 3": (
        "zenoh_conformance.judging.verdict", "if interrupted or any(verdict.is_ours for verdict in seen):",
        "if not any(map(Verdict.is_red, seen)) and (interrupted or any(verdict.is_ours for verdict in seen)):",
        "test_verdict_tables.py",
    ),
    "two bits of priority": ("zenoh_conformance.reading.connection", "& 0x07", "& 0x03", "test_channels.py"),
    "no KEEP_ALIVE in a live session": (
        "zenoh_conformance.tables.session", "    SessionInput.KEEP_ALIVE: State.LIVE,\n", "", "test_session_table.py",
    ),
    "always as written": (
        "zenoh_harness.run.write.register", "return pinned[0].reading", "return AS_WRITTEN", "test_run_register_tables.py",
    ),
    "twice the bound": ("zenoh_conformance.reading.batch", "LARGEST = 0xFFFF", "LARGEST = 0x1FFFE", "test_batch_bound.py"),
    "a repetition turns red into green": (
        "zenoh_harness.run.judge.decide", "return Verdict.FLAKY\n",
        "return Verdict.PASS if verdicts[-1] is Verdict.PASS else Verdict.FLAKY\n", "test_run_decide_tables.py",
    ),
    "laws of a session kept per connection": (
        "zenoh_conformance.judging.engine", "self._sessions.of.get(connection, connection)", "connection",
        "test_law_reach.py",
    ),
}  # fmt: skip


def planted(folder: Path, module: str, old: str, new: str) -> Path:
    """A folder with the module's package, of links to the files, but for the module, which has the fault."""
    origin = Path(importlib.util.find_spec(module).origin)
    package = next(each for each in origin.parents if each.name == module.partition(".")[0])
    unwanted = shutil.ignore_patterns("__pycache__", "target")
    shutil.copytree(package, folder / package.name, copy_function=os.symlink, ignore=unwanted)
    text = origin.read_text()
    assert text.count(old) == 1, f"{module} does not say {old!r} once: plant the fault where it is said now"
    changed = folder / package.name / origin.relative_to(package)
    changed.unlink()
    changed.write_text(text.replace(old, new))
    return folder


@pytest.mark.soak
@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_turns_a_test_red(tmp_path, fault):
    """Its short twin are the tables themselves."""
    module, old, new, name = PLANTED[fault]
    [tests] = ROOT.glob(f"*/tests/**/{name}")
    path = os.pathsep.join([str(planted(tmp_path, module, old, new)), *sys.path])
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, text=True, capture_output=True,
    )  # fmt: skip
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "FAILED" in ran.stdout
    assert "AssertionError" in ran.stdout or "DID NOT RAISE" in ran.stdout, ran.stdout


def test_each_fault_can_still_be_planted(tmp_path):
    for number, (module, old, new, name) in enumerate(PLANTED.values()):
        planted(tmp_path / str(number), module, old, new)
        assert len(list(ROOT.glob(f"*/tests/**/{name}"))) == 1
