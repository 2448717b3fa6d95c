"""Writes a proof: a JSON file with everything from which a verdict follows."""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import Any, Final

from zenoh_conformance.judging.verdict import Judgement, Verdict
from zenoh_conformance.spec.lock import lock
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.files import scripts
from zenoh_harness.files.results import judgement_row
from zenoh_reports.plain.fold import now_called
from zenoh_reports.plain.runs import Run

FORMAT: Final = 1
LARGEST: Final = 4 << 20
"""The maximum size of a conversation in a proof, in bytes."""
VECTORS: Final = "vectors/"
"""How the checks of golden vectors begin."""


def proof(run: Run, judgement: Judgement) -> str | None:
    """Return the proof as text; None if there is no conversation, or the verdict does not follow from it."""
    if run.interop or not follows(judgement):
        return None
    file = run.inside(judgement.evidence or "")
    if file is None or file.stat().st_size > LARGEST:
        return None
    script = run.inside(str(PurePosixPath(judgement.evidence or "").with_suffix(scripts.SUFFIX)))
    header = run.results.header
    text: dict[str, Any] = {
        "proof": FORMAT,
        "target": {
            "name": header.name,
            "version": header.version,
            "kind": header.kind,
            "reach": header.reach,
            "digest": header.digest,
            "results_sha256": run.digest,
        },
        "harness": header.harness,
        "spec": header.spec,
        "seed": header.seed,
        "facts": dict(header.facts),
        "requirement": requirement(judgement),
        "judgement": judgement_row(judgement),
        "conversation": file.read_text(encoding="utf-8", errors="replace").splitlines(),
        "script": script.read_text(encoding="utf-8", errors="replace") if script else "",
    }
    return json.dumps(text, indent=1, ensure_ascii=True) + "\n"


def follows(judgement: Judgement) -> bool:
    """Whether the verdict follows from bytes: the end or the hang of a process does not, nor what is passed on of a vector."""
    known = dict(judgement.details).get("known")
    text = (
        known.get("expected")
        if judgement.verdict is Verdict.KNOWN and isinstance(known, dict)
        else judgement.verdict.value
    )
    is_of_vectors = judgement.key.check.startswith(VECTORS)
    return text in (Verdict.FAIL.value, Verdict.WARN.value) and bool(judgement.evidence) and not is_of_vectors


def requirement(judgement: Judgement) -> dict[str, str]:
    """Return the requirement with the digest of its section."""
    known = requirements()
    ident = now_called(known, judgement.key.requirement)
    one = known.get(ident)
    section = one.ref[0] if one else ""
    return {
        "id": ident,
        "level": judgement.level,
        "says": one.says if one else "",
        "section": section,
        "digest": lock().sections.get(section, ""),
    }
