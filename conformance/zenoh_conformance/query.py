"""The life of a query at a router, as a table: one querier, one queryable, what is said to the router, and what it says then.

Pages: query#flow, reply#final; companion declarations. Several queryables, targets, timeouts and budgets do not fit a table:
they are in the model `querying`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class Phase(Enum):
    """Where the last query of the querier stands, and whether the queryable is declared."""

    NOBODY = "nobody serves"
    SERVED = "served"
    OPEN = "open"
    OPEN_TAKEN_BACK = "open, taken back"
    """The queryable was taken back and still owes the final."""


class Says(Enum):
    """What is said to the router: the first two by the queryable, then one by the querier, the rest by the queryable."""

    DECLARE = "Declare"
    UNDECLARE = "Undeclare"
    REQUEST = "Request"
    RESPONSE = "Response"
    ERROR = "Error"
    FINAL = "Final"
    LEAVE = "Leave"
    """Its session ends, and it has a new one in which nothing is declared."""


NOTHING, PASSED, ANSWERED, FAILED, ENDED = "nothing", "Request", "Response", "Err", "ResponseFinal"
"""What the router says: the query to the queryable; an answer, an error or the end to the querier."""

Row = Mapping[Says, tuple[str, Phase]]

QUERY: Mapping[Phase, Row] = {
    Phase.NOBODY: {
        Says.DECLARE: (NOTHING, Phase.SERVED), Says.UNDECLARE: (NOTHING, Phase.NOBODY), Says.REQUEST: (ENDED, Phase.NOBODY),
        Says.RESPONSE: (NOTHING, Phase.NOBODY), Says.ERROR: (NOTHING, Phase.NOBODY), Says.FINAL: (NOTHING, Phase.NOBODY),
        Says.LEAVE: (NOTHING, Phase.NOBODY),
    },
    Phase.SERVED: {
        Says.DECLARE: (NOTHING, Phase.SERVED), Says.UNDECLARE: (NOTHING, Phase.NOBODY), Says.REQUEST: (PASSED, Phase.OPEN),
        Says.RESPONSE: (NOTHING, Phase.SERVED), Says.ERROR: (NOTHING, Phase.SERVED), Says.FINAL: (NOTHING, Phase.SERVED),
        Says.LEAVE: (NOTHING, Phase.NOBODY),
    },
    Phase.OPEN: {
        Says.DECLARE: (NOTHING, Phase.OPEN), Says.UNDECLARE: (NOTHING, Phase.OPEN_TAKEN_BACK),
        Says.REQUEST: (PASSED, Phase.OPEN), Says.RESPONSE: (ANSWERED, Phase.OPEN), Says.ERROR: (FAILED, Phase.OPEN),
        Says.FINAL: (ENDED, Phase.SERVED), Says.LEAVE: (ENDED, Phase.NOBODY),
    },
    Phase.OPEN_TAKEN_BACK: {
        Says.DECLARE: (NOTHING, Phase.OPEN), Says.UNDECLARE: (NOTHING, Phase.OPEN_TAKEN_BACK),
        Says.REQUEST: (ENDED, Phase.NOBODY), Says.RESPONSE: (ANSWERED, Phase.OPEN_TAKEN_BACK),
        Says.ERROR: (FAILED, Phase.OPEN_TAKEN_BACK), Says.FINAL: (ENDED, Phase.NOBODY), Says.LEAVE: (ENDED, Phase.NOBODY),
    },
}  # fmt: skip
"""Phase and what is said to what the router says and the next phase. A new query takes the place of one that is open."""

START = Phase.NOBODY
