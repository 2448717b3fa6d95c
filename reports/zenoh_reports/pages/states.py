"""State diagrams: the tables that sessions are held to, with the visits of the runs, and the automata that were learned."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from zenoh_conformance.query import NOTHING, QUERY
from zenoh_conformance.query import START as NOBODY
from zenoh_conformance.session import ANSWERS, INITIATOR, RESPONDER, START, Table
from zenoh_reports.pages import links
from zenoh_reports.pages.draw import states as drawing
from zenoh_reports.pages.draw.states import Drawn, Edges
from zenoh_reports.pages.site import Site
from zenoh_reports.pages.visits import visited

TABLES: Final = (
    ("responder", "Session, of the side that listens", RESPONDER),
    ("initiator", "Session, of the side that connects", INITIATOR),
)


MOST_ROWS: Final = 400
"""Rows of the table of learned automata."""


@dataclass(frozen=True, slots=True)
class Learned:
    """One automaton that was learned."""

    title: str
    words: int
    drawn: Drawn
    steps: tuple[dict[str, Any], ...]
    deviations: tuple[dict[str, Any], ...]


def make(site: Site) -> None:
    """Write the page."""
    visits = visited(site.report.single)
    tables = [
        (title, drawing.draw(START[role].value, edges(table), visits.sessions[role])) for role, title, table in TABLES
    ]
    query = drawing.draw(NOBODY.value, query_edges(), visits.queries)
    learned = [one for document in site.report.documents.learned for one in automata(document)]
    site.page(
        links.AUTOMATA, "automata.html", tables=tables, query=query, learned=learned, visits=visits,
        rows=together(learned)[:MOST_ROWS],
    )  # fmt: skip


def edges(table: Table) -> Edges:
    """A table's arrows, each with what is seen and what answers it."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for state, exits in table.items():
        for seen, there in exits.items():
            answer = ANSWERS.get((state, seen))
            found[state.value, there.value].append(f"{seen.value} / {answer.value}" if answer else seen.value)
    return {ends: tuple(labels) for ends, labels in found.items()}


def query_edges() -> Edges:
    """The arrows of a query's table, each with what is said to the router and what it says then."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for phase, exits in QUERY.items():
        for says, (answer, there) in exits.items():
            found[phase.value, there.value].append(says.value if answer == NOTHING else f"{says.value} / {answer}")
    return {ends: tuple(_together(labels)) for ends, labels in found.items()}


def _together(labels: list[str]) -> list[str]:
    """Labels in lines of a few words, those without an answer together."""
    silent = [label for label in labels if " / " not in label]
    lines = [", ".join(silent[at : at + 3]) for at in range(0, len(silent), 3)]
    return [label for label in labels if " / " in label] + lines


def automata(document: dict[str, Any]) -> list[Learned]:
    """The automata of one document of `zconform learn --format json`."""
    found = []
    for target in document["targets"]:
        labels: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        sinks = _sinks(target["steps"])
        for each in target["steps"]:
            if each["from"] not in sinks:
                labels[f"state {each['from']}", f"state {each['to']}"][each["output"]].append(each["said"])
        edges_ = {ends: _labels(by_output, end=int(ends[1].split()[1]) in sinks) for ends, by_output in labels.items()}
        found.append(
            Learned(
                target["target"], target["words"], drawing.draw("state 0", edges_), tuple(target["steps"]),
                tuple(target.get("deviations", ())),
            )
        )  # fmt: skip
    return found


@dataclass(frozen=True, slots=True)
class Together:
    """What each automaton answers to one thing said, after the same was said before."""

    after: tuple[str, ...]
    """What was said before: the shortest way there."""
    said: str
    answers: tuple[str | None, ...]
    """One an automaton; None where it has no such step."""

    @property
    def same(self) -> bool:
        """Whether all answer alike."""
        return len(set(self.answers)) == 1


def together(learned: Sequence[Learned]) -> list[Together]:
    """Walk all automata by the same words, from their beginnings: their states may be numbered as they like."""
    tables = [{(each["from"], each["said"]): (each["output"], each["to"]) for each in one.steps} for one in learned]
    ends = [_sinks(list(one.steps)) for one in learned]
    queue: list[tuple[tuple[str, ...], tuple[Any, ...]]] = [((), tuple(0 for _ in learned))] if learned else []
    known, rows = {queue[0][1]} if queue else set(), []
    while queue:
        after, here = queue.pop(0)
        said = dict.fromkeys(
            what for table, state in zip(tables, here, strict=True) for at, what in table if at == state
        )
        for what in said:
            met = [table.get((state, what), (None, None)) for table, state in zip(tables, here, strict=True)]
            rows.append(Together(after, what, tuple(output for output, _ in met)))
            there = tuple(state for _, state in met)
            over = all(state is None or state in end for state, end in zip(there, ends, strict=True))
            if there not in known and not over:
                known.add(there)
                queue.append(((*after, what), there))
    return rows


def _labels(by_output: dict[str, list[str]], *, end: bool) -> tuple[str, ...]:
    if end:
        return tuple(f"{sum(map(len, by_output.values()))} ways to its end" for _ in range(1))
    return tuple(f"{_few(said)} / {output}" for output, said in by_output.items())


def _few(said: list[str]) -> str:
    return ", ".join(said) if len(said) < 3 else f"{said[0]} and {len(said) - 1} more"


def _sinks(steps: list[dict[str, Any]]) -> set[int]:
    """States that are never left."""
    return {each["from"] for each in steps} - {each["from"] for each in steps if each["to"] != each["from"]}
