"""Checks and seals submissions: folders with which an implementer publishes a reproducible result.

    results.jsonl             what `zconform run --out` wrote
    evidence/...              recorded conversations and scripts
    submission.json           implementation, date, commands, digests (`schemas/submission.schema.json`)
    attestation.intoto.json   an in-toto statement over the same digests, of the type test-result

To merge several submissions, name their folders in one `zconform report`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any, Final

from zenoh_conformance.judging.verdict import Exit
from zenoh_harness.errors import UsageError
from zenoh_harness.files.faults import FileFault
from zenoh_reports.plain import documents
from zenoh_reports.plain.runs import RESULTS, SUBMISSION, Run, read

ATTESTATION: Final = "attestation.intoto.json"
STATEMENT: Final = "https://in-toto.io/Statement/v1"
PREDICATE: Final = "https://in-toto.io/attestation/test-result/v0.1"
_RESULT: Final = {Exit.CONFORMING: "PASSED", Exit.NOT_CONFORMING: "FAILED"}


def faults(folder: Path) -> Iterator[str]:
    """Yield one line per fault of a submission; none if it is complete."""
    if not (folder / SUBMISSION).is_file():
        then = f"`zconform report {folder.name} --seal`"
        yield f"{folder.name}: {SUBMISSION} is missing: write it (implementation, date, reproduce), then {then}"
        return
    try:
        run = read(folder / RESULTS)
        if "files" not in run.about:
            yield f"{folder.name}: {SUBMISSION} contains no digests: `zconform report {folder.name} --seal` writes them"
            return
        documents.check(folder / SUBMISSION, documents.read(folder / SUBMISSION), "submission")
    except FileFault as fault:
        yield f"{folder.name}: {fault}"
        return
    for line in (*of_results(run), *of_files(folder, run), *of_attestation(folder, run)):
        yield f"{folder.name}: {line}"


def of_results(run: Run) -> Iterator[str]:
    """Yield the faults of the results."""
    if not run.complete:
        yield f"{RESULTS}: the run is incomplete: {run.why_incomplete}"
    if not run.identity.version:
        yield f"{RESULTS}: the header has no version of the target"
    if any(one.embargo for one in run.results.judgements):
        yield f"{RESULTS}: contains judgements under embargo"


def of_files(folder: Path, run: Run) -> Iterator[str]:
    """Yield the faults of the digests."""
    listed: Mapping[str, str] = run.about["files"]
    for name, digest in listed.items():
        file = run.inside(name)
        if file is None:
            yield f"{name}: is listed but missing"
        elif sha256(file.read_bytes()).hexdigest() != digest:
            yield f"{name}: does not have the digest in {SUBMISSION}"
    for name in digests(folder):
        if name not in listed:
            yield f"{name}: has no digest in {SUBMISSION}"
    for name in sorted({one.evidence for one in run.judgements if one.evidence}):
        if run.inside(name) is None:
            yield f"{name}: is named as evidence but missing"


def of_attestation(folder: Path, run: Run) -> Iterator[str]:
    """Yield the faults of the in-toto statement."""
    try:
        stated = documents.read(folder / ATTESTATION)
    except FileFault as fault:
        yield str(fault)
        return
    wanted = statement(run)
    for name in ("_type", "predicateType", "subject", "predicate"):
        if stated.get(name) != wanted[name]:
            yield f"{ATTESTATION}: {name} does not match the files"


def digests(folder: Path) -> dict[str, str]:
    """Return relative path to SHA-256 of the results and evidence of a submission."""
    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and not file.name.startswith(".")]
    names = {file.relative_to(folder).as_posix(): file for file in files}
    return {
        name: sha256(file.read_bytes()).hexdigest()
        for name, file in names.items()
        if name == RESULTS or PurePosixPath(name).parts[0] == "evidence"
    }


def statement(run: Run) -> dict[str, Any]:
    """Return the in-toto statement over the files of a submission."""
    about = run.about
    header = run.results.header
    return {
        "_type": STATEMENT,
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in sorted(about["files"].items())],
        "predicateType": PREDICATE,
        "predicate": {
            "result": _RESULT.get(run.exit, "WARNED"),
            "configuration": [
                {
                    "name": header.name,
                    "annotations": {"version": header.version, "reach": header.reach, "digest": header.digest},
                },
                {
                    "name": "zenoh-conformance",
                    "annotations": {"version": header.harness, "spec": header.spec, "seed": header.seed},
                },
            ],
            "annotations": {"commit": about["implementation"]["commit"], "date": about["date"]},
        },
    }


def seal(folder: Path) -> None:
    """Write digests and statement of a submission. Raises UsageError if `submission.json` is missing, and FileFault."""
    file = folder / SUBMISSION
    if not file.is_file():
        wanted = "homepage, language, licence, system, commit"
        hint = f"write it: implementation ({wanted}), date, and the commands under reproduce"
        raise UsageError(f"{folder} has no {SUBMISSION}", step="--seal", hint=hint)
    about = documents.read(file) | {"submission": 1, "files": digests(folder)}
    documents.check(file, about, "submission")
    file.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    text = json.dumps(statement(read(folder / RESULTS)), indent=2) + "\n"
    (folder / ATTESTATION).write_text(text, encoding="utf-8")
