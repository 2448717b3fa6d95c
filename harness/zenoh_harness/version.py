"""The version of the harness."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version


@cache
def harness_version(missing: str = "unreleased") -> str:
    """Return the version of the distribution, or `missing` for a checkout that is not installed."""
    try:
        return version("zenoh-conformance")
    except PackageNotFoundError:
        return missing
