"""Our own node: a sans-I/O session stack, responder and initiator, router enough to carry pushes, queries and declarations.

It is what every case must pass on, and what each miniature is, but for one fault. `node` holds the hooks that miniatures change.
"""

from .node import Config, Reference

__all__ = ["Config", "Reference"]
