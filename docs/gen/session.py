"""Generates the page of the states of a session from the tables that the laws and the models use."""

from __future__ import annotations

from collections.abc import Iterator

from zenoh_conformance.tables.session import ANSWERS, INITIATOR, RESPONDER, START, Table

HEAD = """# Session

The states of session establishment are two tables in `conformance/zenoh_conformance/tables/session.py`, one for each side of a link.
A message that is not listed for a state ends the session.
"""


def pages() -> Iterator[tuple[str, str]]:
    """Yield the place of the page and its Markdown."""
    parts = [_table(side, table) for side, table in (("responder", RESPONDER), ("initiator", INITIATOR))]
    yield "generated/session.md", "\n".join([HEAD, *parts])


def _table(side: str, table: Table) -> str:
    lines = [f"## The {side}", "", f"The initial state is *{START[side].value}*.", ""]
    lines += ["| state | receives | answers | next state |", "|---|---|---|---|"]
    for state, exits in table.items():
        for seen, there in exits.items():
            answer = ANSWERS.get((state, seen))
            lines.append(f"| {state.value} | {seen.value} | {answer.value if answer else ''} | {there.value} |")
        if not exits:
            lines.append(f"| {state.value} | | | none: final state |")
    return "\n".join([*lines, ""])
