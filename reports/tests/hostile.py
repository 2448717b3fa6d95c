"""Everything that a target or a file may say, said with malice: each text field of each kind of file is hostile."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from zenoh_conformance.messages import Frame, Push, Put
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.reading.codec import encode
from zenoh_reports.plain.documents import Documents

EVIL: Final = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\x1b[2J\x9b2J\u202e'\"&]]>{{7*7}}"
LARGE: Final = 1_000_000
"""Characters of a name that only wants to be large."""
LINK: Final = "javascript:document.title='owned'"
SEEN: Final = Push(key=WireExpr(0, "a/" + EVIL.replace("/", "").replace("\x1b", "")), body=Put(payload=EVIL.encode()))


@dataclass(slots=True)
class Hostile:
    """Folders and documents of which a site is made."""

    places: list[Path] = field(default_factory=list)
    documents: Documents = field(default_factory=Documents)
    earlier: dict[str, Any] = field(default_factory=dict)


def everything(folder: Path) -> Hostile:
    """One of each, written below `folder`."""
    places = [
        run(folder / "run"),
        run(folder / "pair", kind="interop", name=f"{EVIL} <- {EVIL}"),
        unread(folder / "bad"),
    ]
    return Hostile(places, documents(), earlier())


def run(folder: Path, *, kind: str = EVIL, name: str = EVIL) -> Path:
    """Results with a submission and evidence; every text in them is hostile."""
    (folder / "evidence").mkdir(parents=True)
    target = {"reach": EVIL, "name": name, "version": EVIL, "role": EVIL, "kind": kind, "digest": EVIL}
    header = {
        "type": "header", "format": 1, "target": target, "spec": EVIL, "harness": EVIL, "seed": 7, "date": EVIL, "command": EVIL,
        "profiles": [EVIL], "facts": {EVIL: EVIL},
    }  # fmt: skip
    rows = [header, {"type": "plan", "checks": [EVIL]}, *judgements()]
    footer = {"judged": 1, "verdicts": {EVIL: 1}, "exit": 1, "pending": [EVIL], "embargoed": 3, "why": EVIL}
    rows.append({"type": "footer", **footer})
    (folder / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "submission.json").write_text(json.dumps(submission()))
    (folder / "evidence" / "a.jsonl").write_text(conversation())
    (folder / "evidence" / "a.script").write_text(f"# {EVIL}\nopen\n")
    (folder / "evidence" / "b.jsonl").write_text(EVIL)
    return folder


def judgement(verdict: str, check: str, **more: Any) -> dict[str, Any]:
    """One row."""
    return {
        "type": "judgement", "target": EVIL, "version": EVIL, "role": EVIL, "profile": EVIL, "link": EVIL, "requirement": EVIL,
        "level": EVIL, "check": check, "parameters": {EVIL: EVIL}, "verdict": verdict, "reading": EVIL, "cause": EVIL, "end": EVIL,
        "attempts": 2, "embargo": False, "evidence": None, "repeat": EVIL, "details": {},
    } | more  # fmt: skip


def judgements() -> list[dict[str, Any]]:
    """Each verdict that has a page, and each detail that a page reads."""
    listed = dict.fromkeys(("reason", "expected", "owner", "expires", "public"), EVIL) | {"see": LINK}
    beside = {"bytes": "2300", "layer": "transport", "how": "written", "seen": "2301", "label": EVIL, EVIL: EVIL}
    details = {
        "known": listed, "bytes": EVIL, "beside": beside, "health": {"before": EVIL, "after": f"zombie: {EVIL}"},
        "found": {EVIL: EVIL}, EVIL: {EVIL: [EVIL]},
    }  # fmt: skip
    clause = "session-establishment/cookie-must-match"
    return [
        judgement("fail", EVIL, evidence="evidence/a.jsonl", details=details),
        judgement("known", EVIL, requirement=clause, role="responder", level="MUST", details=details | {"bytes": "2300"}),
        judgement("flaky", "x/b", evidence="evidence/b.jsonl"),
        judgement("fail", "x/c", evidence="../../../etc/passwd"), judgement("crash", "x/../../d", evidence=EVIL),
        judgement("fail", "z" * LARGE, requirement=clause, cause="c" * LARGE, details={"known": EVIL, "health": EVIL, "beside": EVIL}),
        judgement("warn", "x/e", evidence=f"evidence/{'n' * LARGE}"), judgement("error", ""), judgement("not-observed", EVIL),
        judgement("pass", EVIL, requirement=clause), judgement("slow", "stage: " + EVIL + " where " + EVIL + " is required"),
    ]  # fmt: skip


def conversation() -> str:
    """A conversation whose names, labels and bytes are hostile."""
    unit = encode(Frame(sn=1, messages=(SEEN,)))
    head = {
        "conversation": 1, "about": {EVIL: EVIL},
        "connections": {EVIL: {"link": EVIL, "framing": "stream", "initiator": EVIL, "responder": EVIL}},
    }  # fmt: skip
    rows = [
        head, {"t": 0.1, "c": EVIL, "from": "initiator", "event": "open"},
        {"t": 0.2, "c": EVIL, "from": "responder", "bytes": (len(unit).to_bytes(2, "little") + unit).hex()},
        {"t": 0.3, "c": EVIL, "from": "responder", "bytes": EVIL.encode().hex()},
    ]  # fmt: skip
    return "".join(json.dumps(row) + "\n" for row in rows)


def submission() -> dict[str, Any]:
    """What an implementer says."""
    told = dict.fromkeys(("language", "licence", "system", "commit", EVIL), EVIL) | {"homepage": LINK}
    rates = [{"what": EVIL, "rate": EVIL, "bare": EVIL}, EVIL, {EVIL: EVIL}]
    return {
        "submission": 1,
        "implementation": told,
        "date": EVIL,
        "reproduce": [EVIL],
        "files": {EVIL: EVIL},
        "rates": rates,
    }


def unread(folder: Path) -> Path:
    """A results file that is none, in a folder with a hostile name."""
    there = folder / EVIL.replace("/", "")[:80]
    there.mkdir(parents=True)
    (there / "results.jsonl").write_text(json.dumps({EVIL: EVIL}) + "\n")
    return there


def documents() -> Documents:
    """Campaign, audit, probe and learned automata."""
    steps = [{"from": 0, "said": EVIL, "output": EVIL, "to": 1}, {"from": 1, "said": EVIL, "output": EVIL, "to": 0}]
    odd = [{"word": [EVIL], "one": EVIL, "other": EVIL}]
    learned = {
        "targets": [{"target": EVIL, "states": 2, "words": 9, "steps": steps, "departures": odd, "deviations": odd}] * 2
    }
    cluster = {
        "id": EVIL,
        "verdict": EVIL,
        "cause": EVIL,
        "requirement": EVIL,
        "repeat": EVIL,
        "count": 2,
        "first_seconds": 1,
    }
    campaign = {
        "campaign": 1, "name": EVIL, "target": EVIL, "seed": EVIL, "command": EVIL, "embargoed": 1, "clusters": [cluster],
        "progress": [{"seconds": 0, "coverage": 1, "findings": 0}, {"seconds": 2, "coverage": 3, "findings": 1}],
        "times": [{"name": f"$\\frac{{1}}$ {EVIL}", "seconds": [1, None], "within": 2}, {"name": EVIL, "seconds": [2], "within": 2}],
    }  # fmt: skip
    findings = [{"time": time, "node": EVIL, "connection": EVIL, "requirement": EVIL, "cause": EVIL} for time in (1, 2)]
    audit = {
        "audit": 1, "name": EVIL, "captures": [{"name": EVIL, "sha256": EVIL}], "nodes": [{"id": EVIL, "role": EVIL}],
        "rules": [{"requirement": EVIL, "law": EVIL, "verdict": "fail", "findings": 2}], "findings": findings,
    }  # fmt: skip
    seen: Mapping[str, Any] = {EVIL: EVIL, "versions": {EVIL: EVIL}}
    who = dict.fromkeys(("reach", "name", "version", "role", "side"), EVIL)
    probe = {
        "probe": 1, "target": who, "capabilities": [EVIL], "claimed": [EVIL], "missing": [EVIL],
        "profiles": {EVIL: {"seen": seen, "capabilities": [EVIL]}},
    }  # fmt: skip
    return Documents(probe=[probe], learned=[learned], campaign=[campaign], audit=[audit])


def earlier() -> dict[str, Any]:
    """The `report.json` of a report before, as somebody else may have written it."""
    target = {"id": EVIL, "label": EVIL, "name": EVIL, "version": EVIL, "kind": EVIL, "role": EVIL}
    gone = target | {"id": "gone", "name": "gone"}
    verdicts = [{"target": EVIL, "requirement": "session-establishment/cookie-must-match", "verdict": EVIL}]
    return {"report": 1, "targets": [target, gone], "verdicts": verdicts}
