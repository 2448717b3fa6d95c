"""The live wheel as a witness: its log where bytes are concerned, its functions where key expressions are."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Final

from zenoh_harness.codecs.codec import AnswerKind, Request
from zenoh_harness.errors import CannotGoOn
from zenoh_harness.foreign.confirm.codec import NO_SHM, CodecWitness
from zenoh_harness.foreign.confirm.live import PACKAGE, Probe, read_by_nodes
from zenoh_harness.foreign.confirm.statement import AGREES, Piece, Statement, Unaskable, Word, pieces, touches
from zenoh_harness.links.timing import scaled
from zenoh_harness.programs.environments import python_with
from zenoh_vectors.loader import Vector

LARGEST: Final = 49_000
"""Bytes that the acceptor's link takes as one batch."""

NO_LOG: Final = "before a session the log shows the first message of a link only"
NO_TWIN: Final = "its log is read beside that of zenoh-codec, which is built without shared memory"

_AROUND: Final = {"transport": b"", "batch": b"", "network": b"\x25\x00", "vle": b"\x20\x00"}
"""What stands before the bytes of a layer on the link: nothing, a FRAME, an OAM with an integer for its body."""

_SHM: Final = re.compile(
    r"ext_shm: Some\(ZExt\w+ \{[^{}]*Value: (?:(?P<z64>\d+) \}|ZBuf \{ slices: \[(?P<zbuf>[0-9a-f\[\], ]*)\] \} \})\), "
)
"""The extension of shared memory in the Debug text of INIT and OPEN."""

Asked = list[Probe] | Statement
"""What to send for a vector, or why nothing."""


class WheelWitness:
    """A live node of the release that `codec` has; a `zenoh_harness.foreign.confirm.statement.Witness`."""

    def __init__(self, codec: CodecWitness) -> None:
        self.codec = codec
        self.name = f"wheel {codec.release}"

    def statements(self, vectors: Sequence[Vector]) -> Iterator[Statement]:
        """One a vector, in their order."""
        keys = self._keys([vector for vector in vectors if vector.layer == "keyexpr"])
        theirs = list(self.codec.statements(vectors))
        asked = [_probes_of(vector, other) for vector, other in zip(vectors, theirs, strict=True)]
        probes = [probe for found in asked if not isinstance(found, Statement) for probe in found]
        logged = zip(self._readings_of_codec(probes), read_by_nodes(self.codec.release, probes), strict=True)
        for vector, other, found in zip(vectors, theirs, asked, strict=True):
            if vector.layer == "keyexpr":
                yield next(keys)
            elif isinstance(found, Statement):
                yield found
            elif other.why == NO_SHM:
                yield _of_shm(vector, *next(logged))
            else:
                yield _compare_readings(other, [next(logged) for _ in found])

    def _readings_of_codec(self, probes: Sequence[Probe]) -> Iterator[str]:
        """What the log must say of each probe if the node reads what zenoh-codec reads."""
        requests = [Request.decode("scouting" if probe.scouting else "transport", probe.data) for probe in probes]
        for probe, answer in zip(probes, self.codec.codec.ask(requests), strict=True):
            debug = answer.debug if answer.kind is AnswerKind.DECODED else ""
            yield debug.removeprefix("ScoutingMessage { body: ").removesuffix(" }") if probe.scouting else debug

    def _keys(self, vectors: Sequence[Vector]) -> Iterator[Statement]:
        """Statements about vectors of key expressions."""
        keys = [_text(vector.data) for vector in vectors]
        answers = iter(_key_functions(self.codec.release, [key for key in keys if key is not None]))
        for vector, key in zip(vectors, keys, strict=True):
            if key is None:
                yield Statement(Word.CANNOT, "its functions take text, not bytes")
            else:
                yield _of_key(vector, next(answers))


