"""The table of what a router forwards, held against real routers through the tap: each row holds, and its contrary does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from zenoh_conformance.judging.engine import judge
from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.laws.forwarding import FORWARDED, Forwarding
from zenoh_conformance.laws.origins import Origin
from zenoh_conformance.laws.receivers import SENTENCES
from zenoh_conformance.reading.conversation import Conversation, Event
from zenoh_conformance.tables.forwarding import DEFAULTS, KEY, KIND, ROWS, Row, columns_of
from zenoh_harness import cli
from zenoh_harness.faulty.forwarding import SHOWN_IN
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.tap import Tap
from zenoh_harness.targets.reach import parse
from zenoh_harness.targets.target import open_target

RELEASES = ("1.0.0", "1.5.1", "1.10.2")
MORE = ("push-values/*", "reply-values/*", "routing-extensions/*")
"""Cases whose messages have fields and extensions that those of `SHOWN_IN` lack."""


@dataclass
class Confirmed:
    """What the laws say of a conversation, and the pairs that they compared."""

    findings: list[Finding] = field(default_factory=list)
    pairs: list[tuple[Origin, Origin]] = field(default_factory=list)

    def contradicts_contrary(self, row: Row) -> bool:
        """Whether something came and went out the same, where the row wrongly says that it is lost or changed."""
        return any(came is not None and came == went for came, went in self.values_of(row))

    def values_of(self, row: Row) -> Iterator[tuple[Any, Any]]:
        """What came and what went out in a row; None for what was missing, or the default."""
        for origin, copy in self.pairs:
            if origin.chain != row.chain or copy.chain != row.chain:
                continue
            if row.path in (KEY, KIND):
                yield (origin.key, copy.key) if row.path == KEY else (origin.chain, copy.chain)
                continue
            at = columns_of(row.chain).rows.index(row)
            came, went = origin.values[at], copy.values[at]
            yield (None if came == absent(row.chain)[at] else came), went


@cache
def absent(chain: str) -> tuple[Any, ...]:
    """What is read of a message that has nothing, by column."""
    rows, found = columns_of(chain).rows, list[Any]()
    for _, readers, missing in columns_of(chain).groups:
        paths = (row.path.rpartition(".")[2] for row in rows[len(found) : len(found) + len(readers)])
        found += map(DEFAULTS.get, paths) if missing is None else missing
    return tuple(found)


def forwarded_by(release: str, folder: Path) -> Conversation:
    """What goes to a router of a release and comes from it in the cases that forward each kind of message."""
    events = list[Event]()
    cases = {case for cases in (*SHOWN_IN.values(), MORE) for case in cases}
    with (
        open_target(parse(f"wheel:{release}?role=router")).start() as node,
        Tap(Locator.tcp("127.0.0.1", 0), node.locator, events.append) as tap,
    ):
        only = [word for case in sorted(cases) for word in ("--only", case)]
        cli.invoke(["run", f"{tap.locator}?role=router", *only, "--budget", "none", "--out", str(folder)])
    tap.conversation.events.extend(events)
    return tap.conversation


def confirmed_by(conversation: Conversation, monkeypatch: pytest.MonkeyPatch) -> Confirmed:
    """Judge a conversation by the table, and note the pairs."""
    found, compare = Confirmed(), Forwarding.judge

    def note(self: Forwarding, seen: Any, origin: Origin, copy: Origin, rows: Any) -> None:
        found.pairs.append((origin, copy))
        compare(self, seen, origin, copy, rows)

    monkeypatch.setattr(Forwarding, "judge", note)
    laws = [each for each in FORWARDED if each.sentence not in SENTENCES.values()]
    found.findings = [finding for judged in judge(conversation, laws) for finding in judged.findings]
    return found


@pytest.mark.soak
@pytest.mark.parametrize("release", RELEASES)
def test_a_router_confirms_each_row_and_contradicts_its_contrary(
    tmp_path: Path, release: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    confirmed = confirmed_by(forwarded_by(release, tmp_path / "r"), monkeypatch)

    assert [finding.cause for finding in confirmed.findings] == []
    assert [(row.chain, row.path) for row in ROWS if row.is_judged and not confirmed.contradicts_contrary(row)] == []
