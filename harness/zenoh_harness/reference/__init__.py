"""The reference node: a session stack without I/O, as responder and initiator, with a router for all network messages.

Every case must pass on it. A faulty node is the reference node with one hook replaced; a hook is a small method that
answers one question about the protocol, in `responder`, `initiator`, `terms`, `traffic` or `router`.
"""

from .config import (
    EXPIRED,
    GENERIC,
    INVALID,
    MAX_LINKS,
    MAX_SESSIONS,
    TO_SELF,
    UNSUPPORTED,
    Action,
    Config,
    Refused,
    refuse,
)
from .declaring import declare, whole
from .habits import Habits
from .hooked import Base, after, before, derive_node, name_of
from .link import Link, Pending
from .node import Reference

__all__ = [
    "EXPIRED",
    "GENERIC",
    "INVALID",
    "MAX_LINKS",
    "MAX_SESSIONS",
    "TO_SELF",
    "UNSUPPORTED",
    "Action",
    "Base",
    "Config",
    "Habits",
    "Link",
    "Pending",
    "Reference",
    "Refused",
    "after",
    "before",
    "declare",
    "derive_node",
    "name_of",
    "refuse",
    "whole",
]
