"""Turn a reviewed finding into a vector, a regression test or a known deviation."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from zenoh_conformance.reading.codec import DecodeError, to_json
from zenoh_fuzz import inputs, oracle
from zenoh_harness.errors import UsageError
from zenoh_harness.files import campaigns
from zenoh_harness.files.campaigns import FindingRow

from .minimise import keep
from .report import explain_finding


def promote(place: Path, kind: str) -> str:
    """Return the vector, test or entry for the finding in a folder, and mark it. Raises UsageError for one under embargo."""
    row = campaigns.read_finding(place)
    if row.embargo and kind != "fixed":
        raise UsageError(
            f"{row.id} is under embargo",
            step="promote",
            hint="report a crash of a current release to its developers first",
        )
    row = explain_finding(row, str(place))
    text = "" if kind == "fixed" else {"vector": vector, "test": test, "deviation": deviation}[kind](row)
    standing: campaigns.Standing = "fixed" if kind == "fixed" else "explained" if kind == "deviation" else "promoted"
    keep(place, replace(row, standing=standing))
    return text


def vector(row: FindingRow) -> str:
    """Return an entry for `vectors/zenoh_vectors/data/` with our reading of the bytes, which a person must check."""
    if not oracle.kind_of(row.oracle).structured:
        raise UsageError(f"inputs of {row.oracle} are not messages", step="promote", hint="--as test")
    number, message = inputs.split_input(bytes.fromhex(row.input))
    layer = inputs.LAYERS[number]
    told: dict[str, object] = {
        "id": f"fuzz/{row.id}",
        "about": row.why[:200],
        "covers": [],
        "layer": layer,
        "bytes": message.hex(),
        "segments": [list(one) for one in row.segments],
    }
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
    """Return a regression test that needs no engine."""
    targets = ", ".join(json.dumps(text) for text in row.targets)
    return f'''"""{row.oracle}/{row.rule}: an input that once broke it."""

from zenoh_fuzz import oracle
from zenoh_fuzz.compare.targets import open_codecs


def test_{row.oracle}_{row.id}() -> None:
    """{_one_line(row.why)}"""
    judge = oracle.make_oracle("{row.oracle}", open_codecs([{targets}]))
    judge.thorough = True
    assert [*oracle.judge_input(judge, bytes.fromhex("{row.input}")), *judge.rest()] == []
'''


def deviation(row: FindingRow) -> str:
    """Return an incomplete entry for a list of known deviations: a person must name the requirement."""
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