def _probes_of(vector: Vector, other: Statement) -> Asked:
    if other.why == NO_SHM and (vector.layer != "transport" or not touches(vector, "init", "open")):
        return Statement(Word.CANNOT, NO_TWIN)
    if other.word is Word.CANNOT and other.why != NO_SHM:
        return other
    if other.why.startswith(AnswerKind.CRASH.value):
        return Statement(Word.CANNOT, "not sent to a live node, because zenoh-codec breaks at it")
    try:
        return [_probe(piece) for piece in pieces(vector)]
    except Unaskable as why:
        return Statement(Word.CANNOT, str(why))


def _probe(piece: Piece) -> Probe:
    if piece.layer == "scouting":
        return Probe(piece.data, scouting=True)
    if piece.layer not in _AROUND or not piece.data or (piece.layer == "batch" and not _single(piece)):
        raise Unaskable(NO_LOG)
    if len(piece.data) > LARGEST:
        raise Unaskable("it is larger than a batch on this link")
    return Probe(_AROUND[piece.layer] + piece.data)


def _single(piece: Piece) -> bool:
    return bool(piece.meanings) and len(piece.meanings[0]["Batch"]["messages"]) == 1


def _compare_readings(other: Statement, logged: Sequence[tuple[str, str]]) -> Statement:
    """What zenoh-codec says too, when the log says what zenoh-codec reads."""
    for expected, log in logged:
        want, got = _plain(expected), _plain(log)
        if want != got:
            at = next((n for n, pair in enumerate(zip(got, want, strict=False)) if pair[0] != pair[1]), 0)
            return Statement(Word.DIFFERS, f"its log says {got[at : at + 80]!r} for {want[at : at + 80]!r}")
    return other


def _of_shm(vector: Vector, expected: str, log: str) -> Statement:
    """INIT and OPEN with the extension that zenoh-codec skips here: the log has it, and is else the same."""
    if vector.means is None:
        return Statement(Word.DIFFERS, f"accepts it: {log[:80]}") if log else AGREES
    exts = next(iter(vector.means.values()))["exts"]
    wanted = next(ext[name] for ext in exts for name in ext if name in ("Shm", "ShmAnswer"))
    found = _SHM.search(log)
    got = None if found is None else _shm_value(found)
    if got != wanted:
        return Statement(Word.DIFFERS, f"its log says shm {got} instead of {wanted}")
    return _compare_readings(AGREES, [(expected, _SHM.sub("", log))])


def _shm_value(found: re.Match[str]) -> dict[str, object]:
    if found["z64"] is not None:
        return {"value": int(found["z64"])}
    return {"payload": re.sub(r"[\[\], ]", "", found["zbuf"])}


def _plain(text: str) -> str:
    """Debug text without what only a build with the node's features shows."""
    return text.replace("ext_shm: None, ", "").replace(", ext_shm: None", "").replace("BlockFirst", "Drop")


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _of_key(vector: Vector, answer: dict[str, object]) -> Statement:
    if answer["panic"] is not None:
        return Statement(Word.DIFFERS, f"its functions panic: {str(answer['panic'])[:120]}")
    found = None if answer["canonical"] is None else {name: answer[name] for name in ("valid", "canonical")}
    comparable = vector.means["KeyExpr"] if vector.means is not None else None
    wanted = None if comparable is None else {name: comparable[name] for name in ("valid", "canonical")}
    return AGREES if found == wanted else Statement(Word.DIFFERS, f"its functions say {found} instead of {wanted}")


def _key_functions(release: str, keys: Sequence[str]) -> list[dict[str, object]]:
    if not keys:
        return []
    script = files("zenoh_harness") / "targets" / "nodes" / "wheel_keys.py"
    command = [str(python_with(PACKAGE, release)), "-I", str(script)]
    asked = "".join(json.dumps(key) + "\n" for key in keys)
    done = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=scaled(60), check=False)
    if done.returncode:
        raise CannotGoOn(f"{PACKAGE} {release} cannot be asked about key expressions", step="confirm",
                         seen=done.stderr.splitlines()[-3:])  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]
