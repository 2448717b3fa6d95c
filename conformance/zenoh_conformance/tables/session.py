"""The establishment of a unicast session, as tables: state and input to the next state.

The tables hold for both sides, whichever we play, and list states without exits too. The comment below them names the
rules that do not fit a table. Pages: session-establishment, close.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class State(Enum):
    """The state of one side of a unicast link."""

    AWAIT_INIT = "await-init"
    """Responder: the link is up, nothing was received."""
    INIT_ACKED = "init-acked"
    """Responder: InitAck with a cookie was sent."""
    INIT_SENT = "init-sent"
    """Initiator: InitSyn was sent."""
    OPEN_SENT = "open-sent"
    """Initiator: OpenSyn with the cookie was sent."""
    LIVE = "live"
    CLOSED = "closed"


class SessionInput(Enum):
    """What a side receives: a correct message, by its kind, or something else."""

    INIT_SYN = "InitSyn"
    INIT_ACK = "InitAck"
    OPEN_SYN = "OpenSyn"
    OPEN_ACK = "OpenAck"
    CLOSE = "Close"
    KEEP_ALIVE = "KeepAlive"
    FRAME = "Frame"
    FRAGMENT = "Fragment"
    OAM = "Oam"
    JOIN = "Join"
    UNACCEPTABLE = "unacceptable"
    """The expected message with content that must be refused: a wrong version, a stale cookie, ..."""
    GARBAGE = "garbage"
    """Bytes that decode to nothing."""
    LINK_END = "link-end"


Table = Mapping[State, Mapping[SessionInput, State]]

_ENDS = {SessionInput.CLOSE: State.CLOSED, SessionInput.LINK_END: State.CLOSED}
_LIVE = {
    SessionInput.FRAME: State.LIVE,
    SessionInput.FRAGMENT: State.LIVE,
    SessionInput.KEEP_ALIVE: State.LIVE,
    SessionInput.OAM: State.LIVE,
}

RESPONDER: Table = {
    State.AWAIT_INIT: {SessionInput.INIT_SYN: State.INIT_ACKED} | _ENDS,
    State.INIT_ACKED: {SessionInput.OPEN_SYN: State.LIVE} | _ENDS,
    State.LIVE: _LIVE | _ENDS,
    State.CLOSED: {},
}

INITIATOR: Table = {
    State.INIT_SENT: {SessionInput.INIT_ACK: State.OPEN_SENT} | _ENDS,
    State.OPEN_SENT: {SessionInput.OPEN_ACK: State.LIVE} | _ENDS,
    State.LIVE: _LIVE | _ENDS,
    State.CLOSED: {},
}

ANSWERS: Mapping[tuple[State, SessionInput], SessionInput] = {
    (State.AWAIT_INIT, SessionInput.INIT_SYN): SessionInput.INIT_ACK,
    (State.INIT_ACKED, SessionInput.OPEN_SYN): SessionInput.OPEN_ACK,
    (State.INIT_SENT, SessionInput.INIT_ACK): SessionInput.OPEN_SYN,
}
"""The answer that each step requires; a step that is not listed needs none."""

START: Mapping[str, State] = {"responder": State.AWAIT_INIT, "initiator": State.INIT_SENT}

# Outside the tables: an input that a state does not list ends the session; before LIVE the side answers it with CLOSE instead
# of the next handshake message (session-establishment#overview). A responder keeps no state that the cookie of another link
# could satisfy: the cookie binds OPEN to its INIT. In LIVE, an expired lease closes the session too (keep-alive). JOIN belongs
# to multicast and is never part of a unicast session.


def step(table: Table, state: State, seen: SessionInput) -> State:
    """The next state; CLOSED for an input that the state does not list."""
    return table[state].get(seen, State.CLOSED)


def path_to(table: Table, start: State, goal: State) -> tuple[SessionInput, ...]:
    """The shortest sequence of legal inputs from start to goal. Raises KeyError when there is none."""
    paths: dict[State, tuple[SessionInput, ...]] = {start: ()}
    queue = [start]
    while queue:
        here = queue.pop(0)
        for seen, there in table[here].items():
            if there not in paths:
                paths[there] = (*paths[here], seen)
                queue.append(there)
    return paths[goal]
