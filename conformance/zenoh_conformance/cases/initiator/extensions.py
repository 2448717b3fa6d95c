"""The extensions of InitAck and OpenAck, known and unknown, whole and broken, toward an initiator."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.cases.case import Parameters, case, grid
from zenoh_conformance.cases.establishing import (
    BROKEN,
    VALUES,
    believed_or_refused,
    followed_or_refused,
    never_opens,
    proposal,
    rule_of_chain,
    until_open_syn,
    with_chain,
    with_unknown,
    works_in_the_end,
)
from zenoh_conformance.cases.establishment.extensions import (
    EVERY_INIT,
    ODD_INIT,
    ODD_OPEN,
    OPEN_KNOWN,
    UNKNOWN_INIT,
    UNKNOWN_OPEN,
)
from zenoh_conformance.messages import sane
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.kinds import OpenSyn
from zenoh_conformance.talking import Dialogue, Scene
from zenoh_conformance.wire import Enc, Exts

from .init_ack import a_sane_answer_is_followed
from .open_ack import a_sane_handshake_makes_a_session

INITIATOR = Side.INITIATOR
MODES = ("QoS", "LowLatency", "Compression")
OPEN_ACK_ODD = {name: chain for name, chain in ODD_OPEN.items() if not name.startswith("multilink")}


def _unknown(ids: tuple[int, ...]) -> list[Parameters]:
    return [{"id": id_, "enc": enc.word} for id_ in ids for enc in VALUES]


def _with(message: Any, *, id: int, enc: str, mandatory: bool = False, most: int = 1 << 16) -> Any:  # noqa: A002
    """`most`: bytes for which there is room."""
    code = Enc.of(enc)
    fitting = [value for value in VALUES[code] if not isinstance(value, bytes) or len(value) <= most]
    return with_unknown(message, id=id, enc=code, value=fitting[-1], mandatory=mandatory)


@case(
    "primitives/unknown-optional-no-error",
    role=INITIATOR,
    control=a_sane_answer_is_followed,
    parameters=_unknown(UNKNOWN_INIT),
)
def an_unknown_optional_extension_of_init_ack_is_skipped(scene: Scene, *, id: int, enc: str) -> None:  # noqa: A002
    """
    InitAck carries an extension that no page names, without M.

        target  InitSyn
        us      InitAck (an unknown optional extension)
        target  OpenSyn
    """
    us = scene.dialogue()

    us.ask(_with(us.init_ack(proposal(us)), id=id, enc=enc), expect=OpenSyn, step="stage init")


@case(
    "primitives/unknown-mandatory-rejected",
    role=INITIATOR,
    control=an_unknown_optional_extension_of_init_ack_is_skipped,
    parameters=_unknown(UNKNOWN_INIT),
    breaks=("law/init-ack-answers-init-syn", "law/init-is-whole"),
)
def an_unknown_mandatory_extension_of_init_ack_is_refused(scene: Scene, *, id: int, enc: str) -> None:  # noqa: A002
    """
    InitAck carries an extension that no page names, with M.

        target  InitSyn
        us      InitAck (an unknown mandatory extension)
        target  Close, or the link ends, or nothing; never OpenSyn
    """
    us = scene.dialogue()

    us.send(_with(us.init_ack(proposal(us)), id=id, enc=enc, mandatory=True))

    us.expect_refusal("init", never=OpenSyn)


@case(
    "primitives/unknown-optional-no-error",
    role=INITIATOR,
    control=a_sane_handshake_makes_a_session,
    parameters=_unknown(UNKNOWN_OPEN),
)
def an_unknown_optional_extension_of_open_ack_is_skipped(scene: Scene, *, id: int, enc: str) -> None:  # noqa: A002
    """
    OpenAck carries an extension that no page names, without M; the session works.

        us      OpenAck (an unknown optional extension)
        target  a session that works
    """

    def lead(us: Dialogue) -> None:
        until_open_syn(us).send(_with(us.open_ack(), id=id, enc=enc, most=us.room - 32))

    works_in_the_end(scene, lead)


@case(
    "primitives/unknown-mandatory-rejected",
    role=INITIATOR,
    control=an_unknown_optional_extension_of_open_ack_is_skipped,
    parameters=_unknown(UNKNOWN_OPEN),
    breaks=(
        "law/lease-proposed-by-both",
        "law/no-data-before-open",
        "law/open-ack-answers-open-syn",
        "law/open-is-whole",
    ),
)
def an_unknown_mandatory_extension_of_open_ack_is_refused(scene: Scene, *, id: int, enc: str) -> None:  # noqa: A002
    """
    OpenAck carries an extension that no page names, with M.

        us      OpenAck (an unknown mandatory extension)
        target  Close, or the link ends
    """
    us = until_open_syn(scene.dialogue())

    us.send(_with(us.open_ack(), id=id, enc=enc, mandatory=True, most=us.room - 32))

    never_opens(us)


@case(
    "primitives/truncated-is-refused",
    role=INITIATOR,
    control=an_unknown_optional_extension_of_open_ack_is_skipped,
    parameters=grid(message=("init", "open"), what=tuple(BROKEN)),
    breaks=("law/init-ack-answers-init-syn", "law/init-is-whole", "law/open-ack-answers-open-syn", "law/open-is-whole"),
)
def a_broken_chain_of_ours_is_refused(scene: Scene, *, message: str, what: str) -> None:
    """
    The chain of extensions in our answer is malformed.

        us      InitAck or OpenAck (a broken chain)
        target  Close, or the link ends
    """
    us = scene.dialogue()
    answer: Any = us.init_ack(proposal(us)) if message == "init" else until_open_syn(us).open_ack()

    us.send(with_chain(answer, BROKEN[what]))

    with us.about(rule_of_chain(what)):
        us.expect_refusal(message, never=OpenSyn)


@case(
    "session-establishment/open-syn-answers-init-ack",
    role=INITIATOR,
    control=a_sane_answer_is_followed,
    parameters=grid(what=(*EVERY_INIT, *ODD_INIT)),
    breaks=(
        "law/compression-needs-both",
        "law/init-ack-answers-init-syn",
        "law/init-is-whole",
        "law/low-latency-needs-both",
        "law/qos-answered-in-kind",
        "law/qos-needs-both",
    ),
)
def odd_extensions_of_init_ack_are_followed_or_refused(scene: Scene, *, what: str) -> None:
    """
    InitAck with extensions that an initiator may take up, pass over, or refuse: it goes on or gives up, and does not hang.

        target  InitSyn
        us      InitAck (odd extensions)
        target  OpenSyn, or Close, or the link's end
    """
    us = scene.dialogue()

    followed_or_refused(us, with_chain(us.init_ack(proposal(us)), (EVERY_INIT | ODD_INIT)[what]))


@case(
    "session-establishment/session-live-after-open-ack",
    role=INITIATOR,
    control=a_sane_handshake_makes_a_session,
    parameters=grid(what=(*OPEN_KNOWN, *OPEN_ACK_ODD)),
    breaks=(
        "law/batch-size-is-receive-limit",
        "law/open-ack-answers-open-syn",
        "law/open-is-whole",
    ),
)
def odd_extensions_of_open_ack_are_believed_or_refused(scene: Scene, *, what: str) -> None:
    """
    OpenAck with extensions that an initiator may take up, pass over, or refuse: a session that works, or none.

        us      OpenAck (odd extensions)
        target  a session that works, or Close, or the link's end
    """
    us = until_open_syn(scene.dialogue())

    believed_or_refused(us, with_chain(us.open_ack(), (OPEN_KNOWN | OPEN_ACK_ODD)[what]))


@case(
    "session-establishment/frame-transport-by-default",
    role=INITIATOR,
    control=a_sane_handshake_makes_a_session,
    parameters=grid(mode=MODES),
    breaks=(
        "law/compression-needs-both",
        "law/low-latency-needs-both",
        "law/qos-answered-in-kind",
        "law/qos-needs-both",
    ),
)
def a_mode_that_was_not_offered_is_not_used(scene: Scene, *, mode: str) -> None:
    """
    InitAck settles on a mode that InitSyn did not offer: the initiator refuses, or goes on without it.

        target  InitSyn (without the mode)
        us      InitAck (the mode)
        target  Close, or the link ends; or OpenSyn, and a session of plain FRAMEs
    """
    us = scene.dialogue()
    syn = proposal(us)
    if any(type(ext).__name__ == mode for ext in syn.exts):
        us.ask(us.init_ack(syn), expect=OpenSyn, step="not reached: the mode was offered")
        return

    if followed_or_refused(us, us.init_ack(syn, exts=Exts(sane.offers(mode)))) is not None:
        believed_or_refused(us, us.open_ack())
