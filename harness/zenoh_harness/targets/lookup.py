"""Check all target strings before any work begins, so that a mistake in the second one does not cost the first run."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from zenoh_harness.errors import UsageError
from zenoh_harness.profiles import DEFAULT
from zenoh_harness.targets.catalogue import find
from zenoh_harness.targets.reach import Face, Reach, split_command
from zenoh_harness.targets.target import NodeTarget, open_target, profile_of

RELEASE: Final = "@"
"""Marks a release in `lib:NAME@VERSION`, which is built if it is missing."""


def find_checked(text: str) -> Reach:
    """Find a target and check its faulty node, variant, profile, program or library, without starting it. Raises UsageError."""
    reach = find(text)
    if Face.NODE in reach.faces:
        profile_of(open_target(reach), DEFAULT)
    elif reach.kind == "stdio":
        _check_program(reach)
    elif reach.kind == "lib" and RELEASE not in reach.rest and not Path(reach.rest).is_file():
        hint = "write lib:PATH of a shared library, or lib:zenoh-codec@VERSION"
        raise UsageError(f"there is no library {reach.rest}", step="target string", hint=hint)
    return reach


def open_checked(text: str) -> NodeTarget:
    """Check a target string and return its node target, not started yet. Raises UsageError, for a codec too."""
    return open_target(find_checked(text))


def _check_program(reach: Reach) -> None:
    program = split_command(reach.rest)[0]
    if shutil.which(program) is None:
        hint = (
            f"make it executable: chmod +x {program}"
            if Path(program).is_file()
            else "write its path from here, as in ./codec"
        )
        raise UsageError(f"there is no program {program!r}", step="target string", seen=str(reach), hint=hint)
