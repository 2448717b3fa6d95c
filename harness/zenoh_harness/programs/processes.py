"""Programs that we start: each in its own group under a supervisor, each ended, nothing left behind."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Protocol, Self

import psutil

from zenoh_harness.errors import CannotStart
from zenoh_harness.links.timing import Deadline
from zenoh_harness.programs import signs, supervisor
from zenoh_harness.programs.signs import Sign

OUTPUT_LIMIT: Final = 1 << 20
"""Bytes kept of each output stream: the first half and a rolling tail."""

GRACE: Final = 3.0
"""Seconds between SIGTERM and SIGKILL."""

_SHELL_DEATHS: Final = frozenset(
    128 + number
    for number in (
        signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV, signal.SIGSYS, signal.SIGPIPE,
    )
)  # fmt: skip
"""Exit codes by which a shell tells that a program died of a signal."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended."""

    code: int
    """Exit code, or minus the signal."""
    orphans: int
    """Processes that it left running, ended with it."""

    @property
    def in_order(self) -> bool:
        """Whether it ended by itself: no signal, nor a shell's way to tell of one."""
        return self.code >= 0 and self.code not in _SHELL_DEATHS

    def __str__(self) -> str:
        if self.code >= 0:
            return f"exit code {self.code}"
        return f"signal {-self.code} ({signal_name(-self.code)})"


@dataclass(frozen=True, slots=True)
class Usage:
    """What a program and its children hold at one moment."""

    memory: int
    """Resident bytes."""
    threads: int
    descriptors: int
    processes: int


class Running(Protocol):
    """What can be asked of anything that we started, a program or a container."""

    @property
    def pid(self) -> int:
        """Its process id; 0 where it runs on another machine."""

    @property
    def ended(self) -> Ended | None:
        """How it ended, as far as was seen."""

    def poll(self) -> Ended | None:
        """How it ended, or None while it runs; never waits."""

    def wait(self, deadline: Deadline) -> Ended | None:
        """How it ended, or None when the deadline passes first."""

    def terminate(self) -> None:
        """Ask it to end."""

    def kill(self) -> None:
        """End it at once."""

    def stop(self, grace: float = ...) -> Ended:
        """End it and let go of all that it held; keeps its output."""

    def suspended(self) -> bool:
        """Whether it stands still."""

    def usage(self) -> Usage | None:
        """What it holds now; None when it is gone."""

    def listening(self) -> tuple[tuple[str, int], ...]:
        """The (host, port) pairs at which it listens on TCP."""

    def output(self, stream: str = ...) -> str:
        """What it wrote, bounded."""

    def last_lines(self, count: int = ..., stream: str = ...) -> tuple[str, ...]:
        """The last lines that it wrote."""

    def signs(self) -> tuple[Sign, ...]:
        """Lines of its output that speak of death, in order."""


