"""How a container ended: by itself, by a signal, for want of memory, or taken away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from zenoh_harness.programs.processes import Ended, signal_name

SIGNALLED: Final = 128
"""Container engines report death by signal N as exit code 128 + N, as shells do."""
ENGINE_CODES: Final = {
    125: "the engine could not run it",
    126: "its command cannot be executed",
    127: "its command is not in the image",
}


class Kind(Enum):
    """The kinds of end."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    OUT_OF_MEMORY = "out of memory"
    GONE = "gone"
    """Removed by somebody else."""
    NEVER = "never started"


@dataclass(frozen=True, slots=True)
class ContainerEnded(Ended):
    """How, and in words; as for a program, `code` is minus the signal for one that died of it."""

    kind: Kind
    words: str

    def __str__(self) -> str:
        return self.words


def ended(state: Mapping[str, Any], memory: int) -> ContainerEnded | None:
    """What the engine's `State` tells of, None while it runs; an empty one is a container that is no more.

    `memory` is the container's limit in bytes, for the words.
    """
    if not state:
        return ContainerEnded(-9, 0, Kind.GONE, "the container's removal by somebody else")
    if state.get("Running") or state.get("Restarting"):
        return None
    code = int(state.get("ExitCode") or 0)
    if state.get("OOMKilled"):
        return ContainerEnded(
            -9, 0, Kind.OUT_OF_MEMORY, f"SIGKILL for want of memory (its limit is {memory >> 20} MiB)"
        )
    if state.get("Error"):
        return ContainerEnded(code, 0, Kind.NEVER, f"never started: {state['Error']}")
    if code > SIGNALLED:
        number = code - SIGNALLED
        return ContainerEnded(-number, 0, Kind.SIGNALLED, f"signal {number} ({signal_name(number)})")
    why = f": {ENGINE_CODES[code]}" if code in ENGINE_CODES else ""
    return ContainerEnded(code, 0, Kind.EXITED, f"exit code {code}{why}")
