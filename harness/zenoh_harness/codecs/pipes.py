"""The pipes to a codec process: lines and raw bytes both ways, without either side waiting for the other for ever."""

from __future__ import annotations

import contextlib
import os
import select
from collections.abc import Sequence
from pathlib import Path

from zenoh_harness.links.timing import Deadline
from zenoh_harness.programs import processes

LONGEST_LINE = 1 << 24
"""Bytes of one line; the largest message in hexadecimal, with its meaning and its debug text, is far below."""

_CHUNK = 1 << 16


class Ended(Exception):  # noqa: N818  a state of the other side, not an error of ours
    """The codec closed its output or its input."""


class Endless(Exception):  # noqa: N818  as above
    """The codec writes a line without end."""


class CodecPipe:
    """One codec process; `close` ends its whole group."""

    def __init__(self, command: Sequence[str], cwd: Path | None = None) -> None:
        self.program = processes.start(command, interactive=True, cwd=cwd)
        self._input, self._output = self.program.stdin.fileno(), self.program.stdout.fileno()
        os.set_blocking(self._input, False)
        self._unsent = bytearray()
        self._held = bytearray()
        self._open = True

    def send(self, data: bytes) -> None:
        """Queue bytes; they leave whenever something is awaited."""
        self._unsent += data

    def line(self, deadline: Deadline) -> bytes | None:
        """The next line without its end; None when the deadline passes.  Raises Ended, Endless."""
        searched = 0
        while (end := self._held.find(b"\n", searched)) < 0:
            if len(self._held) > LONGEST_LINE:
                raise Endless
            searched = len(self._held)
            if not self._pump(deadline):
                return None
        line = bytes(self._held[:end])
        del self._held[: end + 1]
        return line

    def exactly(self, size: int, deadline: Deadline) -> bytes | None:
        """The next `size` bytes; None when the deadline passes.  Raises Ended."""
        while len(self._held) < size:
            if not self._pump(deadline):
                return None
        data = bytes(self._held[:size])
        del self._held[:size]
        return data

    def _pump(self, deadline: Deadline) -> bool:
        """Move some bytes, whichever way they can go; False when the deadline passes first."""
        if not self._open:
            raise Ended
        writers = [self._input] if self._unsent else []
        ready, writable, _ = select.select([self._output], writers, [], deadline.remaining())
        if writable:
            self._write()
        if ready:
            data = os.read(self._output, _CHUNK)
            self._open = bool(data)
            self._held += data
        return bool(ready or writable)

    def _write(self) -> None:
        try:
            written = os.write(self._input, self._unsent[:_CHUNK])
        except BlockingIOError:
            return
        except OSError:
            self._unsent.clear()  # it reads no more; what it still says is read, and its end is seen there
            return
        del self._unsent[:written]

    def last_words(self) -> str:
        """How it ended, and the end of what it wrote to standard error, on one line."""
        ended = self.program.poll()
        return "; ".join((*([str(ended)] if ended else []), *self.program.last_lines(3)))

    def close(self, grace: float = 0.0) -> str:
        """End it and all that it started; `grace` is how long it may take by itself.  Returns its last words."""
        with contextlib.suppress(OSError):
            self.program.stdin.close()
        if grace:
            self.program.wait(Deadline.after(grace))
        self.program.stop(grace=0.2)
        return self.last_words()
