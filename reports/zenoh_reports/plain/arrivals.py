"""What other commands write, as the documents that the pages are made of: campaign folders, and what `zconform audit` says."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from zenoh_harness.files.faults import FileFault
from zenoh_reports.plain import campaigns
from zenoh_reports.plain.campaigns import CampaignRow


def campaign(manifest: Path) -> dict[str, Any]:
    """A campaign folder as its document; what is under embargo is a number. Raises FileFault for what cannot be read."""
    rows = list(campaigns.rows(str(manifest)))
    first = rows[0]
    if first.fault:
        raise FileFault(manifest, None, first.fault)
    found = [row for row in rows if row.type == "finding"]
    steps = [row for row in rows if row.type == "event"]
    name = " ".join(part for part in (first.kind, first.oracle) if part) or manifest.parent.name
    told: dict[str, Any] = {
        "campaign": 1, "name": name, "target": ", ".join(first.targets), "seed": first.seed, "command": first.command,
        "inputs": max((row.inputs for row in steps), default=0), "seconds": max((row.seconds for row in steps), default=0.0),
        "embargoed": sum(row.count for row in rows if row.type == "embargoed"),
        "progress": progress(steps), "times": times(steps), "clusters": [cluster(row, steps) for row in found],
    }  # fmt: skip
    return told


def progress(steps: Iterable[CampaignRow]) -> list[dict[str, Any]]:
    """Coverage and findings of the last run of the folder, by time."""
    steps = list(steps)
    last = max((row.round for row in steps), default=0)
    made: list[dict[str, Any]] = []
    found = 0
    for row in sorted((row for row in steps if row.round == last), key=lambda row: row.seconds):
        found += row.event == "finding"
        if row.event in ("begin", "progress", "finding", "end"):
            made.append({"seconds": row.seconds, "findings": found} | ({"coverage": row.edges} if row.edges else {}))
    return made


def times(steps: Iterable[CampaignRow]) -> list[dict[str, Any]]:
    """Of each signature that was found: seconds in each run of the folder, nothing for a run that did not find it."""
    ends: dict[int, float] = defaultdict(float)
    first: dict[str, dict[int, float]] = defaultdict(dict)
    for row in steps:
        ends[row.round] = max(ends[row.round], row.seconds)
        if row.event == "finding":
            first[row.signature].setdefault(row.round, row.seconds)
    if len(ends) < 2:
        return []
    within = max(ends.values())
    return [
        {"name": signature, "seconds": [found.get(round_) for round_ in sorted(ends)], "within": within}
        for signature, found in sorted(first.items())
    ]


def cluster(row: CampaignRow, steps: Iterable[CampaignRow]) -> dict[str, Any]:
    """One finding of the ledger."""
    at = min((step.seconds for step in steps if step.event == "finding" and step.finding == row.finding), default=None)
    made: dict[str, Any] = {
        "id": row.finding, "verdict": "crash" if row.grave else row.standing, "cause": f"{row.rule}: {row.why}".removeprefix(": "),
        "count": row.count,
    }  # fmt: skip
    return made if at is None else made | {"first_seconds": at}


def is_audit(document: object) -> bool:
    """Whether it is what `zconform audit --format json` prints."""
    return isinstance(document, list) and bool(document) and all(
        isinstance(one, dict) and {"file", "laws", "findings"} <= one.keys() for one in document
    )  # fmt: skip


def audit(sources: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One document a source of `zconform audit --format json`."""
    return [_audit(source) for source in sources]


def sources_of(file: Path, lines: Iterable[str]) -> list[dict[str, Any]]:
    """Return the sources of an audit from the lines of its `findings.jsonl`. Raises FileFault for a line that is none."""
    sources: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            name, node, law = str(row["file"]), str(row["node"]), str(row["law"])
            source = sources.setdefault(name, {"file": name, "laws": {}, "nodes": {}, "findings": []})
            addresses = source["nodes"].setdefault(node, [])
            addresses += [row["address"]] if row["address"] not in addresses else []
            source["laws"][law] = source["laws"].get(law, 0) + 1
            source["findings"].append({key: row[key] for key in _OF_FINDING})
        except (KeyError, TypeError, ValueError) as why:
            raise FileFault(file, number, f"is not what `zconform audit` writes: {why!r:.200}") from why
    return list(sources.values())


_OF_FINDING = ("t", "node", "connection", "requirement", "cause", "law", "verdict")


def _audit(source: Mapping[str, Any]) -> dict[str, Any]:
    findings: list[dict[str, Any]] = [
        {
            "time": float(one["t"]), "node": str(one["node"]), "connection": str(one["connection"]),
            "requirement": str(one["requirement"]), "cause": str(one["cause"]),
        }
        for one in source["findings"]
    ]  # fmt: skip
    per_node = Counter(one["node"] for one in findings)
    per_law = Counter(str(one["law"]) for one in source["findings"])
    worst = {str(one["law"]): str(one["verdict"]) for one in source["findings"]}
    of_law = laws()
    name = Path(str(source["file"])).name
    return {
        "audit": 1, "name": name, "captures": [{"name": name}], "messages": int(source.get("messages", 0)),
        "connections": int(source.get("connections", 0)),
        "nodes": [
            {"id": node, "role": ", ".join(map(str, at)), "findings": per_node[node]} for node, at in sorted(source["nodes"].items())
        ],
        "rules": [
            {
                "requirement": of_law.get(law, law), "law": law, "verdict": worst.get(law, "pass"), "subjects": int(count),
                "findings": per_law[law],
            }
            for law, count in sorted(source["laws"].items())
        ],
        "findings": findings,
    }  # fmt: skip


TABLES = frozenset({"captures", "findings", "deviations", "nodes", "left_out", "messages", "subjects"})
"""The keys of the `audit.json` that `zconform audit --spark` writes."""


def of_tables(document: Mapping[str, Any]) -> dict[str, Any]:
    """What `zconform audit --spark` wrote as a document; its times are nanoseconds, and count from the first finding here."""
    rows = document["findings"]
    begin = min((row["time"] for row in rows), default=0)
    findings: list[dict[str, Any]] = [
        {
            "time": (row["time"] - begin) / 1e9, "node": row["zid"] or row["node"], "connection": str(row["connection"]),
            "requirement": row["requirement"], "cause": row["cause"],
        }
        for row in rows
    ]  # fmt: skip
    per_node = Counter(one["node"] for one in findings)
    per_rule = Counter((row["requirement"], row["law"], row["verdict"]) for row in rows)
    names = [Path(row["path"]).name for row in document["captures"]]
    return {
        "audit": 1, "name": ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else ""),
        "captures": [{"name": name} for name in names], "messages": document["messages"],
        "nodes": [
            {"id": row["zid"] or row["node"], "role": row["says"], "findings": per_node[row["zid"] or row["node"]]}
            for row in document["nodes"]
        ],
        "rules": [
            {"requirement": requirement, "law": law, "verdict": verdict, "findings": count}
            for (requirement, law, verdict), count in sorted(per_rule.items())
        ],
        "findings": findings,
    }  # fmt: skip


def laws() -> dict[str, str]:
    """Law to the requirement that it judges."""
    from zenoh_conformance.judging.law import all_laws

    return {name: law.requirement for name, law in all_laws().items()}
