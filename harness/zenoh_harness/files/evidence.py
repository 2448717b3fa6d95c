"""Evidence: the conversation of an unexpected verdict, in a file that is named after the judgement."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Final

from zenoh_conformance.reading.conversation import Conversation
from zenoh_harness.files import conversations

FOLDER: Final = "evidence"
MARK: Final = "embargo"
"""The key in `about` of a conversation whose finding is under embargo."""
_LONGEST: Final = 100


def slug(text: str) -> str:
    """Return a file name for any text: words and hyphens; a long text is cut and gets a digest, which keeps it unique."""
    words = re.sub(r"[^A-Za-z0-9.=_]+", "-", text).strip("-.") or "unnamed"
    if len(words) <= _LONGEST:
        return words
    return f"{words[:_LONGEST]}-{blake2b(text.encode(), digest_size=4).hexdigest()}"


def save(conversation: Conversation, out: Path, name: str) -> str:
    """Write the conversation below the results folder `out`; return its path relative to `out`. Raises OSError."""
    relative = f"{FOLDER}/{slug(name)}.jsonl"
    path = out / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    conversations.write(conversation, path)
    return relative


def with_embargo_mark(conversation: Conversation) -> Conversation:
    """Return the conversation with the embargo mark, so that no command copies parts of it into a published file."""
    return replace(conversation, about={**conversation.about, MARK: "upstream"})


def merge(parts: Iterable[tuple[str, Conversation]]) -> Conversation:
    """Return several named conversations as one; `NAME CONNECTION` is the new name of a connection, times stay."""
    whole = Conversation()
    for name, part in parts:
        for connection in part.connections.values():
            renamed = f"{name} {connection.name}"
            whole.connections[renamed] = replace(connection, name=renamed)
        whole.events.extend(replace(event, connection=f"{name} {event.connection}") for event in part.events)
    return whole
