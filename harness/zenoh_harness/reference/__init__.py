"""The reference node: a session stack without I/O, as responder and initiator, with a router for all network messages.

Every case must pass on it. A faulty node is the reference node with one hook replaced; a hook is a small method that
answers one question about the protocol, in `responder`, `initiator`, `terms`, `traffic` or `router`.
"""

from .config import Config
from .habits import Habits
from .node import Reference

__all__ = ["Config", "Habits", "Reference"]
