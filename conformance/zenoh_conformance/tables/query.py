"""The states of one query at a router, as a table: one querier, one queryable, the router's input and its output.

Pages: query#flow, reply#final; companion declarations. The model `querying` covers what does not fit a
table: several queryables, targets, timeouts and budgets.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class Phase(Enum):
    """The state of the querier's last query, and whether the queryable is declared."""

    NOBODY = "nobody serves"
    SERVED = "served"
    OPEN = "open"
    OPEN_TAKEN_BACK = "open, taken back"
    """The queryable was undeclared and has not sent its RESPONSE_FINAL yet."""


class QueryInput(Enum):
    """What the router receives: REQUEST comes from the querier, everything else from the queryable."""

    DECLARE = "Declare"
    UNDECLARE = "Undeclare"
    REQUEST = "Request"
    RESPONSE = "Response"
    ERROR = "Error"
    FINAL = "Final"
    LEAVE = "Leave"
    """The queryable's session ends, and a new one begins with nothing declared."""


NOTHING, PASSED, ANSWERED, FAILED, ENDED = "nothing", "Request", "Response", "Err", "ResponseFinal"
"""What the router sends: the query to the queryable; an answer, an error or the end to the querier."""

_CHANGES = {
    (Phase.NOBODY, QueryInput.DECLARE): (NOTHING, Phase.SERVED),
    (Phase.NOBODY, QueryInput.REQUEST): (ENDED, Phase.NOBODY),
    (Phase.SERVED, QueryInput.UNDECLARE): (NOTHING, Phase.NOBODY),
    (Phase.SERVED, QueryInput.REQUEST): (PASSED, Phase.OPEN),
    (Phase.SERVED, QueryInput.LEAVE): (NOTHING, Phase.NOBODY),
    (Phase.OPEN, QueryInput.UNDECLARE): (NOTHING, Phase.OPEN_TAKEN_BACK),
    (Phase.OPEN, QueryInput.REQUEST): (PASSED, Phase.OPEN),
    (Phase.OPEN, QueryInput.RESPONSE): (ANSWERED, Phase.OPEN),
    (Phase.OPEN, QueryInput.ERROR): (FAILED, Phase.OPEN),
    (Phase.OPEN, QueryInput.FINAL): (ENDED, Phase.SERVED),
    (Phase.OPEN, QueryInput.LEAVE): (ENDED, Phase.NOBODY),
    (Phase.OPEN_TAKEN_BACK, QueryInput.DECLARE): (NOTHING, Phase.OPEN),
    (Phase.OPEN_TAKEN_BACK, QueryInput.REQUEST): (ENDED, Phase.NOBODY),
    (Phase.OPEN_TAKEN_BACK, QueryInput.RESPONSE): (ANSWERED, Phase.OPEN_TAKEN_BACK),
    (Phase.OPEN_TAKEN_BACK, QueryInput.ERROR): (FAILED, Phase.OPEN_TAKEN_BACK),
    (Phase.OPEN_TAKEN_BACK, QueryInput.FINAL): (ENDED, Phase.NOBODY),
    (Phase.OPEN_TAKEN_BACK, QueryInput.LEAVE): (ENDED, Phase.NOBODY),
}
"""The steps in which the router sends something or the phase changes. A new query replaces an open one."""

QUERY: Mapping[Phase, Mapping[QueryInput, tuple[str, Phase]]] = {
    phase: {step: _CHANGES.get((phase, step), (NOTHING, phase)) for step in QueryInput} for phase in Phase
}
"""Phase and input to the router's output and the next phase."""

START = Phase.NOBODY
