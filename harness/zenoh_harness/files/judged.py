"""What was judged before: `<name>.judged`, one `role profile requirement` a line, sorted.

A requirement that was judged and no longer is, is red until a person accepts it: a suite that silently judges less is
worse than one that fails.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from zenoh_conformance.judging.finding import OUR_FAULT
from zenoh_conformance.judging.verdict import Judgement, Verdict
from zenoh_harness.files.faults import FileFault

_HEAD: Final = "# Judged: role, profile, requirement. Written by zconform; a line that would go must be accepted.\n"


def line_of(judgement: Judgement) -> str:
    """What one judgement adds to the list."""
    key = judgement.key
    return f"{key.role} {key.profile} {key.requirement}"


def judged(judgements: Iterable[Judgement]) -> frozenset[str]:
    """What these judged."""
    return frozenset(line_of(one) for one in judgements if one.verdict.is_judged)


def prevented(judgements: Iterable[Judgement]) -> frozenset[str]:
    """What was to be judged, and our own machine was too slow for it: such a line need not be accepted as gone."""
    late = (one for one in judgements if one.verdict is Verdict.NOT_OBSERVED)
    return frozenset(line_of(one) for one in late if any(text in one.cause for text in OUR_FAULT))


def read(path: Path) -> frozenset[str]:
    """What was judged before. Raises FileFault."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as why:
        raise FileFault(path, None, f"cannot be read: {why}") from why
    lines: set[str] = set()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if len(line.split()) != 3 or "/" not in line:
            raise FileFault(path, number, f"expected `role profile page/requirement`, found {line!r:.60}")
        lines.add(" ".join(line.split()))
    return frozenset(lines)


def write(path: Path, lines: Iterable[str]) -> None:
    """Accept: from now on these are what is judged."""
    path.write_text(_HEAD + "".join(f"{line}\n" for line in sorted(set(lines))), encoding="utf-8")


def missing(before: frozenset[str], now: frozenset[str]) -> list[str]:
    """What was judged before and is not any more, sorted."""
    return sorted(before - now)
