"""The sessions with which a case about routing begins, and one more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.names import root_of_scene

from .application import ApplicationParty, router, settling
from .party import Party
from .scene import Scene


def parties(scene: Scene, *names: str) -> tuple[Party, ...]:
    """As many live sessions as names, with one root for their keys."""
    return parties_of(scene, **{name: {} for name in names})


def parties_of(scene: Scene, **terms: Mapping[str, Any]) -> tuple[Party, ...]:
    """The same by name, each with what its INIT has otherwise.

    Around a target that connects there are two: we, the first, and its application, the other.
    """
    if scene.role is Side.INITIATOR:
        publisher, subscriber = terms
        us = settling(scene, terms=terms[publisher]) if terms[publisher] else router(scene)
        return us, ApplicationParty(scene, us, subscriber)
    dialogues = [scene.session(name, **changes) for name, changes in terms.items()]
    root = root_of_scene(dialogues[0].zid)
    return tuple(Party(us, name, root) for us, name in zip(dialogues, terms, strict=True))


def one_more(scene: Scene, name: str, beside: Party, **terms: Any) -> Party:
    """One more live session, which comes later; `terms`: what its INIT has otherwise."""
    return Party(scene.session(name, **terms), name, beside.root)
