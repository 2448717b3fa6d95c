"""The agent: what only the application above a node can make it do, over a small line protocol.

One JSON object a line on the agent's standard input, one answer a line on its standard output, and events in
between; `files/schemas/agent-*.json` describe them all.
"""

from __future__ import annotations

import json
import os
import select
import time
from collections import deque
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import IO, Any, Final

from zenoh_harness.errors import AgentError, AgentUnimplemented
from zenoh_harness.links.timing import Deadline
from zenoh_harness.programs.processes import Program

VERSION: Final = 1
"""The version of the line protocol."""

PATIENCE: Final = 10.0
"""Seconds that an answer may take."""

SILENT: Final = "no answer"
"""What is seen of an agent that lives and does not answer."""

LONGEST_LINE: Final = 1 << 22
"""Bytes of one line."""


class Lines:
    """Lines of JSON from a pipe, each awaited with a deadline."""

    def __init__(self, pipe: IO[bytes], whose: str) -> None:
        self._fd = pipe.fileno()
        self._whose = whose
        self._held = b""
        self._open = True

    def next(self, deadline: Deadline) -> dict[str, Any] | None:
        """The next object; None when the deadline passes or the pipe has ended; AgentError for what is no object."""
        while b"\n" not in self._held:
            if not self._open or not select.select([self._fd], [], [], deadline.remaining())[0]:
                return None
            data = os.read(self._fd, 65536)
            self._open = bool(data)
            self._held += data
            if len(self._held) > LONGEST_LINE and b"\n" not in self._held:
                raise AgentError(f"{self._whose} writes without end", step="agent", seen=repr(self._held[:80]))
        line, _, self._held = self._held.partition(b"\n")
        return self._read(line)

    @property
    def ended(self) -> bool:
        """Whether the other side closed its end."""
        return not self._open and b"\n" not in self._held

    def _read(self, line: bytes) -> dict[str, Any]:
        try:
            value = json.loads(line)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            hint = "its standard output carries one JSON object a line; logs belong on standard error"
            raise AgentError(f"{self._whose} answers nonsense", step="agent", seen=repr(line[:120]), hint=hint)
        return value


class Agent:
    """Our end of the line protocol; a `zenoh_conformance.scene.Agent`."""

    def __init__(
        self, stdin: IO[bytes], stdout: IO[bytes], whose: str = "the agent", *, validate: bool = False
    ) -> None:
        """`validate` holds every line of both sides against the schemas."""
        self._lines = Lines(stdout, whose)
        self._schemas = _schemas() if validate else {}
        self._stdin = stdin
        self._whose = whose
        self._seq = 0
        self._events: deque[dict[str, Any]] = deque()
        self.identity: Mapping[str, Any] = {}
        """What it said of itself: name, version, language."""
        self.zid: str | None = None
        """The ZenohID of its node as printed, when it told."""
        self.capabilities: frozenset[str] = frozenset()
        """The commands that it knows."""

    @classmethod
    def over(cls, program: Program, *, validate: bool = False) -> Agent:
        """The agent on the standard input and output of an interactive program."""
        return cls(program.stdin, program.stdout, validate=validate)

    def validate(self) -> None:
        """From now on hold every line against the schemas."""
        self._schemas = _schemas()

    def introduction(self, deadline: Deadline) -> Mapping[str, Any]:
        """Ask who it is; AgentError when it does not say so in time."""
        answer = self._ask({"cmd": "start", "version": VERSION}, deadline)
        identity = answer.get("identity")
        if answer.get("ok") is not True or not isinstance(identity, dict):
            raise AgentError(
                f"{self._whose} does not introduce itself", step="agent start", seen=json.dumps(answer)[:200]
            )
        self.identity = identity
        self.zid = answer.get("zid")
        self.capabilities = frozenset(answer.get("capabilities", ()))
        return identity

    def ask(self, command: str, **arguments: Any) -> Mapping[str, Any]:
        """One command, one answer; AgentError when it refuses, does not know it, stalls, or answers nonsense."""
        answer = self._ask({"cmd": command, **arguments}, Deadline.after(PATIENCE))
        if answer.get("ok") is True:
            return answer
        if answer.get("unimplemented"):
            seen = str(answer.get("why", "it does not know this command"))
            raise AgentUnimplemented(f"{self._whose} refuses {command}", step=f"agent {command}", seen=seen)
        seen = str(answer.get("why", answer))
        raise AgentError(f"{self._whose} refuses {command}", step=f"agent {command}", seen=seen)

    def knows(self, command: str) -> bool:
        """Whether it says that it has a command; the honest answer to a made-up one is no."""
        answer = self._ask({"cmd": "capability", "name": command}, Deadline.after(PATIENCE))
        return answer.get("ok") is True

    def events(self, count: int, within: float) -> Sequence[Mapping[str, Any]]:
        """The next `count` things that the application was told, fewer when `within` seconds pass first."""
        deadline = Deadline(time.monotonic() + within)
        while len(self._events) < count:
            line = self._next(deadline)
            if line is None:
                break
            self._events.append(line)
        return [self._events.popleft() for _ in range(min(count, len(self._events)))]

    def _ask(self, command: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
        self._seq += 1
        line = {**command, "seq": self._seq}
        self._check("request", line)
        try:
            self._stdin.write(json.dumps(line).encode() + b"\n")
            self._stdin.flush()
        except OSError as why:
            while self._next(Deadline.after(1)) is not None:  # what it wrote last may be the better reason
                pass
            raise AgentError(f"{self._whose} has gone", step=f"agent {command['cmd']}", seen=str(why)) from why
        while (answer := self._next(deadline)) is not None:
            if "event" in answer:
                self._events.append(answer)
            elif answer.get("seq") == self._seq:
                return answer
        step = f"agent {command['cmd']}"
        if self._lines.ended:
            raise AgentError(f"{self._whose} has gone", step=step, seen="its output ended")
        raise AgentError(f"{self._whose} does not answer {command['cmd']}", step=step, seen=SILENT)

    def _next(self, deadline: Deadline) -> dict[str, Any] | None:
        line = self._lines.next(deadline)
        if line is not None:
            self._check("answer", line)
            if not isinstance(line.get("event" if "event" in line else "seq"), str | int):
                raise AgentError(f"{self._whose} answers nonsense", step="agent", seen=json.dumps(line)[:200])
        return line

    def _check(self, side: str, line: Mapping[str, Any]) -> None:
        if side in self._schemas:
            fault = next(self._schemas[side].iter_errors(line), None)
            if fault is not None:
                what = f"{self._whose} answers what the schema does not know" if side == "answer" else "we ask nonsense"
                raise AgentError(what, step="agent", seen=[json.dumps(line)[:200], fault.message[:200]])


@cache
def _schemas() -> Mapping[str, Any]:
    from jsonschema import Draft202012Validator

    folder = files("zenoh_harness") / "files" / "schemas"
    return {
        side: Draft202012Validator(json.loads((folder / f"agent-{side}.json").read_text(encoding="utf-8")))
        for side in ("request", "answer")
    }
