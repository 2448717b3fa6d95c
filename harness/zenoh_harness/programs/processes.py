"""Programs that we start: each in its own process group under a supervisor that ends all of it."""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import signal
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Protocol, Self

import psutil

from zenoh_harness.errors import CannotStart
from zenoh_harness.links.timing import Deadline
from zenoh_harness.programs import signs
from zenoh_harness.programs.signs import Sign
from zenoh_harness.programs.starvation import Starvation
from zenoh_harness.programs.supervisors import SUPERVISORS

OUTPUT_LIMIT: Final = 1 << 20
"""Bytes kept of each output stream: one half from its beginning, one half from its end."""

STREAMS: Final = ("stdout", "stderr")

GRACE: Final = 3.0
"""Seconds between SIGTERM and SIGKILL."""

_CRASHES: Final = ("SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGSEGV", "SIGSYS", "SIGPIPE")
_SHELL_DEATHS: Final = frozenset(128 + signal.Signals[name] for name in _CRASHES)
"""The exit codes by which a shell reports that a program died of a signal."""


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """The end of a program."""

    code: int
    """Exit code, or minus the signal."""
    orphans: int
    """The number of processes that it left running; they were killed."""

    @property
    def in_order(self) -> bool:
        """Whether it exited by itself: not by a signal, nor with a shell's exit code for one."""
        return self.code >= 0 and self.code not in _SHELL_DEATHS

    @property
    def crashed(self) -> bool:
        """Whether a signal ended it that nobody sends to end a program, such as SIGSEGV."""
        return self.code in _SHELL_DEATHS or 128 - self.code in _SHELL_DEATHS

    def __str__(self) -> str:
        return f"exit code {self.code}" if self.code >= 0 else f"signal {-self.code} ({signal_name(-self.code)})"


@dataclass(frozen=True, slots=True)
class Usage:
    """The resources of a program and its children at one moment."""

    memory: int
    """Resident bytes."""
    threads: int
    descriptors: int
    processes: int


class Running(Protocol):
    """The operations on a program or a container that we started."""

    @property
    def pid(self) -> int:
        """Its process id; 0 on another machine."""

    @property
    def ended(self) -> ProcessEnd | None:
        """Its end, if it was seen."""

    def poll(self) -> ProcessEnd | None:
        """Its end, or None while it runs; never waits."""

    def wait(self, deadline: Deadline) -> ProcessEnd | None:
        """Its end, or None after the deadline."""

    def terminate(self) -> None:
        """Ask it to end."""

    def kill(self) -> None:
        """End it at once."""

    def stop(self, grace: float = ...) -> ProcessEnd:
        """End it and release its resources; keep its output."""

    def suspended(self) -> bool:
        """Whether it is suspended."""

    def suspensions(self) -> int:
        """How often it was suspended or continued so far."""

    @property
    def halted(self) -> bool:
        """Whether the last report of `suspensions` was that a signal stopped it."""

    def held_up(self, since: float) -> float:
        """Seconds since a moment of `time.monotonic` for which it could not run; infinite where that cannot be seen."""

    def usage(self) -> Usage | None:
        """Its resources now; None when it has ended."""

    def listening(self, protocol: str = "tcp") -> tuple[tuple[str, int], ...]:
        """The (host, port) pairs at which it listens: on UDP (`udp`), or on TCP."""

    def output(self, stream: str = ...) -> str:
        """The kept part of its output."""

    def last_lines(self, count: int = ..., stream: str = ...) -> tuple[str, ...]:
        """The last lines of its output."""

    def signs(self) -> tuple[Sign, ...]:
        """The lines of its output that report a crash, in order."""


