"""Codecs in a shared library with the C interface `codecs/zcodec.h`.

`python -m zenoh_harness.codecs.library PATH` serves a library over the stdio codec protocol, so that a crash ends only that
process. `load` loads it into this process, which gives hundreds of thousands of answers a second.
"""

from __future__ import annotations

import ctypes
import json
import signal
import struct
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Any, Final, NamedTuple

from zenoh_harness.codecs.codec import Answer, AnswerKind, Codec, Request
from zenoh_harness.codecs.server import serve
from zenoh_harness.errors import CannotStart, HarnessError, TargetError, UsageError
from zenoh_harness.identity import Identity
from zenoh_harness.links.timing import scaled

INTERFACE: Final = 1
"""The version of the interface in `zcodec.h`."""

LAYERS: Final = ("transport", "network", "scouting", "batch", "lowlatency", "vle", "keyexpr")
"""The layers; the index is the number in `zcodec.h`."""

DECODED, REFUSED, UNIMPLEMENTED, CRASHED, ENCODED, RELATED = range(6)
WANT_ENCODED, WANT_MEANING, WANT_PLAIN = 1, 2, 4

NOWHERE: Final = (1 << 64) - 1
MADE_UP: Final = 999
"""A layer that does not exist; a library that answers for it gives answers without meaning."""

TRIAL: Final = 10.0
"""Seconds that loading and a first answer may take."""

COUNTS: Final = b"__sanitizer_cov_8bit_counters_init"
"""The symbol that a library with coverage counters imports from libFuzzer."""

_ANSWER: Final = struct.Struct("<7Q")
_KINDS: Final = {CRASHED: AnswerKind.CRASH, REFUSED: AnswerKind.REFUSED, UNIMPLEMENTED: AnswerKind.UNIMPLEMENTED}
_NEEDED: Final = ("zcodec_interface", "zcodec_hello", "zcodec_decode")


class Raw(NamedTuple):
    """One answer of the library; numbers that it does not state are NOWHERE."""

    status: int
    size: int
    largest: int
    allocated: int
    data: bytes | None
    text: bytes


class LibraryCodec(Codec):
    """A codec library in this process. A crash of the library ends this process; `load` tries it in another one first."""

    def __init__(self, path: Path, *, name: str = "") -> None:
        """Load the library.

        Raises UsageError if the file does not exist, CannotStart if it is no codec library or has another version of the
        interface, and TargetError if it answers for a layer that does not exist.
        """
        self.path = path
        self._told = ctypes.create_string_buffer(_ANSWER.size)
        self._at = ctypes.addressof(self._told)
        library = _open_library(path)
        hello = _hello(library, path)
        identity = hello.get("identity", {})
        self.identity = Identity(
            name=name or str(identity.get("name", path.stem)), version=str(identity.get("version", "")),
            kind="lib", language=str(identity.get("language", "")),
        )  # fmt: skip
        self.layers = frozenset(map(str, hello.get("layers", ()))) & frozenset(LAYERS)
        self.capabilities = frozenset(map(str, hello.get("capabilities", ()))) | {"decode"}
        self._decode = _function(library, "zcodec_decode", [_U32, _BYTES, _U64, _U32, _POINTER])
        self._encode = _function(library, "zcodec_encode", [_U32, _BYTES, _U64, _POINTER])
        self._relate = _function(library, "zcodec_relate", [_BYTES, _U64, _BYTES, _U64, _POINTER])
        self._probe()

    def _probe(self) -> None:
        if self.raw(MADE_UP, b"\x04").status != UNIMPLEMENTED:
            raise TargetError(
                f"{self.path} answers for a layer that does not exist", step="honesty",
                seen="its other answers are worth as much",
                hint="for a layer number that it does not know zcodec_decode returns ZCODEC_UNIMPLEMENTED",
            )  # fmt: skip

    # --- direct calls -------------------------------------------------------------------------------------------------

    def status(self, layer: int, data: bytes, wants: int) -> int:
        """Decode, and return only the status; this is the fastest call."""
        return int(self._decode(layer, data, len(data), wants, self._at))

    def raw(self, layer: int, data: bytes, wants: int = 0) -> Raw:
        """Decode, and return the answer with the parts that the bits of `wants` select."""
        return self._raw(int(self._decode(layer, data, len(data), wants, self._at)))

    def relate(self, left: bytes, right: bytes) -> Raw:
        """Relate two key expressions; the status is UNIMPLEMENTED if the library has no such function."""
        return self._raw(self._relate(left, len(left), right, len(right), self._at) if self._relate else UNIMPLEMENTED)

    def _raw(self, status: int) -> Raw:
        size, largest, allocated, at, length, at_text, text_length = _ANSWER.unpack_from(self._told)
        ctypes.memset(self._at, 0, _ANSWER.size)
        return Raw(
            status, size, largest, allocated, ctypes.string_at(at, length) if at else None,
            ctypes.string_at(at_text, text_length) if at_text else b"",
        )  # fmt: skip

    # --- the interface of codecs --------------------------------------------------------------------------------------

    def ask(self, requests: Iterable[Request]) -> Iterator[Answer]:
        """Yield one answer for each request."""
        return map(self._ask, requests)

    def decode_many(self, layer: str, inputs: Sequence[bytes]) -> list[Answer]:
        """Decode inputs; the answers have no meaning (`means`)."""
        number = _number(layer)
        return [_answer(self.raw(number, data, WANT_ENCODED)) for data in inputs]

    def _ask(self, request: Request) -> Answer:
        if request.command == "relate":
            return _answer(self.relate(*(key.encode() for key in request.pair)))
        number = _number(request.layer)
        if request.command == "encode":
            if self._encode is None:
                return Answer(kind=AnswerKind.UNIMPLEMENTED, why="the library has no zcodec_encode")
            shown = json.dumps(request.means).encode()
            return _answer(self._raw(self._encode(number, shown, len(shown), self._at)))
        return _answer(self.raw(number, request.data, WANT_ENCODED | WANT_MEANING))


