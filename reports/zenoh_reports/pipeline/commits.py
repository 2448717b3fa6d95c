"""The commit log of the stored tables: what was written completely, by whom, and what replaces what.

A writer writes the rows of each table into a folder of its own, `TABLE/commit=ID`, and then one small file, `commits/ID`, which
Spark renames into its place. Rows whose commit has no file do not exist. Nothing is written twice and nothing is removed, so that
two writers, a killed writer and a repeated task neither lose nor double a row, on any file system that Spark writes to.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

RUN: Final = "run"
"""A run whose rows this commit has."""
AUDIT: Final = "audit"
CAMPAIGN: Final = "campaign"
"""An audit, or a campaign, whose rows this commit has; of several commits the newest counts."""
REPLACES: Final = "replaces"
"""An earlier commit all of whose runs this commit has."""
COVERS: Final = "covers"
"""A commit from whose runs the derived tables of this commit follow."""
BASE: Final = "base"
"""The commit whose derived tables this commit continues."""
OF: Final = "of"
"""A target and version whose rows in the derived tables of this commit replace those of earlier commits."""
DENOMINATOR: Final = "denominator"
"""A digest of the requirements of the matrix."""
OLD: Final = ""
"""The commit of tables that have no log: those that releases before it wrote, by day."""


@dataclass(frozen=True, slots=True)
class CommitRow:
    """One line of the commit log."""

    commit: str
    what: str
    name: str
    day: str = ""
    version: int = 0
    """Of a run: the lines of its results file, and more with a footer; of a campaign: its rows. The greatest replaces the others."""
    judgements: int = 0
    faults: int = 0
    at: int = 0
    """Seconds since 1970, by the writer's clock; of runs it says nothing about order."""


def new_commit() -> str:
    """Return an id for a commit of this writer."""
    return uuid.uuid4().hex[:16]


@dataclass(frozen=True, slots=True)
class DerivedChain:
    """The newest derived tables: commits from the first to the last, each continuing the one before."""

    chain: tuple[str, ...]
    covers: frozenset[str]
    denominator: str
    newest: Mapping[str, str]
    """Of each target and version the commit that has its rows."""


@dataclass(frozen=True)
class CommitLog:
    """All commits."""

    rows: Sequence[CommitRow]

    @cached_property
    def by_commit(self) -> dict[str, list[CommitRow]]:
        """The lines of each commit."""
        found: dict[str, list[CommitRow]] = {}
        for row in self.rows:
            found.setdefault(row.commit, []).append(row)
        return found

    def names(self, commit: str, what: str) -> list[str]:
        """What a commit names as its `what`."""
        return [row.name for row in self.by_commit.get(commit, ()) if row.what == what]

    @cached_property
    def replaced(self) -> frozenset[str]:
        """Commits that a compaction replaced."""
        return frozenset(row.name for row in self.rows if row.what == REPLACES)

    @cached_property
    def live(self) -> tuple[str, ...]:
        """Commits that have runs and are not replaced."""
        return tuple(sorted({row.commit for row in self.rows if row.what == RUN} - self.replaced))

    @cached_property
    def runs(self) -> dict[str, CommitRow]:
        """Each run once: the line of the commit whose rows count."""
        best: dict[str, CommitRow] = {}
        for row in self.rows:
            if row.what == RUN and row.commit not in self.replaced:
                other = best.get(row.name)
                if other is None or (other.version, other.commit) < (row.version, row.commit):
                    best[row.name] = row
        return best

    @cached_property
    def outdated(self) -> list[tuple[str, str]]:
        """Commit and run of rows that do not count, since another commit has the run, too."""
        return [
            (row.commit, row.name)
            for row in self.rows
            if row.what == RUN and row.commit not in self.replaced and self.runs[row.name] is not row
        ]

    def newest(self, what: str) -> dict[str, CommitRow]:
        """Of each audit, or campaign, the line of the commit that has the most of it, or was written last."""
        every = (row for row in self.rows if row.what == what)
        return {row.name: row for row in sorted(every, key=lambda row: (row.version, row.at, row.commit))}

    @property
    def outdated_audits(self) -> list[str]:
        """Commits of audits of which a newer commit has the rows."""
        return sorted(
            {row.commit for row in self.rows if row.what == AUDIT} - {row.commit for row in self.newest(AUDIT).values()}
        )

    @cached_property
    def derived(self) -> DerivedChain | None:
        """The derived tables that follow from the most of what counts now; None if there are none."""
        made = {row.commit for row in self.rows if row.what == DENOMINATOR}
        heads = made - {row.name for row in self.rows if row.what == BASE}
        every = [found for commit in heads if (found := self._chain_of(commit)) is not None]
        return max(every, key=lambda one: (len(one.covers & {*self.live}), one.chain[-1]), default=None)

    @property
    def unread(self) -> list[str]:
        """Commits that nothing reads, those that others replaced first."""
        newest = {row.commit for what in (AUDIT, CAMPAIGN) for row in self.newest(what).values()}
        read = {*self.live, *(self.derived.chain if self.derived else ()), *newest}
        return sorted(self.by_commit.keys() - read - {OLD}, key=lambda commit: (commit not in self.replaced, commit))

    def _chain_of(self, last: str) -> DerivedChain | None:
        chain = [last]
        while base := self.names(chain[-1], BASE):
            chain.append(base[0])
            if base[0] not in self.by_commit:
                return None  # a store that lists late: the commits before it are not shown yet
        chain.reverse()
        newest = {name: commit for commit in chain for name in self.names(commit, OF)}
        covers = frozenset(name for commit in chain for name in self.names(commit, COVERS))
        return DerivedChain(tuple(chain), covers, self.names(last, DENOMINATOR)[0], newest)


def better(log: CommitLog, runs: Iterable[CommitRow]) -> list[CommitRow]:
    """The runs that the log does not have, or not as whole."""
    return [row for row in runs if row.name not in log.runs or log.runs[row.name].version < row.version]
