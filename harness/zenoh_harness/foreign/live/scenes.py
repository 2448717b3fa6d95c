"""What the nodes are made to say: every kind of message that an application can cause, in each profile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from zenoh_conformance.reading.conversation import Event, Happened
from zenoh_harness.foreign.live.company import Actor, Company, Recorded

LARGE: Final = 120_000
"""Bytes of a payload that takes several batches."""

BOUNDED: Final = 30_000
"""Bytes of the largest payload of a low-latency session, which has no fragments: what is longer is not sent."""

ENCODINGS: Final = ("zenoh/bytes", "zenoh/string", "text/plain;utf-8", "application/json", "video/vp9", "made/up")

SENT: Final[Sequence[dict[str, Any]]] = (
    *({"encoding": encoding} for encoding in ENCODINGS),
    *({"priority": priority, "congestion": "block"} for priority in range(1, 8)),
    {"attachment": "0badcafe"},
    {"timestamp": True},
    {"express": True},
    {"congestion": "block_first"},
    {"source_sn": 300},
    {"stamped": ["send", "route", "receive"]},
    {"encoding": "text/plain", "attachment": "00", "timestamp": True, "priority": 2, "express": True, "source_sn": 1},
)
"""Ways to put and, but for the encoding, to delete."""

ASKED: Final[Sequence[dict[str, Any]]] = (
    {},
    {"target": "all"},
    {"target": "all_complete"},
    {"consolidation": "none"},
    {"consolidation": "monotonic"},
    {"consolidation": "latest"},
    {"timeout_ms": 2500},
    {"payload": "7177657274", "encoding": "application/json;draft"},
    {"payload": "00"},
    {"attachment": "a77a"},
    {"priority": 2, "congestion": "drop", "express": True},
    {"source_sn": 70000},
    {"stamped": ["route"]},
)
"""Ways to query."""

PLAN: Final[Sequence[dict[str, Any]]] = (
    {"reply": "01", "key": "q/one", "encoding": "text/plain;x", "attachment": "aa", "timestamp": True, "priority": 1},
    {"reply": "02" * 300, "key": "q/two", "congestion": "block"},
    {"delete": "q/gone", "key": "q/gone"},
    {"error": "bad0", "encoding": "application/json;e"},
    {"error": "bad1"},
)


def talk(speaker: Actor, listener: Actor, *, large: int = LARGE) -> None:
    """All that two applications can say to each other."""
    listen(listener)
    speaker.do("declare_queryable", id="own", key="own/**", plan=[{"reply": "00"}])
    speaker.finds("ready/1")
    publish(speaker, listener, large=large)
    ask(speaker)
    show_life(speaker, listener)
    withdraw(speaker, listener)


def listen(listener: Actor) -> None:
    """Declare what hears and what answers; `ready` is the last."""
    listener.do("declare_keyexpr", id="key", key="a/long/prefix")
    listener.do("declare_subscriber", id="sub", key="a/**")
    listener.do("declare_subscriber", id="sub-2", key="a/long/prefix/*")
    listener.do("declare_queryable", id="q", key="q/**", plan=list(PLAN))
    listener.do("declare_queryable", id="whole", key="q/*", complete=True, plan=[{"reply": "03"}])
    listener.do("declare_token", id="token", key="alive/1")
    listener.do("declare_queryable", id="ready", key="ready/*", plan=[{"reply": ""}])


def publish(speaker: Actor, listener: Actor, *, large: int) -> None:
    """Every way to put, every way to delete, through the session and through a publisher; the last is a large one."""
    speaker.do("declare_publisher", id="pub", key="a/pub", priority=3, congestion="block")
    speaker.do("declare_publisher", id="pub-2", key="a/long/prefix/*")
    for how in SENT:
        speaker.do("put", key="a/long/prefix/1", payload="70617965", source="pub", **how)
        speaker.do("delete", key="a/2", source="pub", **{name: how[name] for name in how if name != "encoding"})
    speaker.do("put", key="a/0", payload="")
    for name in ("pub", "pub-2"):
        speaker.do("put", id=name, payload="7075")
        speaker.do("delete", id=name)
    speaker.do("put", key="a/large", payload="6c61726765" * (large // 5), congestion="block")
    listener.hears("sample", "sub", key="a/large")
    speaker.do("put", key="a/last", payload="ff", congestion="block", attachment="00" * 200)
    listener.hears("sample", "sub", key="a/last")


def ask(speaker: Actor) -> None:
    """Every way to ask, through the session and through a querier."""
    for how in ASKED:
        speaker.gets("q/**?a=1;b=%20", **how)
        speaker.gets("q/one", **how)
    speaker.gets("nobody/here", timeout_ms=2000)
    speaker.do("declare_querier", id="querier", key="q/*", target="all")
    speaker.do("ask", id="querier", parameters="x=y", payload="61")
    speaker.hears("end", "querier")


def show_life(speaker: Actor, listener: Actor) -> None:
    """Tokens: those that are, those that come, those that go."""
    speaker.do("declare_liveliness_subscriber", id="life", key="alive/**", history=True)
    speaker.hears("sample", "life", key="alive/1")
    listener.do("declare_token", id="token-2", key="alive/2")
    speaker.hears("sample", "life", key="alive/2")
    speaker.do("liveliness_get", id="lives", key="alive/*")
    speaker.hears("end", "lives")
    listener.do("undeclare", id="token-2")
    speaker.hears("sample", "life", kind="delete")


def withdraw(speaker: Actor, listener: Actor) -> None:
    """Take everything back."""
    for name in ("querier", "life", "pub", "pub-2", "own"):
        speaker.do("undeclare", id=name)
    for name in ("sub", "sub-2", "q", "whole", "key", "token"):
        listener.do("undeclare", id=name)
    speaker.finds("ready/1")


def largest(company: Company) -> int:
    """Bytes of the largest payload that goes through."""
    return BOUNDED if company.profile.name == "low-latency" else LARGE


def clients(company: Company) -> None:
    """Two clients of a router."""
    company.hub("router", "a1")
    listener = company.join("client", "b1")
    talk(company.join("client", "c1"), listener, large=largest(company))


def peers(company: Company) -> None:
    """Two peers, each speaking to the other."""
    one = company.hub("peer", "a2")
    other = company.join("peer", "b2")
    talk(other, one, large=largest(company))
    listen(other)
    one.finds("ready/2")


def routers(company: Company) -> None:
    """Two routers, and a client of the first: what it hears comes from the second."""
    company.hub("router", "a3")
    far = company.join("router", "b3")
    talk(far, company.join("client", "c3"))


def several_links(company: Company) -> None:
    """Two peers with two links for one session."""
    one = company.hub("peer", "a4")
    talk(company.join("peer", "b4", links=2), one)


def quiet(company: Company) -> None:
    """A short lease, and nothing to say: what keeps the session alive."""
    company.hub("router", "a5")
    company.join("client", "b5")

    def alive(events: Sequence[Event]) -> bool:
        return len([each for each in events if each.kind is Happened.BYTES and each.data[-1:] == b"\x04"]) >= 6

    company.wait(alive)


Scene = Callable[[Company], None]

SCENES: Final[dict[str, tuple[str, Scene]]] = {
    "clients": ("default", clients),
    "qos-off": ("qos-off", clients),
    "low-latency": ("low-latency", clients),
    "compression": ("compression", clients),
    "small-batch": ("small-batch", clients),
    "resolution-8": ("resolution-8", clients),
    "resolution-16": ("resolution-16", clients),
    "user-password": ("user-password", clients),
    "timestamping": ("timestamping", clients),
    "peers": ("default", peers),
    "routers": ("default", routers),
    "low-latency-peers": ("low-latency", peers),
    "compression-routers": ("compression", routers),
    "two-links": ("two-links", several_links),
    "short-lease": ("short-lease", quiet),
}
"""Profile and what is done, by the name of the recording."""

SHORT: Final = ("clients", "low-latency-peers", "compression-routers", "short-lease")
"""Those that show every kind of message."""


def record(name: str, *, release: str = "") -> Recorded:
    """Let a scene happen.  Raises CannotGoOn and AgentError when the nodes do something else."""
    profile, scene = SCENES[name]
    with Company(name, profile, release=release) as company:
        scene(company)
    return company.recorded
