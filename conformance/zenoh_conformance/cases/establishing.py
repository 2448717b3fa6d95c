"""What the cases of the establishment share: odd chains of extensions, and what may come of odd values. No case of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any, TypeVar

from zenoh_conformance.judging.finding import CALM, NOT_REACHED, Deviation, Finding
from zenoh_conformance.judging.kept_waiting import SHARE
from zenoh_conformance.messages import (
    Close,
    Declare,
    DSubscriber,
    Frame,
    Init,
    Interest,
    InterestMode,
    InterestOptions,
    KeepAlive,
    Open,
    Query,
    Request,
)
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.kinds import InitAck, InitSyn, M, MessageKind, OpenAck, OpenSyn, reason_code
from zenoh_conformance.reading.names import plain
from zenoh_conformance.talking import Dialogue, Fence, Fencing, Scene, Sendable
from zenoh_conformance.talking.refusal import reach
from zenoh_conformance.wire import NO_EXTS, Enc, Exts, Unknown

T = TypeVar("T")

Z = 0x80
"""Flag Z of a header, and the bit of an extension's header that says that another follows."""

VALUES: dict[Enc, tuple[int | bytes | None, ...]] = {
    Enc.UNIT: (None,),
    Enc.Z64: (0, 300, 2**64 - 1),
    Enc.ZBUF: (b"", b"\x00", b"\xff" * 300),
}
"""What an extension of each encoding may hold."""

BROKEN: dict[str, bytes] = {
    "nothing-follows": b"",
    "integer-cut": b"\x2e\x80",
    "length-cut": b"\x4e\x80",
    "no-length": b"\x4e",
    "longer-than-the-batch": b"\x4e\x05\x00",
    "much-longer-than-the-batch": b"\x4e\xff\xff\x7f\x00",
    "another-should-follow": b"\x8e",
    "encoding-3": b"\x6e",
    "encoding-3-mandatory": b"\x7e",
}
"""Chains that are malformed, whatever they mean."""


def rule_of_chain(what: str) -> str:
    """The requirement that a node breaks that takes such a chain."""
    return f"primitives/{'extension-encoding-3' if what.startswith('encoding-3') else 'truncated-is'}-refused"


def with_chain(message: Any, chain: bytes) -> bytes:
    """The message's bytes with a chain written by hand in place of its own."""
    data = encode(replace(message, exts=NO_EXTS))
    return bytes([data[0] | Z]) + data[1:] + chain


def with_unknown(message: Any, *, id: int, enc: Enc, value: int | bytes | None, mandatory: bool = False) -> Any:  # noqa: A002
    """The message with one extension more, which no page names."""
    return replace(message, exts=Exts((*message.exts, Unknown(id=id, mandatory=mandatory, enc=enc, value=value))))


def chained(*links: bytes) -> bytes:
    """A chain of extensions, each given with its header but without the bit that says that another follows."""
    return b"".join(bytes([each[0] | Z]) + each[1:] for each in links[:-1]) + links[-1]


def is_soon(scene: Scene, seconds: float) -> bool:
    """Whether so much silence is no reason to give a handshake up: less than half of what the target waits, as far as that is known."""
    patience: float = scene.fact("waits_s", scene.fact("open_timeout_s", inf))
    return seconds < SHARE * patience


def refuses_out_of_turn(scene: Scene, us: Dialogue, message: Sendable, stage: str, beside: Dialogue | None) -> None:
    """The target refuses a message that is not due; an end to which a silent link `beside` comes as well is none.

    A node gives up each handshake after a time, which no page states. Without a link beside, a late end without CLOSE tells nothing.
    """
    us.send(message)
    began = us.wire.now()
    refusal = us.expect_refusal(stage, never=OpenAck)
    if is_soon(scene, us.wire.now() - began):
        return
    if beside is None:
        calls = refusal.reason is not None
        us.require(calls, expected="Close", got=refusal.text_of, step=f"{NOT_REACHED}: before it gives a handshake up")
        return
    beside.next(0)
    if beside.is_over:
        calm(scene)
        us.deviate(expected="a refusal", got="an end that a silent link comes to as well", step=f"stage {stage}")


