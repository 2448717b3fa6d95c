"""Write JSON whose outer levels are indented, with each value below these levels on one line.

`json.dumps` with `indent` does not use the standard library's encoder in C; encoding each line by itself does.
"""

from __future__ import annotations

import json
from typing import Any


def text(document: Any, levels: int) -> str:
    """Return the document with its first `levels` levels indented and a newline at its end; deterministic."""
    return _indent(document, levels, "\n") + "\n"


def _indent(value: Any, levels: int, newline: str) -> str:
    if not levels or not value or not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=True)
    inner = newline + " "
    if isinstance(value, list):
        rows = [_indent(each, levels - 1, inner) for each in value]
        return f"[{inner}{f',{inner}'.join(rows)}{newline}]"
    rows = [f"{json.dumps(name)}: {_indent(each, levels - 1, inner)}" for name, each in value.items()]
    return f"{{{inner}{f',{inner}'.join(rows)}{newline}}}"
