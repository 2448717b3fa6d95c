"""The configuration of the reference node in each profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from zenoh_harness.profiles import PROFILES

from .config import Config

CHANGES: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "qos-off": {"qos": False},
    "low-latency": {"lowlatency": True, "qos": False},
    "compression": {"compression": True},
    "resolution-8": {"resolution": 0x00},
    "resolution-16": {"resolution": 0x05},
    "small-batch": {"batch_size": 512},
    "short-lease": {"lease_ms": 1000},
    "one-session": {"max_sessions": 1},
    "two-links": {"max_links": 2},
    "multicast": {},
    "multicast-qos": {"group_qos": True},
    "user-password": {"credentials": PROFILES["user-password"].credentials},
}
"""Profile name to the fields of `Config` that it changes."""


def config_of(profile: str, **changes: Any) -> Config:
    """Return the configuration in a profile; its fields win over `changes`.

    Raises KeyError for a profile that the reference node does not have.
    """
    return replace(Config(), **{**changes, **CHANGES[profile]})
