"""Two messages side by side, segment by segment, with the first byte at which they differ."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any, Final

from zenoh_conformance.messages import Close
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.explain import Layer, explain
from zenoh_conformance.reading.kinds import REASONS, reason_code
from zenoh_reports.plain.wirelog import AnnotatedSegment, LogRow

LAYERS: Final = frozenset(map(str, Layer))
"""Those whose bytes have segments."""


@dataclass(frozen=True, slots=True)
class AlignedLine:
    """One line of the two columns."""

    path: str
    left: str
    right: str
    left_note: str = ""
    right_note: str = ""
    differs: bool = False
    first: bool = False
    """The first difference stands here."""


@dataclass(frozen=True, slots=True)
class Diff:
    """Two columns."""

    left: str
    """What the left column is."""
    right: str
    pairs: tuple[AlignedLine, ...]
    at: int | None
    """Offset of the first byte that differs; None where none does."""


_REQUIRED: Final = re.compile(r"(?:(?P<where>.*?): )?(?P<got>.+) where (?P<expected>.+) is required", re.DOTALL)
_CLOSE: Final = re.compile(rf"Close\(({'|'.join(REASONS)})\)")


@dataclass(frozen=True, slots=True)
class CauseParts:
    """A cause in its parts."""

    where: str
    expected: str
    got: str


def parts_of(cause: str) -> CauseParts:
    """`stage open: OpenAck where a refusal is required` in three; what has another form is all `got`."""
    found = _REQUIRED.fullmatch(cause)
    return CauseParts(found["where"] or "", found["expected"], found["got"]) if found else CauseParts("", "", cause)


def diff_of(cause: str, guilty: LogRow | None) -> Diff | None:
    """What was required beside what came, where the requirement names a message that can be written down."""
    wanted = parts_of(cause).expected
    close = _CLOSE.search(wanted)
    if guilty is None or (close is None and "refusal" not in wanted):
        return None
    reason = reason_code(close[1]) if close else reason_code("INVALID")
    seen = [piece for piece in guilty.pieces if piece.path != "length"]
    session = bool(seen and seen[0].path == "close.header" and int(seen[0].hex[:2], 16) & 0x20)
    expected = pieces(encode(Close(session=session, reason=reason)), Layer.BATCH)
    left = f"required: {wanted}" if close else "required: a refusal, for example"
    return side_by_side(expected, seen, left_name=left, right_name=f"seen: {guilty.label}")


def vector_diff(beside: Any) -> Diff | None:
    """A vector beside what the codec made of it, from `run.vectors.codec_run.beside`; None where nothing can be laid out."""
    try:
        data, seen = bytes.fromhex(beside["bytes"]), bytes.fromhex(beside.get("seen", ""))
        layer, how, at = str(beside["layer"]), beside.get("how"), beside.get("at")
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    place = at if isinstance(at, int) and 0 <= at <= len(data) else None
    if how in ("written", "read"):
        name = "written instead" if how == "written" else "what was read, as the bytes that mean it"
        return side_by_side(laid_out(data, layer), laid_out(seen, layer), left_name="the vector", right_name=name)
    if how == "refused" and place is not None:
        right = f"taken, before it was refused at byte {place}"
        return side_by_side(laid_out(data, layer), cut(data, layer, place), left_name="the vector", right_name=right)
    if how == "taken" and place is not None:
        left = f"required: to be taken this far, and refused at byte {place}"
        return side_by_side(cut(data, layer, place), laid_out(data, layer), left_name=left, right_name="taken whole")
    return None


def laid_out(data: bytes, layer: str) -> list[AnnotatedSegment]:
    """A vector's segments; an integer or a key by itself is one."""
    if layer in LAYERS:
        return pieces(data, Layer(layer))
    return (
        [AnnotatedSegment(0, data.hex(" "), layer, data.decode("utf-8", "replace") if layer == "keyexpr" else "")]
        if data
        else []
    )


def cut(data: bytes, layer: str, at: int) -> list[AnnotatedSegment]:
    """The segments before byte `at`, the one that it falls into cut short."""
    before = [one for one in laid_out(data, layer) if one.at < at]
    return [replace(one, hex=one.hex[: (at - one.at) * 3].rstrip()) for one in before]


def pieces(data: bytes, layer: Layer) -> list[AnnotatedSegment]:
    """A message's segments."""
    return [AnnotatedSegment(line.at, line.data.hex(" "), line.path, line.note) for line in explain(data, layer).lines]


def side_by_side(
    left: Sequence[AnnotatedSegment], right: Sequence[AnnotatedSegment], *, left_name: str, right_name: str
) -> Diff:
    """Align two lists of segments by their paths."""
    matcher = SequenceMatcher(a=[one.path for one in left], b=[one.path for one in right], autojunk=False)
    pairs: list[AlignedLine] = []
    for tag, a, b, c, d in matcher.get_opcodes():
        ones, others = list(left[a:b]), list(right[c:d])
        for index in range(max(len(ones), len(others))):
            one = ones[index] if index < len(ones) else None
            other = others[index] if index < len(others) else None
            pairs.append(_pair(one, other, same_place=tag == "equal"))
    at = first_difference(joined(left), joined(right))
    return Diff(left_name, right_name, _marked(pairs), at)


def _pair(one: AnnotatedSegment | None, other: AnnotatedSegment | None, *, same_place: bool) -> AlignedLine:
    paths = [piece.path for piece in (one, other) if piece is not None]
    path = paths[0] if same_place or len(paths) == 1 else " / ".join(dict.fromkeys(paths))
    left, right = one.hex if one else "", other.hex if other else ""
    return AlignedLine(
        path, left, right, one.note if one else "", other.note if other else "", differs=left != right or not same_place
    )


def _marked(pairs: Sequence[AlignedLine]) -> tuple[AlignedLine, ...]:
    marked, done = [], False
    for pair in pairs:
        if pair.differs and not done:
            done = True
            pair = AlignedLine(
                pair.path, pair.left, pair.right, pair.left_note, pair.right_note, differs=True, first=True
            )
        marked.append(pair)
    return tuple(marked)


def joined(pieces_: Sequence[AnnotatedSegment]) -> bytes:
    """The bytes of some segments."""
    return b"".join(bytes.fromhex(piece.hex) for piece in pieces_)


def first_difference(left: bytes, right: bytes) -> int | None:
    """Offset of the first byte that differs, the end of the shorter one included; None for equal ones."""
    if left == right:
        return None
    for at, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return at
    return min(len(left), len(right))
