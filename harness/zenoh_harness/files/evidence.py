"""Evidence: the conversation of an unexpected verdict, in a file whose name tells what it shows."""

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
"""What a conversation says about itself that is kept back until its finding is public."""
_LONGEST: Final = 100


def slug(text: str) -> str:
    """A file name for any text: words and hyphens, long ones cut and told apart by a digest."""
    words = re.sub(r"[^A-Za-z0-9.=_]+", "-", text).strip("-.") or "unnamed"
    if len(words) <= _LONGEST:
        return words
    return f"{words[:_LONGEST]}-{blake2b(text.encode(), digest_size=4).hexdigest()}"


def save(conversation: Conversation, out: Path, name: str) -> str:
    """Write the conversation; its path relative to the results."""
    relative = f"{FOLDER}/{slug(name)}.jsonl"
    path = out / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    conversations.write(conversation, path)
    return relative


def marked(conversation: Conversation) -> Conversation:
    """The conversation, with the mark that it is kept back: so that nobody writes parts of it elsewhere."""
    return replace(conversation, about={**conversation.about, MARK: "upstream"})


def merged(parts: Iterable[tuple[str, Conversation]]) -> Conversation:
    """Several conversations as one; connections are told apart by the name of their part; times stay the parts' own."""
    whole = Conversation()
    for name, part in parts:
        for connection in part.connections.values():
            renamed = f"{name} {connection.name}"
            whole.connections[renamed] = replace(connection, name=renamed)
        whole.events.extend(replace(event, connection=f"{name} {event.connection}") for event in part.events)
    return whole
