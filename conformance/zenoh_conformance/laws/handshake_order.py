"""The order of INIT and OPEN, and what may stand beside them (session-establishment#full-handshake-flow)."""

from __future__ import annotations

from zenoh_conformance.judging.law import Law, law
from zenoh_conformance.messages import Close, Fragment, Frame, Init, Open, sane
from zenoh_conformance.reading.connection import Nature, Seen
from zenoh_conformance.reading.conversation import Event, Happened, Side
from zenoh_conformance.reading.kinds import AnyKind, InitAck, InitSyn, OpenAck, OpenSyn, name_of
from zenoh_conformance.wire import DecodeError

from .handshake import HandshakeLaw

PROMPT = 0.2
"""Seconds from a link's beginning to an OpenSyn that nobody need have waited for in vain."""


@law("session-establishment/init-syn-first")
class InitSynFirst(HandshakeLaw):
    """The first thing that the side which opened the link says is InitSyn."""

    spoke = False

    def on_alone(self, seen: Seen, message: object) -> None:
        if self.spoke or not self.watched or seen.sender is not Side.INITIATOR:
            return
        self.spoke = True
        self.subject(seen)
        self.require(InitSyn.matches(message), at=seen, expected="InitSyn", got=name_of(message))


class _Answer(HandshakeLaw):
    """The first thing that a side says after a given message is one answer, or CLOSE."""

    question: AnyKind = InitSyn
    answer: AnyKind = InitAck
    asked = False

    def on_alone(self, seen: Seen, message: object) -> None:
        if self.answered or (self.lossy and not self.watched):
            return  # of datagrams the answer itself may be what was not seen
        if self.question.matches(message) and not self.asked and self.is_due:
            self.asked, self.asker = True, seen.sender
        elif self.asked and seen.sender is self.asker.other and not self.answered:
            self.answered = True
            if not isinstance(message, Close):
                self.subject(seen)
                right = self.answer.matches(message)
                self.require(right, at=seen, expected=self.answer.name, got=name_of(message))

    answered = False
    asker = Side.INITIATOR

    @property
    def is_due(self) -> bool:
        """Whether the question stands where it belongs: what comes too soon is not to be answered."""
        return True


@law("session-establishment/init-ack-answers-init-syn")
class InitAckAnswersInitSyn(_Answer):
    """InitSyn is answered by InitAck, or refused."""


@law("session-establishment/open-syn-answers-init-ack")
class OpenSynAnswersInitAck(_Answer):
    """InitAck is answered by OpenSyn, or refused."""

    question = InitAck
    answer = OpenSyn

    @property
    def is_due(self) -> bool:
        return self.link.init_syn is not None


@law("session-establishment/open-ack-answers-open-syn")
class OpenAckAnswersOpenSyn(_Answer):
    """OpenSyn is answered by OpenAck, or refused."""

    question = OpenSyn
    answer = OpenAck

    @property
    def is_due(self) -> bool:
        return self.link.init_ack is not None


@law("session-establishment/handshake-messages-in-order")
class HandshakeMessagesInOrder(HandshakeLaw):
    """The responder never goes a step further on a message that was not due. What we cannot read, it may have read."""

    unread = False

    def on_undecodable(self, seen: Seen, refusal: DecodeError) -> None:
        """The initiator said something that may have been anything."""
        self.unread = self.unread or seen.sender is Side.INITIATOR

    def on_init(self, seen: Seen, init: Init) -> None:
        if self.watched and not self.unread and InitAck.matches(init):
            self.subject(seen)
            due = self.link.init_syn is not None and self.link.init_ack is None and self.link.open_ack is None
            self.require(due, at=seen, expected="no InitAck", got="InitAck", why="no InitSyn waits for an answer")

    def on_open(self, seen: Seen, open_: Open) -> None:
        if self.watched and not self.unread and OpenAck.matches(open_):
            self.subject(seen)
            due = self.link.open_syn is not None and self.link.init_ack is not None and self.link.open_ack is None
            self.require(due, at=seen, expected="no OpenAck", got="OpenAck", why="no OpenSyn waits for an answer")


