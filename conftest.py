"""How the tests are dealt out to the workers of pytest-xdist, and which of them the quick round leaves out."""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent

LONG = (
    "conformance/tests/test_newcomer.py",
    "fuzz/tests",
    "reports/tests",
    "harness/tests/codecs/test_zenoh_codec.py",
    "harness/tests/commands/test_vectors_command.py",
    "harness/tests/faulty",
    "harness/tests/foreign",
    "harness/tests/interop",
    "harness/tests/links/test_tap",
    "harness/tests/probing",
    "harness/tests/programs",
    "harness/tests/repository/test_arch.py",
    "harness/tests/repository/test_docs.py",
    "harness/tests/repository/test_needs.py",
    "harness/tests/repository/test_recipes.py",
    "harness/tests/repository/test_toxw.py",
    "harness/tests/requirements/test_verdict_table.py",
    "harness/tests/run/test_run_bad_targets.py",
    "harness/tests/run/test_run_commands.py",
    "harness/tests/run/test_run_kinds.py",
    "harness/tests/scripting/test_scripts_on_two.py",
    "harness/tests/targets",
    "harness/tests/test_pytest_plugin.py",
    "harness/tests/versions",
    "vectors/tests/test_data.py",
    "vectors/tests/test_export.py",
    "vectors/tests/test_mutation.py",
)
"""How the paths begin that `--quick` leaves out: their tests start nodes, containers, interpreters, compilers or Spark."""

FIRST = (
    "reports/tests/test_engines.py",  # and with it whatever needs Spark
    "fuzz/tests/test_campaign.py",
    "harness/tests/run/test_run_commands.py",
    "harness/tests/targets/docker",
    "harness/tests/probing",
    "reports/tests/test_browser.py",
    "harness/tests/test_pytest_example.py",
    "harness/tests/test_pytest_plugin.py",
    "harness/tests/repository/test_recipes.py",
    "harness/tests/run/test_run_bad_targets.py",
    "harness/tests/targets",
    "harness/tests/interop",
    "harness/tests/foreign",
    "harness/tests/versions",
    "harness/tests/variants/test_variants.py",
    "fuzz/tests",
)
"""How the paths begin of what takes longest, the longest first: it is begun first, so that no worker is left alone at the end."""

WAITING = 4
"""Workers beyond the cores, at most."""

SPARK = re.compile(r"""needs\([^)]*["'](?:java|spark)["']""")
SPREAD = re.compile(r"^pytestmark = .*mark\.spread\b", re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option of the daily round."""
    parser.addoption("--quick", action="store_true", help="leave out what takes long (LONG in conftest.py)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Puts first what takes longest; leaves out what takes long, where that was asked for."""
    items.sort(key=lambda item: next((at for at, path in enumerate(FIRST) if item.nodeid.startswith(path)), len(FIRST)))
    if config.getoption("--quick"):
        left = [item for item in items if item.nodeid.startswith(LONG)]
        items[:] = [item for item in items if not item.nodeid.startswith(LONG)]
        config.hook.pytest_deselected(items=left)


@pytest.hookimpl(optionalhook=True, wrapper=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """Twice as many workers as cores: a test with a node or a daemon waits for it half of its time, and another works meanwhile."""
    cores = yield
    return cores if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else min(2 * cores, cores + WAITING)


@cache
def unit(file: str) -> str:
    """
    What the tests of a file are dealt out with: the file, `spark`, or nothing, so that each goes by itself.

    One worker runs all that needs Spark: a session takes seconds to start and a gigabyte. The tests of a file share its
    fixtures, unless its mark `spread` says that they share nothing.
    """
    text = (ROOT / file).read_text(encoding="utf-8")
    if SPARK.search(text):
        return "spark"
    return "" if SPREAD.search(text) else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Deals out the tests by `unit`."""
    from xdist.scheduler import LoadScopeScheduling

    class ByUnit(LoadScopeScheduling):
        """Deals out one unit after the other, in the order of the tests."""

        def _split_scope(self, nodeid: str) -> str:
            return unit(nodeid.partition("::")[0]) or nodeid

    config.option.loadscopereorder = False  # the longest unit is not the one with the most tests
    return ByUnit(config, log) if config.getvalue("dist") == "load" else None
