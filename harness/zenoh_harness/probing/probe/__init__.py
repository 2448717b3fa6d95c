"""What a node is and can do, asked over the wire: capabilities, limits, rates. Never judged, except against claims."""

from __future__ import annotations

from collections.abc import Callable, Collection

from zenoh_conformance import sane
from zenoh_conformance.conversation import Side
from zenoh_conformance.finding import Deviation
from zenoh_conformance.messages import Init, Open
from zenoh_conformance.messages.init import Patch
from zenoh_harness.probing.probe.asker import Asker, Facts
from zenoh_harness.probing.probe.capabilities import CAPABILITIES, PROPOSES, QUESTIONS, askable, missing, resolution
from zenoh_harness.probing.probe.limits import limits_and_rates
from zenoh_harness.probing.probe.patience import patience
from zenoh_harness.targets.target import NodeInstance

__all__ = ["Facts", "askable", "looked_twice", "missing", "probe"]


def probe(node: NodeInstance, *, rates: bool = True, waits: bool = False) -> Facts:
    """Ask a started node; never raises for what it does. `waits`: also how long it waits for us, which takes as long."""
    facts = Facts(node.profile.name)
    asker = Asker(node)
    if node.side is Side.RESPONDER:
        _responder(asker, facts, rates)
    else:
        _initiator(asker, facts)
    if waits:
        patience(asker, facts)
    if node.agent is not None and node.agent.capabilities:
        facts.capabilities.add("agent")
        facts.note("agent commands", sorted(node.agent.capabilities))
    return facts


def looked_twice(facts: Facts, wanted: Collection[str], again: Callable[[], Facts]) -> Facts:
    """
    What a look saw; where it missed a capability that is wanted, what it and another look saw together.

    An answer that was late once is no verdict. What both saw is told as the first saw it.
    """
    return facts if facts.capabilities.issuperset(wanted) else facts.beside(again())


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
    for name, question in QUESTIONS.items():
        facts.note(name, question(ask))
        ask.leave()
    for capability, test in CAPABILITIES.items():
        if test(ask, facts):
            facts.capabilities.add(capability)
        ask.leave()
    if rates and ask.node.profile.sessions != 1 and ask.node.role == "router":
        limits_and_rates(ask, facts)


def _of_init(facts: Facts, init: Init) -> None:
    facts.note("protocol version", init.version)
    facts.note("role", init.whatami.name.lower())
    facts.note("zid", str(init.zid))
    facts.note("resolution", resolution(init.resolution))
    facts.note("batch size", init.batch_size if init.batch_size is not None else sane.DEFAULT_BATCH)


def lease_ms(opened: Open) -> int:
    """The lease that an OPEN tells, in milliseconds."""
    return opened.lease * 1000 if opened.lease_in_seconds else opened.lease


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
    except Deviation as why:
        facts.note("queries", why.finding.got)
    facts.capabilities |= {name for name, shows in PROPOSES.items() if shows(facts, syn)}
    ask.leave()
