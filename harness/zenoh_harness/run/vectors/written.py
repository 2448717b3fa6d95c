"""What a node writes: one judgement for each layout that it was seen to write, with how often.

Every message of the run counts for the rows of the tables that it shows. A row is judged only where planted mis-writings of it are
red: the table `written_on.json` names the checks that were, for each fault. One of them has to have passed in this run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib import resources

from zenoh_conformance.judging.shown_rows import WRITTEN
from zenoh_conformance.judging.verdict import Judgement, Verdict
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.run.plan.plan import Selection
from zenoh_harness.run.vectors.effects import SURVIVED


@cache
def written_on() -> Mapping[str, Mapping[str, tuple[tuple[str, ...], ...]]]:
    """Role to requirement to the checks, for each fault, that are red on a node that writes its row wrongly."""
    text = resources.files("zenoh_harness.run.vectors").joinpath("written_on.json").read_text(encoding="utf-8")
    return {
        role: {row: tuple(map(tuple, faults)) for row, faults in rows.items()}
        for role, rows in json.loads(text).items()
    }


class WrittenRows:
    """The rows that are judged by what a node of one role writes."""

    def __init__(self, selection: Selection, side: Side, *, speaks: bool) -> None:
        """`selection` says which of the judgements are asked for; none is unless cases of the default profile speak."""
        self._noticing = written_on()[side.value]
        here = (row for row in self._noticing if speaks and selection.here(WRITTEN + row))
        self.rows = tuple(row for row in here if selection.takes(WRITTEN + row, row))

    def planned(self) -> Iterator[str]:
        """The labels of the checks."""
        return (WRITTEN + row for row in self.rows)

    def leave_out(self, judged: Callable[[str], bool]) -> None:
        """Leave out what was judged before the run was resumed."""
        self.rows = tuple(row for row in self.rows if not judged(WRITTEN + row))

    def verdicts(
        self, times: Callable[[str], int], laws: Mapping[str, Verdict], judgements: Iterable[Judgement]
    ) -> Iterator[tuple[str, Verdict, str, Mapping[str, object]]]:
        """Yield row, verdict, cause and details: `times` is how often a row was written, `judgements` those of this role."""
        said: dict[str, set[Verdict]] = {law: {verdict} for law, verdict in laws.items()}
        for one in judgements:
            said.setdefault(one.key.check, set()).add(one.verdict)
        passed = {
            check
            for check, verdicts in said.items()
            if Verdict.PASS in verdicts and not any(one.is_wrong for one in verdicts)
        }
        for row in self.rows:
            count, unseen = times(row), [one for one in self._noticing[row] if passed.isdisjoint(one)]
            cause = "it was not seen to write it" if not count else ""
            if count and unseen:
                cause = f"{SURVIVED}: {unseen[0][0]} shows a mis-writing of it, and did not pass"
            yield row, Verdict.NOT_OBSERVED if cause else Verdict.PASS, cause, {"by": "node", "written": count}
