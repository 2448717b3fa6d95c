"""Audit captures and recorded conversations: judge them by the laws, and keep the evidence. One process, no target."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet

from zenoh_conformance.judging.law import Law
from zenoh_conformance.judging.verdict import Exit, Key, Verdict, exit_code
from zenoh_conformance.reading.conversation import Conversation
from zenoh_harness.errors import CannotGoOn
from zenoh_harness.files import audits, conversations
from zenoh_harness.files.audits import Audit, Charge
from zenoh_harness.files.capture_cutter import cut_connections, cut_conversation
from zenoh_harness.files.capture_stream import CaptureStream
from zenoh_harness.files.content_types import HINTS, ContentType, content_type, head_of
from zenoh_harness.files.evidence import FOLDER, MARK, slug
from zenoh_harness.files.faults import FileFault
from zenoh_harness.files.known import Known, ListedDeviation

MOST_EVIDENCE = 200
"""Connections of one file of which evidence is written, those with the first findings."""
NOTED = 4096
"""Packets, or events, between two notes of how far an audit is."""
Note = Callable[[int], object]


@dataclass(slots=True)
class AuditedFile:
    """One file with its judgements."""

    path: Path
    conversation: Conversation
    """Without events: they were judged as they were read."""
    audit: Audit
    capture: CaptureStream | None = None
    """What is known of its packets; None if the file is no capture."""
    counted: Counter[str] = field(default_factory=Counter)
    read: int = 0
    """Number of packets, for a capture."""
    damaged: bool = False
    """Whether the rest of the file could not be read."""
    listed: dict[Charge, ListedDeviation] = field(default_factory=dict)
    """The charges that a list of known deviations excuses."""
    evidence: dict[str, str] = field(default_factory=dict)
    """Connection to the capture with its packets that was written as evidence."""
    secret: bool = False
    """Whether the file is under embargo: it is reported to its owner and written nowhere else."""

    @property
    def open(self) -> list[Charge]:
        """The charges that nothing excuses."""
        return [charge for charge in self.audit.charges if charge not in self.listed]

    def code(self, *, strict: bool = False) -> Exit:
        """Return the exit code: 0 conforming, 1 not, 3 a part was not read, 4 nothing was judged."""
        verdicts = [Verdict.KNOWN if charge in self.listed else charge.verdict for charge in self.audit.charges]
        judged = [Verdict.PASS] if any(self.audit.subjects.values()) else []
        return exit_code([*verdicts, *judged], strict=strict, interrupted=self.damaged)

    def as_json(self) -> dict[str, Any]:
        """Return the results as JSON data."""
        return {
            "file": str(self.path),
            "packets": self.read,
            "beside": dict(sorted(self.counted.items())),
            "connections": len(self.conversation.connections),
            "messages": self.audit.messages,
            "nodes": {node: sorted(at) for node, at in self.audit.nodes.items()},
            "laws": {law: count for law, count in sorted(self.audit.subjects.items()) if count},
            "findings": [
                charge.as_json()
                | ({"known": self.listed[charge].reason} if charge in self.listed else {})
                | ({"evidence": self.evidence[charge.connection]} if charge.connection in self.evidence else {})
                for charge in self.audit.charges
            ],
        }


def judge_file(
    path: Path, *, laws: Iterable[type[Law]] | None = None, ports: Iterable[int] = (), note: Note = lambda _read: None
) -> AuditedFile:
    """Judge a capture or a conversation, which is read as a stream. Raises FileFault for any other file.

    `note` is called now and then with the number of packets, or events, so far.
    """
    kind = content_type(head_of(path))
    if kind is ContentType.CAPTURE:
        return _judge_capture(CaptureStream(path, ports), laws, note)
    if kind is ContentType.CONVERSATION:
        return _judge_conversation(path, laws, note)
    hint = HINTS.get(kind, "give a capture (pcap, pcapng) or a recorded conversation (.jsonl)")
    why = f"is no capture and no recorded conversation, but {kind.value.partition(',')[0]}"
    raise FileFault(path, None, why, hint=hint)


def _judge_conversation(path: Path, laws: Iterable[type[Law]] | None, note: Note) -> AuditedFile:
    with conversations.open_conversation(path) as (conversation, events):
        auditor = audits.Auditor(conversation.connections, laws)
        for number, event in enumerate(events, 1):
            auditor.feed(event)
            if number % NOTED == 0:
                note(number)
        audit = auditor.finish()
    return AuditedFile(path, conversation, audit, counted=audit.unread, secret=MARK in conversation.about)


def _judge_capture(capture: CaptureStream, laws: Iterable[type[Law]] | None, note: Note) -> AuditedFile:
    auditor, due = audits.Auditor(capture.connections, laws), NOTED
    for event in capture:
        auditor.feed(event)
        if capture.read >= due:
            due = capture.read + NOTED
            note(capture.read)
    audit = auditor.finish()
    conversation = Conversation(capture.connections, about={"capture": capture.path.name})
    counted = capture.counted + audit.unread
    read = counted.pop("packets", 0)
    return AuditedFile(capture.path, conversation, audit, capture, counted, read, capture.damaged)


def excuse(source: AuditedFile, known: Known, version: str = "") -> None:
    """Note the charges that a list of known deviations excuses; without a version, version ranges do not count.

    An expired entry excuses nothing.
    """
    valid = (one for one in known.deviations if not known.is_over(one))
    entries = [one if version else replace(one, versions=SpecifierSet()) for one in valid]
    for charge in source.audit.charges:
        key = Key(
            target="",
            version=version,
            role=charge.role,
            profile="",
            link="",
            requirement=charge.requirement,
            check=charge.law,
        )
        for one in entries:
            about = replace(one, profile="", link="", parameters={}, check="" if one.requirement else one.check)
            if about.about(key) and one.expects(charge.verdict, charge.cause):
                source.listed[charge] = one


def write_evidence(sources: Sequence[AuditedFile], out: Path) -> None:
    """Write `findings.jsonl`, and the packets and the conversation of each connection with a finding. Raises CannotGoOn.

    `audit.json` holds the same for a report, with what was judged. Files under embargo are left out.
    """
    try:
        (out / FOLDER).mkdir(parents=True, exist_ok=True)
        public = [source for source in sources if not source.secret]
        for source in public:
            _write_connections(source, out)
        with (out / "findings.jsonl").open("w", encoding="utf-8") as lines:
            for source in public:
                for row in source.as_json()["findings"]:
                    lines.write(json.dumps({"file": source.path.name, **row}) + "\n")
        document = [{**source.as_json(), "file": source.path.name} for source in public]
        (out / "audit.json").unlink(missing_ok=True)
        if document:
            (out / "audit.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    except OSError as why:
        raise CannotGoOn(f"cannot write under {out}", step="write the evidence", seen=str(why)) from why


def _write_connections(source: AuditedFile, out: Path) -> None:
    """Write the conversation of each connection with a finding and its packets: those of the capture, or packets built to carry it."""
    found = dict.fromkeys(charge.connection for charge in source.audit.charges)
    source.evidence = {
        name: f"{FOLDER}/{slug(f'{source.path.stem} {name}')}.pcapng" for name in islice(found, MOST_EVIDENCE)
    }
    if source.capture is not None:
        cut_connections(source.capture, {name: out / relative for name, relative in source.evidence.items()})
        return
    cut_conversation(source.path, {name: out / relative for name, relative in source.evidence.items()})
