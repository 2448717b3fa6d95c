"""Store the statements of witnesses: agreements in `confirmed.json`, from which the vectors' `confirmed_by` is filled, and
all others in `unconfirmed.json` beside it, so that no disagreement is lost."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from zenoh_harness.foreign.confirm.statement import Statement, Word
from zenoh_vectors import confirmed
from zenoh_vectors.loader import Vector

EXPLAINED: Final = Path(__file__).with_name("explained.toml")

Rows = dict[str, dict[str, dict[str, list[str]]]]
"""Vector id to digest of the vector to witness to [word, reason]."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A vector with which a witness does not agree."""

    witness: str
    vector: str
    why: str
    explained: str
    """An erratum of the vector, or a row of `explained.toml`; empty if nothing explains the disagreement."""


def unconfirmed_file() -> Path:
    """Return the path of `unconfirmed.json`, beside that of the confirmations."""
    return confirmed.file().with_name("unconfirmed.json")


def keep(vectors: Sequence[Vector], said: Mapping[str, Sequence[Statement]], *, whole: bool = False) -> None:
    """Write the statements of each witness about these vectors; statements of other witnesses about the same bytes stay.

    Statements about other vectors stay, too, unless `whole` says that these are all vectors.
    """
    for witness, statements in said.items():
        agreed = [v.id for v, statement in zip(vectors, statements, strict=True) if statement.word is Word.AGREES]
        confirmed.record(vectors, witness, agreed)
    kept: Rows = json.loads(unconfirmed_file().read_text(encoding="utf-8")) if unconfirmed_file().is_file() else {}
    rows = {} if whole else dict(kept)
    for place, vector in enumerate(vectors):
        rest = {witness: statements[place] for witness, statements in said.items()}
        comparable = {name: [s.word.value, s.why] for name, s in rest.items() if s.word is not Word.AGREES}
        mark = confirmed.digest(vector)
        others = {name: word for name, word in kept.get(vector.id, {}).get(mark, {}).items() if name not in said}
        rows.pop(vector.id, None)
        if others or comparable:
            rows[vector.id] = {mark: dict(sorted((others | comparable).items()))}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(rows[name], ensure_ascii=False)}" for name in sorted(rows))
    unconfirmed_file().write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def disagreements(vectors: Sequence[Vector], said: Mapping[str, Sequence[Statement]]) -> list[Disagreement]:
    """All of them, by witness and vector, each with what explains it."""
    rows = tomllib.loads(EXPLAINED.read_text(encoding="utf-8"))["explained"]
    found = []
    for witness, statements in said.items():
        for vector, statement in zip(vectors, statements, strict=True):
            if statement.word is Word.DIFFERS:
                why = [f"erratum {erratum.id}" for erratum in vector.errata]
                why += [row["why"] for row in rows if _fits(row, witness, vector.id)]
                found.append(Disagreement(witness, vector.id, statement.why, why[0] if why else ""))
    return found


def idle_rows(found: Sequence[Disagreement], witnesses: Sequence[str]) -> list[str]:
    """Rows of `explained.toml` about one of these witnesses that explain none of their disagreements."""
    rows = tomllib.loads(EXPLAINED.read_text(encoding="utf-8"))["explained"]
    return [
        f"{row['witness']} on {row['vector']}"
        for row in rows
        if any(fnmatchcase(name, row["witness"]) for name in witnesses)
        and not any(_fits(row, one.witness, one.vector) for one in found)
    ]


def _fits(row: Mapping[str, str], witness: str, vector: str) -> bool:
    return fnmatchcase(witness, row["witness"]) and fnmatchcase(vector, row["vector"])
