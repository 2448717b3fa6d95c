"""The establishment of a unicast session, as tables: state x what is seen -> state.

Everything about states lives here; this file does not know which side we play. States without exits are written out.
What does not fit a table is told under it. Pages: session-establishment, close.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class State(Enum):
    """Where one side of a unicast link stands."""

    AWAIT_INIT = "await-init"
    """Responder: the link is up, nothing was said."""
    INIT_ACKED = "init-acked"
    """Responder: InitAck with a cookie is out."""
    INIT_SENT = "init-sent"
    """Initiator: InitSyn is out."""
    OPEN_SENT = "open-sent"
    """Initiator: OpenSyn with the cookie is out."""
    LIVE = "live"
    CLOSED = "closed"


class Seen(Enum):
    """What a side receives: a message that is right here and now, or something else."""

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
    """The message that is due, with a content that must be refused: a wrong version, a stale cookie, ..."""
    GARBAGE = "garbage"
    """Bytes that decode to nothing."""
    LINK_END = "link-end"


Table = Mapping[State, Mapping[Seen, State]]

RESPONDER: Table = {
    State.AWAIT_INIT: {Seen.INIT_SYN: State.INIT_ACKED, Seen.CLOSE: State.CLOSED, Seen.LINK_END: State.CLOSED},
    State.INIT_ACKED: {Seen.OPEN_SYN: State.LIVE,       Seen.CLOSE: State.CLOSED, Seen.LINK_END: State.CLOSED},
    State.LIVE:       {Seen.FRAME: State.LIVE, Seen.FRAGMENT: State.LIVE, Seen.KEEP_ALIVE: State.LIVE, Seen.OAM: State.LIVE,
                       Seen.CLOSE: State.CLOSED, Seen.LINK_END: State.CLOSED},
    State.CLOSED:     {},
}  # fmt: skip

INITIATOR: Table = {
    State.INIT_SENT: {Seen.INIT_ACK: State.OPEN_SENT, Seen.CLOSE: State.CLOSED, Seen.LINK_END: State.CLOSED},
    State.OPEN_SENT: {Seen.OPEN_ACK: State.LIVE,      Seen.CLOSE: State.CLOSED, Seen.LINK_END: State.CLOSED},
    State.LIVE:      RESPONDER[State.LIVE],
    State.CLOSED:    {},
}  # fmt: skip

ANSWERS: Mapping[tuple[State, Seen], Seen] = {
    (State.AWAIT_INIT, Seen.INIT_SYN): Seen.INIT_ACK,
    (State.INIT_ACKED, Seen.OPEN_SYN): Seen.OPEN_ACK,
    (State.INIT_SENT, Seen.INIT_ACK): Seen.OPEN_SYN,
}
"""What must be sent when a step is taken; a step that is not here needs no answer."""

START: Mapping[str, State] = {"responder": State.AWAIT_INIT, "initiator": State.INIT_SENT}

# Outside the tables: whatever a state does not list ends the session, and before LIVE it is answered by CLOSE in place of the
# next handshake message (session-establishment#overview). A responder keeps no state that another link's cookie could satisfy:
# the cookie binds OPEN to its INIT. In LIVE a lease that runs out closes too (keep-alive). Transport messages of a session are
# JOIN-free: JOIN belongs to multicast.


def step(table: Table, state: State, seen: Seen) -> State:
    """The next state; CLOSED for what the state does not list."""
    return table[state].get(seen, State.CLOSED)


def path_to(table: Table, start: State, goal: State) -> tuple[Seen, ...]:
    """The shortest run of legal steps from start to goal. Raises KeyError when there is none."""
    paths: dict[State, tuple[Seen, ...]] = {start: ()}
    queue = [start]
    while queue:
        here = queue.pop(0)
        for seen, there in table[here].items():
            if there not in paths:
                paths[there] = (*paths[here], seen)
                queue.append(there)
    return paths[goal]


def drawn(table: Table) -> str:
    """The table as a Mermaid state diagram, for the documentation."""
    lines = ["stateDiagram-v2"]
    for state, exits in table.items():
        lines += [f"    {state.value} --> {there.value}: {seen.value}" for seen, there in exits.items()]
    return "\n".join(lines)