def signal_name(number: int) -> str:
    """The name of a signal: SIGKILL for 9."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


def listening_at(pid: int, protocol: str) -> tuple[tuple[str, int], ...]:
    """The (host, port) pairs at which a process or a child listens; none where that cannot be seen."""
    datagrams = protocol == "udp"
    try:
        return tuple(
            (connection.laddr.ip, connection.laddr.port)
            for process in process_and_descendants(pid)
            for connection in process.net_connections("udp" if datagrams else "tcp")
            if (not connection.raddr if datagrams else connection.status == psutil.CONN_LISTEN)
        )
    except psutil.Error:
        return ()


def _size_of(file: Path) -> int:
    """Bytes of a file; 0 if it is not there."""
    try:
        return file.stat().st_size
    except OSError:
        return 0


class Program:
    """A started program; use it as a context manager or call `stop`."""

    def __init__(
        self, command: Sequence[str], folder: Path, control: int, status: int, pipes: tuple[IO[bytes], IO[bytes]] | None
    ) -> None:
        self.command = tuple(command)
        self.folder = folder
        """The folder of its output; `stop` removes it."""
        self.pid = 0
        """The program's own process id, not the supervisor's."""
        self.ended: ProcessEnd | None = None
        self.panics: tuple[str, ...] = ()
        """The forms of a panic in the target's file."""
        self._pipes = pipes
        self._control = control
        self._status = status
        self._unread = b""
        self._lock = threading.Lock()
        self._output: dict[str, bytes] = {}
        self._signs: tuple[Sign, ...] = ()
        self._stopped = False
        self._suspensions = 0
        self._starvation = Starvation(0)
        self.halted = False

    @property
    def stdin(self) -> IO[bytes]:
        """Its standard input, if it was started interactive."""
        assert self._pipes is not None, "not started interactive"
        return self._pipes[0]

    @property
    def stdout(self) -> IO[bytes]:
        """Its standard output, if it was started interactive."""
        assert self._pipes is not None, "not started interactive"
        return self._pipes[1]

    def poll(self) -> ProcessEnd | None:
        """Its end, or None while it runs; never waits."""
        return self.wait(Deadline(0.0))

    def wait(self, deadline: Deadline) -> ProcessEnd | None:
        """Its end, or None after the deadline."""
        while self.ended is None and (line := self._next_line(deadline)) is not None:
            word, _, rest = line.partition(" ")
            if word == "started":
                self.pid = int(rest)
            elif word == "ended":
                code, _, orphans = rest.partition(" ")
                self.ended = ProcessEnd(int(code), int(orphans))
            elif word == "failed":
                raise CannotStart(f"cannot start {self.command[0]}", step="start", seen=os.strerror(int(rest or 0)))
            else:
                self._suspensions += 1
                self.halted = word == "stopped"
        return self.ended

    def _await_start(self, deadline: Deadline) -> bool:
        line = self._next_line(deadline)
        if line is None:
            return False
        self._unread = line.encode() + b"\n" + self._unread
        self.wait(Deadline(0.0))
        return self.pid != 0

    def _next_line(self, deadline: Deadline) -> str | None:
        """The next status line; None after the deadline; a supervisor that was killed counts as `ended -9`."""
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

    def stop(self, grace: float = GRACE) -> ProcessEnd:
        """End it and its children: SIGTERM, after `grace` seconds SIGKILL; keep the output, remove the folder."""
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
        self.ended = self.ended or ProcessEnd(-9, 0)
        return self.ended

    def _close(self) -> None:
        os.close(self._control)
        for pipe in self._pipes or ():
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        self._await_supervisor(Deadline.after(10 * GRACE))
        self._output = {name: self._read_output(name) for name in STREAMS}
        self._signs = self._read_signs()
        with self._lock:
            self._stopped = True
            os.close(self._status)
        SUPERVISORS.remove(self.folder)
        _RUNNING.discard(self)

    def _await_supervisor(self, deadline: Deadline) -> None:
        """Wait until the supervisor has ended, and with it all below it: its status pipe ends."""
        with self._lock:
            while select.select([self._status], [], [], deadline.remaining())[0] and os.read(self._status, 4096):
                pass

    def suspended(self) -> bool:
        """Whether it is stopped by a signal (SIGSTOP)."""
        try:
            return bool(psutil.Process(self.pid).status() == psutil.STATUS_STOPPED)
        except psutil.Error:
            return False

    def suspensions(self) -> int:
        """How often a signal has stopped or continued it, as its supervisor saw; a stop that is over leaves no other trace."""
        self.poll()
        return self._suspensions

    def held_up(self, since: float) -> float:
        """Seconds since a moment of `time.monotonic` for which it, or a child, had no processor, or none of its memory."""
        if self._starvation.pid != self.pid:
            self._starvation = Starvation(self.pid)
        return self._starvation.since(since)

    def usage(self) -> Usage | None:
        """The resources of it and its children now; None when it has ended."""
        return usage_of(self.pid)

    def listening(self, protocol: str = "tcp") -> tuple[tuple[str, int], ...]:
        """The (host, port) pairs at which it or a child listens: on UDP (`udp`), or on TCP."""
        return listening_at(self.pid, protocol)

    def output(self, stream: str = "stderr") -> str:
        """The beginning and the end of its output; undecodable bytes are replaced."""
        data = self._output.get(stream, b"") if self._stopped else self._read_output(stream)
        return data.decode(errors="replace")

    def written(self) -> tuple[int, ...]:
        """How many bytes of each stream are kept now; cheap."""
        return tuple(sum(map(_size_of, self._parts_of(stream))) for stream in STREAMS)

    def lines_since(self, written: tuple[int, ...], most: int = 20) -> tuple[str, ...]:
        """The last lines that it wrote since so much was kept: at most so many of each stream, each cut at 300 characters.

        Nothing of a stream whose kept end was replaced meanwhile, and of a program that was stopped.
        """
        lines: list[str] = []
        for stream, before, now in zip(STREAMS, written, self.written(), strict=True):
            data = self._read_output(stream)[before - now :] if now > before else b""
            lines += [line[:300] for line in data.decode(errors="replace").splitlines()[-most:] if line.strip()]
        return tuple(lines)

    def last_lines(self, count: int = 5, stream: str = "stderr") -> tuple[str, ...]:
        """The last lines of its output, each cut at 300 characters."""
        return tuple(line[:300] for line in self.output(stream).splitlines()[-count:])

    def signs(self) -> tuple[Sign, ...]:
        """The lines of its output that report a crash, in order."""
        return self._signs if self._stopped else self._read_signs()

    def _parts_of(self, stream: str) -> list[Path]:
        return [self.folder / f"{stream}{ending}" for ending in ("", ".tail.old", ".tail")]

    def _read_output(self, stream: str) -> bytes:
        parts = []
        for part in self._parts_of(stream):
            with contextlib.suppress(FileNotFoundError):
                parts.append(part.read_bytes())
        return b"\n[...]\n".join(parts) if len(parts) > 2 else b"".join(parts)

    def _read_signs(self) -> tuple[Sign, ...]:
        try:
            lines = (self.folder / "signs").read_bytes().decode(errors="replace").splitlines()
        except FileNotFoundError:
            return ()
        return tuple(signs.classify((line.partition(" ")[::2] for line in lines), self.panics))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


