"""Which harness this is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def harness_version() -> str:
    """The version of the distribution; `unreleased` from a checkout that is not installed."""
    try:
        return version("zenoh-conformance")
    except PackageNotFoundError:
        return "unreleased"
