"""The small program between us and every program that we start, so that no process and no folder outlives us.

Run as `python -I -S supervisor.py SOCKET`; it needs the standard library only. It serves requests from the socket, one JSON
object each (see `read_request`), and forks a supervisor for each command, which costs a millisecond:

    {"make": PARENT}     make a temporary folder; the answer is its path, or an empty line and the error
    {"forget": PATH}     the folder is removed already
    {"command": ..}      start a command; the descriptors CONTROL and STATUS come along, and its standard input and output if it
                         is interactive

The end of the socket means that the harness is gone: all folders that it did not forget are removed.

A forked supervisor starts the command in its own process group with a parent-death signal, adopts the orphans of the command
(child subreaper), keeps its output in bounded files, and searches it for signs of a crash.

    CONTROL  is read: `term`, `kill`, `bye`; its end means that the harness is gone: kill all, remove the folder
    STATUS   is written, one line each: `started PID`, `failed ERRNO`, `ended CODE LEFT` (CODE < 0: signal; LEFT: orphans);
             `stopped` and `continued` by a signal
"""
# It does not import pathlib, since it must start in milliseconds.
# ruff: noqa: PTH105, PTH118, PTH123, PTH208

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import selectors
import shutil
import signal
import socket
import sys
import tempfile
from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
CARRY = 4096
SMALLEST_TAIL = 1 << 16
MOST_SIGNS = 1024


def prctl(option: int, value: int) -> None:
    """Linux's prctl; elsewhere nothing."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


class OutputCapture:
    """One output stream: its first half in NAME, then a rolling tail in NAME.tail (and .tail.old)."""

    def __init__(self, folder: str, name: str, limit: int, signs: list[bytes]) -> None:
        self.name = name
        self._path = os.path.join(folder, name)
        self._file = open(self._path, "wb", buffering=0)  # noqa: SIM115  lives as long as the stream
        self._left = limit // 2
        self._limit = limit
        self._in_tail = False
        self._words = signs
        self._carry = b""
        self._signs = os.path.join(folder, "signs")
        self._found = 0

    def take(self, data: bytes) -> None:
        self._look(data)
        while data:
            if not self._left:
                self._roll()
            now, data = data[: self._left], data[self._left :]
            self._left -= len(now)
            self._file.write(now)

    def _roll(self) -> None:
        self._file.close()
        if self._in_tail:
            os.replace(self._path + ".tail", self._path + ".tail.old")
        self._in_tail = True
        self._file = open(self._path + ".tail", "wb", buffering=0)  # noqa: SIM115
        self._left = max(self._limit // 4, SMALLEST_TAIL)

    def _look(self, data: bytes) -> None:
        whole, _, self._carry = (self._carry + data).rpartition(b"\n")
        self._carry = self._carry[-CARRY:]
        if self._suspicious(whole):
            for line in whole.split(b"\n"):
                self._sign(line)

    def _suspicious(self, output: bytes) -> bool:
        lower = output.lower()
        return any(word in lower for word in self._words)

    def _sign(self, line: bytes) -> None:
        if self._found < MOST_SIGNS and self._suspicious(line):
            self._found += 1
            with open(self._signs, "ab") as out:
                out.write(f"{self.name} ".encode() + line[:400].replace(b"\r", b"") + b"\n")

    def close(self) -> None:
        self._sign(self._carry)
        self._file.close()


def descendants() -> list[int]:
    """The living processes below this one, without zombies, from one pass over /proc."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{name}/stat", "rb") as stat:
                    fields = stat.read().rpartition(b")")[2].split()
                if fields[0] != b"Z":
                    parents[int(name)] = int(fields[1])
    family: set[int] = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in family and pid not in family}:
        family |= more
    return sorted(family - {os.getpid()})


def kill_below() -> int:
    """Send SIGKILL to all descendants until none is left; return their number."""
    killed: set[int] = set()
    while living := descendants():
        for pid in living:
            killed.add(pid)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, 0)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    return len(killed)


