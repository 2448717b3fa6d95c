"""What a run is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from zenoh_harness.files.known import Known
from zenoh_harness.run.attempt.scenes import Pause
from zenoh_harness.run.plan.allowance import Allowance
from zenoh_harness.run.plan.own_vectors import OwnVectors
from zenoh_harness.run.plan.plan import Selection
from zenoh_harness.targets.target import NodeInstance

DEPTHS: Final = ("quick", "full", "nightly")
DEPTH: Final = "full"
"""The depth of a run that is told none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to run; the same for every target of a command."""

    out: Path
    """The folder for results and evidence of one target."""
    selection: Selection = field(default_factory=Selection)
    jobs: int = 8
    """Cases side by side."""
    seed: int = 0
    depth: str = DEPTH
    known: Known = field(default_factory=Known)
    judged: Path | None = None
    """What was judged before."""
    max_fail: int | None = None
    """After how many deviations it ends; None for never."""
    required: frozenset[str] | None = None
    """The requirements that a target is held to; what it deviates from beyond them is shown and excused. None for all."""
    allowance: Allowance = field(default_factory=Allowance)
    """Until when it may go on."""
    forks: bool = False
    """Whether a part of the run may be judged in a forked copy of the process."""
    shares: int = 1
    """Among how many parts of the target what is left of it is divided, this one among them."""
    resume: bool = False
    """Whether to go on with the run whose results are in `out`, if there is one."""
    fresh: bool = False
    """Whether each judgement has a target of its own, started for it."""
    timeout: float | None = None
    """Seconds that one case may take; None for what cases take at most."""
    pause: Pause | None = None
    """Where one case is looked at by a person."""
    strict: bool = False
    shuffle: int | None = None
    """What the order of the cases is drawn from; None for the order that does not change."""
    kept: list[NodeInstance] | None = None
    """Where the last instance is put, for the caller to end it; None if the run ends it."""
    own_vectors: OwnVectors = field(default_factory=OwnVectors)
    """The user's own vectors."""
    with_embargoed: bool = False
    """Run what is kept back, too."""
    data_folder: Path | None = None
    """Where embargoed findings are kept; the user's data folder when None."""
    told: Callable[[str], None] = lambda _text: None
    """Remarks for a person who wants to know more."""
    found: Callable[[str], None] = lambda _text: None
    """What was found of the target, and how long it will take."""
    advance: Callable[[int, str], None] = lambda _step, _where: None
    """How far the run is."""
