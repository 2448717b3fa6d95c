"""Capabilities: which there are, in which profile each shows, and how."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from zenoh_conformance.messages import Init, sane
from zenoh_conformance.messages.init import Compression, LowLatency, MultiLink, Patch, QoS
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.wire import exts
from zenoh_harness.probing.probe.asker import Asker, ProbeFacts
from zenoh_harness.probing.probe.limits import forwarded_push
from zenoh_harness.profiles import DEFAULT
from zenoh_harness.reference.multilink_method import OURS

VERSIONS: Final = (8, 9, 10)
BATCHES: Final = (16, 32, 48, 64, 128, 512)

IN_PROFILE: Final = {
    "qos": DEFAULT,
    "patch": DEFAULT,
    "routing": DEFAULT,
    "multilink": "two-links",
    "auth": "user-password",
}
"""The profile in which a capability shows, where the two names differ."""


def resolution(value: int | None) -> str:
    code = sane.DEFAULT_RESOLUTION if value is None else value
    return f"sn {8 << (code & 3)} bit, request id {8 << (code >> 2 & 3)} bit"


def _versions(ask: Asker) -> dict[str, str]:
    answers = {number: ask.init(version=number) for number in VERSIONS}
    return {str(number): "accepted" if isinstance(answer, Init) else answer for number, answer in answers.items()}


def _resolutions(ask: Asker) -> dict[str, str]:
    answers = {8 << code: ask.init(resolution=code | code << 2) for code in range(4)}
    return {
        f"{bits} bit": resolution(one.resolution) if isinstance(one, Init) else one for bits, one in answers.items()
    }


def _smallest_batch(ask: Asker) -> int | None:
    return next((size for size in BATCHES if ask.works(batch_size=size)), None)


def _extensions(ask: Asker) -> dict[str, str]:
    offers = {
        "QoS": QoS(),
        "LowLatency": LowLatency(),
        "Compression": Compression(),
        "MultiLink": MultiLink(payload=OURS.public.shown),
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


QUESTIONS: Final[dict[str, Callable[[Asker], Any]]] = {
    "versions": _versions,
    "extensions": _extensions,
    "resolutions": _resolutions,
    "smallest batch": _smallest_batch,
    "authentication": _auth,
}


def _is_accepted(facts: ProbeFacts, name: str) -> bool:
    return bool(facts.seen.get("extensions", {}).get(name) == "accepted")


def _fsn_bits(init: Init) -> int:
    return 8 << ((sane.DEFAULT_RESOLUTION if init.resolution is None else init.resolution) & 3)


def _session_bits(ask: Asker) -> int:
    dialogue = ask.session()
    return _fsn_bits(dialogue.theirs) if dialogue and dialogue.theirs else 0


def _stamps(ask: Asker) -> bool:
    return (push := forwarded_push(ask, "zconform/probe/stamp", b"x")) is not None and push.body.timestamp is not None


CAPABILITIES: Final[dict[str, Callable[[Asker, ProbeFacts], bool]]] = {
    "qos": lambda _ask, facts: _is_accepted(facts, "QoS"),
    "patch": lambda _ask, facts: _is_accepted(facts, "Patch"),
    "low-latency": lambda ask, facts: _is_accepted(facts, "LowLatency") and ask.works(exts=sane.offers("LowLatency")),
    "compression": lambda ask, facts: _is_accepted(facts, "Compression") and ask.works(exts=sane.offers("Compression")),
    "multilink": lambda _ask, facts: _is_accepted(facts, "MultiLink"),
    "auth": lambda _ask, facts: facts.seen.get("authentication") == "demanded",
    "resolution-8": lambda ask, _facts: _session_bits(ask) == 8,
    "resolution-16": lambda ask, _facts: _session_bits(ask) == 16,
    "small-batch": lambda _ask, facts: facts.seen["batch size"] <= 512,
    "short-lease": lambda _ask, facts: facts.seen["lease ms"] <= 1000,
    "one-session": lambda _ask, facts: facts.seen["second session"] == "refused",
    "routing": lambda ask, _facts: forwarded_push(ask, "zconform/probe/route", b"x") is not None,
    "timestamping": lambda ask, _facts: ask.node.role == "router" and _stamps(ask),
}
"""Capability to the test that shows it, run in the profile of that name; some are tested in every profile."""

PROPOSES: Final[dict[str, Callable[[ProbeFacts, Init], bool]]] = {
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
"""The same for a node that connects to us; any other capability shows only in a node that listens."""


def probed_capabilities(side: Side, profile: str) -> list[str]:
    """Return the capabilities that a probe in this profile looks for."""
    shown = CAPABILITIES if side is Side.RESPONDER else PROPOSES
    return sorted(claim for claim in shown if IN_PROFILE.get(claim, claim) == profile)


def missing_claims(claims: Iterable[str], side: Side, probed: Mapping[str, ProbeFacts]) -> list[str]:
    """Return claimed capabilities that the probe looked for in their profile and did not see."""
    shown = CAPABILITIES if side is Side.RESPONDER else PROPOSES
    return sorted(
        claim
        for claim in set(claims) & set(shown)
        if (facts := probed.get(IN_PROFILE.get(claim, claim))) is not None and claim not in facts.capabilities
    )