@law("session-establishment/no-data-before-open")
class NoDataBeforeOpen(HandshakeLaw):
    """No FRAME, FRAGMENT or network message goes by before OPEN."""

    def on_open(self, seen: Seen, open_: Open) -> None:
        if self.watched:
            self.subject(seen)

    def on_frame(self, seen: Seen, message: Frame | Fragment) -> None:
        early = self.watched and not (
            self.link.open_ack is not None if seen.sender is Side.INITIATOR else self.responder_opened
        )
        if early:
            self.subject(seen)
            self.require(False, at=seen, expected="OPEN first", got=name_of(message))

    on_fragment = on_frame

    def on_undecodable(self, seen: Seen, _refusal: object) -> None:
        """Whether the other side took an OpenAck that cannot be read is another question."""
        if self.link.open_syn is not None and seen.sender is Side.RESPONDER:
            self.watched = False

    @property
    def responder_opened(self) -> bool:
        """The responder may speak once its OpenAck is out."""
        return self.link.open_ack is not None


@law("session-establishment/refusal-is-close")
class RefusalIsClose(HandshakeLaw):
    """
    A side that refuses in the middle of a handshake says CLOSE before it goes.

    Who takes no more links, or waits no longer, ends a link without a look at what came last, and no page forbids it: an end
    counts where it can only be the answer. One link does not tell whether there was room for a sane proposal; the case
    `establishment-limits/a-lone-lawful-proposal-is-answered-or-closed` sees to that.
    """

    began: float | None = None
    closed: Side | None = None
    gone: Side | None = None

    def on_close(self, seen: Seen, close: Close) -> None:
        if self.closed is None and self.gone is None and self.in_the_middle:
            self.closed = seen.sender
            self.subject(seen)

    def on_end(self, sender: Side, how: Happened, time: float) -> None:
        if self.gone is None:
            self.gone = sender
            asked = self.link.last
            if asked is not None and asked.sender is not sender and self.closed is None and self.is_answer(asked):
                self.subject(asked, sender)
                self.require(
                    sender is Side.INITIATOR, at=asked, sender=sender, path="", expected="Close",
                    got="link shut" if how is Happened.EOF else "link reset",
                )  # fmt: skip

    def on_begin(self, time: float) -> None:
        self.began = time

    def is_answer(self, asked: Seen) -> bool:
        """Whether an end answers that message: a first one that all must refuse, or one of a handshake that went fast."""
        if not self.in_the_middle:
            return False
        if self.link.init_ack is None:
            return self.link.init_syn is not None and self.link.init_syn.version != sane.VERSION
        return self.began is not None and asked.time - self.began < PROMPT

    @property
    def in_the_middle(self) -> bool:
        return self.watched and self.link.init_syn is not None and self.link.open_ack is None


@law("close/nothing-after-close")
class NothingAfterClose(Law):
    """After CLOSE its sender says nothing more on the link; on multicast, where it may come back, nothing more in that datagram."""

    natures = frozenset({Nature.UNICAST, Nature.MULTICAST})

    def __init__(self) -> None:
        super().__init__()
        self.closed: dict[Side, Event] = {}
        """The event with the CLOSE of each side."""
        self.grouped = False
        """The link is multicast: it has JOIN."""

    def on_join(self, seen: Seen, join: object) -> None:
        self.grouped = True

    def on_alone(self, seen: Seen, message: object) -> None:
        closed = self.closed.get(seen.sender)
        if closed is not None and (closed is seen.event or not self.grouped):
            self.require(False, at=seen, expected="nothing after Close", got=name_of(message))
        elif isinstance(message, Close):
            self.closed[seen.sender] = seen.event
            self.subject(seen)


@law("session-establishment/no-challenge-round")
class NoChallengeRound(Law):
    """Neither side says INIT or OPEN twice on one link."""

    def __init__(self) -> None:
        super().__init__()
        self.said: set[tuple[Side, str]] = set()

    def on_init(self, seen: Seen, message: object) -> None:
        if self.watched:
            again = (seen.sender, seen.kind) in self.said
            self.said.add((seen.sender, seen.kind))
            self.subject(seen)
            self.require(not again, at=seen, expected=f"one {seen.kind.upper()} of each side", got=name_of(message))

    on_open = on_init
