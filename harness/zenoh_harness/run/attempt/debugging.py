"""One case, step by step: what a person sees who asks for it, and where it waits for him."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from zenoh_conformance.cases.case import Case, all_cases
from zenoh_conformance.reading.explain import explain
from zenoh_harness.console import Shell, plain
from zenoh_harness.errors import UsageError
from zenoh_harness.run.attempt.scenes import Pause
from zenoh_harness.run.plan.plan import Item, drawn, matches
from zenoh_harness.scripting.shipped import script_cases
from zenoh_harness.targets.reach import Reach
from zenoh_harness.targets.target import NodeInstance

PATIENCE: Final = 3600.0
"""Seconds that a case may take under a person's eyes."""


def pause(shell: Shell, check: str, targets: Sequence[Reach], depth: str) -> Pause:
    """Shows each step of that check and waits for Enter, on a terminal. Raises UsageError where it means not exactly one."""
    if len(targets) > 1:
        raise UsageError("one target at a time", step="--debug", hint="name one")
    labels = [item.label for case in (*all_cases().values(), *script_cases()) for item in _items(case, check, depth)]
    if not labels:
        raise UsageError(
            f"{check!r} is no case", step="--debug", hint="zconform cases list; laws and models have no steps"
        )
    if len(labels) > 1:
        hint = f"as in {labels[0]!r}"
        raise UsageError(f"{check!r} means {len(labels)} judgements", step="--debug", hint=hint)
    return Pause(labels[0], _Steps(shell))


def _items(case: Case, check: str, depth: str) -> list[Item]:
    every = [Item(case, parameters) for parameters in drawn(case, depth)]
    return [item for item in every if any(matches(check, name) for name in (item.label, case.id, *case.aliases))]


class _Steps:
    """Counts and shows what is about to be sent."""

    def __init__(self, shell: Shell) -> None:
        self._shell, self._count, self._waits = shell, 0, sys.stdin.isatty()

    def __call__(self, node: NodeInstance, link: str, data: bytes) -> None:
        """Show the step; wait for Enter where a person is there."""
        say = self._shell.err.print
        if not self._count:
            say(plain(node.attach()), soft_wrap=True)
        self._count += 1
        say(f"step {self._count}, on {link}: {len(data)} bytes", soft_wrap=True)
        for line in explain(data).text():
            say(f"  {plain(line)}", soft_wrap=True)
        if self._waits:
            say("Enter sends it; `go` and Enter sends this and all that follow")
            self._waits = sys.stdin.readline().strip() != "go"
