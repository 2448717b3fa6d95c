"""JSON for programs that people look into, too: the outer levels in lines of their own, each row below them in one line.

The row is what the fast encoder of the standard library writes; with `indent` everywhere it is not used at all.
"""

from __future__ import annotations

import json
from typing import Any


def text(document: Any, levels: int) -> str:
    """The document with its first `levels` levels laid out, and a newline at its end. The same document, the same text."""
    return _laid_out(document, levels, "\n") + "\n"


def _laid_out(value: Any, levels: int, newline: str) -> str:
    if not levels or not value or not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=True)
    inner = newline + " "
    if isinstance(value, list):
        rows = [_laid_out(each, levels - 1, inner) for each in value]
        return f"[{inner}{f',{inner}'.join(rows)}{newline}]"
    rows = [f"{json.dumps(name)}: {_laid_out(each, levels - 1, inner)}" for name, each in value.items()]
    return f"{{{inner}{f',{inner}'.join(rows)}{newline}}}"
