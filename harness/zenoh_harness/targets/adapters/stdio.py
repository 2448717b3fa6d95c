"""`stdio:COMMAND`: a codec behind the stdio codec protocol, one JSON object a line (`files/schemas/codec-*.json`).

Whatever it does wrong costs it the verdict of one request, and the others go on: garbage, a hang, its end, answers
out of order.  It is started again a bounded number of times.
"""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Self

from zenoh_harness.codecs.asking import Asking, short
from zenoh_harness.codecs.codec import Answer, Request
from zenoh_harness.codecs.compact import pieces, records, request_bytes
from zenoh_harness.codecs.pipes import Ended, Endless, Wire
from zenoh_harness.codecs.schemas import checker
from zenoh_harness.errors import CannotStart, TargetError, UsageError
from zenoh_harness.identity import Identity
from zenoh_harness.links.timing import Deadline
from zenoh_harness.targets.reach import Reach

VERSION: Final = 1
"""Of the protocol."""

MADE_UP: Final = "levitate"
"""A capability that no codec has: whoever claims it claims anything."""

PATIENCE: Final = 10.0
"""Seconds that the oldest request may wait."""

RESTARTS: Final = 20
"""How often one codec is started again."""

WINDOW: Final = 64
"""Requests under way."""


def open_codec(reach: Reach, *, validate: bool = False) -> StdioCodec:
    """The adapter's door: the codec, started; `validate` as `StdioCodec` has it."""
    try:
        command = shlex.split(reach.rest)
    except ValueError as why:
        raise UsageError(f"cannot read the command {reach.rest!r}", step="target string", seen=str(why)) from why
    return StdioCodec(command, name=reach.options.get("name", ""), validate=validate)


