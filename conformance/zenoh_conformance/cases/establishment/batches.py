"""How the bytes of a handshake arrive: cut, in pieces, several messages at once, toward a responder."""

from __future__ import annotations

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.establishing import init_then_open, issued, no_step_forward, with_unknown
from zenoh_conformance.messages import KeepAlive, sane
from zenoh_conformance.reading.codec import segments
from zenoh_conformance.reading.kinds import InitAck, OpenAck
from zenoh_conformance.talking import Dialogue, Scene, live_session
from zenoh_conformance.wire import Enc

from .sane import a_sane_handshake_is_accepted, a_sane_proposal_is_answered

LENGTH_PREFIX = "message-reference/length-prefix"
"""The requirement of a stream's units: their length tells where they end, and not how their bytes arrive."""

APART = 5
"""Pieces of a batch that come alone, the two of a length among them: a receiver finds the others together, if it is late."""

BETWEEN = 0.002
"""Seconds between them: a few milliseconds in all, since some initiators wait 100 ms for the whole."""


@case(
    "session-establishment/session-live-after-open-ack",
    needs=("stream",),
    control=a_sane_handshake_is_accepted,
    parameters=grid(pieces=(1, 2, 3, 7)),
)
def a_handshake_in_pieces_is_accepted(scene: Scene, *, pieces: int) -> None:
    """
    A stream keeps no boundaries: every message of ours comes in pieces of so many bytes.

        us      InitSyn, in pieces
        target  InitAck
        us      OpenSyn, in pieces
        target  OpenAck
    """
    us = scene.dialogue()

    with us.about(LENGTH_PREFIX):
        send_in_pieces(us, segments(us.init_syn()).join(), pieces)
        ack = us.expect(InitAck, step="stage init")
        send_in_pieces(us, segments(us.open_syn(ack)).join(), pieces)
        us.expect(OpenAck, step="stage open")

    us.expect_live()


@case(
    "session-establishment/init-field-order",
    needs=("stream",),
    control=a_sane_proposal_is_answered,
    parameters=grid(kept=range(1, 23)),
    breaks=("law/init-syn-first",),
)
def a_proposal_that_stops_is_not_answered(scene: Scene, *, kept: int) -> None:
    """
    The link ends inside the batch of InitSyn, at each of its bytes.

        us      InitSyn (its first bytes, prefix included), FIN
        target  nothing but Close or the link's end
    """
    us = scene.dialogue()
    whole = us.framed(segments(us.init_syn()).join())

    us.send_bytes(whole[: min(kept, len(whole) - 1)])
    us.wire.finish()

    other = scene.dialogue("other")
    other.ask(other.init_syn(), expect=InitAck, step="not reached: another link")
    seen = us.next(0)
    with us.about("primitives/truncated-is-refused"):
        us.require(seen is None or seen.kind == "close", expected="no answer", got=us.text_of(seen), step="stage init")


@case(
    "session-establishment/init-field-order",
    control=a_sane_proposal_is_answered,
    parameters=grid(kept=range(1, 21)),
    breaks=("law/init-is-whole", "law/init-syn-first"),
)
def a_batch_that_is_cut_is_refused(scene: Scene, *, kept: int) -> None:
    """
    A batch that ends inside InitSyn, with its extension, at each of its bytes; its length prefix is that of the rest.

        us      InitSyn (its first bytes)
        target  Close, or the link ends; never InitAck
    """
    us = scene.dialogue()
    whole = segments(with_unknown(us.init_syn(), id=0xD, enc=Enc.ZBUF, value=b"abc")).join()

    us.send(whole[: min(kept, len(whole) - 1)])

    with us.about("primitives/truncated-is-refused"):
        us.expect_refusal("init", never=InitAck)


@case(
    "session-establishment/open-field-order",
    control=a_sane_handshake_is_accepted,
    parameters=grid(kept=range(5, 60)),
    breaks=("law/open-is-whole", "law/open-syn-answers-init-ack"),
)
def an_open_that_is_cut_in_its_cookie_is_refused(scene: Scene, *, kept: int) -> None:
    """
    A batch that ends inside the cookie of OpenSyn, at each of its bytes.

        us      OpenSyn (its first bytes)
        target  Close, or the link ends; never OpenAck
    """
    us = scene.dialogue()
    whole = segments(us.open_syn(issued(us))).join()

    us.send(whole[: min(kept, len(whole) - 1)])

    with us.about("primitives/truncated-is-refused"):
        us.expect_refusal("open", never=OpenAck)


