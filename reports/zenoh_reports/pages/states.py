"""State diagrams: the tables that sessions are held to, with the visits of the runs, and the automata that were learned."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from zenoh_conformance.connection import Decoders
from zenoh_conformance.conversation import Conversation, Event, Happened, Side
from zenoh_conformance.kinds import name_of
from zenoh_conformance.session import ANSWERS, INITIATOR, RESPONDER, START, Seen, State, Table, step
from zenoh_harness.errors import HarnessError
from zenoh_harness.files import conversations
from zenoh_reports.pages import links
from zenoh_reports.pages.draw import states as drawing
from zenoh_reports.pages.draw.states import Drawn, Edges
from zenoh_reports.pages.site import Report, Site
from zenoh_reports.plain.runs import Run

TABLES: Final = (
    ("responder", "Session, of the side that listens", RESPONDER),
    ("initiator", "Session, of the side that connects", INITIATOR),
)
MOST_CONVERSATIONS: Final = 400
"""Conversations in which visits are counted."""

Visits = Counter[tuple[str, str]]


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
    visits, counted = visited(site.report)
    tables = [(title, drawing.draw(START[role].value, edges(table), visits[role])) for role, title, table in TABLES]
    learned = [one for document in site.report.documents.learned for one in automata(document)]
    site.page(links.AUTOMATA, "automata.html", tables=tables, learned=learned, counted=counted)


def edges(table: Table) -> Edges:
    """A table's arrows, each with what is seen and what answers it."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for state, exits in table.items():
        for seen, there in exits.items():
            answer = ANSWERS.get((state, seen))
            found[state.value, there.value].append(f"{seen.value} / {answer.value}" if answer else seen.value)
    return {ends: tuple(labels) for ends, labels in found.items()}


def visited(report: Report) -> tuple[dict[str, Visits], int]:
    """How often each arrow was taken by the targets, in the conversations that were kept; and how many those are."""
    visits: dict[str, Visits] = {"responder": Counter(), "initiator": Counter()}
    count = 0
    for conversation in kept(report.single):
        count += 1
        for role, a, b in walk(conversation):
            visits[role][a, b] += 1
    return visits, count


def kept(runs: Iterable[Run]) -> Iterator[Conversation]:
    """The conversations beside the results, at most `MOST_CONVERSATIONS`."""
    left = MOST_CONVERSATIONS
    for run in runs:
        for name in dict.fromkeys(one.evidence for one in run.judgements if one.evidence):
            file = run.inside(name)
            if file is None or not left:
                continue
            left -= 1
            try:
                yield conversations.read(file)
            except HarnessError:
                continue


NAMES: Final = {seen.value: seen for seen in Seen}


def walk(conversation: Conversation) -> Iterator[tuple[str, str, str]]:
    """(role of the target, from, to): the arrows of the table that the target's connections took."""
    decoders = Decoders(conversation)
    state: dict[str, State] = {}
    for event in conversation:
        connection = conversation.connection(event.connection)
        target = Side.INITIATOR if connection.initiator == "target" else Side.RESPONDER
        if event.sender is target:
            list(decoders.feed(event))
            continue
        table = RESPONDER if target is Side.RESPONDER else INITIATOR
        for seen in heard(event, decoders):
            here = state.setdefault(event.connection, START[target.value])
            if here is State.CLOSED:
                break
            state[event.connection] = there = step(table, here, seen)
            if seen in table[here]:
                yield target.value, here.value, there.value


def heard(event: Event, decoders: Decoders) -> list[Seen]:
    """What an event is to the table."""
    text = [
        NAMES.get(name_of(one.message).partition("(")[0], Seen.GARBAGE)
        for one in decoders.feed(event) if one.kind != "batch" and not one.around
    ]  # fmt: skip
    return [Seen.LINK_END] if event.kind in (Happened.EOF, Happened.RESET) else text


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


def _labels(by_output: dict[str, list[str]], *, end: bool) -> tuple[str, ...]:
    if end:
        return tuple(f"{sum(map(len, by_output.values()))} ways to its end" for _ in range(1))
    return tuple(f"{_few(said)} / {output}" for output, said in by_output.items())


def _few(said: list[str]) -> str:
    return ", ".join(said) if len(said) < 3 else f"{said[0]} and {len(said) - 1} more"


def _sinks(steps: list[dict[str, Any]]) -> set[int]:
    """States that are never left."""
    return {each["from"] for each in steps} - {each["from"] for each in steps if each["to"] != each["from"]}
