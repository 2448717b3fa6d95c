"""The reference node: takes bytes and times, returns bytes and ends of links; contains the steps of the handshake.

The checks of the handshake are in `responder`, `initiator` and `terms`, live sessions in `traffic`, routing in `router`.
Faulty nodes replace one hook. Every hook is a small method that answers one question about the protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from zenoh_conformance.messages import Close, Init, KeepAlive, Open
from zenoh_conformance.reading.connection import ConnectionDecoder, Seen
from zenoh_conformance.reading.conversation import Connection, Event, Framing, Happened, Side
from zenoh_conformance.reading.kinds import AnyKind, InitAck, InitSyn, OpenAck, OpenSyn
from zenoh_conformance.tables.session import INITIATOR, RESPONDER, SessionInput, State

from .application import Application
from .config import INVALID, Action, Config, Refused, need
from .groups import Grouped
from .habits import Habits
from .initiator import Initiator
from .link import Link
from .responder import Responder


class Reference(Responder, Initiator, Grouped):
    """One node with any number of links. It is single-threaded and has no clock: each call gets the time in seconds."""

    habits: ClassVar[Habits] = Habits()
    settings: ClassVar[Mapping[str, Any]] = {}
    """Fields of the configuration that differ from those of the reference node."""
    lacks: ClassVar[frozenset[str]] = frozenset()
    """Capabilities of the reference node that this node lacks."""
    facts: ClassVar[Mapping[str, Any]] = {}
    """Facts about the node for cases."""
    state: ClassVar[Mapping[str, Callable[[], Any]]] = {}
    """Attributes with the state of a replaced hook: name to a function that returns the initial value."""

    def __init__(self, config: Config | None = None) -> None:
        super().__init__()
        self.config = config or Config()
        self.actions: list[Action] = []
        self.now = 0.0
        self._application: Application | None = None
        for name, make in self.state.items():
            setattr(self, name, make())

    application_class = Application
    """The class of the application in the node."""

    @property
    def application(self) -> Application:
        """The application in this node, which is created at the first access."""
        if self._application is None:
            self._application = self.application_class(self)
        return self._application

    # -- interface to the links

    def connected(self, name: str, side: Side, now: float, framing: Framing = Framing.STREAM) -> list[Action]:
        """Handle a new link; an initiator sends its InitSyn."""
        self.now = now
        state = State.AWAIT_INIT if side is Side.RESPONDER else State.INIT_SENT
        link = Link(
            name, side, ConnectionDecoder(Connection(name, framing=framing)), now, state, last_heard=now, last_said=now
        )
        self.links[name] = link
        if side is Side.INITIATOR:
            link.mine = self.propose(link)
            self.send(link, link.mine)
        return self.drain()

    def received(self, name: str, data: bytes, now: float) -> list[Action]:
        """Handle bytes that were received on a link."""
        self.now = now
        link = self.links.get(name)
        if link is not None:
            link.last_heard = now
            self._feed(link, Event(now, name, link.side.other, Happened.BYTES, data))
        return self.drain()

    def disconnected(self, name: str, now: float) -> list[Action]:
        """Handle the end of a link by the far side."""
        self.now = now
        if name in self.links:
            self.drop(self.links[name])
        return self.drain()

    def tick(self, now: float) -> list[Action]:
        """Do what is due by time: keep-alives, leases, and the timeouts of handshakes and queries."""
        self.now = now
        for link in list(self.links.values()):
            if link.inside is None:
                self.on_time(link)
        self.expire_queries()
        return self.drain()

    # -- steps

    def _feed(self, link: Link, event: Event) -> None:
        for seen in self.read(link, event):
            if link.state is State.CLOSED:
                return
            try:
                if seen.kind == "undecodable":
                    self.on_undecodable(link, seen)
                elif seen.kind == "batch":
                    self.on_batch(link, seen.message)
                elif not seen.around:
                    self.on_message(link, seen)
            except Refused as refused:
                self.refuse(link, refused.reason)
                return

    def on_batch(self, link: Link, batch: bytes) -> None:
        """Check a batch. Raises Refused for an empty one in the handshake, and one above the negotiated size."""
        need(batch or link.live, INVALID, "empty batch")
        need(not link.live or len(batch) <= link.terms.batch_size, INVALID, "batch larger than negotiated")

    def on_undecodable(self, link: Link, seen: Seen) -> None:
        """Refuse bytes that are not a message; this ends the handshake or the session. Raises Refused."""
        raise Refused(INVALID, str(seen.message))

    def on_message(self, link: Link, seen: Seen) -> None:
        """Handle one transport message: a step of the handshake, traffic of the session, or CLOSE. Raises Refused."""
        message = seen.message
        if isinstance(message, Close):
            self.on_close(link, message)
        elif link.live:
            if link.terms.lowlatency and not isinstance(message, KeepAlive | Open | Init):
                self.route(link, message)
            else:
                self.on_session(link, message)
        elif self.is_due(link, message):
            self.handshake(link, message)
        else:
            raise Refused(INVALID, "not the message that is due")

    def is_due(self, link: Link, message: object) -> bool:
        """Return whether the state machine of the session permits this message now (`tables/session`)."""
        table = RESPONDER if link.side is Side.RESPONDER else INITIATOR
        kinds: dict[AnyKind, SessionInput] = {
            InitSyn: SessionInput.INIT_SYN,
            InitAck: SessionInput.INIT_ACK,
            OpenSyn: SessionInput.OPEN_SYN,
            OpenAck: SessionInput.OPEN_ACK,
        }
        return any(kind.matches(message) and step in table[link.state] for kind, step in kinds.items())

    def handshake(self, link: Link, message: Any) -> None:
        """Handle a handshake message: check it, answer it, and go to the next state. Raises Refused."""
        if InitSyn.matches(message):
            self.check_init(link, message)
            link.theirs = message
            link.terms = self.settle(message)
            link.mine = self.answer_init(link, message)
            link.state = State.INIT_ACKED
            self.send(link, link.mine)
        elif OpenSyn.matches(message):
            self.check_open(link, message)
            self.go_live(link, message, self.answer_open(link))
        elif InitAck.matches(message):
            self.check_init_ack(link, message)
            link.theirs = message
            link.terms = self.settle_ack(link, message)
            link.my_open = self.confirm(link, message)
            link.state = State.OPEN_SENT
            self.send(link, link.my_open)
        else:
            self.check_open_ack(link, message)
            self.go_live(link, message, None)

    def go_live(self, link: Link, theirs: Open, answer: Open | None) -> None:
        """Make the session live, after sending the answer if there is one; a further link joins its session."""
        link.their_open = theirs
        if answer is not None:
            link.my_open = answer
            self.send(link, answer)
        earlier = self.earlier_link(link)
        if earlier is not None:
            link.join(earlier)
        link.state = State.LIVE
        self.on_live(link)
