"""Our own side: what we send is held against the same laws as what a target sends.

What a case or model breaks on purpose it declares, by the law's id (`breaks`). If we break any other MUST, that is our own fault,
and no ground to judge anybody on. What only should be we may leave: we stamp nothing, for one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final

from zenoh_conformance.reading.conversation import Conversation, Happened, Side
from zenoh_conformance.spec.requirement import is_must

from .engine import Judged
from .finding import Finding

ANY: Final = ("law/*",)
"""What a script breaks: it says what is written, whatever that is."""

UNREAD: Final = ("law/init-is-whole", "law/open-is-whole", "law/what-is-said-decodes")
"""Where we broke one of these on purpose no law knows what we offered, and a target that takes it goes on from there."""

ENDS: Final = (Happened.EOF, Happened.RESET)


class OwnFault(Exception):  # noqa: N818 - it is a fault of a case or model, and named as such
    """We broke a law that we did not mean to break."""


def own_faults(
    conversation: Conversation, every: Sequence[Judged], ours: Side, breaks: Collection[str]
) -> Iterator[str]:
    """What our side broke and did not declare, a line each, of what the laws say of a conversation; only what must be.

    Nothing where the target broke something, too: it may have led us there; and nothing where we said on purpose what nobody can
    read. Nor is it a fault what we say on a link that has ended.
    """
    if any(
        said.findings and (said.sender is not ours or (said.law.id in UNREAD and _is_meant(said, breaks)))
        for said in every
    ):
        return
    for said in every:
        if said.sender is ours and said.findings and is_must(said.law.requirement) and not _is_meant(said, breaks):
            heard = next((finding for finding in said.findings if _is_heard(finding, conversation)), None)
            if heard is not None:
                yield f"we broke {said.law.id}, and did not mean to: {heard.cause}"


def _is_heard(finding: Finding, conversation: Conversation) -> bool:
    """Whether the target had not ended the link before."""
    for event in conversation.events:
        if finding.event is None or event is finding.event:
            return True
        if event.connection == finding.connection and event.kind in ENDS and event.sender is not finding.sender:
            return False
    return True


def _is_meant(said: Judged, breaks: Collection[str]) -> bool:
    return any(fnmatchcase(said.law.id, glob) for glob in breaks)
