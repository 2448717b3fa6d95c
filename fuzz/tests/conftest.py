"""The tiny codec, compiled as often as it has faults."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from zenoh_harness.codecs.library import header

TINY = Path(__file__).with_name("tiny.c")


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """The path of the library with a fault; 0 for none."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler is not None, "needs a C compiler: each test with this fixture is marked with needs"
    folder = tmp_path_factory.mktemp("tiny")

    def made(fault: int = 0) -> Path:
        library = folder / f"tiny{fault}.so"
        if not library.exists():
            command = [
                compiler,
                "-shared",
                "-fPIC",
                "-O1",
                f"-DFAULT={fault}",
                f"-I{header().parent}",
                str(TINY),
                "-o",
                str(library),
            ]
            subprocess.run(command, check=True)
        return library

    return made


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What uses the tiny codec needs a compiler: told where there is none, a failure in CI."""
    for item in items:
        if "tiny" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.needs("cc"))


def pytest_itemcollected(item: pytest.Item) -> None:
    """Campaigns and codecs of others take long: the quick round leaves these tests out."""
    item.add_marker("long")
