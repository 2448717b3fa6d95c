"""How the tests are dealt out to the workers of pytest-xdist, and which of them the quick round leaves out.

What takes long says so itself: by the mark `long`, with its seconds where they are many; by a part of the machine that it
needs; or by the `conftest.py` of its folder. How long each test took is kept in pytest's cache, and orders the next deal.
"""

from __future__ import annotations

import gc
import os
import re
from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent

HEAVY = dict.fromkeys(("atheris", "cargo", "cc", "grpc", "javac", "netns"), 1.0) | {"docker": 30.0, "browser": 60.0}
HEAVY |= {"java": 120.0, "spark": 120.0}
"""Parts of the machine that take long wherever they are needed, with the seconds of the tests that need them."""

SECONDS = "zenoh-conformance/seconds"
"""Where in pytest's cache the seconds of each test are; those below `SHORT` are not kept."""

SHORT = 0.1

WAITING = 4
"""Workers beyond the cores, at most."""

SPARK = re.compile(r"""needs\([^)]*["'](?:java|spark)["']""")
SPREAD = re.compile(r"^pytestmark = .*mark\.spread\b", re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option of the daily round."""
    parser.addoption("--quick", action="store_true", help="leave out what takes long (mark `long`)")


def length(item: pytest.Item) -> float:
    """The seconds that a test's file takes on an idle machine, as its marks say; 0 where none says that it is long."""
    said = [float(mark.args[0]) if mark.args else 1.0 for mark in item.iter_markers("long")]
    needed = [HEAVY.get(part, 0.0) for mark in item.iter_markers("needs") for part in mark.args]
    return max([*said, *needed], default=0.0)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Puts first what takes longest; leaves out what takes long, where that was asked for."""
    items.sort(key=length, reverse=True)
    if config.getoption("--quick"):
        config.hook.pytest_deselected(items=[item for item in items if length(item)])
        items[:] = [item for item in items if not length(item)]


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: Any, obj: object) -> list[pytest.Item] | None:
    """Make no items of a function that is marked `soak` where `-m` leaves those out: they are a quarter of all."""
    soaks = collector.config.option.markexpr == "not soak" and any(
        mark.name == "soak" for mark in getattr(obj, "pytestmark", ()) if isinstance(mark, pytest.Mark)
    )
    return [] if soaks and callable(obj) else None


def pytest_collection_finish() -> None:
    """Keep the collector of garbage from looking at modules and items again and again: they stay to the end."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True, wrapper=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """Twice as many workers as cores: a test with a node or a daemon waits for it half of its time, and another works meanwhile."""
    cores = yield
    return cores if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else min(2 * cores, cores + WAITING)


class Stopwatch:
    """The seconds of each test in this run, which go into pytest's cache."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add what one phase took."""
        self.seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write what is long; a test that did not run keeps what it took last."""
        kept = {test: took for test, took in recorded(session.config).items() if test not in self.seconds}
        kept |= {test: round(took, 1) for test, took in self.seconds.items() if took >= SHORT}
        session.config.cache.set(SECONDS, kept)


def pytest_configure(config: pytest.Config) -> None:
    """Have the process that deals out take the time."""
    if not hasattr(config, "workerinput") and config.pluginmanager.has_plugin("cacheprovider"):
        config.pluginmanager.register(Stopwatch())


def recorded(config: pytest.Config) -> Mapping[str, float]:
    """The seconds that tests took when they ran last; empty where pytest keeps no cache."""
    return config.cache.get(SECONDS, {}) if config.pluginmanager.has_plugin("cacheprovider") else {}


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


def unit_of(nodeid: str) -> str:
    """The unit that a test is dealt out with."""
    return unit(nodeid.partition("::")[0]) or nodeid


def longest(units: Iterable[str], seconds: Mapping[str, float]) -> str:
    """The unit that took longest; the first of those that took equally long, or never ran."""
    return max(units, key=lambda one: seconds.get(one, 0.0))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Deals out the tests by `unit`."""
    from xdist.scheduler import LoadScopeScheduling

    seconds: dict[str, float] = defaultdict(float)
    for nodeid, took in recorded(config).items():
        if (ROOT / nodeid.partition("::")[0]).is_file():
            seconds[unit_of(nodeid)] += took

    class ByUnit(LoadScopeScheduling):
        """Deals out the longest unit first, so that no worker is left alone at the end."""

        def _split_scope(self, nodeid: str) -> str:
            return unit_of(nodeid)

        def _assign_work_unit(self, node: Any) -> None:
            self.workqueue.move_to_end(longest(self.workqueue, seconds), last=False)
            super()._assign_work_unit(node)

    config.option.loadscopereorder = False  # the longest unit is not the one with the most tests
    return ByUnit(config, log) if config.getvalue("dist") == "load" else None
