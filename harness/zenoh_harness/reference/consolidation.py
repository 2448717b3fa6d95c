"""Consolidation of the answers to one query (query#consolidation).

The specification does not state which node consolidates. In the baseline routers forward all answers and queriers
consolidate (erratum consolidation-by-querier).
"""

from __future__ import annotations

from collections.abc import Iterator

from zenoh_conformance.messages import ConsolidationMode, Reply, Response

Answer = tuple[str, Response]
"""The full key expression of an answer, and the answer."""


class Consolidated:
    """Consolidates the answers to one query: `take` for each answer, `rest` after the final."""

    def __init__(self, mode: int) -> None:
        self.mode = mode
        """The consolidation mode; AUTO and unknown values act as LATEST, as in the baseline's queriers."""
        self.newest: dict[str, Answer] = {}

    def take(self, key: str, response: Response) -> Iterator[Answer]:
        """Add an answer; yield those that are passed on now."""
        if self.mode == ConsolidationMode.NONE or not isinstance(response.body, Reply):
            yield key, response
        elif key not in self.newest or self.is_newer(response, self.newest[key][1]):
            self.newest[key] = (key, response)
            if self.mode == ConsolidationMode.MONOTONIC:
                yield key, response

    def is_newer(self, response: Response, than: Response) -> bool:
        """Return whether an answer has a timestamp not below that of an earlier one; True if one of them has none."""
        return time_of(response) >= time_of(than) if time_of(response) and time_of(than) else True

    def rest(self) -> Iterator[Answer]:
        """Yield the answers that were held back until the end of the query."""
        if self.mode != ConsolidationMode.MONOTONIC:
            yield from self.newest.values()
        self.newest.clear()


def time_of(response: Response) -> int:
    """Return the NTP64 time of the timestamp in an answer; 0 if it has none."""
    body = response.body.body if isinstance(response.body, Reply) else None
    timestamp = getattr(body, "timestamp", None)
    return 0 if timestamp is None else int(timestamp.time)
