"""Our own node: a sans-I/O session stack, responder and initiator, router enough to carry pushes, queries and declarations.

It is what every case must pass on, and what each faulty node is, but for one fault. Faulty nodes change hooks: small methods that
answer one question each, in `responder`, `initiator`, `terms`, `traffic`, `router`.
"""

from .config import Config
from .habits import Habits
from .node import Reference

__all__ = ["Config", "Habits", "Reference"]
