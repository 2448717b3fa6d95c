"""Judges the bytes that a codec wrote by what our decoder reads in them; the codec needs no capability for that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from zenoh_harness.codecs.codec import AnswerKind
from zenoh_harness.codecs.leeway import reduce_to
from zenoh_harness.codecs.meaning import comparable
from zenoh_harness.codecs.own import OwnCodec
from zenoh_vectors.judge import excerpt, parts

Meaning = Mapping[str, Any]

UNREAD: Final = "our decoder does not read what it wrote"


def read_back(layer: str, data: bytes) -> Meaning | str:
    """Return the meaning that our decoder reads in written bytes, or why it does not read all of them."""
    answer = OwnCodec().decode(layer, data)
    if answer.kind is not AnswerKind.DECODED or answer.means is None:
        return f"refused{'' if answer.at is None else f' at byte {answer.at}'}: {answer.why}"
    if answer.size < len(data):
        return f"{len(data) - answer.size} of {len(data)} bytes are left over"
    return answer.means


def same_meaning(layer: str, read: Meaning, meanings: Iterable[Meaning]) -> Meaning | None:
    """Return the one of `meanings` that says the same as what was read in written bytes, as far as it must; or None."""
    form = _comparable_form(layer, read, "text")
    return next((means for means in meanings if reduce_to(_comparable_form(layer, means), form) == form), None)


def is_reduced(layer: str, data: bytes, means: Meaning) -> bool:
    """Whether written bytes lack something of a meaning, and nothing that a codec must write again."""
    read = read_back(layer, data)
    if isinstance(read, str):
        return False
    ours, theirs = _comparable_form(layer, means), _comparable_form(layer, read, "text")
    return bool(ours != theirs and reduce_to(ours, theirs) == theirs)


def fault_of(layer: str, data: bytes, *meanings: Meaning) -> str:
    """Return how bytes that a codec wrote differ from what they must mean; empty if they mean one of `meanings`."""
    read = read_back(layer, data)
    if isinstance(read, str):
        return f"{UNREAD}: {read}"
    if same_meaning(layer, read, meanings) is not None:
        return ""
    form = _comparable_form(layer, read, "text")
    expected = reduce_to(_comparable_form(layer, meanings[0]), form)
    path, wanted, found = next(parts(expected, form, ""), ("meaning", "one thing", "another"))
    return f"what it wrote means {path}: expected {excerpt(wanted, found)}, found {excerpt(found, wanted)}"


def _comparable_form(layer: str, means: Meaning, key: str = "canonical") -> Any:
    """Return a meaning in comparable form; a key expression is written in its canonical form."""
    body = means.get("KeyExpr") if layer == "keyexpr" else None
    return {"KeyExpr": body.get(key)} if isinstance(body, Mapping) else comparable(means)
