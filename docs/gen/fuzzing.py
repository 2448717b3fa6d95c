"""Generates the page of the rules under which two codecs may differ."""

from __future__ import annotations

from collections.abc import Iterator

from zenoh_fuzz.compare.tolerances import KEYS, REWRITES, VERDICTS

HEAD = """# Known differences between codecs

The differences that `zconform fuzz codec differential` and `keyexpr` tolerate. A rule of kind *reading* rewrites our meaning into that
of the other codec, and permits exactly this difference; a *verdict* permits that one of the codecs refuses, or stops earlier; a *key*
permits that a codec refuses a key expression that has a canonical form. Each use of a rule is counted, and for each rule a test has an
input that is a finding without it.

| rule | kind | why | erratum |
|---|---|---|---|
"""


def pages() -> Iterator[tuple[str, str]]:
    """Yield the place of the page and its Markdown."""
    rows = [(one.id, "reading", one.reason, one.erratum) for one in REWRITES.values()]
    rows += [(one.id, "verdict", one.reason, one.erratum) for one in VERDICTS.values()]
    rows += [(one.id, "key", one.reason, one.erratum) for one in KEYS]
    lines = [
        f"| `{name}` | {kind} | {reason} | {f'`{erratum}`' if erratum else ''} |"
        for name, kind, reason, erratum in rows
    ]
    yield "generated/differences.md", HEAD + "\n".join(lines) + "\n"
