"""Our own side: what we send is held against the same laws as what a target sends.

What a case or model breaks on purpose it declares, by the law's id (`breaks`). Whatever else we break of what must be is our own fault,
and no ground to judge anybody on. What only should be we may leave: we stamp nothing, for one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final

from .conversation import Side
from .law import Judged
from .requirement import is_must

ANY: Final = ("law/*",)
"""What a script breaks: it says what is written, whatever that is."""


class OwnFault(Exception):  # noqa: N818 - it is a fault of a case or model, and named as such
    """We broke a law that we did not mean to break."""


def own_faults(every: Sequence[Judged], ours: Side, breaks: Collection[str]) -> Iterator[str]:
    """What our side broke and did not declare, a line each; only what must be.

    Nothing where the target broke something in the same conversation: it may have led us there.
    """
    if any(said.findings for said in every if said.sender is not ours):
        return
    for said in every:
        if said.sender is ours and said.findings and is_must(said.law.requirement) and not _is_meant(said, breaks):
            yield f"we broke {said.law.id}, and did not mean to: {said.findings[0].cause}"


def _is_meant(said: Judged, breaks: Collection[str]) -> bool:
    return any(fnmatchcase(said.law.id, glob) for glob in breaks)