_RUNNING: Final[set[Program]] = set()


def running() -> tuple[Program, ...]:
    """The programs that were started and not yet stopped."""
    return tuple(_RUNNING)


@atexit.register
def stop_all() -> None:
    """Stop every program that was started and not yet stopped."""
    for program in running():
        program.stop()


def work_folder() -> Path:
    """A new temporary folder for `start`, which removes it with the program."""
    return SUPERVISORS.new_folder()


def remove_folder(folder: Path) -> None:
    """Remove a work folder that no program was started with."""
    SUPERVISORS.remove(folder)


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

    `env` is added to ours; `folder` (see `work_folder`) is removed with the program, even when we are killed.
    `interactive` gives its standard input and output to the caller; else its output is kept and its input is empty.
    `panics`: texts in its output that report a panic, beside the forms of `signs.py`.
    Raises CannotStart with the kernel's error.
    """
    folder = folder or work_folder()
    options = {
        "command": list(command),
        "cwd": str(cwd or Path.cwd()),
        "interactive": interactive,
        "folder": str(folder),
        "limit": limit,
        "signs": signs.words(panics),
        "env": {**os.environ, **(env or {})},
    }
    program = _supervised(command, folder, options)
    program.panics = tuple(panics)
    _RUNNING.add(program)
    try:
        if not program._await_start(Deadline.after(30)):
            raise CannotStart(f"cannot start {command[0]}", step="start", seen="its supervisor does not answer")
    except CannotStart as why:
        program.stop()
        why.hint = f"is {command[0]!r} there and executable?"
        raise
    return program


def _supervised(command: Sequence[str], folder: Path, options: Mapping[str, object]) -> Program:
    control_read, control_write = os.pipe()
    status_read, status_write = os.pipe()
    theirs, ours = [control_read, status_write], None
    if options["interactive"]:
        stdin_read, stdin_write = os.pipe()
        stdout_read, stdout_write = os.pipe()
        theirs += [stdin_read, stdout_write]
        ours = open(stdin_write, "wb"), open(stdout_read, "rb")  # noqa: SIM115, PTH123  live as long as the program
    try:
        SUPERVISORS.start(options, theirs)
    finally:
        for fd in theirs:
            os.close(fd)
    return Program(command, folder, control_write, status_read, ours)


def process_and_descendants(pid: int) -> list[psutil.Process]:
    """Return a process and all below it; the kernel's own lists of children spare a look at every process of the machine.

    Raises psutil.Error where one of them is gone.
    """
    try:
        tasks = [task.joinpath("children") for task in Path(f"/proc/{pid}/task").glob("*")]
        children = [child for task in tasks for child in task.read_text(encoding="ascii").split()]
    except OSError:
        return [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    return [psutil.Process(pid), *(below for child in children for below in process_and_descendants(int(child)))]


def usage_of(pid: int) -> Usage | None:
    """Return what a process of this machine and all below it hold; None when it is gone."""
    try:
        family = process_and_descendants(pid)
        return Usage(
            memory=sum(process.memory_info().rss for process in family),
            threads=sum(process.num_threads() for process in family),
            descriptors=sum(map(_descriptors, family)),
            processes=len(family),
        )
    except psutil.Error:
        return None


def _descriptors(process: psutil.Process) -> int:
    """Open descriptors, where the kernel lets us look; else none."""
    try:
        return process.num_fds()
    except psutil.AccessDenied:
        return 0
