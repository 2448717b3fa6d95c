"""Nodes that number, fragment, frame, flush, compress or prefix what they send wrongly: one row a way, in each scope of `SCOPES`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from zenoh_conformance.messages import (
    Declare,
    Del,
    Err,
    First,
    Fragment,
    Frame,
    Join,
    NetworkOam,
    Push,
    Reply,
    Request,
    Response,
    ResponseFinal,
    sane,
)
from zenoh_conformance.primitives import WhatAmI, ZenohID
from zenoh_conformance.reading.batch import frame_batch
from zenoh_conformance.reading.codec import Layer, decode, encode
from zenoh_conformance.wire import Enc, Exts
from zenoh_harness.reference import Action, Reference, after

from . import fault

Scope = Callable[[bool, int], bool]
"""(reliable, priority) to whether the fault shows there."""

SCOPES: dict[str, Scope] = {
    "": lambda reliable, priority: True,
    "-with-best-effort": lambda reliable, priority: not reliable,
    "-in-other-lanes": lambda reliable, priority: priority != sane.DEFAULT_PRIORITY,
}

JOIN = Join(
    version=sane.VERSION, whatami=WhatAmI(sane.ROUTER), zid=ZenohID(b"\x01"), lease_in_seconds=True, lease=10,
    next_sn_reliable=0, next_sn_best_effort=0,
)  # fmt: skip

BESIDE = NetworkOam(id=0x7FFF, enc=Enc.UNIT)
"""A network message that nobody waits for."""


def _every_third(change: Callable[[int, int], int], scope: Scope, *, goes_on: bool = False) -> Callable[..., int]:
    """A `next_sn` that changes each third number of a channel; `goes_on`: later numbers follow the changed one."""

    def next_sn(node, base, link, reliable, priority):
        sn, mask, key = base(), node.sn_mask(link), (link.session, reliable, priority)
        node.numbered[key] += 1
        if not scope(reliable, priority) or node.numbered[key] % 3:
            return sn
        sn = change(sn, mask)
        if goes_on:
            link.tx[reliable, priority] = (sn + 1) & mask
        return sn

    return next_sn


NUMBERS: dict[str, tuple[str, Callable[[int, int], int], bool]] = {
    "repeats-numbers": (
        "Gives each third FRAME or FRAGMENT of a channel the number of the one before", lambda sn, mask: (sn - 1) & mask, False,
    ),
    "goes-back-in-numbers": (
        "Gives each third FRAME or FRAGMENT of a channel a number that is five less", lambda sn, mask: (sn - 5) & mask, False,
    ),
    "leaps-over-half-the-numbers": (
        "Leaves out more than half of the numbers before each third one of a channel",
        lambda sn, mask: (sn + mask // 2 + 2) & mask, True,
    ),
}  # fmt: skip

CASE = "session-chains/chains-follow-each-other-on-a-channel"
"""The case in which a node has to send chains on each channel."""

for _name, _scope in SCOPES.items():
    for _way, (_about, _change, _goes_on) in NUMBERS.items():
        fault(
            _way + _name,
            f"{_about}{_name.replace('-', ' ')}.",
            next_sn=_every_third(_change, _scope, goes_on=_goes_on),
            state={"numbered": Counter},
            caught_by="law/numbers-are-taken",
            shown_in=(CASE,),
        )


class _Chains(Reference):
    """Base of nodes that change the chain of fragments of a message before it is sent."""

    collected: list[Any] | None = None

    def __init__(self, config: Any = None) -> None:
        super().__init__(config)
        self.chains: Counter[Any] = Counter()

    def say_fragments(self, link, data, sn, reliable, priority):
        self.collected = []
        super().say_fragments(link, data, sn, reliable, priority)
        pieces, self.collected = self.collected, None
        self.chains[link.session, reliable, priority] += 1
        for message in self.chain(link, pieces, (reliable, priority), self.chains[link.session, reliable, priority]):
            self.send_batch(link, encode(message))

    def send_batch(self, link, batch):
        if self.collected is None:
            super().send_batch(link, batch)
        else:
            self.collected.append(decode(batch, Layer.TRANSPORT).message)

    def chain(self, link, pieces, channel, number):
        """The messages to send: `number` counts the chains of the channel from 1."""
        raise NotImplementedError


def _without_marks(piece: Fragment) -> Fragment:
    return replace(piece, exts=Exts(ext for ext in piece.exts if not isinstance(ext, First)))


def _in_lane(piece: Fragment, priority: int) -> Fragment:
    kept = [ext for ext in piece.exts if isinstance(ext, First)]
    return replace(piece, exts=Exts((sane.lane(priority), *kept)))


def _with_a_gap(node, link, pieces, channel, middle: Callable[[int], Iterator[Any]]) -> Iterator[Any]:
    """The first piece, the messages of `middle` from the next number on, and the other pieces behind them."""
    mask, sn = node.sn_mask(link), pieces[0].sn
    yield pieces[0]
    for message in middle((sn + 1) & mask):
        sn = message.sn
        yield message
    for piece in pieces[1:]:
        sn = (sn + 1) & mask
        yield replace(piece, sn=sn)
    link.tx[channel] = (sn + 1) & mask


def _frame(sn: int, channel: tuple[bool, int]) -> Frame:
    lane = () if channel[1] == sane.DEFAULT_PRIORITY else (sane.lane(channel[1]),)
    return Frame(reliable=channel[0], sn=sn, exts=Exts(lane), messages=(BESIDE,))


def _second_chain(sn, mask, channel):
    data, lane = encode(BESIDE), () if channel[1] == sane.DEFAULT_PRIORITY else (sane.lane(channel[1]),)
    yield Fragment(reliable=channel[0], more=True, sn=sn, exts=Exts((*lane, First())), payload=data[:1])
    yield Fragment(reliable=channel[0], more=False, sn=(sn + 1) & mask, exts=Exts(lane), payload=data[1:])


CHAINS: dict[str, tuple[str, str, Callable[..., Any]]] = {
    "leaves-a-number-out-of-chains": (
        "law/fragment-numbers-follow",
        "Leaves a number out within a chain of fragments",
        lambda node, link, pieces, channel: _gap(node, link, pieces, channel),
    ),
    "puts-a-frame-into-chains": (
        "law/nothing-between-fragments",
        "Sends a FRAME of the same channel between the fragments of a message",
        lambda node, link, pieces, channel: _with_a_gap(node, link, pieces, channel, lambda sn: iter((_frame(sn, channel),))),
    ),
    "puts-a-chain-into-chains": (
        "law/nothing-between-fragments",
        "Sends another message in fragments of the same channel between the fragments of a message",
        lambda node, link, pieces, channel: _with_a_gap(
            node, link, pieces, channel, lambda sn: _second_chain(sn, node.sn_mask(link), channel)
        ),
    ),
    "turns-chains-round": (
        "law/numbers-are-taken",
        "Sends the second fragment of a message before the first one",
        lambda pieces: (*reversed(pieces[:2]), *pieces[2:]),
    ),
    "marks-no-first-fragment-from-the-third-on": (
        "law/first-fragments-are-marked",
        "Marks the first fragments of two messages of a channel, and no later ones",
        lambda pieces, number: pieces if number < 3 else map(_without_marks, pieces),
    ),
    "ends-chains-at-their-first-fragment": (
        "law/more-until-last",
        "Clears M on the first fragment of a message",
        lambda pieces: (replace(pieces[0], more=False), *pieces[1:]),
    ),
    "never-ends-the-third-chain": (
        "law/more-until-last",
        "Sets M on the last fragment of each third message of a channel",
        lambda pieces, number: pieces if number % 3 else (*pieces[:-1], replace(pieces[-1], more=True)),
    ),
    "loses-the-second-chain": (
        CASE,
        "Sends every second message of a channel without its last fragment",
        lambda pieces, number: pieces if number % 2 else pieces[:-1],
    ),
    "ends-chains-in-another-lane": (
        "law/first-fragments-are-marked",
        "Sends the last fragment in another lane, if there are lanes",
        lambda link, pieces: (*pieces[:-1], _in_lane(pieces[-1], 3) if link.terms.qos else pieces[-1]),
    ),
    "numbers-fragments-past-the-mask": (
        "law/sn-within-resolution",
        "Numbers fragments past the negotiated resolution",
        lambda node, link, pieces: (replace(piece, sn=piece.sn | node.sn_mask(link) + 1) for piece in pieces),
    ),
    "numbers-fragments-by-themselves": (
        "law/one-number-space",
        "Numbers the fragments of each message from the initial number on, whatever FRAMEs counted",
        lambda node, link, pieces: (
            replace(piece, sn=(link.initial_sn + at) & node.sn_mask(link)) for at, piece in enumerate(pieces)
        ),
    ),
}  # fmt: skip


def _gap(node, link, pieces, channel):
    mask = node.sn_mask(link)
    link.tx[channel] = (pieces[-1].sn + 2) & mask
    return (pieces[0], *(replace(piece, sn=(piece.sn + 1) & mask) for piece in pieces[1:]))


def _in_scope(change: Callable[..., Any], scope: Scope) -> Callable[..., Any]:
    """A `chain` that changes the chains of the channels of a scope."""
    wanted = change.__code__.co_varnames[: change.__code__.co_argcount]

    def chain(node, link, pieces, channel, number):
        given = {"node": node, "link": link, "pieces": pieces, "channel": channel, "number": number}
        return change(**{name: given[name] for name in wanted}) if scope(*channel) else pieces

    return chain


for _way, (_law, _about, _change) in CHAINS.items():
    for _name, _scope in SCOPES.items():
        if (_way, _name) == ("loses-the-second-chain", "-with-best-effort"):
            continue  # what is said with best effort may be lost
        fault(
            _way + _name, f"{_about}{_name.replace('-', ' ')}.",
            of=_Chains, chain=_in_scope(_change, _scope), caught_by=_law, shown_in=(CASE,),
        )  # fmt: skip


fault(
    "marks-no-first-fragment-in-lane-7",
    "Leaves First out in the lane of priority 7.",
    of=_Chains,
    chain=lambda pieces, channel: [_without_marks(piece) if channel[1] == 7 else piece for piece in pieces],
    caught_by="law/first-fragments-are-marked",
    shown_in=("routing-lanes/a-large-message-keeps-its-lane",),
)

IN_LANES = (
    "routing-lanes/a-value-and-a-deletion-keep-their-lane", "routing-lanes/a-query-in-any-lane-is-answered",
    "routing-lanes/an-answer-comes-in-its-lane", "interest-changes/what-a-snapshot-told-is-taken-back",
)  # fmt: skip
"""Cases in which a node has to send messages of each kind in lanes."""

KINDS: dict[str, Callable[[Any], bool]] = {
    "replies": lambda message: isinstance(message, Response) and isinstance(message.body, Reply),
    "errors": lambda message: isinstance(message, Response) and isinstance(message.body, Err),
    "finals": lambda message: isinstance(message, ResponseFinal),
    "queries": lambda message: isinstance(message, Request),
    "declarations": lambda message: isinstance(message, Declare),
    "deletions": lambda message: isinstance(message, Push) and isinstance(message.body, Del),
}


def _out_of_lane(is_kind: Callable[[Any], bool]) -> Callable[..., int]:
    """A `lane_of` that puts messages of a kind into another lane than their own, where there are lanes."""
    return lambda base, link, message: base() ^ 3 if is_kind(message) and link.terms.qos else base()


for _name, _is_kind in KINDS.items():
    fault(
        f"sends-{_name}-in-a-wrong-lane", f"Sends {_name} in another lane than their own.",
        lane_of=_out_of_lane(_is_kind), caught_by="law/frame-carries-priority", shown_in=IN_LANES,
    )  # fmt: skip

fault(
    "counts-all-lanes-together",
    "Has one sequence of numbers for all lanes and both channels.",
    next_sn=lambda base: base(reliable=True, priority=sane.DEFAULT_PRIORITY),
    caught_by="law/initial-sn-own-start",
)
fault(
    "begins-lanes-one-later",
    "Begins every channel but the reliable one of Data with the number after the one announced.",
    next_sn=lambda node, base, link, reliable, priority: (
        base() if (reliable, priority) == (True, 5) or (reliable, priority) in link.tx
        else (base(), base())[1]
    ),
    caught_by="law/initial-sn-own-start",
)  # fmt: skip


def _with_beside(what: Callable[..., bytes]) -> Callable[..., None]:
    """A `say` that sends a batch more after each message of a live session, outside low latency."""

    def say(node, base, link, message, **how):
        base(link, message, **how)
        if link.inside is None and link.live and not link.terms.lowlatency:
            node.send_batch(link, what(node, link))

    return say


fault(
    "sends-empty-frames",
    "Sends an empty FRAME after each message.",
    say=_with_beside(lambda node, link: encode(Frame(reliable=True, sn=node.next_sn(link, True, 5), messages=()))),
    caught_by="law/frames-are-not-empty",
)
fault(
    "sends-management-without-frame",
    "Sends a network message without FRAME after each message.",
    say=_with_beside(lambda node, link: encode(BESIDE)),
    caught_by="law/frame-transport-by-default",
)
fault(
    "sends-deletions-without-frame",
    "Sends a DEL without FRAME on the default transport.",
    say=lambda node, base, link, message: (
        node.send_batch(link, encode(message)) if link.inside is None and KINDS["deletions"](message) else base()
    ),
    caught_by="law/frame-transport-by-default",
)
fault(
    "frames-in-low-latency",
    "Wraps network messages into FRAME on a low-latency session.",
    send_batch=lambda base, link, batch: (
        base(batch=encode(Frame(reliable=True, sn=0, messages=())) + batch)
        if link.live and link.terms.lowlatency and batch[0] & 0x1F > 0x18 else base()
    ),
    caught_by="law/low-latency-framing",
    shown_in=("session-batch-effects/low-latency-batches-have-long-lengths",),
    also={"session-batch-effects/low-latency-batches-have-long-lengths": "no session without FRAME works"},
)  # fmt: skip
fault(
    "joins-on-every-link",
    "Sends JOIN on a unicast link when the session is live.",
    go_live=after(lambda node, link: node.send(link, JOIN) if not link.terms.lowlatency else None),
    caught_by="law/join-on-multicast-only",
)
fault(
    "fills-batches-two-bytes-too-far",
    "Fills batches to the negotiated size, and its prefix comes on top by three bytes.",
    room=lambda base: base() + 3,
    caught_by="law/unit-fits-batch-size",
    shown_in=("session-sizes/what-does-not-shrink-fits-with-its-compression-header",),
)


def _without_prefix_change(node, base, link, batch):
    ours = link.decoder.directions[link.side]
    if not ours.lowlatency:
        base()
        return
    node.actions.append(Action(link.name, frame_batch(batch, "stream", prefix=2)))
    link.last_said = node.now


fault(
    "keeps-short-prefixes-in-low-latency",
    "Puts a length of two bytes before the batches of a low-latency session.",
    send_batch=_without_prefix_change,
    caught_by="session-batch-effects/low-latency-batches-have-long-lengths",
)


def _header(change: Callable[[bytes], bytes]) -> Callable[..., None]:
    """A `send_batch` that changes the framed batch of a compressed session, from its header on."""

    def send_batch(node, base, link, batch):
        compressed = link.decoder.directions[link.side].compressed
        base()
        if compressed:
            body = change(node.actions[-1].data[2:])
            node.actions[-1].data = len(body).to_bytes(2, "little") + body

    return send_batch


HEADERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "flags-no-compressed-batch": (
        "Clears the flag of the compression header of compressed batches.", lambda body: bytes([body[0] & ~1]) + body[1:]
    ),
    "flags-every-batch-as-compressed": (
        "Sets the flag of the compression header of every batch.", lambda body: bytes([body[0] | 1]) + body[1:]
    ),
    "leaves-the-header-off-raw-batches": (
        "Sends batches that are not compressed without compression header.", lambda body: body if body[0] & 1 else body[1:]
    ),
}  # fmt: skip

for _name, (_about, _in_header) in HEADERS.items():
    fault(
        _name,
        _about,
        send_batch=_header(_in_header),
        caught_by=("law/compressed-batch-form", "session-batch-effects/both-forms-of-a-batch-are-said-and-read"),
    )


def _holding(holds: Callable[[Any, Any], bool], *, until: str) -> Callable[..., None]:
    """A `say` that holds some messages of a session back until the next message that it does not hold."""

    def say(node, base, link, message, **how):
        if link.inside is not None:
            base(link, message, **how)
            return
        waiting = node.kept.setdefault(link.session, [])
        if holds(node, message) and (until != "full" or len(waiting) < 3):
            waiting.append((message, how))
            return
        for each, hows in waiting:
            base(link, each, **hows)
        waiting.clear()
        base(link, message, **how)

    return say


def _express(message: Any) -> bool:
    return any(type(ext).__name__ == "QoS" and ext.value & 0x10 for ext in getattr(message, "exts", ()))


fault(
    "holds-express-back",
    "Sends an express publication when the next message comes.",
    say=_holding(lambda node, message: isinstance(message, Push) and _express(message), until="next"),
    state={"kept": dict},
    caught_by="session-batch-effects/what-is-express-comes-at-once",
)
fault(
    "has-no-flush-timer",
    "Sends a publication that is not express when three more are there, or another message.",
    say=_holding(lambda node, message: isinstance(message, Push) and not _express(message), until="full"),
    state={"kept": dict},
    caught_by="session-batch-effects/what-fills-no-batch-comes-by-itself",
)


def _loses_what_does_not_fit(node, base, link, message, **how):
    """Lose each message that would not fit a batch of 512 bytes together with the one before it, at the same time."""
    size, key = len(encode(message)), link.session
    at, filled = node.filled.get(key, (-1.0, 0))
    filled = filled + size if at == node.now else size
    fits = filled <= 20_000
    node.filled[key] = (node.now, filled if fits else 0)
    if fits or not isinstance(message, Push) or link.inside is not None:
        base(link, message, **how)


fault(
    "loses-what-does-not-fit-the-batch",
    "Loses the publication that would not fit into the batch that it fills.",
    say=_loses_what_does_not_fit,
    state={"filled": dict},
    caught_by="session-batch-effects/what-fills-batches-comes-whole",
)
