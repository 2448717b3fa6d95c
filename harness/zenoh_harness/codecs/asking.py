"""Send a stream of requests to a codec process, and decide which request caused a crash, a hang or a wrong answer."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Protocol

from zenoh_harness.codecs.codec import Answer, AnswerKind, Request, answer_of
from zenoh_harness.codecs.pipes import Ended, Endless

_FITTING: Final[Mapping[str, AnswerKind]] = {
    "decode": AnswerKind.DECODED, "encode": AnswerKind.ENCODED, "relate": AnswerKind.RELATED,
}  # fmt: skip
_ALWAYS: Final = frozenset({AnswerKind.REFUSED, AnswerKind.UNIMPLEMENTED, AnswerKind.CRASH})


class CodecProcess(Protocol):
    """The interface of a codec process that this module needs."""

    window: int
    """The most requests without an answer at a time."""
    patience: float
    """The seconds within which the oldest request must be answered."""

    @property
    def last_seq(self) -> int:
        """The sequence number of the latest request."""

    @property
    def gone(self) -> bool:
        """Whether the process has ended and cannot, or may not, be started again."""

    def post(self, request: Request) -> int:
        """Send a request and return its sequence number."""

    def receive(self, oldest: int) -> dict[str, Any] | None:
        """Return the next answer; skip those to requests before `oldest`; None if none comes in time.

        Raises ValueError for a line that is not a JSON object, Ended if the process ends, Endless for a line without end.
        """

    def restart(self) -> str:
        """End the process and start another one, if this is permitted; return the last output of the old one."""


class Asking:
    """One stream of requests: yields one answer for each, in order.

    A request that the codec does not answer correctly gets an answer of kind CRASH, HANG, GARBAGE or DISORDER.
    """

    def __init__(self, codec: CodecProcess, requests: Iterable[Request]) -> None:
        self.codec = codec
        self.todo = enumerate(requests)
        self.again: deque[tuple[int, Request]] = deque()
        """Requests without an answer when the codec ended; each is sent alone, to find the one that ends it."""
        self.waiting: deque[tuple[int, int, Request]] = deque()
        """Sequence number, index and request of those without an answer, oldest first."""
        self.answers: dict[int, Answer] = {}
        self.first = codec.last_seq + 1
        self.charged: set[int] = set()
        """Sequence numbers of requests that got an answer of ours; a later answer of the codec is dropped."""

    def run(self) -> Iterator[Answer]:
        due = 0
        while True:
            self._post()
            if self.waiting:
                self._step()
            elif due not in self.answers:
                return
            while due in self.answers:
                yield self.answers.pop(due)
                due += 1

    def _post(self) -> None:
        window = 1 if self.again else self.codec.window
        while len(self.waiting) < window:
            index, request = self.again.popleft() if self.again else next(self.todo, (-1, None))
            if request is None:
                return
            if self.codec.gone:
                self.answers[index] = Answer(kind=AnswerKind.UNASKED, why="it was started again too often")
                return
            self.waiting.append((self.codec.post(request), index, request))

    def _step(self) -> None:
        try:
            line = self.codec.receive(self.first)
        except ValueError as why:
            self._charge(AnswerKind.GARBAGE, str(why))
        except Endless:
            self._charge(AnswerKind.GARBAGE, "a line without end")
            self._begin_again()
        except Ended:
            self._handle_end()
        else:
            if line is None:
                self._charge(AnswerKind.HANG, f"no answer in {self.codec.patience:g} s")
                self._begin_again()
            else:
                self._settle(line)

    def _settle(self, line: Mapping[str, Any]) -> None:
        seq = line.get("seq")
        place = next((n for n, (waiting, _, _) in enumerate(self.waiting) if waiting == seq), None)
        if place is None:
            if seq not in self.charged:
                self._charge(AnswerKind.GARBAGE, f"an answer to nothing that waits: {short(line)}")
            return
        _, index, request = self.waiting[place]
        if place:
            del self.waiting[place]
            self.answers[index] = Answer(kind=AnswerKind.DISORDER, why=f"{place} older requests still waited")
            return
        if fault := _fault(line, request):
            self._charge(AnswerKind.GARBAGE, f"{fault}: {short(line)}")
            return
        self.waiting.popleft()
        self.answers[index] = answer_of(line)

    def _charge(self, kind: AnswerKind, why: str) -> None:
        seq, index, _ = self.waiting.popleft()
        self.charged.add(seq)
        self.answers[index] = Answer(kind=kind, why=why)

    def _handle_end(self) -> None:
        """Handle the end of the process: a request that waited alone caused it; of several, send each again alone."""
        alone = len(self.waiting) == 1
        index = self.waiting[0][1]
        said = self._begin_again(alone=alone)
        if alone:
            self.answers[index] = Answer(kind=AnswerKind.CRASH, why=f"the process ended: {said}")

    def _begin_again(self, *, alone: bool = False) -> str:
        """Start the codec again, and send the waiting requests again unless it was one `alone`; return the last output."""
        if not alone:
            self.again.extendleft((index, request) for _, index, request in reversed(self.waiting))
        self.waiting.clear()
        return self.codec.restart()


def _fault(line: Mapping[str, Any], request: Request) -> str:
    """Return why a line does not answer a request; empty if it does."""
    try:
        kind = answer_of(line).kind
    except ValueError as why:
        return str(why)
    return "" if kind in _ALWAYS or kind is _FITTING[request.command] else f"no answer to {request.command}"


def short(line: Mapping[str, Any]) -> str:
    """Return the first 160 characters of a line, for a cause."""
    return json.dumps(line)[:160]
