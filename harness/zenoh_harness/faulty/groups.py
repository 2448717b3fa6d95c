"""Nodes that are wrong in their groups: they misread SCOUT or JOIN, or write HELLO, JOIN and what follows it wrongly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

from zenoh_conformance.messages import Close, Fragment, Hello, Init, Join, Open, sane
from zenoh_conformance.messages.join import NextSn, QoS
from zenoh_conformance.primitives import WhatAmI, ZenohID
from zenoh_conformance.wire import Exts
from zenoh_harness.reference import after, before
from zenoh_harness.reference.config import Action
from zenoh_harness.reference.groups import MULTICAST, SCOUTING

from . import fault

EVERYBODY = "scouting/a-scout-for-everybody-is-answered"
ITS_ROLE = "scouting/a-scout-for-its-role-is-answered-by-unicast"
VERSION = "scouting/a-scout-of-an-unknown-version-is-not-answered"
HEARD, TOLD = "multicast/a-join-suffices-to-be-heard", "multicast/a-join-suffices-to-be-told"
WITH_QOS, TOLD_WITH_QOS = (f"multicast/a-join-with-qos-suffices-to-be-{what}" for what in ("heard", "told"))
REPEATED, OFFLINE = "multicast/a-late-joiner-hears-a-join", "multicast/a-silent-node-is-offline"
SIZE = "multicast/batches-to-a-join-without-s-have-8192-bytes"
PIECES = "multicast/fragments-in-the-group-are-put-together"
BITS, LANES = "multicast/numbers-without-s-have-28-bits", "multicast/the-numbers-of-qos-count"
ON = "law/numbers-go-on-from-join"

SCOUTS: dict[str, tuple[str, str, Callable[[int, int, int], bool]]] = {
    "answers-no-scout": ("Answers no SCOUT.", EVERYBODY, lambda version, what, role: False),
    "answers-scouts-for-everybody-only": (
        "Answers only a SCOUT for every role.",
        ITS_ROLE,
        lambda version, what, role: what == 0b111,
    ),
    "answers-scouts-for-itself-only": (
        "Answers only a SCOUT for its role alone.",
        EVERYBODY,
        lambda version, what, role: what == role,
    ),
    "answers-scouts-for-the-next-role": (
        "Takes the roles of SCOUT one bit too high.",
        ITS_ROLE,
        lambda version, what, role: bool(what & role << 1),
    ),
    "reads-the-roles-of-scout-as-a-number": (
        "Takes SCOUT's roles for one role, as HELLO has it.",
        EVERYBODY,
        lambda version, what, role: what == role >> 1,
    ),
    "answers-scouts-of-any-version": (
        "Answers a SCOUT of any version.",
        VERSION,
        lambda version, what, role: bool(what & role),
    ),
    "answers-scouts-of-earlier-versions": (
        "Answers a SCOUT of an earlier version, too.",
        VERSION,
        lambda version, what, role: version <= sane.VERSION,
    ),
    "answers-scouts-of-later-versions": (
        "Answers a SCOUT of a later version, too.",
        VERSION,
        lambda version, what, role: version >= sane.VERSION,
    ),
}
"""Name to what is wrong, what is red, and whether a SCOUT is answered: by its version and its roles, and our role as a bit."""


def _answering(rule: Callable[[int, int, int], bool], *, any_version: bool) -> Callable[..., bool]:
    def answers_scout(node, scout):
        known = any_version or scout.version == sane.VERSION
        return known and rule(scout.version, scout.what, 1 << node.config.whatami)

    return answers_scout


for _name, (_about, _check, _rule) in SCOUTS.items():
    fault(_name, _about, answers_scout=_answering(_rule, any_version=_check == VERSION), caught_by=_check)

fault(
    "answers-scouts-to-the-group",
    "Sends HELLO to the group of scouting.",
    on_scouting=lambda base: [replace(action, link=SCOUTING) for action in base()],
    caught_by=ITS_ROLE,
)
fault(
    "answers-scouts-by-unicast-and-to-the-group",
    "Sends HELLO to its asker and to the group.",
    on_scouting=lambda base: [each for action in base() for each in (action, Action(SCOUTING, action.data))],
    caught_by=ITS_ROLE,
)


def _rewrite(kind: type[Any], change: Callable[[bytes], bytes]) -> Callable[..., bytes]:
    """An `encoded` that changes the bytes of one kind of message."""
    return lambda base, message: change(base()) if isinstance(message, kind) else base()


def _setting(at: int, bits: int) -> Callable[[bytes], bytes]:
    return lambda data: data[:at] + bytes([data[at] | bits]) + data[at + 1 :]


BYTES: dict[str, tuple[type[Any], Callable[[bytes], bytes], tuple[str, ...]]] = {
    "hello-packed-reserved": (Hello, _setting(2, 0x0C), ()),
    "hello-flag-reserved": (Hello, _setting(0, 0x40), ()),
    "hello-is-whole": (Hello, lambda data: data[:-2], ("scouting/*",)),
    "datagrams-have-no-prefix": (Hello, lambda data: len(data).to_bytes(2, "little") + data, ("scouting/*",)),
    "hello-version-current": (Hello, _setting(1, 0x80), ()),
    "what-is-scouted-decodes": (Hello, _setting(0, 0x08), ("scouting/*",)),
    "join-version-current": (Join, _setting(1, 0x80), ()),
    "join-packed-reserved": (Join, _setting(2, 0x0C), ()),
    "join-is-whole": (Join, lambda data: data[:-1], ("multicast/*", "law/what-is-said-decodes")),
}
"""Law to a kind of message, how its bytes are changed, and what else is red, since it cannot be read then."""

for _law, (_kind, _change, _also) in BYTES.items():
    fault(
        f"breaks-{_law}",
        f"Writes {_kind.__name__.upper()} wrongly.",
        encoded=_rewrite(_kind, _change),
        caught_by=f"law/{_law}",
        also=dict.fromkeys(_also, "it cannot be read"),
    )


def _swap(sns: tuple[NextSn, ...]) -> tuple[NextSn, ...]:
    """The numbers of each channel for those of the other one."""
    return tuple(NextSn(reliable=sn.best_effort, best_effort=sn.reliable) for sn in sns)


NUMBERS: dict[str, tuple[str, Callable[[tuple[NextSn, ...]], tuple[NextSn, ...]]]] = {
    "takes-the-numbers-of-the-default-lane": ("of the default priority for all", lambda sns: (sns[5],) * 8),
    "takes-the-numbers-of-the-lane-before": ("of the priority before", lambda sns: (sns[0], *sns[:-1])),
    "takes-the-numbers-of-lanes-backwards": ("in reverse order", lambda sns: sns[::-1]),
    "takes-the-numbers-of-the-other-channel": ("of the other channel", _swap),
}
"""Name to which numbers of QoS in a JOIN are taken."""


def _taking(change: Callable[[tuple[NextSn, ...]], tuple[NextSn, ...]]) -> Callable[..., None]:
    def begin_numbers(base, join):
        exts = (replace(ext, sns=change(ext.sns)) if isinstance(ext, QoS) else ext for ext in join.exts)
        base(join=replace(join, exts=Exts(exts)))

    return begin_numbers


for _name, (_about, _lanes) in NUMBERS.items():
    fault(_name, f"Takes the numbers {_about} from QoS in a JOIN.", begin_numbers=_taking(_lanes), caught_by=LANES)

fault(
    "takes-the-numbers-in-the-body-of-join",
    "Takes the numbers in the body of a JOIN with QoS.",
    begin_numbers=lambda base, join: base(join=replace(join, exts=Exts())),
    caught_by=LANES,
)
fault("hears-no-join", "Ignores JOIN.", on_join=lambda join: None, caught_by=(HEARD, TOLD, WITH_QOS))
fault(
    "waits-for-a-second-join",
    "Takes a node as there after its second JOIN.",
    on_join=lambda node, base, member: base() if member.name in node.once else node.once.add(member.name),
    state={"once": set},
    caught_by=(HEARD, WITH_QOS),
    also=dict.fromkeys((TOLD, TOLD_WITH_QOS), "it knows nobody in the group"),
)
fault(
    "tells-the-group-nothing",
    "Forwards nothing to the group.",
    subscribes=lambda base, link: link.name != MULTICAST and base(),
    caught_by=(TOLD, TOLD_WITH_QOS),
)
fault(
    "says-join-once",
    "Says JOIN when it joins, and never again.",
    say_join=lambda node, base: None if node.said else node.said.append(base()),
    state={"said": list},
    caught_by=REPEATED,
)
fault(
    "says-join-after-its-lease",
    "Says JOIN again when its lease is over.",
    say_join=lambda node, base, link: base() if int(node.now * 4) % 100 == 0 else None,
    caught_by=REPEATED,
)
fault(
    "says-no-join-beside-another",
    "Says no JOIN while another node is in the group.",
    say_join=lambda node, base: None if node.members else base(),
    caught_by=REPEATED,
)
fault(
    "keeps-who-is-silent-for-milliseconds",
    "Forgets no silent node whose lease counts milliseconds.",
    is_offline=lambda base, member: base() and member.their_open.lease_in_seconds,
    caught_by=OFFLINE,
)
fault("keeps-who-is-silent", "Forgets no silent node.", is_offline=lambda member: False, caught_by=OFFLINE)
fault(
    "takes-a-lease-for-ten",
    "Waits for ten leases of a silent node.",
    is_offline=lambda node, member: node.now - member.last_heard >= 10 * sane.lease_of(member.their_open),
    caught_by=OFFLINE,
)
fault(
    "says-another-size-each-time",
    "Says a smaller size of its batches in each JOIN.",
    join=lambda node, base: replace(base(), resolution=sane.DEFAULT_RESOLUTION, batch_size=8000 - next(node.said)),
    state={"said": count},
    caught_by="law/joins-agree",
)
fault(
    "keeps-who-is-silent-out",
    "Does not take a node back that was silent for its lease.",
    is_offline=lambda node, base, member: base() and not node.gone.add(member.name),
    on_join=lambda node, base, member: base() if member.name not in node.gone else None,
    state={"gone": set},
    caught_by=OFFLINE,
)


def _reading(**fields: Any) -> Callable[..., None]:
    """An `on_join` that reads other fields than were said."""
    return lambda base, join: base(join=replace(join, **fields))


for _bits, _resolution in ((8, 0), (16, 1)):
    fault(
        f"takes-numbers-of-{_bits}-bits-without-s",
        f"Takes the resolution of a JOIN without S for {_bits} bits.",
        on_join=_reading(resolution=_resolution, batch_size=8192),
        caught_by=BITS,
        also={LANES: "they are larger"},
    )
for _size in (8300, 65535):
    fault(
        f"sends-{_size}-bytes-to-a-join-without-s",
        f"Takes {_size} bytes for the batch size of a JOIN without S.",
        settings={"group_batch": _size + 2},
        caught_by=SIZE,
    )
fault(
    "sends-the-group-no-fragments",
    "Loses what is larger than a batch of the group.",
    say_fragments=lambda base, link: base() if link.name != MULTICAST else None,
    caught_by=SIZE,
)
fault(
    "takes-no-fragments-of-the-group",
    "Ignores FRAGMENT in the group.",
    on_member=lambda base, message: None if isinstance(message, Fragment) else base(),
    caught_by=PIECES,
)
fault(
    "takes-small-datagrams-of-the-group-only",
    "Ignores a datagram of more than 2048 bytes in the group.",
    on_datagram=lambda base, datagram: base() if len(datagram) <= 2048 else [],
    caught_by=PIECES,
)


fault(
    "tells-the-first-best-effort-number-in-join",
    "Tells in each JOIN the best-effort number with which it began.",
    next_of=lambda base, link, reliable: base() if reliable else link.initial_sn,
    caught_by=ON,
)
fault(
    "swaps-the-numbers-of-lanes-in-join",
    "Tells the best-effort number of each lane for the reliable one in JOIN, and the other way round.",
    join=lambda base: replace(
        base(), exts=Exts(replace(ext, sns=_swap(ext.sns)) if isinstance(ext, QoS) else ext for ext in base().exts)
    ),
    caught_by=ON,
)
fault(
    "says-no-join-once-another-left",
    "Says no JOIN any more when a node has left the group by CLOSE.",
    on_member=before(lambda node, message: node.left.append(message) if isinstance(message, Close) else None),
    say_join=lambda node, base: None if node.left else base(),
    state={"left": list},
    caught_by=REPEATED,
)
fault(
    "tells-later-numbers-in-join",
    "Tells numbers in JOIN that are far ahead of those that it says next.",
    next_of=lambda base: base() + (1 << 20),
    caught_by=ON,
)
fault(
    "counts-backwards-in-the-group",
    "Counts backwards in the group.",
    next_sn=lambda node, base, link: node.sn_mask(link) - 999 - base() if link.name == MULTICAST else base(),
    caught_by=ON,
    also={SIZE: "FRAGMENTs with these numbers make no message"},
)
fault(
    "states-fewer-bits-than-it-uses",
    "States 8 bits in JOIN, and counts from 300 on.",
    join=lambda base: replace(base(), resolution=0, batch_size=8192),
    next_sn=lambda base, link: base() + 300 * (link.name == MULTICAST),
    caught_by="law/numbers-fit-the-join",
    also={ON: "its JOIN tells other numbers"},
)

HANDSHAKE: dict[str, Any] = {
    "init": Init(ack=False, whatami=WhatAmI(sane.ROUTER), zid=ZenohID(b"\x01")),
    "open": Open(ack=False, lease_in_seconds=True, lease=10, initial_sn=0, cookie=b""),
}


def _saying_after(message: Any) -> Callable[..., None]:
    return after(lambda node, link: node.send(link, message))


for _word, _message in HANDSHAKE.items():
    fault(
        f"says-{_word}-in-the-group",
        f"Says {_word.upper()} in the group, after JOIN.",
        say_join=_saying_after(_message),
        caught_by="law/multicast-has-no-handshake",
        also={f"law/{_word}-unicast-only": "the same message"},
    )
fault(
    "answers-odd-scouts-that-name-themselves",
    "Answers a SCOUT with a ZenohID whatever its version.",
    answers_scout=lambda base, scout: base(scout=replace(scout, version=9) if scout.zid is not None else scout),
    caught_by=VERSION,
)