class Supervisor:
    """The state of one started command."""

    def __init__(self, control: int, status: int, options: dict[str, Any], pipes: list[int]) -> None:
        """Supervise one command; `pipes` are its standard input and output if it is interactive."""
        self.pipes = pipes
        self.control = control
        self.status = status
        self.options = options
        self.child = 0
        self.ended: int | None = None
        self.captures: dict[int, OutputCapture] = {}
        self.selector = selectors.DefaultSelector()

    def report(self, line: str) -> None:
        with contextlib.suppress(BrokenPipeError):
            os.write(self.status, line.encode() + b"\n")

    def run(self) -> int:
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        os.set_blocking(wake_read, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        if not self.start():
            return 1
        self.selector.register(wake_read, selectors.EVENT_READ)
        self.selector.register(self.control, selectors.EVENT_READ)
        while self.ended is None:
            for key, _ in self.selector.select():
                self.on_ready(int(key.fd), wake_read)
        self.finish()
        return 0

    def start(self) -> bool:
        pumped = ["stderr"] if self.options["interactive"] else ["stdout", "stderr"]
        signs = [word.encode() for word in self.options["signs"]]
        outs = {name: os.pipe() for name in pumped}
        failure_read, failure_write = os.pipe()
        self.child = os.fork()
        if self.child == 0:
            self.become(outs, failure_write)
        for fd in (failure_write, *self.pipes):
            os.close(fd)
        for name, (read_end, write_end) in outs.items():
            os.close(write_end)
            os.set_blocking(read_end, False)
            self.captures[read_end] = OutputCapture(self.options["folder"], name, self.options["limit"], signs)
            self.selector.register(read_end, selectors.EVENT_READ)
        failure = os.read(failure_read, 32)
        os.close(failure_read)
        if failure:
            os.waitpid(self.child, 0)
        self.report(f"failed {failure.decode()}" if failure else f"started {self.child}")
        return not failure

    def become(self, outs: dict[str, tuple[int, int]], failure: int) -> None:
        """In the child: turn into the command; never returns."""
        try:
            os.setpgid(0, 0)
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            for name, fd in (("stdout", 1), ("stderr", 2)):
                if name in outs:
                    os.dup2(outs[name][1], fd)
            for fd, pipe in enumerate(self.pipes):
                os.dup2(pipe, fd)
            os.chdir(self.options["cwd"])
            command = self.options["command"]
            os.execvpe(command[0], command, self.options["env"])  # noqa: S606  that is its purpose
        except OSError as why:
            os.write(failure, str(why.errno or 0).encode())
        finally:
            os._exit(127)

    def on_ready(self, fd: int, wake: int) -> None:
        if fd == wake:
            with contextlib.suppress(BlockingIOError):
                os.read(wake, 512)
            self.reap()
        elif fd == self.control:
            self.obey(os.read(self.control, 512))
        else:
            self.pump(fd)

    def obey(self, orders: bytes) -> None:
        if not orders:
            self.abandon()
        for order in orders.split():
            if order == b"term":
                self.signal_group(signal.SIGTERM)
            elif order == b"kill":
                self.signal_group(signal.SIGKILL)

    def signal_group(self, number: int) -> None:
        """Signal the command's group, and the command itself if it left that: each process once, as some act on each signal."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getpgid(self.child) != self.child:
                os.kill(self.child, number)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.child, number)

    def abandon(self) -> None:
        """The harness is gone."""
        kill_below()
        shutil.rmtree(self.options["folder"], ignore_errors=True)
        os._exit(0)

    def reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
                if pid == 0:
                    return
                if os.WIFSTOPPED(status) or os.WIFCONTINUED(status):
                    self.report("stopped" if os.WIFSTOPPED(status) else "continued")
                elif pid == self.child:
                    self.ended = os.waitstatus_to_exitcode(status)

    def pump(self, fd: int) -> bool:
        try:
            data = os.read(fd, 65536)
        except BlockingIOError:
            return False
        if data:
            self.captures[fd].take(data)
            return True
        self.selector.unregister(fd)
        os.close(fd)
        self.captures.pop(fd).close()
        return False

    def finish(self) -> None:
        """Kill the orphans of the command that has ended, and keep its output."""
        left = kill_below()
        for fd in list(self.captures):
            while self.pump(fd):
                pass
        for capture in self.captures.values():
            capture.close()
        self.report(f"ended {self.ended} {left}")


def read_request(connection: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """The next request and the descriptors that came with it, or None at the end; four bytes of length precede the JSON."""
    data, fds, _, _ = socket.recv_fds(connection, 4, 4)
    for fd in fds:
        os.set_inheritable(fd, False)
    head = data + received(connection, 4 - len(data)) if data else b""
    return (json.loads(received(connection, int.from_bytes(head, "big"))), fds) if head else None


def received(connection: socket.socket, count: int) -> bytes:
    """So many bytes. Raises ConnectionError where the socket ends before."""
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise ConnectionError
        data += more
    return data


def new_folder(parent: str) -> str:
    """Make a folder for the harness: its path and a line end, or an empty line and the error."""
    try:
        return tempfile.mkdtemp(prefix="zconform-", dir=parent) + "\n"
    except OSError as why:
        return f"\n{why}"


def supervise(options: dict[str, Any], fds: list[int], connection: socket.socket) -> None:
    """Fork the supervisor of one command."""
    if os.fork() == 0:
        try:
            connection.close()
            os.setsid()
            Supervisor(fds[0], fds[1], options, fds[2:]).run()
        finally:
            os._exit(0)
    for fd in fds:
        os.close(fd)


def serve(connection: socket.socket) -> None:
    """Serve requests until the harness is gone, then remove its folders."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD):
        signal.signal(number, signal.SIG_IGN)
    folders: set[str] = set()
    with contextlib.suppress(ConnectionError):
        while (request := read_request(connection)) is not None:
            options, fds = request
            if "make" in options:
                answer = new_folder(options["make"])
                folders.add(answer.partition("\n")[0])
                connection.sendall(answer.encode(errors="surrogateescape"))
            elif "forget" in options:
                folders.discard(options["forget"])
            else:
                supervise(options, fds, connection)
    for folder in folders - {""}:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
