"""JSON that people can read, too: the outer levels are indented, and each value below them stands on one line.

`json.dumps` with `indent` would not use the fast encoder of the standard library; one line a value does.
"""

from __future__ import annotations

import json
from typing import Any


def text(document: Any, levels: int) -> str:
    """The document with its first `levels` levels indented and a newline at its end; deterministic."""
    return _indented(document, levels, "\n") + "\n"


def _indented(value: Any, levels: int, newline: str) -> str:
    if not levels or not value or not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=True)
    inner = newline + " "
    if isinstance(value, list):
        rows = [_indented(each, levels - 1, inner) for each in value]
        return f"[{inner}{f',{inner}'.join(rows)}{newline}]"
    rows = [f"{json.dumps(name)}: {_indented(each, levels - 1, inner)}" for name, each in value.items()]
    return f"{{{inner}{f',{inner}'.join(rows)}{newline}}}"
