"""The page of the session's states, drawn from the tables that the laws and the models use."""

from __future__ import annotations

from collections.abc import Iterator

from zenoh_conformance.session import ANSWERS, INITIATOR, RESPONDER, START, Table

HEAD = """# Session

The states of establishment are two tables in `conformance/zenoh_conformance/session.py`, one for each side of a link.
A message that a state does not list ends the session.
"""


def pages() -> Iterator[tuple[str, str]]:
    """The place of the page and its Markdown."""
    parts = [_table(side, table) for side, table in (("responder", RESPONDER), ("initiator", INITIATOR))]
    yield "generated/session.md", "\n".join([HEAD, *parts])


def _table(side: str, table: Table) -> str:
    lines = [f"## The {side}", "", f"Begins in *{START[side].value}*.", ""]
    lines += ["| in | sees | answers | goes to |", "|---|---|---|---|"]
    for state, exits in table.items():
        for seen, there in exits.items():
            answer = ANSWERS.get((state, seen))
            lines.append(f"| {state.value} | {seen.value} | {answer.value if answer else ''} | {there.value} |")
        if not exits:
            lines.append(f"| {state.value} | | | nothing leaves it |")
    return "\n".join([*lines, ""])
