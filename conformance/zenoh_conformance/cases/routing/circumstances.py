"""The circumstances in which cases about routing run: their dimensions, and how a case takes each.

Lanes, kinds and sizes are those of the message declarations; what else there is follows from what the pages leave to the sender and
the receiver of a message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from zenoh_conformance.judging.variation import Dimension, Variation
from zenoh_conformance.messages import (
    Budget,
    Frame,
    InterestMode,
    InterestOptions,
    QueryTarget,
    Target,
    Timeout,
    USubscriber,
    sane,
)
from zenoh_conformance.messages.network import QoS
from zenoh_conformance.primitives import WireExpr, keyexpr
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.names import root_of_scene
from zenoh_conformance.talking import Party, Scene
from zenoh_conformance.wire import NO_EXTS, Enc, Exts, Unknown

from .pasts import MEANWHILES, NUMBER, PASTS, declares

LANE: Final = Dimension.of("lane", "in lane {}", sane.DEFAULT_PRIORITY, 1, 2, 3, 4, 6, 7)
CHANNEL: Final = Dimension.of("channel", "as {}", "reliable", "best effort", chancy=("best effort",))
EXPRESS: Final = Dimension.of("express", "with the express bit", 0, 1)
PUT_OR_DEL: Final = Dimension.of("kind", "as {}", "put", "del")
ANSWER: Final = Dimension.of("kind", "answered by {}", "put", "del", "err")
ENTITY: Final = Dimension.of("entity", "of a {}", "subscriber", "queryable", "token")
SAID: Final = Dimension.of(
    "said", "named by {}", "name", "number", "number and suffix", "wildcard", "number of the receiver"
)
DECLARED: Final = Dimension(
    "declared",
    "declared by {}",
    ((1, ("name", "wildcard", "number")), (6, ("number and suffix",)), (8, ("number and part of a chunk",))),
)
SIZE: Final = Dimension.of("size", "with {} bytes", 0, 1, 127, 128, 16_383, 16_384, 65_000, 70_000, is_ordered=True)
"""At the boundaries of VLE, and around a batch: 65,000 is what just fills one."""
RECEIVERS: Final = Dimension.of("receivers", "with {} receivers", 1, 2, 3, is_ordered=True)
PAST: Final = Dimension(
    "past",
    "after {}",
    (
        (
            1,
            (
                "nothing", "the same was taken back", "another query", "another interest ended", "five publications",
                "four numbers were released", "another session left", "another session was cut", "a handshake began",
            ),
        ),
        (2, ("its ids stood for others",)),
    ),
)  # fmt: skip
MEANWHILE: Final = Dimension(
    "meanwhile",
    "where meanwhile {}",
    (
        (2, ("nothing happened", "another of its key came and went", "another session came and left")),
        (3, ("its number was given to another key",)),
    ),
)
"""What happens between the declaration and what is said."""
TERMS: Final = Dimension(
    "terms",
    "with {}",
    ((1, ("all fields", "S=0", "a batch of 512 bytes", "numbers of 8 bits")), (7, ("no QoS", "Patch and no QoS"))),
)
PACKING: Final = Dimension.of("packing", "{}", "alone", "in one frame with another message")

CARRIED: Final = Dimension("carried", "with the bytes in {}", ((3, ("its value", "its attachment")),))
FOLLOWED: Final = Dimension("followed", "followed by {}", ((3, ("nothing", "another value in its lane")),))
ODD: Final = Dimension("odd", "with an unknown extension of {}", ((4, ("nothing", "each message", "each body")),))
ODD_AS: Final = Dimension("odd_as", "with unknown extensions of type {}", ((4, ("unit", "z64", "zbuf")),))
"""Optional extensions that no page names, on what our sessions say (primitives#extensions: it is skipped)."""
TARGETED: Final = Dimension("targeted", "for {}", ((5, ("All", "AllComplete", "AllComplete, at a distance of 3")),))
"""The target of a query, and what each queryable says of itself."""
LIMITED: Final = Dimension(
    "limited", "with {}", ((5, ("no limit", "a Timeout", "a Budget")), (7, ("a Timeout and a Budget",)))
)
DONE: Final = Dimension("done", "where the last queryable {}", ((5, ("sends its final", "leaves")),))

ROUTING: Final = (
    LANE, CHANNEL, EXPRESS, SAID, DECLARED, SIZE, RECEIVERS, PAST, TERMS, PACKING, MEANWHILE, CARRIED, ODD, ODD_AS,
)  # fmt: skip

UNKNOWN: Final[Mapping[str, Unknown]] = {
    "unit": Unknown(id=0xC, enc=Enc.UNIT, value=None),
    "z64": Unknown(id=0xC, enc=Enc.Z64, value=300),
    "zbuf": Unknown(id=0xC, enc=Enc.ZBUF, value=b"odd"),
}

FIELDS: Final[Mapping[str, Mapping[str, Any]]] = {
    "all fields": {},
    "S=0": {"resolution": None, "batch_size": None},
    "a batch of 512 bytes": {"batch_size": 512},
    "numbers of 8 bits": {"resolution": 2 << 2},
    "no QoS": {"exts": NO_EXTS},
    "Patch and no QoS": {"exts": sane.offers(patch=1)},
}
"""What the InitSyn of each of our sessions has otherwise."""
INFO: Final[Mapping[str, Mapping[str, Any]]] = {
    "All": {},
    "AllComplete": {"complete": True},
    "AllComplete, at a distance of 3": {"complete": True, "distance": 3},
}
"""What a queryable declares beside its key."""
LIMITS: Final[Mapping[str, tuple[Timeout | Budget, ...]]] = {
    "no limit": (),
    "a Timeout": (Timeout(value=60_000),),
    "a Budget": (Budget(value=100),),
    "a Timeout and a Budget": (Timeout(value=60_000), Budget(value=100)),
}
"""What a query has for a limit, which is not reached."""
FULL: Final = 65_000
CHUNK: Final = "k"
"""The first chunk of all that is said and declared."""
PATTERN: Final = bytes(range(251))
"""A payload repeats it: its length is a prime, so that a lost piece shows."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """One of our sessions that says something, and those that are to receive it."""

    scene: Scene
    v: Variation
    sender: Party
    receivers: Sequence[Party]

    @classmethod
    def of(cls, scene: Scene, v: Variation, kind: str) -> Surroundings:
        """Open the sessions, and give them their past; `kind` is what the receivers will declare."""
        fields = FIELDS[str(v[TERMS])]
        names = ["sender", *(f"receiver-{at}" for at in range(1, v.number(RECEIVERS) + 1))]
        dialogues = [scene.session(name, **fields) for name in names]
        root = root_of_scene(dialogues[0].zid)
        sender, *receivers = (Party(us, name, root) for us, name in zip(dialogues, names, strict=True))
        around = cls(scene, v, sender, receivers)
        if v[PAST] != PAST.default:
            PASTS[str(v[PAST])](around, kind)
        for each in (sender, *receivers):
            each.dress = partial(with_odd, v)
        return around

    # -- keys

    @property
    def key(self) -> str:
        """The key that is said."""
        said = self.v[SAID]
        return "k/*" if said == "wildcard" else "k/a/b" if said == "number and suffix" else "k/a"

    @property
    def beside(self) -> str:
        """A key next to it, which nobody has declared."""
        return f"k{self.key}" if "wildcard" in (self.v[SAID], self.v[DECLARED]) else f"{self.key}b"

    @property
    def declared_key(self) -> str:
        """What a receiver declares: it intersects the key that is said, and not the one beside it."""
        if self.v[DECLARED] != "wildcard":
            return "k/a" if self.v[SAID] == "wildcard" else self.key
        return "k/**" if self.v[SAID] == "number and suffix" else "k/*"

    def declare_at(self, receiver: Party, kind: str, entity: int | None = None) -> int:
        """A receiver declares what is to receive, by its name or by a number, and complete where its row has it so; its id."""
        return declares(receiver, kind, self.named_at(receiver), entity, **INFO[str(self.v[TARGETED])])

    def named_at(self, receiver: Party) -> str | WireExpr:
        """What a receiver declares, as its row names it."""
        key = self.declared_key
        if str(self.v[DECLARED]).startswith("number and"):
            head = receiver.whole(CHUNK) if self.v[DECLARED] == "number and suffix" else receiver.root[:-1]
            number = receiver.names_key(f"/{head}", NUMBER)
            return WireExpr(scope=number.scope, suffix=receiver.whole(key).removeprefix(head), mapping=True)
        return receiver.names_key(key, NUMBER) if self.v[DECLARED] == "number" else key

    def let_pass(self, kind: str) -> None:
        """What happens before something is said."""
        if self.v[MEANWHILE] != MEANWHILE.default:
            MEANWHILES[str(self.v[MEANWHILE])](self, kind)

    def spelt(self) -> WireExpr:
        """The key that the sender says, as its row names it."""
        said = self.v[SAID]
        if said == "number":
            return self.sender.names_key(self.key, 4)
        if said == "number and suffix":
            number = self.sender.names_key("k/a", 4)
            return WireExpr(scope=number.scope, suffix="/b", mapping=True)
        number_of_theirs = self._number_of_the_receiver() if said == "number of the receiver" else None
        return self.sender.key(self.key) if number_of_theirs is None else number_of_theirs

    def _number_of_the_receiver(self) -> WireExpr | None:
        """The number that the target has given to the key; None where it gives none, so that there is nothing to mistake."""
        self.sender.asks_interest(
            InterestOptions.KEY_EXPRS | InterestOptions.SUBSCRIBERS, InterestMode.CURRENT_FUTURE, "k/**"
        )
        self.sender.settles()
        subscriber = self.receivers[0].declares_subscriber(self.key)
        self.sender.now()
        self.receivers[0].retracts(USubscriber, subscriber.id)
        theirs, whole = self.sender.names.spaces[self.sender.us.wire.side.other], self.sender.whole(self.key)
        return next((WireExpr(scope=number, mapping=False) for number, key in theirs.items() if key == whole), None)

    # -- messages

    @property
    def exts(self) -> tuple[QoS, ...]:
        """The QoS of the message; a busy node may drop what does not say that it blocks."""
        value = 0x08 | self.v.number(LANE) | 0x10 * self.v.number(EXPRESS)
        return () if value == 0x08 | sane.DEFAULT_PRIORITY and not self.v.number(SIZE) else (QoS(value=value),)

    @property
    def query_exts(self) -> tuple[Any, ...]:
        """The extensions of a query: AllComplete needs queryables whose key includes that of the query."""
        serves = self.v[TARGETED] != TARGETED.default and keyexpr.includes(self.declared_key, self.key)
        target = Target.ALL_COMPLETE if serves else Target.ALL
        return (*self.exts, QueryTarget(value=int(target)), *LIMITS[str(self.v[LIMITED])])

    def says(self, *messages: Any) -> None:
        """The sender says messages, in the lane, on the channel and packed as the row has it."""
        say(self.sender, self.v, *messages)

    @property
    def in_attachment(self) -> bool:
        """Whether the bytes of the row are an attachment, beside a short value."""
        return self.v[CARRIED] != CARRIED.default

    def payload(self, made: Callable[[bytes], Any]) -> bytes:
        """So many bytes that differ; `made` makes the message with them."""
        size = self.v.number(SIZE)
        if size == FULL:
            frame = partial(Frame, reliable=True, sn=1, exts=lane_of(self.sender, self.v))
            size += self.sender.us.room - len(encode(frame(messages=(made(bytes(size)),))))
        return (PATTERN * (size // len(PATTERN) + 1))[:size]


def with_odd(v: Variation, message: Any) -> Any:
    """The message with the unknown extension that the row has, on the message or on each of its bodies."""
    if v[ODD] == ODD.default:
        return message
    body, odd = getattr(message, "body", None), UNKNOWN[str(v[ODD_AS])]
    return with_extension(message, odd) if v[ODD] == "each message" else with_extension_of_bodies(message, body, odd)


def with_extension(message: Any, odd: Unknown) -> Any:
    """The message with one extension more."""
    return replace(message, exts=Exts((*message.exts, odd)))


def with_extension_of_bodies(message: Any, body: Any, odd: Unknown) -> Any:
    """The message with one extension more on each body in it; the same where it has none."""
    if body is None:
        return message
    return replace(message, body=with_extension(with_extension_of_bodies(body, getattr(body, "body", None), odd), odd))


def lane_of(who: Party, v: Variation) -> Any:
    """The extensions of the FRAME in the lane of the row."""
    return Exts((sane.lane(v.number(LANE)),) if who.has_lanes else ())


def say(who: Party, v: Variation, *messages: Any) -> None:
    """Say messages, the first ones together or each in a frame of its own."""
    reliable, priority = v[CHANNEL] == "reliable", v.number(LANE) if who.has_lanes else None
    for some in [messages] if v[PACKING] != PACKING.default else [(each,) for each in messages]:
        who.us.say(*some, reliable=reliable, priority=priority)
