"""Thinning out of the answers to one query, by its consolidation mode (query#consolidation).

The text does not say who thins; the baseline's routers pass everything on and its queriers thin (erratum consolidation-by-querier).
"""

from __future__ import annotations

from collections.abc import Iterator

from zenoh_conformance.messages import Reply, Response
from zenoh_conformance.messages.query import ConsolidationMode

Answer = tuple[str, Response]
"""An answer and its whole key."""


class Consolidated:
    """The answers to one query, as they come in and as they go on."""

    def __init__(self, mode: int) -> None:
        self.mode = mode
        """AUTO, and what is not known, is LATEST as in the baseline's own queriers."""
        self.newest: dict[str, Answer] = {}

    def take(self, key: str, response: Response) -> Iterator[Answer]:
        """One more answer came; what goes on now."""
        if self.mode == ConsolidationMode.NONE or not isinstance(response.body, Reply):
            yield key, response
        elif key not in self.newest or self.is_newer(response, self.newest[key][1]):
            self.newest[key] = (key, response)
            if self.mode == ConsolidationMode.MONOTONIC:
                yield key, response

    def is_newer(self, response: Response, than: Response) -> bool:
        """By the timestamps of the values; without them whoever comes later."""
        return time_of(response) >= time_of(than) if time_of(response) and time_of(than) else True

    def rest(self) -> Iterator[Answer]:
        """No more will come; what was held back."""
        if self.mode != ConsolidationMode.MONOTONIC:
            yield from self.newest.values()
        self.newest.clear()


def time_of(response: Response) -> int:
    """The time of the value that answers; 0 where it has none."""
    body = response.body.body if isinstance(response.body, Reply) else None
    timestamp = getattr(body, "timestamp", None)
    return 0 if timestamp is None else int(timestamp.time)
