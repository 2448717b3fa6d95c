"""The process that supervises what we start, and removes our temporary folders when we are killed (see `supervisor.py`).

It runs while there is a folder, starts with the first one and ends with the last.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from zenoh_harness.errors import CannotGoOn
from zenoh_harness.programs import supervisor

_PYTHON: Final = (sys.executable, "-I", "-S", supervisor.__file__)


class Supervisors:
    """The other end of `supervisor.serve`; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._folders: set[str] = set()
        self._popen: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    def new_folder(self) -> Path:
        """Make a temporary folder that is removed when we are killed. Raises CannotGoOn."""
        with self._lock:
            path, _, why = self._made_folder().partition("\n")
            if path:
                self._folders.add(path)
                return Path(path)
            self._end_if_idle()
        raise CannotGoOn("cannot make a temporary folder", step="start", seen=why, hint="set TMPDIR to another folder")

    def remove(self, folder: Path) -> None:
        """Remove a folder with all that is in it; the last one ends the process."""
        shutil.rmtree(folder, ignore_errors=True)
        with self._lock:
            if str(folder) in self._folders:
                self._folders.remove(str(folder))
                self._send({"forget": str(folder)})
                self._end_if_idle()

    def start(self, options: Mapping[str, Any], fds: Sequence[int]) -> None:
        """Fork the supervisor of a command and give it these descriptors; its status pipe says how that went."""
        with self._lock:
            self._send(options, fds)

    def _connect(self) -> socket.socket:
        if self._socket is None:
            ours, theirs = socket.socketpair()
            with theirs:
                fd = theirs.fileno()
                self._popen = subprocess.Popen(
                    [*_PYTHON, str(fd)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=(fd,),
                    start_new_session=True,
                )
            self._socket = ours
        return self._socket

    def _send(self, request: Mapping[str, Any], fds: Sequence[int] = ()) -> None:
        data = json.dumps(request).encode()
        data = len(data).to_bytes(4, "big") + data
        try:
            self._write(self._connect(), data, fds)
        except ConnectionError:  # it was killed
            self._end()
            self._write(self._connect(), data, fds)

    @staticmethod
    def _write(to: socket.socket, data: bytes, fds: Sequence[int]) -> None:
        sent = socket.send_fds(to, [data], fds)
        to.sendall(data[sent:])

    def _made_folder(self) -> str:
        """The path of a new folder and a line end, then the error if there is no path."""
        for _ in "ab":
            self._send({"make": tempfile.gettempdir()})
            assert self._socket is not None
            with contextlib.suppress(ConnectionError):
                if answer := self._socket.recv(1 << 16):
                    return os.fsdecode(answer)
            self._end()  # it was killed
        return "\nits process was killed"

    def _end_if_idle(self) -> None:
        if not self._folders:
            self._end()

    def _end(self) -> None:
        if self._socket is None or self._popen is None:
            return
        self._socket.close()
        self._popen.wait()
        self._socket, self._popen = None, None

    def forget(self) -> None:
        """Leave the process to the one that forked us."""
        if self._socket is not None:
            self._socket.close()
        self.__init__()  # type: ignore[misc]  # as in a process that has started nothing


SUPERVISORS: Final = Supervisors()
os.register_at_fork(after_in_child=SUPERVISORS.forget)
