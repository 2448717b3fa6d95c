"""To speak with a node: dialogues over one link, parties around a router, the scene that holds them."""

from .application import ApplicationParty, Told, live_session, named, router
from .asked import Asked, Heard, payload_of, told
from .dialogue import Dialogue
from .fences import BY_QUERY, Fence, Fencing, settle
from .gathering import one_more, parties, parties_of
from .party import Party
from .scene import ANSWERS, Agent, Scene
from .speaker import Sendable

__all__ = [
    "ANSWERS",
    "BY_QUERY",
    "Agent",
    "ApplicationParty",
    "Asked",
    "Dialogue",
    "Fence",
    "Fencing",
    "Heard",
    "Party",
    "Scene",
    "Sendable",
    "Told",
    "live_session",
    "named",
    "one_more",
    "parties",
    "parties_of",
    "payload_of",
    "router",
    "settle",
    "told",
]