_U32, _U64, _BYTES, _POINTER = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_void_p


def _open_library(path: Path) -> ctypes.CDLL:
    if not path.is_file():
        raise UsageError(f"there is no library {path}", step="codec library", hint="write lib:PATH of a shared library")
    try:
        library = ctypes.CDLL(str(path.resolve()))
    except OSError as why:
        hint = "build it for this machine as a shared library: cc -shared -fPIC"
        hint = "it counts coverage, and loads only under `zconform fuzz`" if COUNTS.decode() in str(why) else hint
        raise CannotStart(f"{path} does not load", step="codec library", seen=str(why), hint=hint) from why
    if missing := [name for name in _NEEDED if not hasattr(library, name)]:
        raise CannotStart(f"{path} has no {missing[0]}", step="codec library", hint=f"build it with {header()}")
    if (spoken := int(library.zcodec_interface())) != INTERFACE:
        raise CannotStart(f"{path} speaks version {spoken} of the interface, and this is version {INTERFACE}",
                          step="codec library", hint=f"build it with {header()}")  # fmt: skip
    return library


def _hello(library: ctypes.CDLL, path: Path) -> dict[str, Any]:
    library.zcodec_hello.restype = ctypes.c_char_p
    introduction = library.zcodec_hello() or b""
    try:
        hello = json.loads(introduction)
    except ValueError:
        hello = None
    if not isinstance(hello, dict):
        raise CannotStart(f"{path} does not introduce itself", step="codec library", seen=f"zcodec_hello: {introduction[:80]!r}",
                          hint='{"identity": {...}, "layers": [...], "capabilities": [...]}')  # fmt: skip
    return hello


def _function(library: ctypes.CDLL, name: str, arguments: list[Any]) -> Any:
    function = getattr(library, name, None)
    if function is not None:
        function.argtypes, function.restype = arguments, _U32
    return function


def _number(layer: str) -> int:
    return LAYERS.index(layer) if layer in LAYERS else MADE_UP


