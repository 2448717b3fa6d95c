"""Addresses as Spark takes them, and what is said where Spark could not use one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from zenoh_harness.errors import CannotGoOn

STACK: Final = ("at ", "... ", "An error occurred while calling")
"""Beginnings of the lines of a Java stack trace that do not describe the error."""
FULL: Final = ("No space left on device", "Disk quota exceeded", "ENOSPC")
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def is_uri(place: str) -> bool:
    """Whether an address begins with a scheme."""
    return _URI.match(place) is not None


def location(folder: str | Path) -> str:
    """Return a folder as Spark takes it: a URI as it is, a path from the root on."""
    text = str(folder)
    return text.rstrip("/") if is_uri(text) else str(Path(text).resolve())


@contextmanager
def told(step: str, place: str = "") -> Iterator[None]:
    """Turn an exception of Spark into CannotGoOn with the step, the root cause and, for a full disk, what to do."""
    try:
        yield
    except (PySparkException, Py4JError) as why:
        text = str(why)
        full = any(sign in text for sign in FULL)
        causes = [
            line.strip(" :") for line in text.splitlines() if line.strip() and not line.lstrip().startswith(STACK)
        ]
        root = [line for line in causes if line.startswith("Caused by")][-1:] or causes[-1:]
        raise CannotGoOn(
            "the disk is full" if full else "Spark could not do it", step=step, seen=[place, *causes[:1], *root],
            hint="make room, then do it again: what is written stays, and nothing is there twice" if full else "",
        ) from why  # fmt: skip
