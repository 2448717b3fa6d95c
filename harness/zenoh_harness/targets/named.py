"""Whatever a target string names, looked for before any work begins: the second of several is not missed when the first is done."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Final

from zenoh_harness.errors import UsageError
from zenoh_harness.profiles import DEFAULT
from zenoh_harness.targets.catalogue import find
from zenoh_harness.targets.reach import Face, Reach
from zenoh_harness.targets.target import NodeTarget, open_target, profile_of

RELEASE: Final = "@"
"""In `lib:NAME@VERSION`, which is built where it is not there yet."""


def checked(text: str) -> Reach:
    """`find`, with its faulty node, variant, profile, program or library looked for; nothing is started. Raises UsageError."""
    reach = find(text)
    if Face.NODE in reach.faces:
        profile_of(open_target(reach), DEFAULT)
    elif reach.kind == "stdio":
        _check_program(reach)
    elif reach.kind == "lib" and RELEASE not in reach.rest and not Path(reach.rest).is_file():
        raise UsageError(f"there is no library {reach.rest}", step="target string")
    return reach


def node(text: str) -> NodeTarget:
    """The node target of a string that was looked at like that, not started yet. Raises UsageError for a codec, too."""
    return open_target(checked(text))


def _check_program(reach: Reach) -> None:
    try:
        program = shlex.split(reach.rest)[0]
    except ValueError as why:
        raise UsageError(f"cannot read the command {reach.rest!r}", step="target string", seen=str(why)) from why
    if shutil.which(program) is None:
        raise UsageError(f"there is no program {program!r}", step="target string", seen=str(reach))
