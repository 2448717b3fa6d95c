"""The list of judged requirements: a file `<name>.judged` with one `role profile requirement` a line, sorted.

The gate compares a run with this list. A requirement that an earlier run judged and this one does not makes the gate red
until a person accepts it; otherwise a run could judge less and less without notice.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from zenoh_conformance.judging.finding import OUR_FAULT
from zenoh_conformance.judging.verdict import Judgement, Verdict
from zenoh_harness.files.faults import FileFault, regular, unreadable

MOVED: Final = {
    "close/reason-expired": "close/expired-lease-is-expired",
    "close/reason-connection-to-self": "close/own-zid-is-connection-to-self",
}
"""Requirements that a law judged at first, to those that it judges now: the former say what a value means, the latter what nodes do."""

_HEAD: Final = "# Judged: role, profile, requirement. Written by zconform; a line that would go must be accepted.\n"


def line_of(judgement: Judgement) -> str:
    """Return the line of a judgement in the list."""
    key = judgement.key
    return f"{key.role} {key.profile} {key.requirement}"


def judged_lines(judgements: Iterable[Judgement]) -> frozenset[str]:
    """Return the lines of all judgements whose verdict judges the target."""
    return frozenset(line_of(one) for one in judgements if one.verdict.is_judged)


def is_prevented(judgement: Judgement) -> bool:
    """Return whether a check said nothing because the harness's machine was too slow."""
    return judgement.verdict is Verdict.NOT_OBSERVED and any(text in judgement.cause for text in OUR_FAULT)


def prevented_lines(judgements: Iterable[Judgement]) -> frozenset[str]:
    """Return the lines of judgements that failed because the harness's machine was too slow.

    The gate does not report these as missing.
    """
    return frozenset(line_of(one) for one in judgements if is_prevented(one))


def share_judged(before: frozenset[str], judgements: Iterable[Judgement]) -> float:
    """Return the share of `before` that a run judged; only what our machine kept from being judged counts as not judged."""
    every = list(judgements)
    late = {_renamed_line(line) for line in before} & (prevented_lines(every) - judged_lines(every))
    return 1 - len(late) / len(before) if before else 1.0


def read(path: Path) -> frozenset[str]:
    """Read a list of judged requirements. Raises FileFault with the line."""
    try:
        text = regular(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as why:
        raise unreadable(path, why) from why
    lines: set[str] = set()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if len(line.split()) != 3 or "/" not in line:
            raise FileFault(path, number, f"expected `role profile page/requirement`, found {line!r:.60}")
        lines.add(" ".join(line.split()))
    return frozenset(lines)


def write(path: Path, lines: Iterable[str]) -> None:
    """Write the list of judged requirements, with which later runs are compared."""
    path.write_text(_HEAD + "".join(f"{line}\n" for line in sorted(set(lines))), encoding="utf-8")


def missing(before: frozenset[str], now: frozenset[str]) -> list[str]:
    """Return the lines of `before` that are not in `now`, sorted; a requirement in `MOVED` is there under either name."""
    return sorted(line for line in before - now if _renamed_line(line) not in now)


def _renamed_line(line: str) -> str:
    """Return the line with the requirement that is judged now."""
    head, _, requirement = line.rpartition(" ")
    return f"{head} {MOVED.get(requirement, requirement)}"
