"""`?before=COMMAND` and `?after=COMMAND`: commands that run before each start of a node and after its end.

Their environment names the target and the profile: `ZCONFORM_TARGET`, `ZCONFORM_PROFILE`. A blank in a target string is written
`%20`. Processes that a command leaves in the background are ended with it.
"""

from __future__ import annotations

import shlex
from typing import Any, Final

from zenoh_harness.errors import CannotStart
from zenoh_harness.links.timing import Deadline
from zenoh_harness.profiles import DEFAULT
from zenoh_harness.programs import processes
from zenoh_harness.targets.reach import split_command
from zenoh_harness.targets.target import NodeInstance, NodeTarget

PATIENCE: Final = 60.0
"""Seconds that a command may take."""


class TargetWithCommands:
    """A target with a command before each start, or after each end."""

    can_run_beside = False
    """The commands serve one instance."""

    def __init__(self, below: NodeTarget) -> None:
        """Wrap the target `below`. Raises UsageError for a command that cannot be read."""
        self._below = below
        self._commands = {
            when: split_command(below.reach.options.get(when, ""), step=f"?{when}") for when in ("before", "after")
        }
        self._set = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._below, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set the attribute on the target itself."""
        if "_set" in self.__dict__:
            setattr(self._below, name, value)
        else:
            super().__setattr__(name, value)

    def start(self, profile: str = DEFAULT) -> NodeInstance:
        """Run the command before, start the node, and run the command after once it has ended. Raises CannotStart."""
        self._run("before", profile)
        try:
            node = self._below.start(profile)
        except BaseException:
            self._run("after", profile)
            raise
        stop, ended = node.stop, False

        def stop_and_run_after() -> None:
            nonlocal ended
            stop()
            if not ended:
                ended = True
                self._run("after", profile)

        setattr(node, "stop", stop_and_run_after)  # noqa: B010  an instance has this one method otherwise
        return node

    def _run(self, when: str, profile: str) -> None:
        words = self._commands[when]
        if not words:
            return
        about = {"ZCONFORM_TARGET": str(self._below.reach), "ZCONFORM_PROFILE": profile}
        with processes.start(words, env=about) as program:
            ended = program.wait(Deadline.after(PATIENCE))
            wrote = [line for stream in ("stdout", "stderr") for line in program.last_lines(5, stream)]
            seen = [f"it ended with {ended}" if ended else f"it did not end within {PATIENCE:.0f} s", *wrote]
        if ended is None or ended.code != 0:
            raise CannotStart(f"?{when}={shlex.join(words)} failed", step=when, seen=seen, hint="run it by hand")
