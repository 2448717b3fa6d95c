"""An audit: captures and recorded conversations, judged by the laws, with what shows each finding. One process, no target."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet

from zenoh_conformance.conversation import Conversation
from zenoh_conformance.law import Law
from zenoh_conformance.verdict import Exit, Key, Verdict, exit_code
from zenoh_harness.errors import CannotGoOn
from zenoh_harness.files import audits, captures, conversations, packed
from zenoh_harness.files.audits import Audit, Charge
from zenoh_harness.files.evidence import FOLDER, MARK, slug
from zenoh_harness.files.faults import FileFault
from zenoh_harness.files.given import HINTS, Given, given
from zenoh_harness.files.known import Known, ListedDeviation

HEAD = 1 << 16
"""Bytes of a file by which its kind is told."""


@dataclass(slots=True)
class Source:
    """One file, read and judged."""

    path: Path
    conversation: Conversation
    audit: Audit
    packets: dict[str, frozenset[int]] | None = None
    """Connection to packets, of a capture."""
    counted: Counter[str] = field(default_factory=Counter)
    read: int = 0
    """Packets, of a capture."""
    damaged: bool = False
    """The rest of it could not be read."""
    listed: dict[Charge, ListedDeviation] = field(default_factory=dict)
    """The charges that a list of known deviations excuses."""
    evidence: dict[str, str] = field(default_factory=dict)
    """Connection to the cut-down capture that was written."""
    secret: bool = False
    """It is under embargo: shown to who has it, and written nowhere else."""

    @property
    def open(self) -> list[Charge]:
        """The charges that nothing excuses."""
        return [charge for charge in self.audit.charges if charge not in self.listed]

    def code(self, *, strict: bool = False) -> Exit:
        """What it says to a shell: 0 conforming, 1 not, 3 a part was not read, 4 nothing judged."""
        verdicts = [Verdict.KNOWN if charge in self.listed else charge.verdict for charge in self.audit.charges]
        judged = [Verdict.PASS] if any(self.audit.subjects.values()) else []
        return exit_code([*verdicts, *judged], strict=strict, interrupted=self.damaged)

    def as_json(self) -> dict[str, Any]:
        """All of it as data."""
        return {
            "file": str(self.path), "packets": self.read, "beside": dict(sorted(self.counted.items())),
            "connections": len(self.conversation.connections), "messages": self.audit.messages,
            "nodes": {node: sorted(at) for node, at in self.audit.nodes.items()},
            "laws": {law: count for law, count in sorted(self.audit.subjects.items()) if count},
            "findings": [
                charge.as_json()
                | ({"known": self.listed[charge].reason} if charge in self.listed else {})
                | ({"evidence": self.evidence[charge.connection]} if charge.connection in self.evidence else {})
                for charge in self.audit.charges
            ],
        }  # fmt: skip


def judge_file(path: Path, *, laws: Iterable[type[Law]] | None = None, ports: Iterable[int] = ()) -> Source:
    """A capture or a conversation, judged. Raises FileFault for what is neither."""
    kind = given(_head(path))
    if kind is Given.CAPTURE:
        found = captures.read(path, ports)
        audit = audits.charges(found.conversation, laws)
        return Source(path, found.conversation, audit, found.packets, found.counted, found.read, found.damaged)
    if kind is Given.CONVERSATION:
        conversation = conversations.read(path)
        return Source(path, conversation, audits.charges(conversation, laws), secret=MARK in conversation.about)
    hint = HINTS.get(kind, "") or "a capture (pcap, pcapng) or a recorded conversation (.jsonl) is judged"
    raise FileFault(path, None, f"is {kind.value}", hint=hint)


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as source:
            data = source.read(HEAD)
    except OSError as why:
        raise FileFault(path, None, f"cannot be read: {why.strerror}") from why
    return data.partition(b"\n")[0] + b"\n" if data.startswith(b"{") and b"\n" in data else data


def excuse(source: Source, known: Known, version: str = "") -> None:
    """Note the charges that a list of known deviations has; without a version its ranges of versions do not count."""
    entries = [one if version else replace(one, versions=SpecifierSet()) for one in known.deviations]
    for charge in source.audit.charges:
        key = Key(
            target="", version=version, role=charge.role, profile="", link="", requirement=charge.requirement,
            check=charge.law,
        )  # fmt: skip
        for one in entries:
            about = replace(one, profile="", link="", parameters={}, check="" if one.requirement else one.check)
            if about.about(key) and one.expects(charge.verdict, charge.cause):
                source.listed[charge] = one


def write_evidence(sources: Sequence[Source], out: Path) -> None:
    """`findings.jsonl`, and of each connection with a finding its packets as a capture and what was said. Raises CannotGoOn.

    Of what is under embargo nothing is written.
    """
    try:
        (out / FOLDER).mkdir(parents=True, exist_ok=True)
        public = [source for source in sources if not source.secret]
        for source in public:
            for connection in dict.fromkeys(charge.connection for charge in source.audit.charges):
                source.evidence[connection] = _write_connection(source, connection, out)
        with (out / "findings.jsonl").open("w", encoding="utf-8") as lines:
            for source in public:
                for row in source.as_json()["findings"]:
                    lines.write(json.dumps({"file": source.path.name, **row}) + "\n")
    except OSError as why:
        raise CannotGoOn(f"cannot write under {out}", step="write the evidence", seen=str(why)) from why


def _write_connection(source: Source, connection: str, out: Path) -> str:
    """The conversation cut down, and its packets: those of the capture, or such as would have carried it."""
    relative = f"{FOLDER}/{slug(f'{source.path.stem} {connection}')}.pcapng"
    conversation = audits.cut(source.conversation, {connection})
    conversations.write(conversation, (out / relative).with_suffix(".jsonl"))
    if source.packets is None:
        packed.write(conversation, out / relative)
    else:
        audits.cut_capture(source.path, source.packets[connection], out / relative)
    return relative
