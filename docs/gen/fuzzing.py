"""The rules under which two codecs may differ, as a page; and the tiny codec that the page on fuzzing shows."""

from __future__ import annotations

from collections.abc import Iterator

from zenoh_fuzz.tolerances import KEYS, REWRITES, VERDICTS

HEAD = """# Known differences between codecs

What `zconform fuzz codec differential` and `keyexpr` tolerate. A *reading* makes our meaning what the other codec says, and
excuses exactly that; a *verdict* excuses that one of two refuses, or stops sooner; a *key* that another codec refuses a key
expression which has a canonical form. Each is counted when it was needed, and each has an input in the tests that is a finding
without it.

| rule | kind | why | erratum |
|---|---|---|---|
"""


def pages() -> Iterator[tuple[str, str]]:
    """The table."""
    rows = [(one.id, "reading", one.reason, one.erratum) for one in REWRITES.values()]
    rows += [(one.id, "verdict", one.reason, one.erratum) for one in VERDICTS.values()]
    rows += [(one.id, "key", one.reason, one.erratum) for one in KEYS]
    lines = [
        f"| `{name}` | {kind} | {reason} | {f'`{erratum}`' if erratum else ''} |"
        for name, kind, reason, erratum in rows
    ]
    yield "generated/differences.md", HEAD + "\n".join(lines) + "\n"
