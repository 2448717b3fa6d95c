"""Asks a target word by word what it says, and lets AALpy make an automaton of the answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from aalpy.base import SUL
from aalpy.learning_algs import run_Lstar

from zenoh_conformance import sane
from zenoh_conformance.conversation import Happened
from zenoh_conformance.dialogue import Dialogue
from zenoh_conformance.finding import Deviation
from zenoh_conformance.kinds import name_of
from zenoh_conformance.messages import Close, Fragment, Frame, Join, KeepAlive, Oam
from zenoh_conformance.primitives import WhatAmI, ZenohID
from zenoh_conformance.scene import Scene
from zenoh_conformance.session import Seen
from zenoh_conformance.wire.layer import Enc
from zenoh_harness.links.timing import scaled
from zenoh_harness.probing.learning.automaton import END, GONE, SILENCE, WORKS, Mealy

QUIET: Final = 0.25
"""Seconds, before scaling, after which nothing is taken for silence; only asked of a link that is no session."""


def _open_syn(us: Dialogue) -> Any:
    if us.theirs is not None and us.theirs.cookie:
        return us.open_syn(us.theirs)
    return sane.open_syn(us.init_ack(us.init_syn()))


def _join(us: Dialogue) -> Any:
    return Join(
        version=sane.VERSION, whatami=WhatAmI(sane.PEER), zid=ZenohID(us.zid), lease_in_seconds=True, lease=10,
        next_sn_reliable=0, next_sn_best_effort=0,
    )  # fmt: skip


SAID: Mapping[str, tuple[Seen, Callable[[Dialogue], Any]]] = {
    "InitSyn": (Seen.INIT_SYN, lambda us: us.init_syn()),
    "OpenSyn": (Seen.OPEN_SYN, _open_syn),
    "OpenSyn, stale": (Seen.UNACCEPTABLE, lambda us: sane.open_syn(us.init_ack(us.init_syn()))),
    "InitAck": (Seen.INIT_ACK, lambda us: us.init_ack(us.init_syn())),
    "OpenAck": (Seen.OPEN_ACK, lambda us: us.open_ack()),
    "KeepAlive": (Seen.KEEP_ALIVE, lambda us: KeepAlive()),
    "Frame": (Seen.FRAME, lambda us: us.frame() if us.their_open is not None else Frame(sn=0, messages=())),
    "Fragment": (Seen.FRAGMENT, lambda us: Fragment(more=True, sn=us.next_sn() if us.their_open else 0, payload=b"x")),
    "Oam": (Seen.OAM, lambda us: Oam(id=0x3FFF, enc=Enc.UNIT)),
    "Join": (Seen.JOIN, _join),
    "Close": (Seen.CLOSE, lambda us: sane.close()),
    "garbage": (Seen.GARBAGE, lambda us: b"\xff\xff\xff"),
}
"""The alphabet: what we say, and what it is in the table."""

MEANING: Mapping[str, Seen] = {symbol: seen for symbol, (seen, _) in SAID.items()}


class Asked(SUL):  # type: ignore[misc]
    """A target as AALpy sees it: words in, outputs out, a new link for each word."""

    def __init__(self, stage: Callable[[], Scene]) -> None:
        super().__init__()
        self._stage = stage
        self._us: Dialogue | None = None

    def pre(self) -> None:
        """A new link."""
        self._us = self._stage().dialogue()

    def post(self) -> None:
        """Let go of it."""
        if self._us is not None:
            self._us.wire.shut()

    def step(self, letter: str) -> str:
        """Say something, and what comes of it."""
        assert self._us is not None
        return said(self._us, letter)


def said(us: Dialogue, symbol: str) -> str:
    """Say one thing on a link, and name what comes of it."""
    if us.is_over:
        return GONE
    live, heard = us.their_open is not None, len(us.heard)
    us.send(SAID[symbol][1](us))
    if live and SAID[symbol][0] is not Seen.CLOSE:  # what follows a CLOSE may be heard or not
        return _fenced(us, heard)
    for seen in us.stream(us.unit if live or SAID[symbol][0] in (Seen.INIT_SYN, Seen.OPEN_SYN) else scaled(QUIET)):
        if isinstance(seen.message, Close) or not (live or isinstance(seen.message, KeepAlive)):
            return name_of(seen.message)
    return how_it_ended(us)


def how_it_ended(us: Dialogue) -> str:
    """The link's end, or nothing."""
    over: Happened | None = us.ended
    return SILENCE if over is None else END


def _fenced(us: Dialogue, heard: int) -> str:
    """What a live session made of it: a step of a handshake, its end, or work as before."""
    try:
        us.fence()
    except Deviation:
        if us.closed is not None:
            return name_of(Close(reason=us.closed))
        return how_it_ended(us)
    steps = [seen for seen in us.heard[heard:] if seen.kind in ("init", "open")]
    return name_of(steps[0].message) if steps else WORKS


def learn(stage: Callable[[], Scene], symbols: Sequence[str] = tuple(SAID)) -> tuple[Mealy, int]:
    """The automaton of a target's handshake, and how many words it was asked."""
    return learn_of(Asked(stage), symbols)


def learn_of(asked: Any, symbols: Sequence[str]) -> tuple[Mealy, int]:
    """The automaton of what AALpy asks, and how many words it was asked."""
    oracle: Any = _Shallow(list(symbols), asked)
    found: Any = run_Lstar(list(symbols), asked, oracle, automaton_type="mealy", print_level=0)
    return of_aalpy(found, tuple(symbols)), asked.num_queries


def of_aalpy(found: Any, symbols: tuple[str, ...]) -> Mealy:
    """AALpy's machine as ours: states numbered by the shortest word that leads to them."""
    number = {found.initial_state: 0}
    queue = [found.initial_state]
    steps: dict[tuple[int, str], tuple[str, int]] = {}
    while queue:
        state = queue.pop(0)
        for symbol in symbols:
            there = state.transitions[symbol]
            if there not in number:
                number[there] = len(number)
                queue.append(there)
            steps[number[state], symbol] = (state.output_fun[symbol], number[there])
    return Mealy(symbols, steps)


class _Shallow:
    """Looks for a counterexample: after each state's shortest word, every two symbols."""

    def __init__(self, symbols: list[str], asked: Any) -> None:
        self.symbols, self.asked = symbols, asked
        self.num_queries = self.num_steps = 0

    def find_cex(self, hypothesis: Any) -> tuple[str, ...] | None:
        """A word that the hypothesis gets wrong."""
        machine = of_aalpy(hypothesis, tuple(self.symbols))
        for state, word in machine.access().items():
            if state in machine.sinks and state != 0:
                continue
            for first in self.symbols:
                if machine.steps[state, first][1] in machine.sinks:
                    continue
                for second in self.symbols:
                    tried = (*word, first, second)
                    self.num_queries += 1
                    if list(self.asked.query(tried)) != outputs(machine, tried):
                        return tried
        return None


def outputs(machine: Mealy, word: Sequence[str]) -> list[str]:
    """What a machine says to a word."""
    said_so_far, here = [], 0
    for symbol in word:
        output, here = machine.steps[here, symbol]
        said_so_far.append(output)
    return said_so_far
