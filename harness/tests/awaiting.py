"""Waiting for what a test can see."""

import time
from collections.abc import Callable


def awaited(holds: Callable[[], object]) -> None:
    """Look until it holds, for a minute at most."""
    over = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < over
        time.sleep(0.005)