def no_step_forward(us: Dialogue, stage: str) -> None:
    """The target refuses, or passes over what came: anything but an answer. Deviates when it goes a step further."""
    for seen in us.stream():
        if isinstance(seen.message, Close):
            return
        if not isinstance(seen.message, KeepAlive):
            us.deviate(expected="no step forward", got=us.text_of(seen), step=f"stage {stage}")


def answered_or_closed(us: Dialogue, what: Sendable, answer: MessageKind[M], stage: str) -> M | None:
    """The answer that is due, or None after CLOSE; an end of the link without CLOSE deviates, and so does silence."""
    us.send(what)
    return answer_or_close(us, answer, stage)


def answer_or_close(us: Dialogue, answer: MessageKind[M], stage: str) -> M | None:
    """The same of what was said before."""
    for seen in us.stream():
        if answer.matches(seen.message):
            return seen.message
        if isinstance(seen.message, Close):
            return None
        if not isinstance(seen.message, KeepAlive):
            us.deviate(expected=f"{answer.name} or Close", got=us.text_of(seen), step=f"stage {stage}")
    us.deviate(expected=f"{answer.name} or Close", got=us.text_of(None), step=f"stage {stage}")
    return None


def init_then_open(us: Dialogue, syn: Sendable) -> None:
    """An odd InitSyn is answered or closed; once answered, the handshake goes to its end, or to a CLOSE."""
    ack = answered_or_closed(us, syn, InitAck, "init")
    if ack is not None and answered_or_closed(us, us.open_syn(ack), OpenAck, "open") is not None:
        us.expect_live()


def open_then_work(us: Dialogue, open_: Sendable) -> None:
    """An odd OpenSyn is answered or closed; once answered, the session works."""
    if answered_or_closed(us, open_, OpenAck, "open") is not None:
        us.expect_live()


def followed_or_refused(us: Dialogue, ack: Sendable) -> Open | None:
    """As initiator: an odd InitAck is followed by OpenSyn, which is the answer, or refused; silence deviates where an end shows."""
    us.send(ack)
    for seen in us.stream():
        if OpenSyn.matches(seen.message):
            return seen.message
        if isinstance(seen.message, Close):
            return None
        if not isinstance(seen.message, KeepAlive):
            us.deviate(expected="OpenSyn or a refusal", got=us.text_of(seen), step="stage init")
    if not us.may_be_over:
        us.deviate(expected="OpenSyn or a refusal", got=us.text_of(None), step="stage init")
    return None


def takes(scene: Scene, size: int) -> None:
    """A target that takes no message of that size says nothing about it: deviates as not reached."""
    most = scene.fact("message_size")
    if most is not None and size > most:
        got, expected = f"a target that takes {most} bytes", f"one that takes messages of {size}"
        step = f"{NOT_REACHED}: a large message"
        raise Deviation(Finding(requirement="", sender=scene.role, path=step, expected=expected, got=got))


BUSY = 3.0
"""How much longer than on an idle machine everything may take where a moment tells what is right."""


def calm(scene: Scene) -> None:
    """On a busy machine patience is stretched, and what came in time shows little: deviates as not reached."""
    strain = scene.fact("strain", 1.0)
    if strain > BUSY:
        got, expected = f"a machine that is {strain:.1f} times slower than an idle one", CALM
        raise Deviation(
            Finding(requirement="", sender=scene.role, path=f"{NOT_REACHED}: timing", expected=expected, got=got)
        )


def proposal(us: Dialogue) -> Init:
    """The target's InitSyn."""
    return us.expect(InitSyn, step="not reached: init")


def issued_cookie(us: Dialogue) -> tuple[Init, bytes]:
    """As `issued`, and the cookie by itself."""
    ack = issued(us)
    return ack, ack.cookie or b""


def issued(us: Dialogue, **changes: Any) -> Init:
    """The InitAck to a sane proposal; without a cookie there is nothing to go on with."""
    ack = reach(us, us.init_syn(**changes), InitAck, "init", odd=bool(changes))
    us.require(bool(ack.cookie), expected="a cookie", got="none", step="not reached: init.cookie")
    return ack


def under_test(begin: Callable[[], T]) -> T:
    """What a handshake that is itself under test makes: its steps are those of the check."""
    try:
        return begin()
    except Deviation as found:
        step = found.finding.path.removeprefix(NOT_REACHED).removeprefix(": ")
        raise Deviation(replace(found.finding, path=f"stage {step}")) from None


