"""`?before=COMMAND` and `?after=COMMAND`: what is done before each start of a node, and after its end.

Both are told in their environment which target it is, in which profile: `ZCONFORM_TARGET`, `ZCONFORM_PROFILE`. A blank in a target
string is written `%20`. What a command leaves running in the background is ended with it.
"""

from __future__ import annotations

import shlex
from typing import Any, Final

from zenoh_harness.errors import CannotStart, UsageError
from zenoh_harness.links.timing import Deadline
from zenoh_harness.profiles import DEFAULT
from zenoh_harness.programs import processes
from zenoh_harness.targets.target import NodeInstance, NodeTarget

PATIENCE: Final = 60.0
"""Seconds that a command may take."""


class Attended:
    """A target with a command before each start, or after each end."""

    apart = False
    """What the commands do, they do for one instance."""

    def __init__(self, below: NodeTarget) -> None:
        """Raises UsageError for a command that cannot be read."""
        self._below = below
        self._commands = {when: _words(when, below.reach.options.get(when, "")) for when in ("before", "after")}
        self._set = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._below, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """What is learnt of it is learnt of the target itself."""
        if "_set" in self.__dict__:
            setattr(self._below, name, value)
        else:
            super().__setattr__(name, value)

    def start(self, profile: str = DEFAULT) -> NodeInstance:
        """Do the command before, start it, and have the command after done once it has ended. Raises CannotStart."""
        self._do("before", profile)
        try:
            node = self._below.start(profile)
        except BaseException:
            self._do("after", profile)
            raise
        stop, ended = node.stop, False

        def stopped() -> None:
            nonlocal ended
            stop()
            if not ended:
                ended = True
                self._do("after", profile)

        setattr(node, "stop", stopped)  # noqa: B010  an instance has this one method otherwise
        return node

    def _do(self, when: str, profile: str) -> None:
        words = self._commands[when]
        if not words:
            return
        about = {"ZCONFORM_TARGET": str(self._below.reach), "ZCONFORM_PROFILE": profile}
        with processes.start(words, env=about) as program:
            ended = program.wait(Deadline.after(PATIENCE))
            wrote = [line for stream in ("stdout", "stderr") for line in program.last_lines(5, stream)]
            seen = [f"it ended with {ended}" if ended else "it did not end", *wrote]
        if ended is None or ended.code != 0:
            raise CannotStart(f"?{when}={shlex.join(words)} failed", step=when, seen=seen, hint="run it by hand")


def _words(when: str, command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as why:
        raise UsageError(f"cannot read the command {command!r}", step=f"?{when}", seen=str(why)) from why
