"""What a node is and can do, asked over the wire: capabilities, limits, rates. Never judged, except against claims."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from zenoh_conformance import sane
from zenoh_conformance.codec import encode
from zenoh_conformance.conversation import Side
from zenoh_conformance.dialogue import Dialogue
from zenoh_conformance.finding import Departed
from zenoh_conformance.fragments import fragment
from zenoh_conformance.kinds import InitAck
from zenoh_conformance.messages import Fragment, Init, Open, Push, Put
from zenoh_conformance.messages.init import Auth, Compression, LowLatency, MultiLink, Patch, QoS
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.wire.extensions import exts
from zenoh_harness.credentials import USER_METHOD, open_session
from zenoh_harness.errors import CannotConnect
from zenoh_harness.profiles import DEFAULT
from zenoh_harness.target import NodeInstance
from zenoh_harness.timing import Deadline, scaled
from zenoh_harness.wires import Recorder

UNIT: Final = 2.0
"""Seconds that one answer may take."""

QUICK: Final = 0.25
"""Seconds that even the quickest node is given."""

RATE: Final = 0.3
"""Seconds that each rate is measured for."""

VERSIONS: Final = (8, 9, 10)
BATCHES: Final = (16, 32, 48, 64, 128, 512)
SIZES: Final = (64, 256, 1024, 8192, 32768, 48000)
BIG_SIZES: Final = (100_000, 1_000_000)
KEYS: Final = (16, 128, 256, 1024, 8192, 32768)

_RSA: Final = (1 << 511 | 0x5DEECE66D << 64 | 1).to_bytes(64, "little")
MULTILINK: Final = bytes([len(_RSA)]) + _RSA + b"\x03\x01\x00\x01"
"""A public key as the baseline's MultiLink payload holds it: modulus, exponent; nothing is encrypted for us."""

IN_PROFILE: Final = {"qos": DEFAULT, "patch": DEFAULT, "multilink": "two-links", "auth": "user-password"}
"""The profile in which a capability shows, where it has not the same name."""

_ZIDS = itertools.count(1)


@dataclass(slots=True)
class Facts:
    """What was seen of a node in one profile; a fact that could not be seen is missing."""

    profile: str
    seen: dict[str, Any] = field(default_factory=dict)
    """Name -> value, in the order of the table."""
    capabilities: set[str] = field(default_factory=set)

    def note(self, name: str, value: object) -> None:
        """Keep a fact."""
        if value is not None:
            self.seen[name] = value


def probe(node: NodeInstance, *, rates: bool = True) -> Facts:
    """Ask a started node; never raises for what it does."""
    facts = Facts(node.profile.name)
    asker = Asker(node)
    if node.side is Side.RESPONDER:
        _responder(asker, facts, rates)
    else:
        _initiator(asker, facts)
    if node.agent is not None and node.agent.capabilities:
        facts.capabilities.add("agent")
        facts.note("agent commands", sorted(node.agent.capabilities))
    return facts


