"""The CPU seconds of a run by cause and by area of cases, and those of a judgement beside those of a bare-socket handshake.

python harness/bench/bench_costs.py [REACH] [--depth quick] [--only PATTERN] [--at-most RATIO]

The target is `wheel` unless named. All is judged in one process, without a forked copy. `--at-most` fails where a judgement costs
more than so many handshakes of the same run; what is imported does not count.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from bench_handshake import EACH, bare

REST = "all else (threads, groups, records)"
IMPORTS = "imports and the plan"

ROUNDS = 25
"""Rounds of handshakes: what one costs depends on how often it sleeps, and on a busy machine differs by a factor of two."""


class Account:
    """CPU seconds by cause: each moment of a thread is charged to the innermost function that it is in."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self._here = threading.local()

    @contextmanager
    def charged(self, cause: str) -> Iterator[None]:
        self._enter(cause)
        try:
            yield
        finally:
            self._leave()

    def _enter(self, cause: str) -> None:
        self._settle()
        self._here.stack.append(cause)
        self.calls[cause] += 1

    def _leave(self) -> None:
        self._settle()
        self._here.stack.pop()

    def _settle(self) -> None:
        now = time.thread_time()
        if not hasattr(self._here, "stack"):
            self._here.stack, self._here.since = [], now
        if self._here.stack:
            self.seconds[self._here.stack[-1]] += now - self._here.since
        self._here.since = now

    def charge(self, owner: Any, name: str, cause: str) -> None:
        """From now on, charge what that function of a module or class does to a cause."""
        owner = next((base for base in getattr(owner, "__mro__", ()) if name in vars(base)), owner)
        found = vars(owner)[name]
        inner = found.__func__ if isinstance(found, classmethod) else found

        def charging(*given: Any, **named: Any) -> Any:
            with self.charged(cause):
                return inner(*given, **named)

        setattr(owner, name, classmethod(charging) if isinstance(found, classmethod) else charging)

    def collecting(self, phase: str, _info: dict[str, int]) -> None:
        """As a callback of the garbage collector."""
        if phase == "start":
            self._enter("garbage collection")
        else:
            self._leave()


class Areas:
    """What the cases of each area cost, laws and all."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.attempts: Counter[str] = Counter()

    def count(self, attempt: Callable[..., Any]) -> Callable[..., Any]:
        def counting(item: Any, *more: Any) -> Any:
            began, area = time.thread_time(), item.case.id.partition("/")[0]
            try:
                return attempt(item, *more)
            finally:
                self.seconds[area] += time.thread_time() - began
                self.attempts[area] += 1

        return counting


def prepare(account: Account, areas: Areas) -> None:
    """Charge the functions of the harness to their causes."""
    from zenoh_conformance.cases.case import Case
    from zenoh_conformance.talking.dialogue import Dialogue
    from zenoh_harness.links.wires import LinkWire
    from zenoh_harness.run import group, profile
    from zenoh_harness.run.attempt import attempt, model_cases
    from zenoh_harness.run.node import lifecycle
    from zenoh_harness.run.vectors import node_run
    from zenoh_harness.run.write import register

    account.charge(node_run.NodeVectors, "run", "vectors, with what they say")
    account.charge(attempt, "judge", "laws")
    account.charge(Case, "run", "bodies of the cases")
    account.charge(model_cases, "explore", "models, with Hypothesis")
    for name in ("send_bytes", "_take"):
        account.charge(Dialogue, name, "dialogues, with what they decode")
    for name in ("open", "send", "receive", "shut"):
        account.charge(LinkWire, name, "links")
    for name in ("study", "study_profile", "learn"):
        account.charge(lifecycle, name, "habits and the latency budget")
    account.charge(lifecycle.Lifecycle, "_look", "looks at health")
    account.charge(lifecycle.Lifecycle, "_end", "instances: starts and ends")
    account.charge(profile.ProfileRun, "_ability", "probe of what it can do")
    account.charge(register.Register, "_with_evidence", "evidence and scripts")
    for module in (group, profile):
        module.attempt = areas.count(module.attempt)
    gc.callbacks.append(account.collecting)


def handshake(reach: str) -> float:
    """CPU seconds of a handshake over a bare socket, the middle of some rounds: on a busy machine the least is an idle one's."""
    from zenoh_harness.targets.reach import parse
    from zenoh_harness.targets.target import open_target

    rounds = []
    with open_target(parse(reach)).start() as node:
        for round_ in range(ROUNDS):
            began, one = time.process_time(), bare(node)
            for number in range(EACH):
                one(round_ * EACH + number)
            rounds.append((time.process_time() - began) / EACH)
    return median(rounds)


def table(title: str, rows: list[tuple[str, float, int]], each: str) -> None:
    print(f"{title:38} CPU s  {each:>8}  ms each")
    for name, seconds, number in sorted(rows, key=lambda row: -row[1]):
        print(f"{name:38} {seconds:5.2f}  {number:8}  {1000 * seconds / max(1, number):7.2f}")
    print()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("reach", nargs="?", default="wheel")
    parser.add_argument("--depth", default="quick")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--at-most", type=float, default=None, metavar="RATIO")
    asked = parser.parse_args()

    account, areas = Account(), Areas()
    with account.charged(IMPORTS):
        prepare(account, areas)
        from zenoh_harness.run.attempt.options import Options
        from zenoh_harness.run.nodes import NodeRun
        from zenoh_harness.run.plan.plan import Selection
        from zenoh_harness.run.runner import known_for, parts_of, run_target
        from zenoh_harness.targets.reach import parse

        reach = parse(asked.reach)
        with tempfile.TemporaryDirectory() as folder:
            options = Options(out=Path(folder), depth=asked.depth, selection=Selection(tuple(asked.only)))
            parts = parts_of(reach, options)
            known = known_for(parts[0].identity.name, kind=parts[0].identity.kind)
    for kind in {type(part.target) for part in parts if isinstance(part, NodeRun)}:
        account.charge(
            next(one for one in kind.__mro__ if "start" in one.__dict__), "start", "instances: starts and ends"
        )
    with tempfile.TemporaryDirectory() as folder:
        for part in parts:
            part.options = Options(out=Path(folder), depth=asked.depth, selection=options.selection, known=known)
        began, before = time.perf_counter(), time.process_time()
        ran = run_target(reach, parts[0].options, parts)
        wall, cpu = time.perf_counter() - began, time.process_time() - before
    gc.callbacks.remove(account.collecting)

    causes = {cause: seconds for cause, seconds in account.seconds.items() if cause != IMPORTS}
    rows = [(cause, seconds, account.calls[cause]) for cause, seconds in causes.items()]
    rows += [(IMPORTS, account.seconds[IMPORTS], 1), (REST, cpu - sum(causes.values()), 1)]
    table(f"cause ({asked.reach}, {asked.depth})", rows, "calls")
    table("area", [(area, seconds, areas.attempts[area]) for area, seconds in areas.seconds.items()], "attempts")

    one, judgements = handshake("reference"), len(ran.judgements)
    ratio = cpu / judgements / one
    print(f"{judgements} judgements, {cpu:.2f} CPU s without imports, {wall:.1f} s of wall in one process")
    print(
        f"{1000 * cpu / judgements:.2f} ms a judgement, {1000 * one:.2f} ms a bare handshake: {ratio:.1f} handshakes a judgement"
    )
    if asked.at_most is not None and ratio > asked.at_most:
        sys.exit(f"a judgement costs {ratio:.1f} bare handshakes of CPU, at most {asked.at_most:g} are allowed")


if __name__ == "__main__":
    main()
