"""What a node says of itself in its groups: its version, the same in each JOIN; and that all it says there is a message.

Pages: message-reference#join, companions join and scouting.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final

from zenoh_conformance.judging.law import Law, law
from zenoh_conformance.messages import Close, Hello, Join, Scout, sane
from zenoh_conformance.messages.join import QoS
from zenoh_conformance.reading.connection import Nature, Seen
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.pieces import SN_MASK
from zenoh_conformance.wire import DecodeError, Unknown

from .multicast import IN_SCOUTING, ON_MULTICAST, seconds_of_lease, told_numbers


class _Version(Law):
    """The version is that of the layout."""

    def judge_version(self, seen: Seen, version: int) -> None:
        self.subject(seen)
        self.require(version == sane.VERSION, at=seen, path=f"{seen.kind}.version", expected=sane.VERSION, got=version)


@law("message-reference/join-version")
class JoinVersionCurrent(_Version):
    """JOIN states version 0x09."""

    natures = ON_MULTICAST

    def on_join(self, seen: Seen, join: Join) -> None:
        self.judge_version(seen, join.version)


@law("scouting/scout-version")
class ScoutVersionCurrent(_Version):
    """SCOUT states version 0x09."""

    natures = IN_SCOUTING

    def on_scout(self, seen: Seen, scout: Scout) -> None:
        self.judge_version(seen, scout.version)


@law("scouting/hello-version")
class HelloVersionCurrent(_Version):
    """HELLO states version 0x09."""

    natures = IN_SCOUTING

    def on_hello(self, seen: Seen, hello: Hello) -> None:
        self.judge_version(seen, hello.version)


DEFAULT_BATCH: Final = 8192
"""The batch size of a JOIN without S (join#defaults)."""

MOST_ON: Final = 1 << 20
"""Numbers that a node uses between two of its JOINs, at most: one whose numbers are further on may have come back."""


@dataclass(slots=True)
class Stay:
    """What one node has said of itself since it came."""

    last: Join
    heard: float


@law("message-reference/join-sent-periodically")
class JoinsAgree(Law):
    """
    JOIN advertises the session's parameters again: the same ones. Numbers go on, and a node may take another lease.

    A JOIN after CLOSE, after silence for the lease, or whose numbers do not go on from those of the last one, is that of a node
    which has come back. So may be one with another ZenohID where all lanes have one number: nodes that begin with a constant have.
    """

    natures = ON_MULTICAST

    def __init__(self) -> None:
        super().__init__()
        self.runs: dict[Side, Stay] = {}

    def on_alone(self, seen: Seen, message: Any) -> None:
        run = self.runs.get(seen.sender)
        if run is not None:
            if isinstance(message, Close) or seen.time - run.heard >= seconds_of_lease(run.last):
                del self.runs[seen.sender]
            else:
                run.heard = seen.time

    def on_join(self, seen: Seen, join: Join) -> None:
        run = self.runs.get(seen.sender)
        if run is None or not self._goes_on(run, join):
            self.runs[seen.sender] = Stay(join, seen.time)
            return
        self.subject(seen)
        terms = dict(terms_of(run.last))
        other = next((path for path, value in terms_of(join) if terms.get(path) != value), "")
        self.require(not other, at=seen, path=f"join.{other}", expected="the same as in the JOIN before", got="another")
        if not other:
            run.last = join

    @staticmethod
    def _goes_on(run: Stay, join: Join) -> bool:
        """Whether a JOIN is of the same run of the node as the last one."""
        differ = len({number for _, *numbers in told_numbers(run.last) for number in numbers}) > 1
        return (differ or run.last.zid == join.zid) and numbers_go_on(run.last, join)


def terms_of(join: Join) -> Iterator[tuple[str, object]]:
    """
    What the sessions with a node rest on: field and value.

    No sentence keeps a node from taking another lease while it runs, and an unknown extension may say anything.
    """
    yield "version", join.version
    yield "whatami", join.whatami
    yield "zid", join.zid
    yield "resolution", sane.DEFAULT_RESOLUTION if join.resolution is None else join.resolution
    yield "batch_size", DEFAULT_BATCH if join.batch_size is None else join.batch_size
    yield "exts", [type(ext) if isinstance(ext, QoS) else ext for ext in join.exts if not isinstance(ext, Unknown)]


def numbers_go_on(last: Join, join: Join) -> bool:
    """Whether the numbers of a JOIN are those of the last one, or a few after them, in each lane that both have."""
    mask = SN_MASK[(sane.DEFAULT_RESOLUTION if last.resolution is None else last.resolution) & 3]
    most = min(MOST_ON, mask >> 3)
    before = {priority: numbers for priority, *numbers in told_numbers(last)}
    return all(
        (number - earlier) & mask <= most
        for priority, *numbers in told_numbers(join)
        for number, earlier in zip(numbers, before.get(priority, numbers), strict=True)
    )


BY_ITSELF: Final = frozenset({Nature.SCOUTING, Nature.UNKNOWN})
"""Datagrams of no session, and of nobody who said JOIN on that connection."""

COMPRESSION: Final = (b"\0", b"\1")
"""What a batch with compression begins with: of a session that was met under way it cannot be read."""


@law("scouting/own-id-space", per="conversation")
class WhatIsScoutedDecodes(Law):
    """What goes to a group, or to the sender of a SCOUT, outside a session is a message: in scouting, or in sessions."""

    natures = BY_ITSELF
    MOST = 4096
    """Addresses and connections that are remembered."""

    def __init__(self) -> None:
        super().__init__()
        self.scouting: dict[str, None] = {}
        """Who said SCOUT, and the connections with SCOUT or HELLO; the newest last."""

    def on_scout(self, seen: Seen, message: Scout | Hello) -> None:
        self.subject(seen)
        for known in (seen.connection, ends(seen)[0]) if isinstance(message, Scout) else (seen.connection,):
            self.scouting.pop(known, None)
            self.scouting[known] = None
        while len(self.scouting) > self.MOST:
            del self.scouting[next(iter(self.scouting))]

    on_hello = on_scout

    def on_undecodable(self, seen: Seen, refusal: DecodeError) -> None:
        """Bytes that no session has, either."""
        _, receiver = ends(seen)
        asked = seen.connection in self.scouting or receiver in self.scouting
        if is_group(receiver) or (asked and seen.raw[:1] not in COMPRESSION):
            self.subject(seen)
            self.require(False, at=seen, path="scouting", expected="SCOUT or HELLO", got="no message")


def ends(seen: Seen) -> tuple[str, str]:
    """The addresses of sender and receiver, as the connections of a capture name them; empty elsewhere."""
    initiator, between, responder = seen.connection.removesuffix(" udp").partition(" > ")
    if not between:
        return "", ""
    return (initiator, responder) if seen.sender is Side.INITIATOR else (responder, initiator)


def is_group(address: str) -> bool:
    """Whether an address with its port is that of a multicast group."""
    try:
        return ip_address(address.rpartition(":")[0].strip("[]").partition("%")[0]).is_multicast
    except ValueError:
        return False