class Asker:
    """Dialogues with one node, one question each."""

    def __init__(self, node: NodeInstance) -> None:
        self.node = node
        self.unit = scaled(UNIT)
        """Seconds that one answer may take; learnt from the first session."""
        self._open: list[Dialogue] = []

    def learn(self) -> Dialogue | None:
        """A first live session; how long it took bounds the patience for all that follows."""
        began = time.monotonic()
        dialogue = self.session()
        if dialogue is not None:
            self.unit = min(self.unit, max(scaled(QUICK), 50 * (time.monotonic() - began)))
        return dialogue

    def dialogue(self, **options: Any) -> Dialogue | None:
        """A fresh one; None when the node cannot be reached."""
        zid = b"\x70" + next(_ZIDS).to_bytes(6, "big") + b"\x7a"
        try:
            wire = Recorder().wire(self.node, "probe", Deadline.after(UNIT))
        except CannotConnect:
            return None
        dialogue = Dialogue(wire, zid=zid, unit=self.unit, requirement="target/probe", **options)
        self._open.append(dialogue)
        return dialogue

    def session(self, **changes: Any) -> Dialogue | None:
        """A live session; None when it is refused."""
        dialogue = self.dialogue()
        try:
            return open_session(dialogue, self.node.profile, **changes) if dialogue else None
        except Departed:
            return None

    def init(self, *, shows_user: bool = True, **changes: Any) -> Init | str:
        """The INIT that answers ours, or how it was refused; ours offers to show a user where one is asked for."""
        dialogue = self.dialogue()
        if dialogue is None:
            return "no link"
        if shows_user and self.node.profile.credentials:
            changes["exts"] = exts(*changes.get("exts", sane.OFFERS), Auth(payload=USER_METHOD))
        try:
            answer: Init = dialogue.ask(dialogue.init_syn(**changes), expect=InitAck)
        except Departed as why:
            return why.finding.got
        return answer

    def works(self, **changes: Any) -> bool:
        """Whether such a session opens and finishes a query."""
        dialogue = self.session(**changes)
        try:
            return dialogue is not None and dialogue.fence() is not None
        except Departed:
            return False

    def leave(self) -> None:
        """End what is open, so that the next question meets a calm node."""
        while self._open:
            self._open.pop().leave()


def _responder(ask: Asker, facts: Facts, rates: bool) -> None:
    first = ask.learn()
    if first is None:
        facts.note("sessions", "refused")
        return
    assert first.theirs is not None
    assert first.their_open is not None
    _of_init(facts, first.theirs)
    facts.note("lease ms", lease_ms(first.their_open))
    facts.note("second session", "accepted" if ask.session() else "refused")
    ask.leave()
    for name, question in _QUESTIONS.items():
        facts.note(name, question(ask))
        ask.leave()
    for capability, test in _CAPABILITIES.items():
        if test(ask, facts):
            facts.capabilities.add(capability)
        ask.leave()
    if rates and ask.node.profile.sessions != 1 and ask.node.role == "router":
        _limits_and_rates(ask, facts)


def _of_init(facts: Facts, init: Init) -> None:
    facts.note("protocol version", init.version)
    facts.note("role", init.whatami.name.lower())
    facts.note("zid", str(init.zid))
    facts.note("resolution", _resolution(init.resolution))
    facts.note("batch size", init.batch_size if init.batch_size is not None else sane.DEFAULT_BATCH)


def _resolution(value: int | None) -> str:
    code = sane.DEFAULT_RESOLUTION if value is None else value
    return f"sn {8 << (code & 3)} bit, request id {8 << (code >> 2 & 3)} bit"


def lease_ms(opened: Open) -> int:
    """The lease that an OPEN tells, in milliseconds."""
    return opened.lease * 1000 if opened.lease_in_seconds else opened.lease


def _versions(ask: Asker) -> dict[str, str]:
    found = {number: ask.init(version=number) for number in VERSIONS}
    return {str(number): "accepted" if isinstance(one, Init) else one for number, one in found.items()}


def _resolutions(ask: Asker) -> dict[str, str]:
    answers = {8 << code: ask.init(resolution=code | code << 2) for code in range(4)}
    return {
        f"{bits} bit": _resolution(one.resolution) if isinstance(one, Init) else one for bits, one in answers.items()
    }


def _smallest_batch(ask: Asker) -> int | None:
    return next((size for size in BATCHES if ask.works(batch_size=size)), None)


def _extensions(ask: Asker) -> dict[str, str]:
    offers = {
        "QoS": QoS(),
        "LowLatency": LowLatency(),
        "Compression": Compression(),
        "MultiLink": MultiLink(payload=MULTILINK),
        "Patch": Patch(value=1),
    }
    found: dict[str, str] = {}
    for name, offer in offers.items():
        answer = ask.init(exts=exts(offer))
        accepted = isinstance(answer, Init) and answer.exts.get(type(offer)) is not None
        found[name] = "accepted" if accepted else "ignored" if isinstance(answer, Init) else answer
    return found