def _answer(raw: Raw) -> Answer:
    """Return the answer of the codec interface; GARBAGE for an unknown status or a meaning that is not JSON."""
    largest, allocated = (None if number == NOWHERE else number for number in (raw.largest, raw.allocated))
    if raw.status in _KINDS:
        at = None if raw.status != REFUSED or raw.size == NOWHERE else raw.size
        return Answer(kind=_KINDS[raw.status], why=raw.text.decode(errors="replace"), at=at,
                      largest=largest, allocated=allocated)  # fmt: skip
    if raw.status == ENCODED:
        return Answer(kind=AnswerKind.ENCODED, data=raw.data or b"")
    try:
        means = json.loads(raw.text) if raw.text else None
    except ValueError as why:
        return Answer(kind=AnswerKind.GARBAGE, why=f"the meaning is not JSON: {why}")
    if raw.status == RELATED:
        return Answer(kind=AnswerKind.RELATED, means=means)
    if raw.status != DECODED:
        return Answer(kind=AnswerKind.GARBAGE, why=f"status {raw.status}")
    return Answer(
        kind=AnswerKind.DECODED, means=means, size=raw.size, data=raw.data, largest=largest, allocated=allocated
    )


def header() -> Path:
    """Return the path of the C header."""
    return Path(str(resources.files("zenoh_harness"))) / "codecs" / "zcodec.h"


def counts_coverage(path: Path) -> bool:
    """Return whether the library has coverage counters for libFuzzer; False if the file does not exist."""
    return path.is_file() and COUNTS in path.read_bytes()


def identity_in_trial(
    path: Path, *, name: str = "", patience: float = TRIAL, env: Mapping[str, str] | None = None
) -> Identity:
    """Load a library in another process, with the environment `env`, let it answer once, and return its identity.

    `patience`: the most seconds that this may take, before scaling; a process that is late is tried once more, since a busy machine
    may not have let it run. Raises CannotStart if the library crashes, hangs or is no codec library, and UsageError if the file does
    not exist.
    """
    if not path.is_file():
        _open_library(path)
    command = [sys.executable, "-m", "zenoh_harness.codecs.library", "--trial", str(path)]
    done = _done_in_time(command, patience, env) or _done_in_time(command, patience, env)
    if done is None:
        raise CannotStart(
            f"{path} hangs when it is loaded or first asked",
            step="codec library",
            seen=f"nothing for {scaled(patience):g} s, twice",
        )
    if done.returncode == 0:
        return Identity(**json.loads(done.stdout.splitlines()[-1]) | ({"name": name} if name else {}))
    if done.returncode < 0:
        raise CannotStart(f"{path} crashes when it is loaded or first asked", step="codec library",
                          seen=[signal.Signals(-done.returncode).name, *_last(done.stderr)])  # fmt: skip
    told = [line.strip() for line in done.stderr.decode(errors="replace").splitlines() if line.strip()]
    if done.returncode not in (CannotStart.exit_code, UsageError.exit_code) or not told:
        raise CannotStart(
            f"{path} ends the process that loads it (code {done.returncode})", step="codec library", seen=told[-3:]
        )
    raise CannotStart(told[0], seen=told[1:])


def _done_in_time(
    command: Sequence[str], patience: float, env: Mapping[str, str] | None
) -> subprocess.CompletedProcess[bytes] | None:
    """Run a command; return None, and end it, if it takes longer."""
    with suppress(subprocess.TimeoutExpired):
        return subprocess.run(command, capture_output=True, timeout=scaled(patience), check=False,
                              stdin=subprocess.DEVNULL, env=env)  # fmt: skip
    return None


def load(path: Path, *, name: str = "", patience: float = TRIAL, env: Mapping[str, str] | None = None) -> LibraryCodec:
    """Load a library into this process, after trying it in another one. Raises as `identity_in_trial`."""
    identity_in_trial(path, patience=patience, env=env)
    return LibraryCodec(path, name=name)


def _last(said: bytes) -> list[str]:
    return said.decode(errors="replace").splitlines()[-3:]


def main(arguments: Sequence[str]) -> int:
    """Serve a library over the stdio codec protocol; with `--trial` only print its identity. Returns the exit code."""
    trial, path = arguments[0] == "--trial", Path(arguments[-1])
    try:
        codec = LibraryCodec(path)
    except HarnessError as why:
        sys.stderr.write(f"{why}\n")
        return why.exit_code
    if trial:
        codec.decode("transport", b"\x04")
        who = codec.identity
        told = {"name": who.name, "version": who.version, "kind": who.kind, "language": who.language}
        sys.stdout.write("\n" + json.dumps(told) + "\n")
    else:
        serve(codec, sys.stdin.buffer, sys.stdout.buffer)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
