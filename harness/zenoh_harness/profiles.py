"""Profiles: the configurations that a target can be started in, by name. How one is set is each adapter's business."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One configuration of a node, as a case may ask for it."""

    name: str
    about: str
    offers: frozenset[str] = frozenset()
    """Capabilities that a node has in this profile beyond those that every node has."""
    sessions: int | None = None
    """The most sessions that the node holds, where that is limited."""
    credentials: tuple[str, str] | None = None
    """User and password that a session must show."""
    short_lease: bool = False
    """Whether a session must send something every quarter of a second to live."""


ASSUMED: Final = frozenset(
    {"routing", "interests", "finals", "several-links", "several-sessions", "many-links", "many-sessions"}
)
"""What a node is taken to do until it was seen not to: it passes data on between those who are connected to it, answers an interest,
finishes a query that nobody serves, looks at several links at once, holds several sessions; and many of both."""

DEFAULT: Final = "default"

ON_THE_LINK: Final = "all-on-the-link"
"""Two nodes on one machine would pass large payloads by a way that nobody sees."""

PROFILES: Final[Mapping[str, Profile]] = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            Profile(name=DEFAULT, about="as it comes", offers=frozenset({"qos"})),
            Profile(name="qos-off", about="without QoS lanes"),
            Profile(
                name="low-latency", about="network messages without FRAME, no QoS", offers=frozenset({"low-latency"})
            ),
            Profile(name="compression", about="LZ4 batches", offers=frozenset({"compression", "qos"})),
            Profile(name="resolution-8", about="8-bit sequence numbers", offers=frozenset({"resolution-8", "qos"})),
            Profile(name="resolution-16", about="16-bit sequence numbers", offers=frozenset({"resolution-16", "qos"})),
            Profile(name="small-batch", about="batches of at most 512 bytes", offers=frozenset({"small-batch", "qos"})),
            Profile(
                name="short-lease",
                about="a lease of one second",
                offers=frozenset({"short-lease", "qos"}),
                short_lease=True,
            ),
            Profile(
                name="one-session",
                about="at most one session at a time",
                offers=frozenset({"one-session", "qos"}),
                sessions=1,
            ),
            Profile(name="two-links", about="two links a session", offers=frozenset({"multilink", "qos"})),
            Profile(
                name="user-password",
                about="sessions must show a user and a password",
                offers=frozenset({"auth", "qos"}),
                credentials=("conformance", "open-sesame"),
            ),
            Profile(
                name="timestamping", about="stamps the data that passes", offers=frozenset({"timestamping", "qos"})
            ),
            Profile(name=ON_THE_LINK, about="payloads never go through shared memory", offers=frozenset({"qos"})),
        )
    }
)
"""Every profile, in the order in which a run visits them."""
