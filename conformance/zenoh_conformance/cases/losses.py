"""What a finding says only by its absence: whether something was lost, and which kind of message it was."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from zenoh_conformance.tables.forwarding import ROWS
from zenoh_conformance.talking.asked import BEHIND

Finding = Mapping[str, Any]
"""A finding as the details of a judgement keep it: path, expected, got."""

OF_A_QUERY: Final = ("ResponseFinal", "Response", "Request")
"""What does not come, or is not passed on, where a query is lost."""
A_SESSION: Final = "a session"
"""What is missed where either a handshake or the query that shows its session to work is lost."""
_A_LIVE_SESSION: Final = "a session that works"
"""How what is expected begins where an open session is asked to end a query."""
FORWARDED: Final = frozenset(row.chain.partition(".")[0] for row in ROWS)
"""The kinds of messages that carry what an application said."""

_LOSSES: Final = ("silence", "link ", "Close(", "undecodable bytes", "DecodeError")
_FEWER: Final = re.compile(r"(?:nothing|none of it|no answer|less|fewer|0 of \w+|0 errors|0)$")
"""What came, where a check counts what an application hears."""
_AWAITED: Final = re.compile(r"(?:one |no )?(Push|Request|Response|ResponseFinal|Fragment|Declare|D_?[A-Z]\w*)\b")
"""How what is expected begins where a message of a session is awaited."""
_TAKEN_BACK: Final = "taken back"
"""How what is expected ends where a declaration is to be withdrawn."""
_IN_WORDS: Final = (
    ("push", re.compile(r"\b(?:publications?|puts?|fragments|each once|all that was said|the first one)\b")),
    ("response", re.compile(r"\b(?:answers?|repl(?:y|ies)|ERR|errors?)\b")),
)
"""Kind of message to how a check names what it awaits of it, or the step at which it awaits it."""


def is_loss(was: Finding) -> bool:
    """Whether a finding says only that what was awaited did not come, and not what came in its place, or what is wrong in a field."""
    got = str(was.get("got", ""))
    if got == "silence" or _FEWER.match(got):
        return True
    return got.startswith(_LOSSES) and not is_field(str(was.get("path", "")))


def lost_message(was: Finding) -> str:
    """What a finding that is a loss missed: of a session that falls silent when it is asked, the end of the query."""
    expected = str(was.get("expected", ""))
    return OF_A_QUERY[0] if expected.startswith(_A_LIVE_SESSION) and was.get("got") == "silence" else expected


def is_held_back(was: Finding) -> bool:
    """Whether what was awaited came with another message only, and so is missed wherever none follows."""
    return str(was.get("got", "")).endswith(BEHIND)


def is_field(path: str) -> bool:
    """Whether a path is that of a field, and not a message or a step in words."""
    return "." in path and " " not in path and ":" not in path


def kind_awaited(was: Finding) -> str:
    """The kind of message that a check awaited; empty if it expected something else."""
    expected = str(was.get("expected", ""))
    if expected.endswith(_TAKEN_BACK):
        return "declare"
    awaited = _AWAITED.match(expected)
    if awaited is None:
        said = f"{was.get('path', '')}: {expected}"
        return next((kind for kind, words in _IN_WORDS if words.search(said)), "")
    if awaited[1] == "Fragment":
        return "push"
    return "declare" if awaited[1].startswith("D") else re.sub(r"(?<=[a-z])(?=[A-Z])", "_", awaited[1]).lower()
