"""The agent: commands for the application on top of a node, over a line protocol.

Each line is a JSON object: commands on the agent's standard input, answers and events on its standard output;
`files/schemas/agent-*.json` describe them.
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

from zenoh_harness.errors import AgentError, AgentGone, AgentRefuses, AgentUnimplemented
from zenoh_harness.links.timing import Deadline
from zenoh_harness.programs.processes import Program

VERSION: Final = 1
"""The version of the line protocol."""

PATIENCE: Final = 10.0
"""Seconds that an answer may take."""

READY: Final = "ready"
"""The event of an agent whose session can be used now, after it refused a command with `not_ready`."""

SILENT: Final = "no answer"
"""`seen` of the error about an agent that runs and does not answer."""

LONGEST_LINE: Final = 1 << 22
"""Most bytes of one line."""

MOST_EVENTS: Final = 1 << 26
"""Bytes of the events that may wait, as `cost` counts them."""


class JsonLineReader:
    """JSON objects from a pipe, one per line, each with a deadline."""

    def __init__(self, pipe: IO[bytes], name: str) -> None:
        self._fd = pipe.fileno()
        self._name = name
        self._buffer = b""
        self._open = True

    def next(self, deadline: Deadline) -> dict[str, Any] | None:
        """Return the next object, or None when the deadline passes or the pipe ends. Raises AgentError for a line that is no object."""
        while b"\n" not in self._buffer:
            if not self._open or not select.select([self._fd], [], [], deadline.remaining())[0]:
                return None
            data = os.read(self._fd, 65536)
            self._open = bool(data)
            self._buffer += data
            if len(self._buffer) > LONGEST_LINE and b"\n" not in self._buffer:
                raise AgentError(
                    f"{self._name} writes a line of more than {LONGEST_LINE} bytes",
                    step="agent",
                    seen=repr(self._buffer[:80]),
                )
        line, _, self._buffer = self._buffer.partition(b"\n")
        return self._read(line)

    @property
    def ended(self) -> bool:
        """Whether the pipe has ended and every line was returned."""
        return not self._open and b"\n" not in self._buffer

    def _read(self, line: bytes) -> dict[str, Any]:
        try:
            value = json.loads(line)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            hint = "write one JSON object per line to standard output, and logs to standard error"
            raise AgentError(
                f"{self._name} writes a line that is no JSON object", step="agent", seen=repr(line[:120]), hint=hint
            )
        return value


def cost(event: Mapping[str, Any]) -> int:
    """Return about how many bytes an event takes in memory."""
    return 1000 + sum(len(value) for value in event.values() if isinstance(value, str))


class AgentClient:
    """Our end of the line protocol; a `zenoh_conformance.talking.scene.Agent`."""

    def __init__(self, stdin: IO[bytes], stdout: IO[bytes], name: str = "the agent", *, validate: bool = False) -> None:
        """`validate`: check every line of both sides against the schemas."""
        self._schemas = _schemas() if validate else {}
        self._name = name
        self._attach(stdin, stdout)
        self.identity: Mapping[str, Any] = {}
        """Its name, version and language, as it reported them."""
        self.zid: str | None = None
        """The ZenohID of its node as printed, if it reported it."""
        self.capabilities: frozenset[str] = frozenset()
        """The commands that it has."""
        self.relied_on = False
        """Whether it was asked to do something since `rest`: a new start of its program would forget it."""

    def _attach(self, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self._stdin, self._lines, self._seq = stdin, JsonLineReader(stdout, self._name), 0
        self._events: deque[dict[str, Any]] = deque()
        self._waiting = 0
        """The cost of the events that wait."""

    @classmethod
    def over(cls, program: Program, *, validate: bool = False) -> AgentClient:
        """Return a client of the agent on the standard input and output of a program."""
        return cls(program.stdin, program.stdout, validate=validate)

    def move_to(self, program: Program, deadline: Deadline) -> None:
        """Go on with a new start of its program, which introduces itself. Raises AgentError if it does not in time."""
        self._attach(program.stdin, program.stdout)
        self.introduction(deadline)

    def rest(self) -> None:
        """Note that nothing depends on what the application was asked so far: a case, or a look at the node, begins."""
        self.relied_on = False

    def validate(self) -> None:
        """From now on check every line against the schemas."""
        self._schemas = _schemas()

    def introduction(self, deadline: Deadline) -> Mapping[str, Any]:
        """Ask for its identity. Raises AgentError if it does not answer in time."""
        answer = self._ask({"cmd": "start", "version": VERSION}, deadline)
        identity = answer.get("identity")
        if answer.get("ok") is not True or not isinstance(identity, dict):
            raise AgentError(
                f"{self._name} does not introduce itself", step="agent start", seen=json.dumps(answer)[:200]
            )
        self.identity = identity
        self.zid = answer.get("zid")
        self.capabilities = frozenset(answer.get("capabilities", ()))
        return identity

    def ask(self, command: str, **arguments: Any) -> Mapping[str, Any]:
        """Send a command and return its answer. Raises AgentError if it is refused, unknown, late or wrong."""
        deadline, self.relied_on = Deadline.after(PATIENCE), True
        answer = self._ask({"cmd": command, **arguments}, deadline)
        while answer.get("not_ready") is True and self._becomes_ready(deadline):
            answer = self._ask({"cmd": command, **arguments}, deadline)
        if answer.get("ok") is True:
            return answer
        if answer.get("unimplemented"):
            seen = str(answer.get("why", "it does not know this command"))
            raise AgentUnimplemented(f"{self._name} refuses {command}", step=f"agent {command}", seen=seen)
        seen = str(answer.get("why", answer))
        raise AgentRefuses(f"{self._name} refuses {command}", step=f"agent {command}", seen=seen)

    def _becomes_ready(self, deadline: Deadline) -> bool:
        """Wait for the event `ready`: a library may call its session open a moment after the handshake."""
        while (line := self._next(deadline)) is not None:
            if line.get("event") == READY:
                return True
            if "event" in line:
                self._keep(line)
        return False

    def knows(self, command: str) -> bool:
        """Whether it claims a command; for a made-up one the honest answer is no."""
        answer = self._ask({"cmd": "capability", "name": command}, Deadline.after(PATIENCE))
        return answer.get("ok") is True

    def events(self, count: int, within: float) -> Sequence[Mapping[str, Any]]:
        """Return the next `count` events, fewer if `within` seconds pass first."""
        deadline = Deadline(time.monotonic() + within)
        while len(self._events) < count:
            line = self._next(deadline)
            if line is None:
                break
            if line.get("event") != READY:
                self._keep(line)
        taken = [self._events.popleft() for _ in range(min(count, len(self._events)))]
        self._waiting -= sum(map(cost, taken))
        return taken

    def _keep(self, event: dict[str, Any]) -> None:
        self._events.append(event)
        self._waiting += cost(event)
        if self._waiting > MOST_EVENTS:
            seen = f"more than {MOST_EVENTS >> 20} MiB of events wait"
            raise AgentError(f"{self._name} reports events that nobody asked for", step="agent", seen=seen)

    def _ask(self, command: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
        self._seq += 1
        line = {**command, "seq": self._seq}
        self._check("request", line)
        try:
            self._stdin.write(json.dumps(line).encode() + b"\n")
            self._stdin.flush()
        except OSError as why:
            last = Deadline.after(1)
            while self._next(last) is not None and not last.passed:  # what it wrote last may be the better reason
                pass
            raise AgentGone(f"{self._name} has exited", step=f"agent {command['cmd']}", seen=str(why)) from why
        while (answer := self._next(deadline)) is not None:
            if answer.get("event") == READY:
                continue  # nobody waits for it
            if "event" in answer:
                self._keep(answer)
            elif answer.get("seq") == self._seq:
                return answer
            if deadline.passed:  # lines that have arrived already are read without a look at the clock
                break
        step = f"agent {command['cmd']}"
        if self._lines.ended:
            raise AgentGone(f"{self._name} has exited", step=step, seen="its output ended")
        raise AgentError(f"{self._name} does not answer {command['cmd']}", step=step, seen=SILENT)

    def _next(self, deadline: Deadline) -> dict[str, Any] | None:
        line = self._lines.next(deadline)
        if line is not None:
            self._check("answer", line)
            if not isinstance(line.get("event" if "event" in line else "seq"), str | int):
                raise AgentError(
                    f"{self._name} writes a line without seq or event", step="agent", seen=json.dumps(line)[:200]
                )
        return line

    def _check(self, side: str, line: Mapping[str, Any]) -> None:
        if side in self._schemas:
            fault = next(self._schemas[side].iter_errors(line), None)
            if fault is not None:
                problem = "an answer of the agent" if side == "answer" else "a command of the harness"
                raise AgentError(
                    f"{problem} does not match the schema",
                    step="agent",
                    seen=[json.dumps(line)[:200], fault.message[:200]],
                )


@cache
def _schemas() -> Mapping[str, Any]:
    from jsonschema import Draft202012Validator

    folder = files("zenoh_harness") / "files" / "schemas"
    return {
        side: Draft202012Validator(json.loads((folder / f"agent-{side}.json").read_text(encoding="utf-8")))
        for side in ("request", "answer")
    }
