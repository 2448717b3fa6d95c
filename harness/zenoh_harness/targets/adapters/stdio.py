"""`stdio:COMMAND`: a codec that speaks the stdio codec protocol, one JSON object per line (`files/schemas/codec-*.json`).

A failure (garbage, a hang, an exit, answers out of order) costs the verdict of one request, and the others go on. The
process is restarted a limited number of times.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from zenoh_harness.codecs.asking import Asking, short
from zenoh_harness.codecs.codec import Answer, Codec, Request
from zenoh_harness.codecs.compact import pieces, records, request_bytes
from zenoh_harness.codecs.pipes import CodecPipe, Ended, Endless
from zenoh_harness.codecs.schemas import checker
from zenoh_harness.errors import CannotStart, TargetError
from zenoh_harness.identity import Identity
from zenoh_harness.links.timing import Deadline
from zenoh_harness.targets.reach import Reach, split_command

VERSION: Final = 1
"""The version of the protocol."""

MADE_UP: Final = "levitate"
"""A capability that does not exist: a codec that claims it cannot be believed."""

PATIENCE: Final = 10.0
"""Seconds that the oldest request may wait, and that a process may take to introduce itself."""

RESTARTS: Final = 20
"""Restarts of one codec, at most."""

WINDOW: Final = 64
"""Requests that may be unanswered at once."""


def open_codec(reach: Reach, *, validate: bool = False) -> StdioCodec:
    """Start the codec of a target string; `validate` as in `StdioCodec`."""
    return StdioCodec(split_command(reach.rest), name=reach.options.get("name", ""), validate=validate)


class StdioCodec(Codec):
    """A codec process."""

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
        self.last_seq = 0
        self._wire = CodecPipe(self.command)
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
            name=name or str(identity.get("name", self.command[0])),
            version=str(identity.get("version", "")),
            kind="stdio",
            language=str(identity.get("language", "")),
        )
        self.layers = frozenset(map(str, answer.get("layers", ())))
        self.capabilities = frozenset(map(str, answer.get("capabilities", ())))

    def _probe(self) -> None:
        if self.has(MADE_UP):
            raise TargetError(
                f"the codec claims the capability {MADE_UP!r}, which does not exist",
                step="honesty",
                seen="it answers ok",
                hint='answer {"ok": false, "unimplemented": true} to every unknown name',
            )

    def has(self, capability: str) -> bool:
        """Whether it claims a capability. Raises TargetError if it does not answer."""
        return self._answer({"cmd": "capability", "name": capability}, "capability").get("ok") is True

    def _answer(self, command: Mapping[str, Any], step: str) -> dict[str, Any]:
        """Send a command and return its answer, outside the stream of requests."""
        self._send(command)
        try:
            answer = self._fresh(self.last_seq + 1, Deadline.after(PATIENCE))
            if answer is None:
                raise CannotStart(
                    "the codec does not answer in time",
                    step=f"codec {step}",
                    seen=self._wire.last_words(),
                    hint="does it flush after each line?",
                )
            return answer
        except Ended:
            raise CannotStart("the codec ended", step=f"codec {step}", seen=self._wire.close(0.5)) from None
        except (ValueError, Endless) as why:
            hint = "write one JSON object per line to standard output, and logs to standard error"
            raise CannotStart(
                "the codec writes a line that is no JSON object", step=f"codec {step}", seen=str(why), hint=hint
            ) from why

    # --- questions ---------------------------------------------------------------------------------------------------

    def ask(self, requests: Iterable[Request]) -> Iterator[Answer]:
        """Yield one answer per request, in order, with up to `window` unanswered at once."""
        return Asking(self, requests).run()

    def decode_many(self, layer: str, inputs: Sequence[bytes]) -> list[Answer]:
        """Decode inputs in batches if it has the capability; the inputs of a failed batch are sent again one by one."""
        if "batch" not in self.capabilities:
            return list(self.ask(Request.decode(layer, data) for data in inputs))
        answers: list[Answer] = []
        for piece in pieces(inputs):
            answers += self._batch(layer, piece) or self.ask(Request.decode(layer, data) for data in piece)
        return answers

    def _batch(self, layer: str, inputs: Sequence[bytes]) -> list[Answer] | None:
        raw = request_bytes(inputs)
        self.last_seq += 1
        self._send({"cmd": "batch", "seq": self.last_seq, "layer": layer, "count": len(inputs), "bytes": len(raw)})
        self._wire.send(raw)
        deadline = Deadline.after(self.patience)
        try:
            head = self._fresh(self.last_seq, deadline) or {}
            if head.get("seq") == self.last_seq and isinstance(head.get("bytes"), int):
                data = self._wire.exactly(head["bytes"], deadline)
                if data is not None:
                    return records(data, len(inputs))
        except (ValueError, Ended, Endless):
            pass  # as if late: the inputs are sent again one by one
        self.restart()
        return None

    # --- what `Asking` uses -----------------------------------------------------------------------------------------

    def post(self, request: Request) -> int:
        """Send a request and return its sequence number."""
        self.last_seq += 1
        self._send(request.line(self.last_seq))
        return self.last_seq

    def receive(self, oldest: int) -> dict[str, Any] | None:
        """Return the next answer; None if it is late. Raises ValueError, Ended, Endless."""
        return self._fresh(oldest, Deadline.after(self.patience))

    def _fresh(self, oldest: int, deadline: Deadline) -> dict[str, Any] | None:
        """Return the next answer to a request not older than `oldest`; earlier requests were given up."""
        while (line := self._wire.line(deadline)) is not None:
            answer = self._read(line)
            seq = answer.get("seq")
            if not isinstance(seq, int) or seq >= oldest:
                return answer
        return None

    def restart(self) -> str:
        """Restart the process while that is allowed; return the last words of the old one."""
        last_words = self._wire.close()
        if self.restarts_left > 0:
            self.restarts_left -= 1
            try:
                self._wire = CodecPipe(self.command)
                self._greet(self.identity.name)
            except TargetError as why:
                self.restarts_left = -1
                return f"{last_words}; {why.what}"
        else:
            self.restarts_left = -1
        return last_words

    @property
    def gone(self) -> bool:
        """Whether it cannot be restarted any more."""
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
        """End the process and its children; idempotent."""
        self._wire.send(b'{"cmd": "stop"}\n')
        if not self.gone and self._wire.program.poll() is None:
            with contextlib.suppress(Ended, Endless):
                self._wire.line(Deadline.after(0.5))
            self._wire.close(0.5)
        self._wire.close()
        self.restarts_left = -1
