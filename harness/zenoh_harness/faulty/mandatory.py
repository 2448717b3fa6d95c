"""Nodes that read past a mandatory extension that they do not know, on one kind of message or body: by rule."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from zenoh_conformance.cases.session.mandatory import EXAMPLES
from zenoh_conformance.reading.codec import Layer, decode
from zenoh_conformance.wire import DecodeError

from . import fault

MANDATORY = 0x10
"""Bit M of an extension's header."""
NO_EFFECT = "session-mandatory/what-is-mandatory-and-unknown-has-no-effect"


def part_of(error: Any) -> str:
    """The path of the message or body whose extension is unknown and mandatory; empty for any other error."""
    if not isinstance(error, DecodeError) or not error.why.endswith("unknown and mandatory"):
        return ""
    return re.sub(r"^frame\.messages\[\d+\]\.|\.exts\..*", "", error.path)


def reads_past(part: str) -> Callable[..., None]:
    """An `on_undecodable` that reads a FRAME without M of an unknown extension of this part."""

    def on_undecodable(node, base, link, seen):
        if part_of(seen.message) != part:
            base()
            return
        data = bytearray(seen.raw)
        data[seen.message.at] &= ~MANDATORY
        node.on_message(link, replace(seen, kind="frame", message=decode(bytes(data), Layer.TRANSPORT).message))

    return on_undecodable


for _part in EXAMPLES:
    fault(
        f"skips-what-is-mandatory-of-{re.sub('[._]', '-', _part)}",
        f"Accepts a {_part} with an unknown mandatory extension.",
        on_undecodable=reads_past(_part),
        caught_by=NO_EFFECT,
    )