@case(
    "primitives/unknown-optional-no-error",
    control=a_sane_proposal_is_answered,
    parameters=grid(size=(100, 1000, 1400, 1900)),
)
def a_large_proposal_is_answered(scene: Scene, *, size: int) -> None:
    """
    InitSyn is large, for an extension that no page names and that may be passed over.

        us      InitSyn (so many bytes)
        target  InitAck
    """
    us = scene.dialogue()

    us.ask(with_unknown(us.init_syn(), id=0xD, enc=Enc.ZBUF, value=bytes(size)), expect=InitAck, step="stage init")


@case(
    "session-establishment/refusal-is-close",
    control=a_sane_proposal_is_answered,
    parameters=grid(size=(9_000, 32_000, 49_000, 65_000)),
)
def a_very_large_proposal_is_answered_or_refused(scene: Scene, *, size: int) -> None:
    """
    InitSyn fills a batch as large as the prefix can tell: nothing says how large a first batch may be.

        us      InitSyn (tens of thousands of bytes)
        target  InitAck, or Close, or the link ends
    """
    us = scene.dialogue()

    us.send(with_unknown(us.init_syn(), id=0xD, enc=Enc.ZBUF, value=bytes(size)))

    seen = next((seen for seen in us.stream() if seen.kind != "keep_alive"), None)
    answered = seen is None or seen.kind == "close" or InitAck.matches(seen.message)
    us.require(answered, expected="InitAck or a refusal", got=us.text_of(seen), step="stage init")
    us.require(seen is not None or us.may_be_over, expected="InitAck or a refusal", got="silence", step="stage init")


@case(
    "session-establishment/refusal-is-close",
    control=a_sane_handshake_is_accepted,
    parameters=grid(extra=(1, 2, 16, 300)),
)
def keep_alives_behind_a_proposal_are_answered_or_closed(scene: Scene, *, extra: int) -> None:
    """
    InitSyn is followed by KEEP_ALIVEs in its batch, which a batch may hold.

        us      InitSyn, KEEP_ALIVE, ..
        target  InitAck, and the session comes up; or Close
    """
    us = scene.dialogue()

    init_then_open(us, segments(us.init_syn()).join() + b"\x04" * extra)


@case(
    "session-establishment/handshake-messages-in-order",
    control=a_sane_handshake_is_accepted,
    parameters=grid(together=(True, False)),
    timed=True,
)
def an_open_sent_too_soon_opens_nothing(scene: Scene, *, together: bool) -> None:
    """
    InitSyn and an OpenSyn with a cookie that was not issued yet, in one batch or in two of one segment.

        us      InitSyn, OpenSyn (an invented cookie)
        target  InitAck, or nothing, then Close or the link's end; never OpenAck

    A node that answers InitAck and then OpenAck keeps the order of the handshake: its fault is that it does not compare the cookie.
    """
    us = scene.dialogue()
    syn = us.init_syn()
    early = sane.open_syn(us.init_ack(syn))

    (us.send if together or us.shows_no_end else us.send_each)(syn, early)  # an answer may come between two datagrams

    for seen in us.stream():
        opened = OpenAck.matches(seen.message)
        if InitAck.matches(seen.message):
            us.require(bool(seen.message.cookie), expected="a cookie", got="none", step="not reached: init.cookie")
        with us.about("session-establishment/cookie-must-match" if us.theirs is not None else us.requirement):
            us.require(not opened, expected="no OpenAck", got="OpenAck", step="stage open")
        if seen.kind == "close":
            return


@case("session-establishment/handshake-messages-in-order", control=a_sane_handshake_is_accepted)
def an_empty_batch_is_no_step(scene: Scene) -> None:
    """
    A length of zero: an empty batch, of which no page tells what it is (erratum empty-unit).

        us      a batch of no bytes
        target  Close, or the link ends, or nothing
    """
    us = scene.dialogue()

    us.send(b"")

    no_step_forward(us, "await-init")


@case("session-establishment/session-live-after-open-ack", control=a_sane_handshake_is_accepted, is_of_both=True)
def the_first_frame_may_come_at_once(scene: Scene) -> None:
    """
    OpenAck has hardly come when a batch of KEEP_ALIVE and FRAME follows: the session works from its first batch on.

        us      InitSyn .. OpenSyn
        target  OpenAck
        us      KEEP_ALIVE
        us      FRAME (REQUEST)
        target  FRAME (RESPONSE_FINAL)
    """
    us = live_session(scene)

    us.send(KeepAlive())

    us.expect_live()


def send_in_pieces(us: Dialogue, batch: bytes, size: int) -> None:
    """One batch in writes of so many bytes."""
    framed = us.framed(batch)
    for at in range(0, len(framed), size):
        us.send_bytes(framed[at : at + size])
        us.listen(BETWEEN if at < APART * size else 0.0)
