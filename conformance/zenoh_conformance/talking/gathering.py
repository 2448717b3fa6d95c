"""The sessions with which a case about routing begins, and one more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zenoh_conformance.reading.names import root_of_scene

from .party import Party
from .scene import Scene


def parties(scene: Scene, *names: str) -> tuple[Party, ...]:
    """As many live sessions as names, with one root for their keys."""
    dialogues = [scene.session(name) for name in names]
    root = root_of_scene(dialogues[0].zid)
    return tuple(Party(us, name, root) for us, name in zip(dialogues, names, strict=True))


def parties_of(scene: Scene, **terms: Mapping[str, Any]) -> tuple[Party, ...]:
    """The same by name, each with what its INIT has otherwise."""
    dialogues = [scene.session(name, **changes) for name, changes in terms.items()]
    root = root_of_scene(dialogues[0].zid)
    return tuple(Party(us, name, root) for us, name in zip(dialogues, terms, strict=True))


def one_more(scene: Scene, name: str, beside: Party, **terms: Any) -> Party:
    """One more live session, which comes later; `terms`: what its INIT has otherwise."""
    return Party(scene.session(name, **terms), name, beside.root)
