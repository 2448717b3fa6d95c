"""Builds the page of state diagrams: the tables of sessions and queries with visits, and learned automata."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from zenoh_conformance.tables.query import NOTHING, QUERY
from zenoh_conformance.tables.query import START as NOBODY
from zenoh_conformance.tables.session import ANSWERS, INITIATOR, RESPONDER, START, Table
from zenoh_reports.pages import links
from zenoh_reports.pages.draw import states as drawing
from zenoh_reports.pages.draw.states import Drawn, Edges
from zenoh_reports.pages.site import Site
from zenoh_reports.pages.visits import count_visits

TABLES: Final = (
    ("responder", "Session, of the side that listens", RESPONDER),
    ("initiator", "Session, of the side that connects", INITIATOR),
)


MOST_ROWS: Final = 400
"""Rows of the table of learned automata."""


@dataclass(frozen=True, slots=True)
class LearnedAutomaton:
    """A learned automaton."""

    title: str
    words: int
    drawn: Drawn
    steps: tuple[dict[str, Any], ...]
    deviations: tuple[dict[str, Any], ...]


def make(site: Site) -> None:
    """Add the page."""
    visits = count_visits(site.report.single)
    tables = [
        (title, drawing.draw(START[role].value, edges(table), visits.sessions[role])) for role, title, table in TABLES
    ]
    query = drawing.draw(NOBODY.value, query_edges(), visits.queries)
    learned = [one for document in site.report.documents.learned for one in automata(document)]
    site.page(
        links.AUTOMATA,
        "automata.html",
        tables=tables,
        query=query,
        learned=learned,
        visits=visits,
        rows=together(learned)[:MOST_ROWS],
    )


def edges(table: Table) -> Edges:
    """Return the transitions of a table, labelled with message and answer."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for state, exits in table.items():
        for seen, there in exits.items():
            answer = ANSWERS.get((state, seen))
            found[state.value, there.value].append(f"{seen.value} / {answer.value}" if answer else seen.value)
    return {ends: tuple(labels) for ends, labels in found.items()}


def query_edges() -> Edges:
    """Return the transitions of the query table, labelled with the message to the router and its message."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for phase, exits in QUERY.items():
        for says, (answer, there) in exits.items():
            found[phase.value, there.value].append(says.value if answer == NOTHING else f"{says.value} / {answer}")
    return {ends: tuple(_together(labels)) for ends, labels in found.items()}


def _together(labels: list[str]) -> list[str]:
    """Join labels without an answer, three to a line."""
    silent = [label for label in labels if " / " not in label]
    lines = [", ".join(silent[at : at + 3]) for at in range(0, len(silent), 3)]
    return [label for label in labels if " / " in label] + lines


def automata(document: dict[str, Any]) -> list[LearnedAutomaton]:
    """Return the automata in a document of `zconform learn --format json`."""
    found = []
    for target in document["targets"]:
        labels: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        sinks = _sinks(target["steps"])
        for each in target["steps"]:
            if each["from"] not in sinks:
                labels[f"state {each['from']}", f"state {each['to']}"][each["output"]].append(each["said"])
        edges_ = {ends: _labels(by_output, end=int(ends[1].split()[1]) in sinks) for ends, by_output in labels.items()}
        found.append(
            LearnedAutomaton(
                target["target"],
                target["words"],
                drawing.draw("state 0", edges_),
                tuple(target["steps"]),
                tuple(target.get("deviations", ())),
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class JointStep:
    """The answers of all automata to one message, after the same messages."""

    after: tuple[str, ...]
    """The messages before it, by the shortest path."""
    said: str
    answers: tuple[str | None, ...]
    """One answer per automaton; None if it has no such step."""

    @property
    def same(self) -> bool:
        """Whether all answers are equal."""
        return len(set(self.answers)) == 1


def together(learned: Sequence[LearnedAutomaton]) -> list[JointStep]:
    """Walk all automata in parallel from their initial states; the numbers of states do not matter."""
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
            rows.append(JointStep(after, what, tuple(output for output, _ in met)))
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
    """Return the states without an exit."""
    return {each["from"] for each in steps} - {each["from"] for each in steps if each["to"] != each["from"]}
