"""Readers of what users give us raise what they document: a fault that names the file, and nothing else."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from zenoh_fuzz.finding import FuzzFinding
from zenoh_fuzz.oracle import Oracle
from zenoh_harness.codecs import compact
from zenoh_harness.errors import HarnessError
from zenoh_harness.files import campaigns, conversations, known, probes, results, scripts
from zenoh_harness.targets import reach
from zenoh_vectors import loader


def _every(read: Callable[[Path], Any]) -> Callable[[Path], Any]:
    def all_of(path: Path) -> Any:
        found = read(path)
        return list(found) if hasattr(found, "__next__") else found

    return all_of


READERS: Final[Mapping[str, tuple[str, Callable[[Path], Any]]]] = {
    "conversation": ("a.jsonl", _every(conversations.read)),
    "results": ("results.jsonl", _every(results.read)),
    "known": ("a.known.toml", _every(known.read)),
    "script": ("a.json", _every(scripts.read)),
    "probe": ("probe.json", probes.read),
    "vectors": ("a.json", lambda path: loader.load(path.parent)),
    "manifest": ("manifest.json", lambda path: campaigns.read_manifest(path.parent)),
    "events": ("events.jsonl", lambda path: list(campaigns.read_events(path.parent))),
    "ledger": ("ledger.json", lambda path: campaigns.read_ledger(path.parent)),
    "finding": ("finding.json", campaigns.read_finding),
}
"""Name to the file's name and its reader, which takes the path."""

PARSERS: Final[Mapping[str, Callable[[bytes], Any]]] = {
    "target string": lambda data: reach.parse(data.decode("utf-8", "surrogateescape")),
    "batch of inputs": compact.split,
    "batch of answers": lambda data: compact.records(data, 1),
    "codec answer": lambda data: _answer(data),
}
"""Name to what reads bytes."""

DOCUMENTED: Final = (HarnessError, loader.VectorError)
PLAIN: Final = {"batch of inputs": ValueError, "batch of answers": ValueError, "codec answer": ValueError}
"""What parsers raise beside that."""
NAMES: Final = (*READERS, *PARSERS)


def _answer(data: bytes) -> Any:
    from zenoh_harness.codecs.codec import answer_of

    told = json.loads(data)
    return answer_of(told) if isinstance(told, dict) else None


class Files(Oracle):
    name = "files"
    promise = "readers of files raise a fault that names the file, and nothing else"
    structured = False
    largest = 8192

    @cached_property
    def _folder(self) -> Path:
        """In memory where there is such a place: a file is written for every input."""
        base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108  a place in memory
        return Path(tempfile.mkdtemp(prefix="zconform-files-", dir=base))

    def judge(self, data: bytes) -> Iterable[FuzzFinding]:
        name = NAMES[data[0] % len(NAMES)] if data else NAMES[0]
        self.behaviour = name, "read"
        try:
            self._read(name, data[1:])
        except DOCUMENTED as fault:
            self.behaviour = name, type(fault).__name__, str(fault)[-24:]
        except PLAIN.get(name, ()):
            self.behaviour = name, "refused"
        except Exception as fault:  # noqa: BLE001  whatever it is, it is what is looked for
            from zenoh_fuzz.finding import place_of

            place = place_of(fault.__traceback__)
            about, why = f"{name}, {type(fault).__name__} in {place}", f"{type(fault).__name__}: {str(fault)[:200]}"
            yield self.finding("readers-raise-what-they-document", about, why, data)

    def _read(self, name: str, data: bytes) -> None:
        if name in PARSERS:
            PARSERS[name](data)
            return
        file, read = READERS[name]
        path = self._folder / name / file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        read(path)

    def seeds(self) -> Iterable[bytes]:
        for index, name in enumerate(NAMES):
            for text in SAMPLES.get(name, ("{}",)):
                yield bytes([index]) + text.encode()

    def words(self) -> Iterable[bytes]:
        yield from (
            b"{",
            b"}",
            b"[",
            b"]",
            b'"',
            b":",
            b",",
            b"null",
            b"true",
            b"-1",
            b"1e400",
            b"NaN",
            b"1" * 5000,
            b"[" * 200,
        )
        yield from (word.encode() for texts in SAMPLES.values() for text in texts for word in text.split('"')[1::2])


SAMPLES: Final[Mapping[str, tuple[str, ...]]] = {
    "conversation": (
        (
            '{"conversation": 1, "connections": [{"name": "c", "link": "tcp", "framing": "stream"}]}\n'
            '{"t": 0.1, "connection": "c", "from": "initiator", "bytes": "0300"}\n'
        ),
    ),
    "results": ('{"results": 1, "target": "x"}\n{"footer": 1}\n', '{"kind": "header", "format": 1}\n'),
    "known": ('[[deviation]]\nrequirement = "a/b"\nverdict = "fail"\ncause = "x"\nreason = "y"\nversions = ">=1"\n',),
    "script": ('{"script": 1, "steps": [{"send": [["close.header", "03", ""]]}, {"fence": {}}]}',),
    "probe": (
        (
            '{"probe": 1, "target": {"reach": "r", "name": "n", "version": "1", "role": "router", "side": "responder"}, '
            '"capabilities": [], "claimed": [], "missing": [], "profiles": {}}'
        ),
    ),
    "vectors": (
        (
            '{"format": 1, "message": "close", "vectors": [{"id": "close/a", "about": "x", "covers": [], "layer": "transport", '
            '"bytes": "0300", "segments": [["close.header", "03", ""], ["close.reason", "00", ""]], '
            '"means": {"Close": {"session": false, "reason": 0}}, "canonical": true, "source": "s", "confirmed_by": []}]}'
        ),
    ),
    "manifest": (
        (
            '{"campaign": 1, "id": "a", "kind": "codec", "oracle": "decode", "targets": [], "seed": 1, "seconds": 1, "jobs": 1, '
            '"versions": {}, "command": "c", "began": "2026-01-01"}'
        ),
    ),
    "events": ('{"event": "begin", "seconds": 0}\n{"event": "end", "seconds": 1, "inputs": 3}\n',),
    "ledger": (
        (
            '{"ledger": 1, "findings": [{"finding": 1, "id": "0123456789ab", "oracle": "decode", "rule": "r", "signature": "s", '
            '"why": "w", "input": "00ff", "sides": [{"name": "ours", "verdict": "refuses"}], "segments": [["a", "00", ""]]}]}'
        ),
    ),
    "finding": (
        '{"finding": 1, "id": "0123456789ab", "oracle": "decode", "rule": "r", "signature": "s", "why": "w", "input": "00"}',
    ),
    "target string": (
        "wheel:1.10.2?role=client&profile=short-lease",
        "tcp/127.0.0.1:7447",
        "lib:./a.so?name=x",
        "stdio:./c --x?",
    ),
    "codec answer": (
        '{"ok": true, "means": {"Close": {}}, "size": 2, "encoded": "0300"}',
        '{"ok": false, "why": "w", "at": 1}',
    ),
}
"""One or two of each, to begin with."""

ORACLE = Files
