"""Ask a node over the wire for its capabilities, limits and rates. Nothing here is judged, except against claims."""

from __future__ import annotations

from collections.abc import Callable, Collection

from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.messages import Init, Open, Patch, sane
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.probing.probe.asker import Asker, ProbeFacts
from zenoh_harness.probing.probe.capabilities import (
    CAPABILITIES,
    PROPOSES,
    QUESTIONS,
    missing_claims,
    probed_capabilities,
    resolution,
)
from zenoh_harness.probing.probe.limits import limits_and_rates
from zenoh_harness.probing.probe.patience import measure_patience
from zenoh_harness.targets.greeting import odd_statements
from zenoh_harness.targets.target import NodeInstance

__all__ = ["ProbeFacts", "missing_claims", "probe", "probe_twice", "probed_capabilities"]


def probe(node: NodeInstance, *, rates: bool = True, waits: bool = False) -> ProbeFacts:
    """Probe a started node; never raises for what the node does. `waits`: also measure how long it waits for us, which takes time."""
    facts = ProbeFacts(node.profile.name)
    asker = Asker(node)
    if node.side is Side.RESPONDER:
        _probe_responder(asker, facts, rates)
    else:
        _probe_initiator(asker, facts)
    if waits:
        measure_patience(asker, facts)
    if node.agent is not None and node.agent.capabilities:
        facts.capabilities.add("agent")
        facts.note("agent commands", sorted(node.agent.capabilities))
    return facts


def probe_twice(facts: ProbeFacts, wanted: Collection[str], again: Callable[[], ProbeFacts]) -> ProbeFacts:
    """
    Return the facts of a probe; if it missed a wanted capability, those of that probe and another one together.

    One late answer is no verdict. Where both probes saw a fact, the first one counts.
    """
    return facts if facts.capabilities.issuperset(wanted) else facts.beside(again())


def _probe_responder(ask: Asker, facts: ProbeFacts, rates: bool) -> None:
    first = ask.learn()
    if first is None:
        facts.note("sessions", "refused")
        facts.note("its InitAck states", odd_statements(getattr(ask.node, "greeting", b""), ask.node.role) or None)
        return
    assert first.theirs is not None
    assert first.their_open is not None
    _note_init(facts, first.theirs)
    facts.note("lease ms", lease_ms(first.their_open))
    facts.note("second session", "accepted" if ask.session() else "refused")
    ask.leave()
    for name, question in QUESTIONS.items():
        facts.note(name, question(ask))
        ask.leave()
    for capability, test in CAPABILITIES.items():
        if test(ask, facts):
            facts.capabilities.add(capability)
        ask.leave()
    if rates and ask.node.profile.sessions != 1 and ask.node.role == "router":
        limits_and_rates(ask, facts)


def _note_init(facts: ProbeFacts, init: Init) -> None:
    facts.note("protocol version", init.version)
    facts.note("role", init.whatami.name.lower())
    facts.note("zid", str(init.zid))
    facts.note("resolution", resolution(init.resolution))
    facts.note("batch size", init.batch_size if init.batch_size is not None else sane.DEFAULT_BATCH)


def lease_ms(opened: Open) -> int:
    """Return the lease in an OPEN, in milliseconds."""
    return opened.lease * 1000 if opened.lease_in_seconds else opened.lease


def _probe_initiator(ask: Asker, facts: ProbeFacts) -> None:
    """Note what a node proposes when it connects to us, and whether a session works."""
    dialogue = ask.session()
    if dialogue is None or not isinstance(dialogue.theirs, Init):
        facts.note("sessions", "it does not connect, or does not continue the handshake")
        return
    syn, opened = dialogue.theirs, dialogue.their_open
    _note_init(facts, syn)
    facts.note("offers", [type(ext).__name__ for ext in syn.exts])
    if (patch := syn.exts.get(Patch)) is not None:
        facts.note("patch", patch.value)
    if opened is not None:
        facts.note("lease ms", lease_ms(opened))
    try:
        dialogue.fence()
        facts.note("queries", "finished")
    except Deviation as why:
        facts.note("queries", why.finding.got)
    facts.capabilities |= {name for name, shows in PROPOSES.items() if shows(facts, syn)}
    ask.leave()
