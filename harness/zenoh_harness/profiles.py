"""Profiles: named configurations in which a target can be started. Each adapter sets them in its own way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A configuration of a node that a case can require."""

    name: str
    about: str
    offers: frozenset[str] = frozenset()
    """Capabilities of a node in this profile, besides those of every node."""
    sessions: int | None = None
    """Most sessions that the node holds; None without a limit."""
    credentials: tuple[str, str] | None = None
    """User and password that a session must present."""

    @property
    def groups(self) -> tuple[str, ...]:
        """The multicast groups that a node in this profile is in."""
        return tuple(name for name in GROUPS if name in self.offers)


GROUPS: Final = ("multicast", "scouting")
"""The groups of a node: where it says JOIN, and where it hears SCOUT."""

ASSUMED: Final = frozenset(
    {"routing", "interests", "finals", "several-links", "several-sessions", "many-links", "many-sessions", "stream"}
)
"""Features that a node is assumed to have until it fails to show them: it forwards data between sessions, answers interests,
finishes queries without a queryable, serves several links and sessions at once, or many, and is reached over a stream."""

ROOM: Final = frozenset({"several-links", "several-sessions", "many-links", "many-sessions", "routing"})
"""Features that a lack of room for links or sessions takes away."""

DEFAULT: Final = "default"

ON_THE_LINK: Final = "all-on-the-link"
"""Two nodes on one machine would otherwise pass large payloads through shared memory, where no link is seen."""

PROFILES: Final[Mapping[str, Profile]] = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            Profile(name=DEFAULT, about="with its defaults", offers=frozenset({"qos"})),
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
            Profile(
                name="multicast",
                about="in a multicast group, and found by scouting",
                offers=frozenset({"multicast", "scouting", "datagram", "qos"}),
            ),
            Profile(
                name="multicast-qos",
                about="in a multicast group, with QoS in its JOIN",
                offers=frozenset({"multicast", "multicast-qos", "datagram", "qos"}),
            ),
            Profile(name=ON_THE_LINK, about="payloads never go through shared memory", offers=frozenset({"qos"})),
        )
    }
)
"""Every profile, in the order of a run."""
