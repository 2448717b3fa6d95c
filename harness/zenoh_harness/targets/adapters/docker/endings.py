"""How a container ended: by itself, by a signal, out of memory, or removed."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from zenoh_harness.programs.processes import ProcessEnd, signal_name

SIGNALLED: Final = 128
"""Container engines report death by signal N as exit code 128 + N, as shells do."""
ENGINE_CODES: Final = {
    125: "the engine could not run it",
    126: "its command cannot be executed",
    127: "its command is not in the image",
}


class EndKind(Enum):
    """How a container can end."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    OUT_OF_MEMORY = "out of memory"
    GONE = "gone"
    """Removed by another program."""
    NEVER = "never started"


@dataclass(frozen=True, slots=True)
class ContainerEnded(ProcessEnd):
    """The end of a container, with a description; `code` is minus the signal for one that a signal ended."""

    kind: EndKind
    words: str

    def __str__(self) -> str:
        return self.words


def read_end(state: Mapping[str, Any], memory: int) -> ContainerEnded | None:
    """Read the end from the engine's `State`: None while it runs; an empty state is a removed container.

    `memory` is the container's limit in bytes, for the description.
    """
    if not state:
        return ContainerEnded(-9, 0, EndKind.GONE, "its removal by another program")
    if state.get("Running") or state.get("Restarting"):
        return None
    code = int(state.get("ExitCode") or 0)
    if state.get("OOMKilled"):
        return ContainerEnded(-9, 0, EndKind.OUT_OF_MEMORY, f"SIGKILL, out of memory (its limit is {memory >> 20} MiB)")
    if state.get("Error"):
        return ContainerEnded(code, 0, EndKind.NEVER, f"never started: {state['Error']}")
    if code > SIGNALLED:
        number = code - SIGNALLED
        return ContainerEnded(-number, 0, EndKind.SIGNALLED, f"signal {number} ({signal_name(number)})")
    why = f": {ENGINE_CODES[code]}" if code in ENGINE_CODES else ""
    return ContainerEnded(code, 0, EndKind.EXITED, f"exit code {code}{why}")


def is_unexplained_kill(state: Mapping[str, Any]) -> bool:
    """Whether it ended by SIGKILL, without a note that it was out of memory (so far)."""
    return state.get("ExitCode") == SIGNALLED + signal.SIGKILL and not state.get("OOMKilled")