def _auth(ask: Asker) -> str:
    return "not asked for" if isinstance(ask.init(shows_user=False), Init) else "demanded"


_QUESTIONS: Final[dict[str, Callable[[Asker], Any]]] = {
    "versions": _versions,
    "extensions": _extensions,
    "resolutions": _resolutions,
    "smallest batch": _smallest_batch,
    "authentication": _auth,
}


def _answered(facts: Facts, name: str) -> bool:
    return bool(facts.seen.get("extensions", {}).get(name) == "accepted")


def _fsn_bits(init: Init) -> int:
    return 8 << ((sane.DEFAULT_RESOLUTION if init.resolution is None else init.resolution) & 3)


def _settled_bits(ask: Asker) -> int:
    dialogue = ask.session()
    return _fsn_bits(dialogue.theirs) if dialogue and dialogue.theirs else 0


def _stamps(ask: Asker) -> bool:
    return (push := _forwarded(ask, "zconform/probe/stamp", b"x")) is not None and push.body.timestamp is not None


_CAPABILITIES: Final[dict[str, Callable[[Asker, Facts], bool]]] = {
    "qos": lambda _ask, facts: _answered(facts, "QoS"),
    "patch": lambda _ask, facts: _answered(facts, "Patch"),
    "low-latency": lambda ask, facts: _answered(facts, "LowLatency") and ask.works(exts=sane.offers("LowLatency")),
    "compression": lambda ask, facts: _answered(facts, "Compression") and ask.works(exts=sane.offers("Compression")),
    "multilink": lambda _ask, facts: _answered(facts, "MultiLink"),
    "auth": lambda _ask, facts: facts.seen.get("authentication") == "demanded",
    "resolution-8": lambda ask, _facts: _settled_bits(ask) == 8,
    "resolution-16": lambda ask, _facts: _settled_bits(ask) == 16,
    "small-batch": lambda _ask, facts: facts.seen["batch size"] <= 512,
    "short-lease": lambda _ask, facts: facts.seen["lease ms"] <= 1000,
    "one-session": lambda _ask, facts: facts.seen["second session"] == "refused",
    "timestamping": lambda ask, _facts: ask.node.role == "router" and _stamps(ask),
}
"""Capability -> how it shows; each in the profile of its name, some in every one."""


def _pair(ask: Asker, key: str) -> tuple[Dialogue, Dialogue] | None:
    near, far = ask.session(), ask.session()
    if near is None or far is None:
        return None
    try:
        near.subscribe(key)
        near.fence()
    except Departed:
        return None
    return near, far


def _forwarded(ask: Asker, key: str, payload: bytes) -> Push | None:
    """The push that one session of ours receives of another's; None when it does not come."""
    pair = _pair(ask, "zconform/probe/**")
    if pair is None:
        return None
    near, far = pair
    try:
        far.publish(key, payload)
        far.fence()
        found: Push = near.expect(Push, within=ask.unit)
    except Departed:
        return None
    return found


def _fragmented(ask: Asker, size: int) -> bool:
    """Whether a push in fragments arrives, in fragments again."""
    pair = _pair(ask, "zconform/probe/**")
    if pair is None:
        return False
    near, far = pair
    key = WireExpr(scope=0, suffix="zconform/probe/big", mapping=True)
    message = encode(Push(key=key, body=Put(payload=bytes(size))))
    try:
        for piece in fragment(message, sn=far.next_sn(), size=16384):
            far.send(piece)
        arrived = 0
        while arrived < size:
            arrived += len(near.expect(Fragment).payload)
    except Departed:
        return False
    return True


