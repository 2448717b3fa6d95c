"""Builds the page of a deviation: what was required and observed, the conversation as diagram, log and bytes, and how to repeat it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from zenoh_conformance.judging.verdict import Judgement, Verdict
from zenoh_conformance.reading.explain import explain
from zenoh_conformance.spec.errata import errata
from zenoh_conformance.spec.lock import lock
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.errors import HarnessError
from zenoh_harness.files import conversations, scripts
from zenoh_reports.exports.captures import capture
from zenoh_reports.pages import links
from zenoh_reports.pages.draw.sequence import Sequenced, sequence
from zenoh_reports.pages.site import Site
from zenoh_reports.plain import bytediff, fold, wirelog
from zenoh_reports.plain.bytediff import Diff
from zenoh_reports.plain.fold import DeviationGroup
from zenoh_reports.plain.runs import Run, address
from zenoh_reports.plain.wirelog import AnnotatedSegment, Log
from zenoh_reports.proofs import make as proofs

TOLD_APART: Final = ("known", "bytes", "health", "beside", "found")
"""Details that have a section of their own on the page."""
ILL: Final = {
    "works": Verdict.PASS.value,
    "works, slowly": Verdict.SLOW.value,
    **{one.value: one.value for one in Verdict if one.is_grave},
}
"""The words of a health check to the verdict."""


@dataclass(frozen=True, slots=True)
class Download:
    """A file that the page offers for download."""

    name: str
    what: str
    link: str


@dataclass(frozen=True, slots=True)
class Member:
    """One of the judgements with the same cause."""

    judgement: Judgement
    values: str
    downloads: tuple[Download, ...]


@dataclass(slots=True)
class Evidence:
    """The recorded conversation, prepared for the page."""

    log: Log | None
    why: str = ""
    """Why there is no conversation."""
    diagram: Sequenced | None = None
    diff: Diff | None = None


def make(site: Site, run: Run, found: DeviationGroup) -> None:
    """Add the page and its files."""
    first = found.first
    ident = fold.now_called(requirements(), first.key.requirement)
    requirement = requirements().get(ident)
    members = [Member(one, fold.values(one), downloads(site, run, one)) for one in found.members]
    members.sort(key=lambda member: member.judgement is not first)
    shown = evidence_of(run, first)
    site.page(
        links.deviation(run, found),
        "judgement.html",
        run=run,
        found=found,
        first=first,
        ident=ident,
        requirement=requirement,
        sections=sections(requirement.ref) if requirement else [],
        says=fold.says(ident),
        parts=bytediff.parts_of(first.cause),
        members=members,
        evidence=shown,
        known=known_entry(first),
        vector=vector(first),
        vector_diff=bytediff.vector_diff(dict(first.details).get("beside")),
        health=health(run, first),
        errata=[errata()[name] for name in requirement.erratum if name in errata()] if requirement else [],
        about=about_check(run, first),
        details=plain_details(first),
        proven=any(file.what == "proof" for member in members for file in member.downloads),
    )


def evidence_of(run: Run, judgement: Judgement) -> Evidence:
    """Read and draw the conversation, or say why that is not possible."""
    if not judgement.evidence:
        return Evidence(None, "No conversation was kept for this judgement.")
    file = run.inside(judgement.evidence)
    if file is None:
        return Evidence(None, "The conversation is not beside the results.")
    log, why = wirelog.read(file)
    if log is None:
        return Evidence(None, f"The conversation cannot be read: {why}")
    return Evidence(log, diagram=sequence(log), diff=bytediff.diff_of(judgement.cause, log.guilty))


def downloads(site: Site, run: Run, judgement: Judgement) -> tuple[Download, ...]:
    """Add the files of a judgement to the site: conversation, script, capture and proof."""
    if not judgement.evidence:
        return ()
    found = []
    stem = address(PurePosixPath(judgement.evidence).stem)
    for suffix, what in ((".jsonl", "conversation"), (scripts.SUFFIX, "script")):
        file = run.inside(str(PurePosixPath(judgement.evidence).with_suffix(suffix)))
        if file is not None:
            name = f"run/{run.slug}/files/{stem}{suffix}"
            site.files[name] = file.read_bytes()
            found.append(Download(f"{stem}{suffix}", what, name))
    packets = capture_of(run, judgement)
    if packets:
        name = f"run/{run.slug}/files/{stem}.pcap"
        site.files[name] = packets
        found.append(Download(f"{stem}.pcap", "capture", name))
    proof = proofs.proof(run, judgement) if found else None
    if proof is not None:
        name = f"run/{run.slug}/files/{stem}.proof.json"
        site.text(name, proof)
        found.append(Download(f"{stem}.proof.json", "proof", name))
    return tuple(found)


def capture_of(run: Run, judgement: Judgement) -> bytes:
    """Return the conversation as a capture file, or nothing if it cannot be read."""
    file = run.inside(judgement.evidence or "")
    if file is None:
        return b""
    try:
        return capture(conversations.read(file))
    except HarnessError:
        return b""


def sections(refs: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return each section with the digest of its text in the locked revision."""
    digests = lock().sections
    return [(ref, digests.get(ref, "")) for ref in refs]


def known_entry(judgement: Judgement) -> dict[str, str]:
    """Return the entry of a known deviation: expected verdict, reason, public link, owner."""
    text = dict(judgement.details).get("known")
    if not isinstance(text, dict):
        return {}
    see = str(text.get("see", ""))
    return {name: str(text.get(name, "")) for name in ("owner", "expires")} | {
        "expected": str(text.get("expected", "")),
        "reason": str(text.get("reason", "")),
        "see": see,
        "link": see if see.startswith(("https://", "http://")) else "",
    }


def vector(judgement: Judgement) -> list[AnnotatedSegment]:
    """Return the bytes of a vector by segment."""
    text = dict(judgement.details).get("bytes")
    if not isinstance(text, str):
        return []
    try:
        data = bytes.fromhex(text)
    except ValueError:
        return []
    return [AnnotatedSegment(line.at, line.data.hex(" "), line.path, line.note) for line in explain(data).lines]


def health(run: Run, judgement: Judgement) -> list[tuple[str, str, str]]:
    """Return (when, verdict, words) of the health checks before and after; if they are missing, those of the same role and profile."""
    told = dict(judgement.details).get("health")
    if isinstance(told, dict):
        looks = [
            ("before", str(told.get("before") or "not looked at")),
            ("after", str(told.get("after") or "not looked at")),
        ]
        return [(when, ILL.get(words.partition(":")[0], ""), words) for when, words in looks]
    same = [
        one
        for one in run.judgements
        if one.key.check == fold.ONCE and (one.key.role, one.key.profile) == (judgement.key.role, judgement.key.profile)
    ]
    return [
        ("afterwards, in this role and profile", one.verdict.value, one.cause) for one in same if one is not judgement
    ]


def about_check(run: Run, judgement: Judgement) -> str:
    """Return the text of the script, or an empty string."""
    file = (
        run.inside(str(PurePosixPath(judgement.evidence).with_suffix(scripts.SUFFIX))) if judgement.evidence else None
    )
    if file is None:
        return ""
    try:
        return scripts.text(scripts.read(file))
    except HarnessError:
        return ""


def plain_details(judgement: Judgement) -> list[tuple[str, str]]:
    """Return the other details as text."""
    text: dict[str, Any] = dict(judgement.details)
    return [(str(name), _as_text(value)) for name, value in text.items() if name not in TOLD_APART]


def _as_text(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name}: {_as_text(each)}" for name, each in value.items())
    return ", ".join(map(_as_text, value)) if isinstance(value, list) else str(value)
