"""Ask a target word by word, and let AALpy build an automaton from the answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

from aalpy.base import SUL
from aalpy.learning_algs import run_Lstar

from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.messages import Close, Fragment, Frame, Join, KeepAlive, Oam, Push, Put, sane
from zenoh_conformance.primitives import WhatAmI, ZenohID
from zenoh_conformance.reading.conversation import Happened
from zenoh_conformance.reading.kinds import name_of
from zenoh_conformance.reading.names import plain
from zenoh_conformance.tables.session import SessionInput
from zenoh_conformance.talking import Dialogue, Scene
from zenoh_conformance.wire import Enc
from zenoh_harness.links.timing import scaled
from zenoh_harness.probing.learning.automaton import END, GONE, SILENCE, WORKS, Mealy, shortest_words

QUIET: Final = 0.25
"""Seconds, before scaling, after which silence is the answer; used only before a session is open."""

UNHEARD: Final = Push(key=plain("zconform/unheard"), body=Put(payload=b"x"))
"""What a FRAME holds, since it holds one message or more: a publication for nobody."""


def _open_syn(us: Dialogue) -> Any:
    if us.theirs is not None and us.theirs.cookie:
        return us.open_syn(us.theirs)
    return sane.open_syn(us.init_ack(us.init_syn()))


def _join(us: Dialogue) -> Any:
    return Join(
        version=sane.VERSION,
        whatami=WhatAmI(sane.PEER),
        zid=ZenohID(us.zid),
        lease_in_seconds=True,
        lease=10,
        next_sn_reliable=0,
        next_sn_best_effort=0,
    )


SAID: Mapping[str, tuple[SessionInput, Callable[[Dialogue], Any]]] = {
    "InitSyn": (SessionInput.INIT_SYN, lambda us: us.init_syn()),
    "OpenSyn": (SessionInput.OPEN_SYN, _open_syn),
    "OpenSyn, stale": (SessionInput.UNACCEPTABLE, lambda us: sane.open_syn(us.init_ack(us.init_syn()))),
    "InitAck": (SessionInput.INIT_ACK, lambda us: us.init_ack(us.init_syn())),
    "OpenAck": (SessionInput.OPEN_ACK, lambda us: us.open_ack()),
    "KeepAlive": (SessionInput.KEEP_ALIVE, lambda us: KeepAlive()),
    "Frame": (SessionInput.FRAME, lambda us: us.frame(UNHEARD) if us.their_open else Frame(sn=0, messages=(UNHEARD,))),
    "Fragment": (
        SessionInput.FRAGMENT,
        lambda us: Fragment(more=True, sn=us.next_sn() if us.their_open else 0, payload=b"x"),
    ),
    "Oam": (SessionInput.OAM, lambda us: Oam(id=0x3FFF, enc=Enc.UNIT)),
    "Join": (SessionInput.JOIN, _join),
    "Close": (SessionInput.CLOSE, lambda us: sane.close()),
    "garbage": (SessionInput.GARBAGE, lambda us: b"\xff\xff\xff"),
}
"""The alphabet: each symbol with its meaning in the table and the message that we send."""

MEANING: Mapping[str, SessionInput] = {symbol: seen for symbol, (seen, _) in SAID.items()}


T = TypeVar("T")


class WordSystem(SUL, Generic[T]):  # type: ignore[misc]
    """A target as AALpy's system under learning: each word gets a new subject, which performs its symbols."""

    def __init__(self, start: Callable[[], T], step: Callable[[T, str], str], stop: Callable[[T], None]) -> None:
        super().__init__()
        self._start, self._step, self._stop = start, step, stop

    def pre(self) -> None:
        """Start a word."""
        self._subject = self._start()

    def post(self) -> None:
        """End the word."""
        self._stop(self._subject)

    def step(self, letter: str) -> str:
        """Perform a symbol and return the output."""
        return self._step(self._subject, letter)


def say(us: Dialogue, symbol: str) -> str:
    """Send the message of a symbol on a link, and name what comes back."""
    if us.is_over:
        return GONE
    live, heard = us.their_open is not None, len(us.heard)
    us.send(SAID[symbol][1](us))
    if live and SAID[symbol][0] is not SessionInput.CLOSE:  # what follows a CLOSE may be heard or not
        return _output_after_fence(us, heard)
    for seen in us.stream(
        us.unit if live or SAID[symbol][0] in (SessionInput.INIT_SYN, SessionInput.OPEN_SYN) else scaled(QUIET)
    ):
        if isinstance(seen.message, Close) or not (live or isinstance(seen.message, KeepAlive)):
            return name_of(seen.message)
    return link_state(us)


def link_state(us: Dialogue) -> str:
    """Return END for a link that has ended, else SILENCE."""
    ended: Happened | None = us.ended
    return SILENCE if ended is None else END


def _output_after_fence(us: Dialogue, heard: int) -> str:
    """Fence a live session and return its output: a handshake message, its end, or WORKS."""
    try:
        us.fence()
    except Deviation:
        return name_of(Close(reason=us.closed)) if us.closed is not None else link_state(us)
    steps = [seen for seen in us.heard[heard:] if seen.kind in ("init", "open")]
    return name_of(steps[0].message) if steps else WORKS


def learn(stage: Callable[[], Scene], symbols: Sequence[str] = tuple(SAID)) -> tuple[Mealy, int]:
    """Return the automaton of a target's handshake, and the number of words asked."""
    return learn_system(WordSystem(lambda: stage().dialogue(), say, lambda us: us.hang_up()), symbols)


def learn_system(asked: Any, symbols: Sequence[str]) -> tuple[Mealy, int]:
    """Return the automaton of a system under learning, and the number of words asked."""
    oracle: Any = _Shallow(list(symbols), asked)
    found: Any = run_Lstar(list(symbols), asked, oracle, automaton_type="mealy", print_level=0)
    return from_aalpy(found, tuple(symbols)), asked.num_queries


def from_aalpy(found: Any, symbols: tuple[str, ...]) -> Mealy:
    """Convert AALpy's machine; states are numbered by their shortest words."""
    words = shortest_words(
        found.initial_state, lambda state: [(symbol, state.transitions[symbol]) for symbol in symbols]
    )
    number = {state: place for place, (_, state) in enumerate(words)}
    steps = {
        (place, symbol): (state.output_fun[symbol], number[state.transitions[symbol]])
        for state, place in number.items()
        for symbol in symbols
    }
    return Mealy(symbols, steps)


class _Shallow:
    """An equivalence oracle for AALpy: after the shortest word of each state it tries every pair of symbols."""

    def __init__(self, symbols: list[str], asked: Any) -> None:
        self.symbols, self.asked = symbols, asked
        self.num_queries = self.num_steps = 0

    def find_cex(self, hypothesis: Any) -> tuple[str, ...] | None:
        """Return a word on which the hypothesis is wrong, or None."""
        machine = from_aalpy(hypothesis, tuple(self.symbols))
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
    """Return the outputs of a machine for a word."""
    answered, here = [], 0
    for symbol in word:
        output, here = machine.steps[here, symbol]
        answered.append(output)
    return answered
