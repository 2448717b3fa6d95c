"""Where text and baseline differ: the stance of each place, and which reading a vector writes down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

STANCES = {
    "ZD-01": "PIN",
    "ZD-02": "GAP",
    "ZD-03": "GAP",
    "ZD-05": "GAP",
    "ZD-06": "PIN",
    "ZD-07": "PIN",
    "ZD-08": "DEV",
    "ZD-09": "PIN",
    "ZD-12": "GAP",
    "ZD-13": "PIN",
    "ZD-14": "GAP",
    "ZD-16": "PIN",
    "ZD-17": "PIN",
    "ZD-19": "PIN",
    "ZD-21": "PIN",
    "ZD-22": "PIN",
    "ZD-23": "DEV",
    "ZD-24": "PIN",
    "ZD-25": "GAP",
    "ZD-26": "PIN",
    "ZD-28": "DEV",
    "ZD-30": "PIN",
    "ZD-31": "PIN",
    "ZD-32": "PIN",
    "ZD-33": "PIN",
    "ZD-34": "DEV",
    "ZD-35": "GAP",
    "ZD-36": "PIN",
    "ZD-37": "GAP",
    "ZD-38": "PIN",
    "ZD-40": "PIN",
    "ZD-41": "PIN",
    "ZD-42": "GAP",
    "ZD-43": "GAP",
    "ZD-44": "DEV",
    "ZD-53": "PIN",
    "ZD-60": "PIN",
    "ZD-67": "BOTH",
    "extension-length-ignored": "GAP",
    "region-name-unchecked": "GAP",
    "open-shm-answer-is-bytes": "GAP",
    "empty-wire-expr-suffix": "GAP",
}
"""By alias; what the vectors found themselves has only a phrase."""


@dataclass(frozen=True)
class Reading:
    """One erratum under a vector: what the vector expects is the text's reading or the baseline's."""

    alias: str
    reading: str = "as erratum"
    means: dict[str, Any] | None = None
    """What the bytes mean under the other reading, when that is known."""
    refuses: dict[str, Any] | None = None
    """How the other reading refuses them."""

    open: bool = False
    """This point of a pinned erratum is left open."""

    @property
    def stance(self) -> str:
        return "GAP" if self.open else STANCES[self.alias]
