"""What network messages carry: lanes, keys, sources, stamps, shared memory (batching#frame, primitives#key-expressions, push)."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.judging.law import Law, law
from zenoh_conformance.messages import Declare, Err, Frame, Init, Push, Request, Response
from zenoh_conformance.messages.data import Shm, SourceInfo
from zenoh_conformance.messages.init import Shm as ShmOffer
from zenoh_conformance.messages.network import QoS, TimestampExt
from zenoh_conformance.messages.sane import DEFAULT_PRIORITY
from zenoh_conformance.primitives import WireExpr, keyexpr
from zenoh_conformance.reading.connection import Nature, Seen
from zenoh_conformance.reading.conversation import Side

from .network import SessionLaw, path_of


@law("batching/frame-carries-priority", per="session")
class FrameCarriesPriority(SessionLaw):
    """Where there are lanes, each message goes in that of its own priority, whole in a FRAME or in FRAGMENTs."""

    def on_push(self, seen: Seen, message: Any) -> None:
        if not self.session.agreed("QoS") or seen.channel is None:
            return
        qos = message.exts.get(QoS)
        mine = DEFAULT_PRIORITY if qos is None else qos.priority
        self.subject(seen)
        right = mine == seen.channel[1]
        path = "frame.exts.qos" if isinstance(seen.around[0], Frame) else "fragment.exts.qos"
        self.require(right, at=seen, path=path, expected="the priority of its messages", got="another")

    on_request = on_response = on_response_final = on_declare = on_interest = on_push


@law("primitives/key-expression-grammar", per="session")
class KeysFollowTheGrammar(SessionLaw):
    """The keys that a node sends, scope and suffix joined, are key expressions in canonical form."""

    natures = frozenset({Nature.UNICAST, Nature.MULTICAST})

    def on_declare(self, seen: Seen, declare: Declare) -> None:
        key = getattr(declare.body, "key", None)
        if key is not None:
            self.judge(seen, key, mapping=True if not hasattr(declare.body, "id") else None)

    def on_push(self, seen: Seen, message: Push | Request) -> None:
        self.judge(seen, message.key)

    on_request = on_push

    def on_response(self, seen: Seen, response: Response) -> None:
        """An error may be about no key: that of a router whose patience ended has none."""
        if not isinstance(response.body, Err):
            self.judge(seen, response.key)

    def judge(self, seen: Seen, key: WireExpr, mapping: bool | None = None) -> None:
        """Whether one key is right; one whose scope we do not know is not looked at."""
        whole = self.session.names.whole(seen.sender, key, mapping=mapping)
        if whole is not None and (not key.scope or self.session.begun):
            self.subject(seen)
            right = keyexpr.is_canonical(whole)
            self.require(
                right, at=seen, path=path_of(seen, "key"), expected="a canonical key expression", got="another"
            )


@law("push/source-info-sn-monotonic", per="session")
class SourceNumbersRise(SessionLaw):
    """What a client publishes for one entity, in one lane, has numbers that rise."""

    MOST = 4096
    """Entities that are remembered."""

    def __init__(self) -> None:
        super().__init__()
        self.last: dict[tuple[Side, bytes, int, Any], int] = {}

    def on_push(self, seen: Seen, push: Push) -> None:
        info = push.body.exts.get(SourceInfo)
        if info is None or self.lossy or not self.session.is_client(seen.sender):
            return
        key = (seen.sender, info.zid.raw, info.eid, seen.channel)
        before = self.last.pop(key, None)
        self.last[key] = info.sn
        if len(self.last) > self.MOST:
            del self.last[next(iter(self.last))]
        if before is not None:
            self.subject(seen)
            rises = 0 < (info.sn - before) & 0xFFFF_FFFF < 1 << 31
            self.require(rises, at=seen, path="source_info.sn", expected="a number that rises", got="one that does not")


@law("push/publisher-attaches-timestamp", per="session")
class PublicationsAreStamped(SessionLaw):
    """What a client publishes says when it was made."""

    def on_push(self, seen: Seen, push: Push) -> None:
        if self.session.is_client(seen.sender):
            self.subject(seen)
            stamped = push.body.timestamp is not None or push.exts.get(TimestampExt) is not None
            self.require(stamped, at=seen, path="push", expected="a timestamp", got="none")


@law("push/shm-only-with-shm", per="conversation")
class SharedMemoryIsAgreed(Law):
    """Who shows no shared memory in INIT marks no payload of its own as lying there; what was marked before may be passed on."""

    def __init__(self) -> None:
        super().__init__()
        self.offers: dict[tuple[str, Side], bool] = {}
        self.marked: set[tuple[str, Side]] = set()

    def on_init(self, seen: Seen, init: Init) -> None:
        """Whether it shows shared memory."""
        self.offers[seen.connection, seen.sender] = init.exts.get(ShmOffer) is not None

    def on_put(self, seen: Seen, body: Any) -> None:
        key = (seen.connection, seen.sender)
        if self.offers.get(key, True):
            return
        self.subject(seen)
        if body.exts.get(Shm) is not None:
            self.marked.add(key)
            passed_on = bool(self.marked - {key})
            self.require(passed_on, at=seen, path=f"{seen.kind}.exts.shm", expected="no Shm marker", got="Shm")

    on_err = on_put