class StdioCodec:
    """A codec process; a `zenoh_harness.codecs.codec.Codec`."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        name: str = "",
        patience: float = PATIENCE,
        restarts: int = RESTARTS,
        window: int = WINDOW,
        validate: bool = False,
    ) -> None:
        """Start it, ask who it is and probe its honesty; CannotStart or TargetError when it cannot be had.

        `validate` holds every request and answer against the JSON schemas (`-V`).
        """
        self.command = tuple(command)
        self.restarts_left = restarts
        self.patience, self.window = patience, window
        self._validate = checker() if validate else None
        self._seq = 0
        self._wire = Wire(self.command)
        try:
            self._greet(name)
            self._probe()
        except BaseException:
            self.close()
            raise

    # --- who it is ---------------------------------------------------------------------------------------------------

    def _greet(self, name: str = "") -> None:
        answer = self._answer({"cmd": "start", "version": VERSION}, "start")
        identity = answer.get("identity")
        if answer.get("ok") is not True or not isinstance(identity, dict):
            raise CannotStart("the codec does not introduce itself", step="codec start", seen=short(answer))
        self.identity = Identity(
            name=name or str(identity.get("name", self.command[0])), version=str(identity.get("version", "")),
            kind="stdio", language=str(identity.get("language", "")),
        )  # fmt: skip
        self.layers = frozenset(map(str, answer.get("layers", ())))
        self.capabilities = frozenset(map(str, answer.get("capabilities", ())))

    def _probe(self) -> None:
        if self.has(MADE_UP):
            raise TargetError(
                f"the codec claims {MADE_UP!r}, a capability that does not exist", step="honesty",
                seen="its other claims are worth as much",
                hint='to a name that it does not know it must answer {"ok": false, "unimplemented": true}',
            )  # fmt: skip

    def has(self, capability: str) -> bool:
        """Whether it says that it has a capability.  TargetError when it does not answer."""
        return self._answer({"cmd": "capability", "name": capability}, "capability").get("ok") is True

    def _answer(self, command: Mapping[str, Any], step: str) -> dict[str, Any]:
        """One answer outside the stream of requests."""
        self._send(command)
        try:
            answer = self._fresh(self._seq + 1, Deadline.after(self.patience))
            if answer is None:
                raise CannotStart("the codec does not answer in time", step=f"codec {step}",
                                  seen=self._wire.last_words(), hint="does it flush after each line?")  # fmt: skip
            return answer
        except Ended:
            raise CannotStart("the codec ended", step=f"codec {step}", seen=self._wire.close(0.5)) from None
        except (ValueError, Endless) as why:
            hint = "its standard output carries one JSON object a line; logs belong on standard error"
            raise CannotStart("the codec answers nonsense", step=f"codec {step}", seen=str(why), hint=hint) from why

    # --- questions ---------------------------------------------------------------------------------------------------

    def ask(self, requests: Iterable[Request]) -> Iterator[Answer]:
        """One answer a request, in their order, with up to `window` under way."""
        return Asking(self, requests).run()

    def decode(self, layer: str, data: bytes) -> Answer:
        """What do these bytes mean?"""
        return next(self.ask([Request.decode(layer, data)]))

    def encode(self, layer: str, means: Mapping[str, Any]) -> Answer:
        """Which bytes mean this?"""
        return next(self.ask([Request.encode(layer, means)]))

    def decode_many(self, layer: str, inputs: Sequence[bytes]) -> list[Answer]:
        """Batches of inputs where it has the capability; those in which it fails are asked again one by one."""
        if "batch" not in self.capabilities:
            return list(self.ask(Request.decode(layer, data) for data in inputs))
        answers: list[Answer] = []
        for piece in pieces(inputs):
            answers += self._batch(layer, piece) or self.ask(Request.decode(layer, data) for data in piece)
        return answers

    def _batch(self, layer: str, inputs: Sequence[bytes]) -> list[Answer] | None:
        raw = request_bytes(inputs)
        self._seq += 1
        self._send({"cmd": "batch", "seq": self._seq, "layer": layer, "count": len(inputs), "bytes": len(raw)})
        self._wire.send(raw)
        deadline = Deadline.after(self.patience)
        try:
            head = self._fresh(self._seq, deadline) or {}
            if head.get("seq") == self._seq and isinstance(head.get("bytes"), int):
                data = self._wire.exactly(head["bytes"], deadline)
                if data is not None:
                    return records(data, len(inputs))
        except (ValueError, Ended, Endless):
            pass  # the same as no answer in time: the inputs are asked again one by one
        self.restart()
        return None

    # --- what `Asking` uses -----------------------------------------------------------------------------------------

    def post(self, request: Request) -> int:
        """Send a request and return its seq."""
        self._seq += 1
        self._send(request.line(self._seq))
        return self._seq

    def receive(self, oldest: int) -> dict[str, Any] | None:
        """The next line; None when it does not come in time.  Raises ValueError, Ended, Endless."""
        return self._fresh(oldest, Deadline.after(self.patience))

    def _fresh(self, oldest: int, deadline: Deadline) -> dict[str, Any] | None:
        """The next line that answers no request older than `oldest`: whoever asked those has gone."""
        while (line := self._wire.line(deadline)) is not None:
            answer = self._read(line)
            seq = answer.get("seq")
            if not isinstance(seq, int) or seq >= oldest:
                return answer
        return None

    def restart(self) -> str:
        """End the process and start another one, while that is allowed; the last words of the old one."""
        said = self._wire.close()
        if self.restarts_left > 0:
            self.restarts_left -= 1
            try:
                self._wire = Wire(self.command)
                self._greet(self.identity.name)
            except TargetError as why:
                self.restarts_left = -1
                return f"{said}; {why.what}"
        else:
            self.restarts_left = -1
        return said

    @property
    def last_seq(self) -> int:
        """Of the youngest request."""
        return self._seq

    @property
    def gone(self) -> bool:
        """Whether it may not, or cannot, be started again."""
        return self.restarts_left < 0

    def _send(self, command: Mapping[str, Any]) -> None:
        if self._validate is not None:
            self._validate("request", command)
        self._wire.send(json.dumps(command).encode() + b"\n")

    def _read(self, line: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise ValueError(f"no JSON object: {line[:120]!r}")
        if self._validate is not None:
            self._validate("answer", answer)
        return answer

    def close(self) -> None:
        """End it and all that it started; idempotent."""
        self._wire.send(b'{"cmd": "stop"}\n')
        if not self.gone and self._wire.program.poll() is None:
            with contextlib.suppress(Ended, Endless):
                self._wire.line(Deadline.after(0.5))
            self._wire.close(0.5)
        self._wire.close()
        self.restarts_left = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
