"""zenoh-rust's codec as a witness: what it reads in the bytes of a vector, and what it writes again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from zenoh_harness.codecs.codec import Answer, AnswerKind, Codec, Request
from zenoh_harness.codecs.meaning import comparable
from zenoh_harness.foreign.confirm.statement import AGREES, Piece, Statement, Unaskable, Word, pieces, touches
from zenoh_vectors.judge import parts
from zenoh_vectors.loader import Vector

NO_SHM: Final = "zenoh-codec is built without shared memory, whose libraries take minutes to compile"

SHM: Final = frozenset({"shm", "body_shm", "shm_answer"})
"""Path components of the extensions of shared memory."""

SINCE: Final[Mapping[str, tuple[int, ...]]] = {
    "ts_stack": (1, 10), "region_name": (1, 9), "remote_bound": (1, 9), "patch": (1, 0, 4), "first": (1, 0, 4),
    "drop": (1, 0, 4),
}  # fmt: skip
"""Path components of extensions, and the release that first had them; an older one skips them unread."""

CAUSE: Final = 120
"""Characters of a value in a cause."""

_INFO_BITS: Final = 0xFFFF01
"""Bits of QueryableInfo that the struct holds."""


class CodecWitness:
    """One release of zenoh-codec; a `zenoh_harness.foreign.confirm.statement.Witness`."""

    def __init__(self, codec: Codec) -> None:
        self.codec = codec
        self.release = codec.identity.version
        self.name = f"zenoh-codec {self.release}"

    def statements(self, vectors: Sequence[Vector]) -> Iterator[Statement]:
        """One a vector, in their order."""
        asked = [self._pieces(vector) for vector in vectors]
        sent = [piece for found in asked if not isinstance(found, Statement) for piece in found]
        answers = self.codec.ask(Request.decode(piece.layer, piece.data) for piece in sent)
        for found in asked:
            yield (
                found if isinstance(found, Statement) else self._statement([(piece, next(answers)) for piece in found])
            )

    def _pieces(self, vector: Vector) -> list[Piece] | Statement:
        try:
            found = pieces(vector)
        except Unaskable as why:
            return Statement(Word.CANNOT, str(why))
        return Statement(Word.CANNOT, reason) if (reason := self._unseen(vector)) else found

    def _unseen(self, vector: Vector) -> str:
        """Why this release says nothing about a vector, whatever it answers; empty when it does."""
        if touches_shm(vector):
            return NO_SHM
        release = tuple(int(part) for part in re.findall(r"\d+", self.release))
        for name, since in SINCE.items():
            if release < since and touches(vector, name):
                return f"{self.release} skips {name}, which came with {'.'.join(map(str, since))}"
        steps = [step for _, step in vector.steps] or [vector]
        if any(_beyond_struct(step.means) for step in steps):
            return "the struct holds bit 0 and bits 8 to 23 of QueryableInfo, and no other"
        return ""

    def _statement(self, answered: Sequence[tuple[Piece, Answer]]) -> Statement:
        why = next(filter(None, (difference(piece, answer) for piece, answer in answered)), "")
        return Statement(Word.DIFFERS, why) if why else AGREES


def difference(piece: Piece, answer: Answer) -> str:
    """How an answer deviates from what a piece must mean; empty when it does not."""
    if answer.kind not in (AnswerKind.DECODED, AnswerKind.REFUSED):
        return f"{answer.kind.value}: {without_folders(answer.why)}"
    refused = answer.kind is AnswerKind.REFUSED or answer.size < len(piece.data)
    if not piece.meanings:
        return "" if refused else f"accepts it: {str(answer.means)[:CAUSE]}"
    if refused:
        return f"refuses it at byte {answer.size if answer.at is None else answer.at}"
    got = comparable(answer.means)
    if any(comparable(means) == got for means in piece.meanings):
        return ""
    path, wanted, found = next(parts(comparable(piece.meanings[0]), got, ""), ("meaning", "one thing", "another"))
    return f"{path}: {found!r:.{CAUSE}} instead of {wanted!r:.{CAUSE}}"


def touches_shm(vector: Vector) -> bool:
    """Whether what is read depends on shared memory: the codec then reads something else than the router."""
    steps = [step for _, step in vector.steps] or [vector]
    found = [set(segment.path.split(".")) for step in steps for segment in step.segments]
    marked = [path for path in found if path & SHM and "join" not in path]  # JOIN's is always there
    if marked and vector.refuses is not None and all(path & {"init", "open"} for path in marked):
        return touches(vector, *SHM)  # an extension to skip: what is refused may stand elsewhere
    return bool(marked)


def without_folders(text: str) -> str:
    """The text of a panic without this machine's folders."""
    return re.sub(r"\S*?/((?:zenoh[\w-]*-\d[^/\s]*|library)/\S+)", r"\1", text).replace("\n", " ")


def _beyond_struct(means: Any) -> bool:
    if isinstance(means, list):
        return any(map(_beyond_struct, means))
    if not isinstance(means, Mapping):
        return False
    info = means.get("QueryableInfo")
    if isinstance(info, Mapping) and int(info.get("value", 0)) & ~_INFO_BITS:
        return True
    return any(map(_beyond_struct, means.values()))
