"""What becomes of a finding that a person has looked at: a vector, a regression test, a listed deviation."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from zenoh_conformance.codec import DecodeError, to_json
from zenoh_harness.errors import UsageError
from zenoh_harness.files import campaigns
from zenoh_harness.files.campaigns import FindingRow

from . import inputs, oracle
from .reducing import keep
from .telling import explained


def promoted(place: Path, kind: str) -> str:
    """The text of what the finding in a folder becomes; the finding is marked.  UsageError for one under embargo."""
    row = campaigns.read_finding(place)
    if row.embargo and kind != "fixed":
        raise UsageError(f"{row.id} is under embargo", step="promote",
                         hint="what makes a current release crash is told to its makers first")  # fmt: skip
    row = explained(row, str(place))
    text = "" if kind == "fixed" else {"vector": vector, "test": test, "deviation": deviation}[kind](row)
    standing = {"fixed": "fixed", "deviation": "explained"}.get(kind, "promoted")
    keep(place, replace(row, standing=standing))
    return text


def vector(row: FindingRow) -> str:
    """An entry for `vectors/zenoh_vectors/data/`, with our reading of the bytes: to be held against the table by a person."""
    if not oracle.kind_of(row.oracle).structured:
        raise UsageError(f"an input of {row.oracle} is no message", step="promote", hint="--as test")
    number, message = inputs.taken_apart(bytes.fromhex(row.input))
    layer = inputs.LAYERS[number]
    told: dict[str, object] = {
        "id": f"fuzz/{row.id}", "about": row.why[:200], "covers": [], "layer": layer, "bytes": message.hex(),
        "segments": [list(one) for one in row.segments],
    }  # fmt: skip
    try:
        read, _ = inputs.messages(number, message)
    except DecodeError as refusal:
        told["refuses"] = {"why": refusal.why, "at": refusal.at, "path": refusal.path}
    else:
        means = (
            [to_json(one.message) for one in read] if number != inputs.VLE else [{"Vle": {"value": read[0].message}}]
        )
        told["means"] = means[0] if number < inputs.BATCH or number == inputs.VLE else {"Batch": {"messages": means}}
        told["canonical"] = not any(one.diagnostics for one in read)
    return json.dumps(told | {"source": f"fuzzing: {row.oracle}/{row.rule}", "confirmed_by": []}, indent=1) + "\n"


def test(row: FindingRow) -> str:
    """A regression test that needs no engine."""
    targets = ", ".join(json.dumps(text) for text in row.targets)
    return f'''"""{row.oracle}/{row.rule}: an input that once broke it."""

from zenoh_fuzz import oracle
from zenoh_fuzz.targets import opened


def test_{row.oracle}_{row.id}() -> None:
    """{_one_line(row.why)}"""
    judge = oracle.made("{row.oracle}", opened([{targets}]))
    judge.thorough = True
    assert [*oracle.judged(judge, bytes.fromhex("{row.input}")), *judge.rest()] == []
'''


def deviation(row: FindingRow) -> str:
    """An entry of a list of known deviations, to be completed: which requirement it is, only a person can tell."""
    return f"""[[deviation]]
requirement = ""  # which one this breaks
versions    = "=={next((one for name, one in sorted(row.versions.items()) if name != "ours"), "")}"
verdict     = "fail"
cause       = {json.dumps(row.why[:160])}
reason      = ""  # why it is tolerated
evidence    = {json.dumps(f"input {row.input[:200]}")}
owner       = ""
see         = ""
"""


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace('"', "'").replace("\\", "/")[:90]