def until_open_syn(us: Dialogue) -> Dialogue:
    """As responder, up to the point where OpenAck is due."""
    us.ask(us.init_ack(proposal(us)), expect=OpenSyn, step="not reached: open")
    return us


def believed_or_refused(us: Dialogue, ack: Sendable) -> None:
    """As initiator: an odd OpenAck makes a session that works, or is refused by CLOSE or the link's end."""
    us.send(ack)
    us.works_or_is_over(step="stage open", expected="a session that works, or a refusal")


def works_but_for_finals(us: Dialogue) -> None:
    """The session works. One that does not end our query and answers an interest lacks the final alone: it deviates from that."""
    try:
        us.expect_live()
    except Deviation as silent:
        if answers_an_interest(us):
            raise Deviation(replace(silent.finding, requirement="reply/final-always-comes")) from None
        raise


def answers_an_interest(us: Dialogue) -> bool:
    """Whether a session does that work."""
    if us.is_over:
        return False
    us.fencing = Fencing(how=Fence.INTEREST)
    try:
        us.fence()
    except Deviation:
        return False
    return True


HELD_BACK = (0.0, 1 / 16, 1 / 8, 1 / 4, 1.0)
"""Shares of a unit for which we are silent on a new link, after each link that the target left. Who holds a single session leaves the
next one until it has let go of the last one; so does a responder to whom a node comes back too soon."""


def works_in_the_end(scene: Scene, lead: Callable[[Dialogue], object]) -> Dialogue:
    """As initiator: led this way the target has a session that works. It may leave a few before. Deviates when it leaves them all."""
    return in_the_end(scene.dialogue, works_but_for_finals, lead)


def in_the_end(
    begin: Callable[[], Dialogue],
    proves: Callable[[Dialogue], object],
    lead: Callable[[Dialogue], object] = lambda _us: None,
) -> Dialogue:
    """The first link that the target does not leave while it is asked for a proof. Deviates when it leaves them all, and at once where
    it leaves one that we lead, or does not leave one that fails."""
    for silence in HELD_BACK:
        us = begin()
        us.listen(us.unit * silence)
        lead(us)
        try:
            proves(us)
            return us
        except Deviation:
            if not us.is_over or silence == HELD_BACK[-1]:
                raise
            us.hang_up()
    raise AssertionError("the last link returns or raises")


APART = 3
"""Numbers spread over the resolution: whatever a receiver expects, it takes one of them, since it takes half the range."""


def never_opens(us: Dialogue, stage: str = "open") -> None:
    """As initiator the target takes what we sent for no OpenAck: by CLOSE, by ending the link, or by waiting for another answer.

    One that waits does nothing in a session (session-establishment#overview): it answers no query, interest or declaration under any
    number. These come at once, since a session with a short lease does not outlive our silence.
    """
    for at in range(APART):
        for number, message in enumerate(_asking(us, f"zconform/fence/{at}"), at * (us.sn_mask // APART)):
            us.send(Frame(sn=number, messages=(message,)))
    us.expect_refusal(stage, never=Frame)


def _asking(us: Dialogue, key: str) -> tuple[Request, Interest, Declare]:
    """What a node answers in a session, each of them by which some nodes are fenced: a query, an interest, a declaration."""
    of, wanted = plain(key), InterestOptions.TOKENS | InterestOptions.RESTRICTED
    named = InterestOptions.NAMED | InterestOptions.MAPPING
    return (
        Request(id=us.new_id(), key=of, body=Query()),
        Interest(id=us.new_id(), mode=InterestMode.CURRENT, options=wanted | named, key=of),
        Declare(body=DSubscriber(id=us.new_id(), key=of)),
    )


def refuses_itself(us: Dialogue, *, step: str) -> None:
    """As initiator it refuses a responder with its own ZenohID, by CLOSE or by ending the link, now or after our OpenAck."""
    seen = us.next()
    to_self = reason_code("CONNECTION_TO_SELF")
    if seen is not None and OpenSyn.matches(seen.message):
        us.send(us.open_ack())
        us.expect_refusal("open", reason=to_self)
    elif seen is not None or us.ended is None:
        right = seen is not None and isinstance(seen.message, Close) and seen.message.reason == to_self
        us.require(right, expected="Close(CONNECTION_TO_SELF)", got=us.text_of(seen), step=step)
