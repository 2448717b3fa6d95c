"""The extensions of InitSyn and OpenSyn, known and unknown, whole and broken, toward a responder."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.cases.case import Parameters, case, grid
from zenoh_conformance.cases.establishing import (
    BROKEN,
    VALUES,
    chained,
    init_then_open,
    issued,
    open_then_work,
    rule_of_chain,
    with_chain,
    with_unknown,
)
from zenoh_conformance.reading.kinds import InitAck, OpenAck, reason_code
from zenoh_conformance.talking import Scene
from zenoh_conformance.wire import Enc

from .sane import a_sane_handshake_is_accepted, a_sane_proposal_is_answered

INVALID, UNSUPPORTED = reason_code("INVALID"), reason_code("UNSUPPORTED")

UNKNOWN_INIT, UNKNOWN_OPEN = (0x0, 0x9, 0xA, 0xB, 0xC, 0xD, 0xE, 0xF), (0x0, 0x8, 0x9, 0xA, 0xB, 0xC, 0xD, 0xE, 0xF)
"""Ids that the pages leave free."""

MODES: dict[str, bytes] = {
    "qos": b"\x01",
    "low-latency": b"\x05",
    "compression": b"\x06",
    "patch-0": b"\x27\x00",
    "patch-1": b"\x27\x01",
    "patch-255": b"\x27\xff\x01",
}
"""Extensions of INIT that ask for something that one may simply not do."""

INIT_KNOWN: dict[str, bytes] = {
    "qos-link": b"\x21\x00",
    "shm": b"\x42\x02\x01\x02",
    "auth": b"\x43\x01\x7f",
    "multilink": b"\x44\x02\x01\x02",
    "region-name": b"\x48\x04west",
}
"""Extensions of INIT whose content is a matter of the implementation."""

OPEN_KNOWN: dict[str, bytes] = {
    "qos": b"\x01",
    "shm": b"\x22\x05",
    "auth": b"\x43\x01\x7f",
    "multilink-syn": b"\x44\x02\x01\x02",
    "low-latency": b"\x05",
    "compression": b"\x06",
    "remote-bound": b"\x27\x00",
}
"""Extensions of OpenSyn."""

EVERY_INIT = MODES | INIT_KNOWN


def _odd(known: dict[str, bytes]) -> dict[str, bytes]:
    """What the pages leave open: twice, in another order, another encoding, M set, empty, long."""
    odd = {f"{name}-twice": chained(chain, chain) for name, chain in known.items()}
    odd |= {f"{name}-mandatory": bytes([chain[0] | 0x10]) + chain[1:] for name, chain in known.items()}
    for code, content in ((0x00, b""), (0x20, b"\x07"), (0x40, b"\x01\x07")):
        odd |= {
            f"{name}-as-{('unit', 'z64', 'zbuf')[code >> 5]}": bytes([code | chain[0] & 0x0F]) + content
            for name, chain in known.items()
            if chain[0] & 0x60 != code
        }
    odd |= {f"{name}-empty": chain[:1] + b"\x00" for name, chain in known.items() if chain[0] & 0x60 == 0x40}
    odd |= {
        f"{name}-long": chain[:1] + b"\xa0\x1f" + bytes(4000)
        for name, chain in known.items()
        if chain[0] & 0x60 == 0x40
    }
    odd["all-in-order"] = chained(*known.values())
    odd["all-backwards"] = chained(*reversed(known.values()))
    return odd


ODD_INIT, ODD_OPEN = _odd(EVERY_INIT), _odd(OPEN_KNOWN)


def _unknown(ids: tuple[int, ...]) -> list[Parameters]:
    return [{"id": id_, "enc": enc.word, "which": n} for id_ in ids for enc in VALUES for n in range(len(VALUES[enc]))]


def _with(message: Any, *, id: int, enc: str, which: int, mandatory: bool = False) -> Any:  # noqa: A002
    code = next(each for each in Enc if each.word == enc)
    return with_unknown(message, id=id, enc=code, value=VALUES[code][which], mandatory=mandatory)


@case("primitives/unknown-optional-no-error", control=a_sane_proposal_is_answered, parameters=_unknown(UNKNOWN_INIT))
def an_unknown_optional_extension_of_init_is_skipped(scene: Scene, *, id: int, enc: str, which: int) -> None:  # noqa: A002
    """
    InitSyn carries an extension that no page names, without M; the session comes up and works.

        us      InitSyn (an unknown optional extension)
        target  InitAck
        us      OpenSyn
        target  OpenAck
    """
    us = scene.dialogue()

    ack = us.ask(_with(us.init_syn(), id=id, enc=enc, which=which), expect=InitAck, step="stage init")

    us.ask(us.open_syn(ack), expect=OpenAck, step="stage open")
    us.expect_live()


@case("primitives/unknown-optional-no-error", control=a_sane_handshake_is_accepted, parameters=_unknown(UNKNOWN_OPEN))
def an_unknown_optional_extension_of_open_is_skipped(scene: Scene, *, id: int, enc: str, which: int) -> None:  # noqa: A002
    """
    OpenSyn carries an extension that no page names, without M; the session works.

        us      OpenSyn (an unknown optional extension)
        target  OpenAck
    """
    us = scene.dialogue()
    ack = issued(us)

    us.ask(_with(us.open_syn(ack), id=id, enc=enc, which=which), expect=OpenAck, step="stage open")

    us.expect_live()


@case(
    "primitives/unknown-mandatory-rejected",
    control=an_unknown_optional_extension_of_init_is_skipped,
    parameters=_unknown(UNKNOWN_INIT),
    breaks=("law/init-is-whole", "law/init-syn-first"),
)
def an_unknown_mandatory_extension_of_init_is_refused(scene: Scene, *, id: int, enc: str, which: int) -> None:  # noqa: A002
    """
    InitSyn carries an extension that no page names, with M.

        us      InitSyn (an unknown mandatory extension)
        target  Close, or the link ends; never InitAck
    """
    us = scene.dialogue()

    us.send(_with(us.init_syn(), id=id, enc=enc, which=which, mandatory=True))

    us.expect_refusal("init", never=InitAck)


@case(
    "primitives/unknown-mandatory-rejected",
    control=an_unknown_optional_extension_of_open_is_skipped,
    parameters=_unknown(UNKNOWN_OPEN),
    breaks=("law/open-is-whole", "law/open-syn-answers-init-ack"),
)
def an_unknown_mandatory_extension_of_open_is_refused(scene: Scene, *, id: int, enc: str, which: int) -> None:  # noqa: A002
    """
    OpenSyn carries an extension that no page names, with M.

        us      OpenSyn (an unknown mandatory extension)
        target  Close, or the link ends; never OpenAck
    """
    us = scene.dialogue()
    ack = issued(us)

    us.send(_with(us.open_syn(ack), id=id, enc=enc, which=which, mandatory=True))

    us.expect_refusal("open", never=OpenAck)


@case(
    "primitives/unknown-mandatory-may-close",
    control=an_unknown_optional_extension_of_init_is_skipped,
    parameters=grid(message=("init", "open")),
    breaks=("law/init-is-whole", "law/init-syn-first", "law/open-is-whole", "law/open-syn-answers-init-ack"),
)
def an_unknown_mandatory_extension_is_closed_for_a_reason(scene: Scene, *, message: str) -> None:
    """
    Where an unknown mandatory extension is refused by CLOSE, the reason is UNSUPPORTED, or INVALID as the baseline has it
    (erratum unknown-mandatory-close-reason), or GENERIC.

        us      InitSyn or OpenSyn (an unknown mandatory extension)
        target  Close (one of these), or the link ends
    """
    us = scene.dialogue()
    sane_one: Any = us.init_syn() if message == "init" else us.open_syn(issued(us))

    us.send(with_unknown(sane_one, id=0xE, enc=Enc.UNIT, value=None, mandatory=True))

    us.expect_refusal(message, reason=(0, UNSUPPORTED, INVALID))


@case(
    "session-establishment/init-ack-answers-init-syn",
    control=a_sane_proposal_is_answered,
    parameters=grid(what=tuple(MODES)),
)
def what_may_be_declined_is_no_reason_to_refuse(scene: Scene, *, what: str) -> None:
    """
    InitSyn asks for a mode; the target takes it up or does not, and answers.

        us      InitSyn (one extension)
        target  InitAck
    """
    us = scene.dialogue()

    us.send(with_chain(us.init_syn(), MODES[what]))

    us.expect(InitAck, step="stage init")


@case(
    "session-establishment/refusal-is-close",
    control=a_sane_handshake_is_accepted,
    parameters=grid(what=(*INIT_KNOWN, *ODD_INIT)),
    breaks=("law/init-is-whole", "law/init-syn-first"),
)
def odd_extensions_of_init_are_answered_or_closed(scene: Scene, *, what: str) -> None:
    """
    InitSyn with extensions that a responder may take up, pass over, or refuse: it says which. Nothing on a page tells more.

        us      InitSyn (odd extensions)
        target  InitAck, and the session comes up; or Close
    """
    us = scene.dialogue()

    init_then_open(us, with_chain(us.init_syn(), (INIT_KNOWN | ODD_INIT)[what]))


@case(
    "session-establishment/refusal-is-close",
    control=a_sane_handshake_is_accepted,
    parameters=grid(what=(*OPEN_KNOWN, *ODD_OPEN)),
    breaks=("law/open-is-whole", "law/open-syn-answers-init-ack"),
)
def odd_extensions_of_open_are_answered_or_closed(scene: Scene, *, what: str) -> None:
    """
    OpenSyn with extensions that a responder may take up, pass over, or refuse: it says which.

        us      OpenSyn (odd extensions)
        target  OpenAck, and the session works; or Close
    """
    us = scene.dialogue()
    ack = issued(us)

    open_then_work(us, with_chain(us.open_syn(ack), (OPEN_KNOWN | ODD_OPEN)[what]))


@case(
    "primitives/truncated-is-refused",
    control=an_unknown_optional_extension_of_init_is_skipped,
    parameters=grid(message=("init", "open"), what=tuple(BROKEN)),
    breaks=("law/init-is-whole", "law/init-syn-first", "law/open-is-whole", "law/open-syn-answers-init-ack"),
)
def a_broken_chain_is_refused(scene: Scene, *, message: str, what: str) -> None:
    """
    The chain of extensions is malformed: cut, longer than the batch, or of the encoding that is not to be used.

        us      InitSyn or OpenSyn (a broken chain)
        target  Close, or the link ends; never the answer
    """
    us = scene.dialogue()
    sane_one: Any = us.init_syn() if message == "init" else us.open_syn(issued(us))

    us.send(with_chain(sane_one, BROKEN[what]))

    with us.about(rule_of_chain(what)):
        us.expect_refusal(message, never=InitAck if message == "init" else OpenAck)


@case("session-establishment/qos-told-from-qos-link-by-enc", control=a_sane_proposal_is_answered)
def qos_and_qos_link_are_told_apart(scene: Scene) -> None:
    """
    QoSLink is offered and QoS is not: what is answered under the same id is not QoS.

        us      InitSyn (QoSLink)
        target  InitAck (without QoS), or Close
    """
    us = scene.dialogue()

    us.send(with_chain(us.init_syn(), b"\x21\x00"))

    seen = us.next()
    answered = seen is not None and InitAck.matches(seen.message)
    names = {type(ext).__name__ for ext in seen.message.exts} if seen is not None and answered else set()
    us.require("QoS" not in names, expected="no QoS", got="QoS", step="init.exts.qos")