def signal_name(number: int) -> str:
    """SIGKILL for 9, and so on."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


class Program:
    """One started program; use as a context manager or call `stop`."""

    def __init__(
        self, command: Sequence[str], folder: Path, popen: subprocess.Popen[bytes], control: int, status: int
    ) -> None:
        self.command = tuple(command)
        self.folder = folder
        """Where its output is kept; removed by `stop`."""
        self.pid = 0
        """The program's own process id, not the supervisor's."""
        self.ended: Ended | None = None
        self.panics: tuple[str, ...] = ()
        """Forms of a panic that its own file names."""
        self._popen = popen
        self._control = control
        self._status = status
        self._unread = b""
        self._lock = threading.Lock()
        self._output: dict[str, bytes] = {}
        self._signs: tuple[Sign, ...] = ()
        self._stopped = False

    @property
    def stdin(self) -> IO[bytes]:
        """Its standard input, when it was started interactive."""
        assert self._popen.stdin is not None, "not started interactive"
        return self._popen.stdin

    @property
    def stdout(self) -> IO[bytes]:
        """Its standard output, when it was started interactive."""
        assert self._popen.stdout is not None, "not started interactive"
        return self._popen.stdout

    def poll(self) -> Ended | None:
        """How it ended, or None while it runs; never waits."""
        return self.wait(Deadline(0.0))

    def wait(self, deadline: Deadline) -> Ended | None:
        """How it ended, or None when the deadline passes first."""
        while self.ended is None and (line := self._next_line(deadline)) is not None:
            word, _, rest = line.partition(" ")
            if word == "started":
                self.pid = int(rest)
            elif word == "ended":
                code, _, orphans = rest.partition(" ")
                self.ended = Ended(int(code), int(orphans))
            elif word == "failed":
                raise CannotStart(f"cannot start {self.command[0]}", step="start", seen=os.strerror(int(rest or 0)))
        return self.ended

    def _started(self, deadline: Deadline) -> bool:
        line = self._next_line(deadline)
        if line is None:
            return False
        self._unread = line.encode() + b"\n" + self._unread
        self.wait(Deadline(0.0))
        return self.pid != 0

    def _next_line(self, deadline: Deadline) -> str | None:
        """One status line; None when the deadline passes; a supervisor that was killed counts as `ended -9`."""
        with self._lock:
            if self._stopped:
                return None
            while b"\n" not in self._unread:
                if not select.select([self._status], [], [], deadline.remaining())[0]:
                    return None
                data = os.read(self._status, 4096)
                if not data:
                    self._unread += b"ended -9 0\n"
                self._unread += data
            line, _, self._unread = self._unread.partition(b"\n")
            return line.decode()

    def terminate(self) -> None:
        """Send SIGTERM to its group."""
        self._order(b"term\n")

    def kill(self) -> None:
        """Send SIGKILL to its group."""
        self._order(b"kill\n")

    def _order(self, order: bytes) -> None:
        if not self._stopped:
            with contextlib.suppress(BrokenPipeError):
                os.write(self._control, order)

    def stop(self, grace: float = GRACE) -> Ended:
        """End it: SIGTERM, after `grace` seconds SIGKILL, its children too; keeps the output, removes the folder."""
        if self._stopped:
            assert self.ended is not None
            return self.ended
        if self.poll() is None and not self.suspended():
            self.terminate()
            self.wait(Deadline.after(grace))
        if self.ended is None:
            self.kill()
            self.wait(Deadline.after(10 * GRACE))
        self._close()
        self.ended = self.ended or Ended(-9, 0)
        return self.ended

    def _close(self) -> None:
        os.close(self._control)
        for pipe in (self._popen.stdin, self._popen.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        self._popen.wait()
        self._output = {name: self._read_output(name) for name in ("stdout", "stderr")}
        self._signs = self._read_signs()
        with self._lock:
            self._stopped = True
            os.close(self._status)
        shutil.rmtree(self.folder, ignore_errors=True)
        _RUNNING.discard(self)

    def suspended(self) -> bool:
        """Whether it is stopped by a signal (SIGSTOP)."""
        try:
            return bool(psutil.Process(self.pid).status() == psutil.STATUS_STOPPED)
        except psutil.Error:
            return False

    def usage(self) -> Usage | None:
        """What it and its children hold now; None when it is gone."""
        try:
            root = psutil.Process(self.pid)
            family = [root, *root.children(recursive=True)]
            return Usage(
                memory=sum(one.memory_info().rss for one in family),
                threads=sum(one.num_threads() for one in family),
                descriptors=sum(one.num_fds() for one in family),
                processes=len(family),
            )
        except psutil.Error:
            return None

    def listening(self) -> tuple[tuple[str, int], ...]:
        """The (host, port) pairs at which it or a child listens on TCP."""
        try:
            root = psutil.Process(self.pid)
            family = [root, *root.children(recursive=True)]
            return tuple(
                (at.laddr.ip, at.laddr.port)
                for one in family
                for at in one.net_connections("tcp")
                if at.status == psutil.CONN_LISTEN
            )
        except psutil.Error:
            return ()

    def output(self, stream: str = "stderr") -> str:
        """What it wrote, bounded: the beginning and the end; undecodable bytes replaced."""
        data = self._output.get(stream, b"") if self._stopped else self._read_output(stream)
        return data.decode(errors="replace")

    def last_lines(self, count: int = 5, stream: str = "stderr") -> tuple[str, ...]:
        """The last lines that it wrote, each cut at 300 characters."""
        return tuple(line[:300] for line in self.output(stream).splitlines()[-count:])

    def signs(self) -> tuple[Sign, ...]:
        """Lines of its output that speak of death, in order."""
        return self._signs if self._stopped else self._read_signs()

    def _read_output(self, stream: str) -> bytes:
        parts = []
        for ending in ("", ".tail.old", ".tail"):
            with contextlib.suppress(FileNotFoundError):
                parts.append((self.folder / f"{stream}{ending}").read_bytes())
        return b"\n[...]\n".join(parts) if len(parts) > 2 else b"".join(parts)

    def _read_signs(self) -> tuple[Sign, ...]:
        try:
            lines = (self.folder / "signs").read_bytes().decode(errors="replace").splitlines()
        except FileNotFoundError:
            return ()
        shown = (line.partition(" ") for line in lines)
        return tuple(signs.classify(((stream, text) for stream, _, text in shown), self.panics))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


_RUNNING: Final[set[Program]] = set()


def running() -> tuple[Program, ...]:
    """Programs that were started and not yet stopped."""
    return tuple(_RUNNING)


@atexit.register
def stop_all() -> None:
    """End every program that is still held."""
    for program in running():
        program.stop()


def work_folder() -> Path:
    """A fresh temporary folder, to be given to `start`, which removes it with the program."""
    return Path(tempfile.mkdtemp(prefix="zconform-"))


def start(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    interactive: bool = False,
    folder: Path | None = None,
    limit: int = OUTPUT_LIMIT,
    panics: Sequence[str] = (),
) -> Program:
    """Start `command` (no shell) under a supervisor.

    `env` is added to ours; `folder` (see `work_folder`) goes with the program, even when we are killed.
    `interactive` hands its standard input and output to the caller; else its output is kept and its input is empty.
    `panics`: what its lines hold when it has panicked, beside the forms that everybody knows.
    CannotStart names what the kernel said.
    """
    folder = folder or work_folder()
    options = {
        "command": list(command),
        "cwd": str(cwd or Path.cwd()),
        "interactive": interactive,
        "folder": str(folder),
        "limit": limit,
        "signs": signs.words(panics),
    }
    program = _supervised(command, folder, options, {**os.environ, **(env or {})})
    program.panics = tuple(panics)
    _RUNNING.add(program)
    try:
        if not program._started(Deadline.after(30)):
            raise CannotStart(f"cannot start {command[0]}", step="start", seen="its supervisor does not answer")
    except CannotStart as why:
        program.stop()
        why.hint = f"is {command[0]!r} there and executable?"
        raise
    return program


def _supervised(command: Sequence[str], folder: Path, options: Mapping[str, object], env: Mapping[str, str]) -> Program:
    control_read, control_write = os.pipe()
    status_read, status_write = os.pipe()
    pipe = subprocess.PIPE if options["interactive"] else subprocess.DEVNULL
    try:
        popen = subprocess.Popen(
            [
                sys.executable,
                "-I",
                "-S",
                supervisor.__file__,
                str(control_read),
                str(status_write),
                json.dumps(options),
            ],
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.DEVNULL,
            pass_fds=(control_read, status_write),
            start_new_session=True,
            env=dict(env),
        )
    finally:
        os.close(control_read)
        os.close(status_write)
    return Program(command, folder, popen, control_write, status_read)


def free_port(host: str = "127.0.0.1") -> int:
    """A port that the kernel gave and that nobody holds now; who listens there must be checked afterwards."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as sock:
        sock.bind((host, 0))
        return int(sock.getsockname()[1])