def _largest(sizes: Iterable[int], passes: Callable[[int], bool], ask: Asker) -> int | None:
    best = None
    for size in sizes:
        works = passes(size)
        ask.leave()
        if not works:
            break
        best = size
    return best


def _limits_and_rates(ask: Asker, facts: Facts) -> None:
    prefix = "zconform/probe/"
    room = facts.seen["batch size"] - 128

    def key_passes(size: int) -> bool:
        return _forwarded(ask, prefix + "k" * (size - len(prefix)), b"x") is not None

    def payload_passes(size: int) -> bool:
        return _forwarded(ask, prefix + "p", bytes(size)) is not None

    facts.note("key of bytes passes", _largest([s for s in KEYS if s <= room], key_passes, ask))
    facts.note("payload of bytes passes in one batch", _largest([s for s in SIZES if s <= room], payload_passes, ask))
    facts.note("payload of bytes passes in fragments", _largest(BIG_SIZES, lambda size: _fragmented(ask, size), ask))
    facts.note("handshakes per second", _rate(lambda: ask.session(), ask))
    if (session := ask.session()) is not None:
        facts.note("queries per second", _rate(session.fence, ask))
    ask.leave()


def _rate(act: Callable[[], object], ask: Asker) -> int | None:
    """How often `act` goes in a second, a round number of two digits."""
    began, times = time.monotonic(), 0
    try:
        while (spent := time.monotonic() - began) < RATE:
            if act() is None:
                return None
            times += 1
    except Departed:
        return None
    finally:
        ask.leave()
    return int(float(f"{times / spent:.1e}"))


def _initiator(ask: Asker, facts: Facts) -> None:
    """What a node proposes when it comes to us, and whether it works with us."""
    dialogue = ask.session()
    if dialogue is None or not isinstance(dialogue.theirs, Init):
        facts.note("sessions", "it does not come, or does not go on")
        return
    syn, opened = dialogue.theirs, dialogue.their_open
    _of_init(facts, syn)
    facts.note("offers", [type(ext).__name__ for ext in syn.exts])
    if (patch := syn.exts.get(Patch)) is not None:
        facts.note("patch", patch.value)
    if opened is not None:
        facts.note("lease ms", lease_ms(opened))
    try:
        dialogue.fence()
        facts.note("queries", "finished")
    except Departed as why:
        facts.note("queries", why.finding.got)
    facts.capabilities |= {name for name, shows in _PROPOSES.items() if shows(facts, syn)}
    ask.leave()


_PROPOSES: Final[dict[str, Callable[[Facts, Init], bool]]] = {
    "qos": lambda facts, _syn: "QoS" in facts.seen["offers"],
    "patch": lambda facts, _syn: "Patch" in facts.seen["offers"],
    "low-latency": lambda facts, _syn: "LowLatency" in facts.seen["offers"],
    "compression": lambda facts, _syn: "Compression" in facts.seen["offers"],
    "multilink": lambda facts, _syn: "MultiLink" in facts.seen["offers"],
    "auth": lambda facts, _syn: "Auth" in facts.seen["offers"],
    "resolution-8": lambda _facts, syn: _fsn_bits(syn) == 8,
    "resolution-16": lambda _facts, syn: _fsn_bits(syn) == 16,
    "small-batch": lambda facts, _syn: facts.seen["batch size"] <= 512,
    "short-lease": lambda facts, _syn: facts.seen.get("lease ms", 1001) <= 1000,
}
"""The same for a node that comes to us; what is not here shows only in a node that listens."""


def missing(claims: Iterable[str], side: Side, probed: Mapping[str, Facts]) -> list[str]:
    """Claimed capabilities that the probe looked for, in the profile of their name, and did not see."""
    shown = _CAPABILITIES if side is Side.RESPONDER else _PROPOSES
    return sorted(
        claim
        for claim in set(claims) & set(shown)
        if (facts := probed.get(IN_PROFILE.get(claim, claim))) is not None and claim not in facts.capabilities
    )
