"""Judge inputs one at a time in another process, so that a crash is an answer like any other.

`python -m zenoh_fuzz.triage.judge_process ORACLE TARGET...` reads inputs in hexadecimal, one per line, and answers each with the
findings as JSON. `JudgeProcess` starts and restarts it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any, Final, Self

from zenoh_fuzz import oracle as oracles
from zenoh_fuzz.campaign.rows import death_finding, row_of, row_of_found
from zenoh_fuzz.compare.targets import library_of, open_codecs
from zenoh_fuzz.worker.launcher import environment, preload
from zenoh_fuzz.worker.plan import CANNOT_BEGIN
from zenoh_harness.errors import CannotGoOn, HarnessError
from zenoh_harness.files.campaigns import FindingRow

PATIENCE: Final = 12.0
"""Seconds that one input may take."""
BEGINS: Final = 180.0
"""Seconds until the first answer; a codec may have to be built."""


class JudgeProcess:
    """An oracle with its targets in its own process; it runs all checks."""

    def __init__(self, oracle: str, targets: Sequence[str], versions: dict[str, str] | None = None) -> None:
        """Keep the arguments; the process starts with the first input."""
        self.oracle, self.targets, self.versions = oracle, tuple(targets), versions or {}
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = b""

    def __call__(self, data: bytes) -> list[FindingRow]:
        """Return the findings of one input. Raises CannotGoOn if the process cannot begin."""
        if self._process is None:
            self._start()
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(data.hex().encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return [self._death_row("the process was gone", data)]
        line = self._line(PATIENCE)
        if line is None:
            return [self._death_row("timeout", data)]
        if not line.endswith(b"\n"):
            return [self._death_row("", data)]
        return [row_of_found(told, self.targets, self.versions) for told in json.loads(line)]

    def _start(self) -> None:
        env = environment()
        if any(
            library is not None and _counts(library)
            for library in (library_of(text, coverage=False) for text in self.targets)
        ):
            env["LD_PRELOAD"] = " ".join(map(str, preload(structure=False)))
        command = [sys.executable, "-m", "zenoh_fuzz.triage.judge_process", self.oracle, *self.targets]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            start_new_session=True,
        )
        self._buffer = b""
        if self._line(BEGINS) != b"ready\n":
            self.close_hard()
            said = self._last_words.decode(errors="replace").splitlines()[-4:]
            raise CannotGoOn(said[0] if said else "the judging process does not start", step="judge", seen=said[1:])

    def _line(self, patience: float) -> bytes | None:
        """Return the next line, an incomplete one if the process ended, or None if it takes too long."""
        assert self._process is not None
        assert self._process.stdout is not None
        until = time.monotonic() + patience
        while b"\n" not in self._buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                return None
            more = os.read(self._process.stdout.fileno(), 1 << 16)
            if not more:
                return self._buffer
            self._buffer += more
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line + b"\n"

    def _death_row(self, why: str, data: bytes) -> FindingRow:
        assert self._process is not None
        self.close_hard()
        code = self._code
        why = why or (signal.Signals(-code).name if code < 0 else f"exit code {code}")
        names = tuple(self.versions) or self.targets
        return row_of(death_finding(self.oracle, why, data, names), self.targets, self.versions)

    def close_hard(self) -> None:
        """Kill the process."""
        if self._process is not None:
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)
            _, self._last_words = self._process.communicate()
            self._code = self._process.returncode
            self._process = None

    _last_words = b""
    _code = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_hard()


def _counts(library: Any) -> bool:
    from zenoh_harness.codecs.library import counts_coverage

    return counts_coverage(library)


def serve(oracle: str, targets: Sequence[str]) -> int:
    """Answer the inputs on standard input until it ends."""
    try:
        before = dict(os.environ)
        os.environ.pop("LD_PRELOAD", None)
        made = oracles.make_oracle(oracle, open_codecs(targets, env=before))
    except HarnessError as why:
        sys.stderr.write(f"{why}\n")
        return CANNOT_BEGIN
    made.thorough = True
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        data = bytes.fromhex(line.strip())
        findings = [*oracles.judge_input(made, data), *made.rest()]
        sys.stdout.write(json.dumps([finding.to_json() for finding in findings]) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(serve(sys.argv[1], sys.argv[2:]))
