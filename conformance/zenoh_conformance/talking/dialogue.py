"""A dialogue: one link to the target, spoken in messages.

Cases say what they send and what must come back; the first thing that does not fit ends the case with a `Finding` that
names the step. Everything is synchronous, and waits are bounded by the scene's unit of patience.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from typing import Any

from zenoh_conformance.judging.finding import NOT_REACHED, OVERSLEPT, SILENCE, Deviation, Finding
from zenoh_conformance.messages import Close, Init, KeepAlive, Open
from zenoh_conformance.reading.connection import Seen
from zenoh_conformance.reading.conversation import Event, Framing, Happened, Side
from zenoh_conformance.reading.kinds import (
    AnyKind,
    InitAck,
    InitSyn,
    M,
    MessageKind,
    OpenAck,
    OpenSyn,
    kind,
    name_of,
    reason_name,
)

from .budget import LARGE, LOOK
from .fences import BY_QUERY, PASSES
from .patience import Wait
from .refusal import Refusal, reach, refusals
from .scene import Wire
from .silences import Silences
from .speaker import Sendable, Speaker

END = "the end of the link"
"""What is expected where a link is to end."""

NO_END = "a link of datagrams, which shows no end"
"""What is seen where a check waits for an end that nobody can see."""

LEAST_PAUSE = 0.05
"""Seconds that we are silent at least, however short a lease is."""


class Dialogue(Speaker):
    """One link, both directions decoded, with what is due and what came."""

    def __init__(self, wire: Wire, *, zid: bytes, unit: float, requirement: str, initial_sn: int = 0) -> None:
        super().__init__(wire, zid=zid, initial_sn=initial_sn)
        self.unit, self.requirement = unit, requirement
        self.heard: list[Seen] = []
        """Everything that the target said, in order."""
        self.ended: Happened | None = None
        """What the target's side of the link did, when it did."""
        self.closed: int | None = None
        """The reason of the last CLOSE that the target sent."""
        self.largest = 0
        """Bytes of the target's largest batch after its OPEN so far: only there a size is settled."""
        self.beside_us: Sequence[Dialogue] = ()
        """The dialogues of the scene: each is kept alive while another one waits."""
        self.mute = False
        """Whether it is to die: we do not keep it alive."""
        self.silences = Silences()
        """What the target never says; one for all checks on it."""
        self.fencing = BY_QUERY
        """How the target is fenced."""
        self.fenced = False
        """Whether a fence was asked for on this link."""
        self.fences: set[int] = set()
        """Ids of the queries that were fences."""
        self._unread: deque[Seen] = deque()
        self._left = 0.0
        """Our silence in which the link ended, in seconds."""

    # -- hearing

    def next(self, within: float | None = None, *, silent: bool = True) -> Seen | None:
        """The next message of the target (nested ones each on their own), or None: the link ended, or time ran out.

        Our other sessions are kept alive meanwhile, and this one unless it is to be `silent`.
        """
        return self._next(self._wait(within), silent=silent)

    def _wait(self, within: float | None) -> Wait:
        return Wait(self.wire.now(), self.unit if within is None else within, lambda since: self.wire.held_up(since))

    def _next(self, wait: Wait, *, silent: bool) -> Seen | None:
        if self._unread:
            return self._unread.popleft()
        kept = [us for us in self.beside_us if us.my_open is not None and not us.left and us is not self] + [self] * (
            not silent
        )
        while not self._unread and self.ended is None and not wait.is_over(self.wire.now(), self.budget):
            pause = min((us.due - us.wire.now() for us in kept), default=inf)
            event = self.wire.receive(max(0.0, min(wait.due - self.wire.now(), pause)))
            if event is not None:
                self._take(event)
            elif sum(us.keep_alive() for us in kept) == 0 and not wait.moves(self.wire.now()):
                break
        return self._unread.popleft() if self._unread else None

    @property
    def is_live(self) -> bool:
        """Whether both have opened the session, and nobody has ended it."""
        opened = self.my_open is not None and self.their_open is not None
        return opened and not self.is_over and not self.left and not self.wire.done

    @property
    def is_over(self) -> bool:
        """Whether the target has ended it, by CLOSE or with its link."""
        return self.ended is not None or self.closed is not None

    @property
    def may_be_over(self) -> bool:
        """Whether the target has ended it, or may have: on datagrams an end without CLOSE is only silence."""
        return self.is_over or self.shows_no_end

    @property
    def due(self) -> float:
        """When we have to say something in this session, as in each quarter of its lease; never, where it is not live or is to die."""
        if not self.is_live or self.mute:
            return inf
        return self._spoke + max(self.lease / 4, LEAST_PAUSE)

    def join(self, others: list[Dialogue]) -> None:
        """Take a place among the dialogues of a scene; those that have left give theirs up."""
        others[:] = [us for us in others if not (us.left or us.wire.done)]
        others.append(self)
        self.beside_us = others

    def keep_alive(self) -> bool:
        """Say KEEP_ALIVE, if something is due; whether it was said."""
        if self.wire.now() < self.due:
            return False
        self.listen(0.0)
        if self.due < inf:
            self.send(KeepAlive())
        return self.due < inf

    def fall_silent(self) -> None:
        """Send no KEEP_ALIVE any more: the target ends the session when its lease is over, and that is no lateness of ours."""
        self.mute = True

    def listen(self, within: float) -> None:
        """Say nothing for so many seconds; what comes stays to be read."""
        wait = self._wait(within)
        while self.ended is None and not wait.is_over(self.wire.now(), self.budget):
            event = self.wire.receive(max(0.0, wait.due - self.wire.now()))
            if event is None:
                return
            self._take(event)

    def _take(self, event: Event) -> None:
        """Decode what came. Raises Deviation, as not reached, when the budget is spent."""
        self.budget.bytes, self.budget.reads = self.budget.bytes + len(event.data), self.budget.reads + 1
        self._check_budget()
        if self.budget.bytes < LARGE:
            self._decode(event)
        else:
            with self.budget.turn:
                self._decode(event)
        if event.kind in (Happened.EOF, Happened.RESET):
            self.ended, self._left = event.kind, event.time - self._spoke
        elif self._ended_by_close:  # what else would end a link of datagrams
            self.ended, self._left = Happened.EOF, event.time - self._spoke

    @property
    def shows_no_end(self) -> bool:
        """Whether the link is one of datagrams: a target that ends it without CLOSE only falls silent."""
        return self.wire.framing is Framing.DATAGRAM

    @property
    def _ended_by_close(self) -> bool:
        return self.ended is None and self.closed is not None and self.shows_no_end

    def _decode(self, event: Event) -> None:
        for seen in self._decoder.feed(event):
            self.budget.messages += 1
            if self.budget.messages % LOOK == 0:
                self._check_budget()
            if seen.kind == "batch":
                if self._decoder.directions[self.wire.side.other].opened:
                    self.largest = max(self.largest, len(seen.message))
                continue
            if not seen.around:
                self.budget.unpacked += len(seen.raw)
            for each in (seen, *(whole for whole in self._pieces.feed(seen) if whole.kind != "unread")):
                self.heard.append(each)
                self._unread.append(each)
                self._note(each.message)
                self._count_extensions(each.message)

    def _count_extensions(self, message: object) -> None:
        if count := len(getattr(message, "exts", ())):
            self.budget.extensions += count
            if count > LOOK:
                self._check_budget()

    def _check_budget(self) -> None:
        if (spent := self.budget.spent) is not None:
            self.deviate(expected="", got=spent, step=NOT_REACHED)

    def _note(self, message: object) -> None:
        if isinstance(message, Close):
            self.closed = message.reason
        elif isinstance(message, Init):
            self.theirs = message
        elif isinstance(message, Open):
            self.their_open = message

    def stream(self, within: float | None = None, *, silent: bool = True) -> Iterator[Seen]:
        """The target's messages until the link ends or `within` seconds have passed in all."""
        wait = self._wait(within)
        while (seen := self._next(wait, silent=silent)) is not None:
            yield seen
            if not self._unread and wait.is_over(self.wire.now(), self.budget):
                return

    def wait_until(self, holds: Callable[[], bool], within: float | None = None) -> bool:
        """Read messages until a condition holds, or time is over. Returns whether it holds."""
        return holds() or any(holds() for _ in self.stream(within, silent=False))

    def expect(
        self,
        what: MessageKind[M] | type[M],
        *,
        where: Callable[[M], bool] | None = None,
        within: float | None = None,
        step: str = "",
    ) -> M:
        """The next message of that kind (and for which `where` holds). Before LIVE nothing may come in between."""
        wanted = kind(what)
        if within is None:
            within = self.silences.patience(self.unit, wanted.name)
        for seen in self.stream(within, silent=False):
            if wanted.matches(seen.message) and (where is None or where(seen.message)):
                self.silences.note(wanted.name, came=True)
                return seen.message
            if isinstance(seen.message, Close) or (self.their_open is None and not isinstance(seen.message, KeepAlive)):
                self.deviate(expected=wanted.name, got=self.text_of(seen), step=step)
        if self.ended is None:
            self.silences.note(wanted.name, came=False)
        self.deviate(expected=wanted.name, got=self.text_of(None), step=step)
        raise AssertionError("deviate raises")

    def ask(self, *what: Sendable, expect: MessageKind[M] | type[M], step: str = "") -> M:
        """Send, and the answer."""
        self.send(*what)
        return self.expect(expect, step=step)

    def expect_refusal(
        self, stage: str, *, reason: int | Sequence[int] | None = None, never: AnyKind | type[object] | None = None,
        by_close: bool = False, within: float | None = None,
    ) -> Refusal:  # fmt: skip
        """The target refuses, here and now: CLOSE (for one of these reasons), or the link's end (unless `by_close`).

        Silence, or any other message (`never` is the one that would be belief), deviates. An initiator may also wait for another
        answer where `never` is its next step: no page says when it gives up (session-establishment#overview binds the responder).
        """
        allowed = (reason,) if isinstance(reason, int) else reason
        for seen in self.stream(within):
            if isinstance(seen.message, Close):
                self.expect_reason(seen.message.reason, allowed, stage)
                return Refusal(seen.message.reason, self.end())
            if not isinstance(seen.message, KeepAlive):
                self.deviate(expected=refusals(allowed, by_close), got=self.text_of(seen, never), step=f"stage {stage}")
        may_wait = self.wire.side is Side.RESPONDER and never is not None and allowed is None
        may_wait |= self.shows_no_end  # a link that ends without CLOSE only falls silent
        if (self.ended is None and not may_wait) or by_close:
            self.deviate(expected=refusals(allowed, by_close), got=self.text_of(None), step=f"stage {stage}")
        return Refusal(None, self.end())

    def expect_reason(self, got: int, allowed: Sequence[int] | None, stage: str) -> None:
        """A CLOSE gives one of these reasons."""
        if allowed is not None and got not in allowed:
            self.deviate(expected=refusals(allowed, True), got=f"Close({reason_name(got)})", step=f"stage {stage}")

    def expect_end(self, within: float | None = None, step: str = "", *, silent: bool = True) -> Happened:
        """The link ends; what comes before does not matter.

        Not reached where it ends because we were silent for our lease, and on datagrams, which show no end.
        `silent`: whether we say nothing meanwhile; else the session is kept alive.
        """
        if self.shows_no_end and self.left and step.startswith(NOT_REACHED):
            return Happened.EOF  # nothing more can be seen of it
        if self.shows_no_end and self.left:
            self.deviate(expected=END, got=NO_END, step=f"{NOT_REACHED}: {step}")
        awaited = f"{END} after our CLOSE" if self.left else END
        patience = self.silences.patience(self.unit, awaited) if within is None else within
        for _ in self.stream(patience, silent=silent):
            pass
        if self.ended is not None and self.ended_for_our_silence(self.text_of(None)):
            self.deviate(expected=END, got=self.text_of(None), step=step)
        self.silences.note(awaited, came=self.ended is not None)
        if self.ended is None and self.shows_no_end:
            self.deviate(expected=END, got=NO_END, step=f"{NOT_REACHED}: {step}")
        if self.ended is None:
            self.deviate(expected=END, got="a link that stays open", step=step)
        assert self.ended is not None
        return self.ended

    def expect_expired(self) -> None:
        """The target has ended the session, by CLOSE or with its link. Deviates as not reached on datagrams, which show no end."""
        step = "after the lease"
        if self.shows_no_end and not self.is_over:
            self.deviate(expected="the session's end", got=NO_END, step=f"{NOT_REACHED}: {step}")
        self.require(self.is_over, expected="the session's end", got="a session that lives on", step=step)

    def end(self) -> str:
        """How the link ended so far: `close:<reason>`, `fin`, `rst`, `open`."""
        if self.closed is not None:
            return f"close:{self.closed}"
        return {None: "open", Happened.EOF: "fin", Happened.RESET: "rst"}.get(self.ended, "open")

    def text_of(self, seen: Seen | None, never: AnyKind | type[object] | None = None) -> str:
        """What came, for a cause: a message's name, the link's end, or silence."""
        if seen is not None:
            return f"undecodable bytes ({seen.message})" if seen.kind == "undecodable" else name_of(seen.message)
        return {Happened.EOF: "link shut", Happened.RESET: "link reset"}.get(self.ended or Happened.OPEN, SILENCE)

    @contextmanager
    def about(self, requirement: str) -> Iterator[None]:
        """What deviates meanwhile deviates from this requirement, and not from that of the whole check."""
        before, self.requirement = self.requirement, requirement
        try:
            yield
        finally:
            self.requirement = before

    def deviate(self, *, expected: str, got: str, step: str = "", why: str = "", is_work: bool = False) -> None:
        """The target deviated from the requirement: ends the case. Raises Deviation always."""
        if self.ended_for_our_silence(got):
            step = OVERSLEPT
        raise Deviation(
            Finding(
                requirement=self.requirement, sender=self.wire.side.other, connection=self.wire.name, time=self.wire.now(),
                path=step, expected=expected, got=got, why=why, end=self.end(), is_work=is_work,
            )
        )  # fmt: skip

    def ended_for_our_silence(self, got: str) -> bool:
        """Whether what came is the end of a live session in which we were silent for longer than our lease, and not on purpose."""
        expired = self.has_expired and got in ("link shut", "link reset", "Close(EXPIRED)")
        return expired or (self._is_kept_alive and self.overslept and got.startswith(("link ", "Close(")))

    @property
    def has_expired(self) -> bool:
        """Whether the session ended when we had said nothing for our lease, and not on purpose."""
        return self._is_kept_alive and self.ended is not None and self._left >= self.lease

    @property
    def _is_kept_alive(self) -> bool:
        # Before OPEN no lease runs, and a case that falls silent wants to see the end.
        return not self.mute and (self.fenced or self.their_open is not None)

    def require(self, holds: bool, *, expected: object, got: object, step: str = "", why: str = "") -> None:
        """Deviate unless it holds."""
        if not holds:
            self.deviate(expected=str(expected), got=str(got), step=step, why=why)

    @property
    def overslept(self) -> bool:
        """Whether we were silent for longer than our own lease, as on a busy machine: the target may end the session then."""
        # How long we have waited since is the target's to say.
        return self._pause >= self.lease

    # -- the sane handshake

    def open(self, **changes: Any) -> Dialogue:
        """The whole handshake, sanely; `changes` go into our INIT. Deviates at the step that the target does not take."""
        if self.wire.side is Side.INITIATOR:
            ack = reach(self, self.init_syn(**changes), InitAck, "init", odd=bool(changes))
            reach(self, self.open_syn(ack), OpenAck, "open", odd=bool(changes))
        else:
            syn = self.expect(InitSyn, step="not reached: init")
            self.ask(self.init_ack(syn, **changes), expect=OpenSyn, step="not reached: open")
            self.send(self.open_ack())
        return self

    def fence(self, *, step: str = "fence", within: float | None = None) -> list[Seen]:
        """Prove that everything sent before was dealt with, in the way that this node can be fenced (`fencing`).

        What came in the meantime, so that silence about something is shown and not waited for.
        """
        already = len(self.heard)
        self.fenced = True
        try:
            PASSES[self.fencing.how](self, f"zconform/fence/{self.zid.hex()}/{already}", within, step)
        except Deviation as deviation:
            raise Deviation(replace(deviation.finding, is_work=True)) from None
        return self.heard[already:]

    def answers_a_fence(self) -> bool:
        """Whether the session still does work."""
        try:
            self.fence()
        except Deviation:
            return False
        return True

    def expect_live(self, step: str = "the session works") -> None:
        """The session still does work."""
        self.fence(step=step)

    def works_or_is_over(self, *, step: str, expected: str = "a session that works, or its end") -> bool:
        """Whether the session still does work; False where the target has ended it, and silence deviates where an end shows."""
        try:
            self.fence(step=step)
        except Deviation as deviation:
            if not self.may_be_over:
                raise Deviation(replace(deviation.finding, expected=expected, got="silence")) from None
            return False
        return True

    def hang_up(self) -> None:
        """Shut the link, without CLOSE; on datagrams, where the target would wait until it gives up, CLOSE what was begun."""
        if self.shows_no_end and not self.is_over:
            self.leave()
        else:
            self.wire.shut()

    def beside(self, other: Dialogue) -> Dialogue:
        """Be one more link of another one's session: it counts on where that one stands."""
        self.initial_sn, self._next_sn, self._ids = other.initial_sn, other._next_sn, other._ids
        self.fences = other.fences
        return self
