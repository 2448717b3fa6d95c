"""Captures that arrive one after the other: flows go on from one batch of files to the next, each message is counted once.

A checkpoint is a folder. `plans/N.json` names the files of batch N, before anything is done with them; `commits/N.json` says
that all that batch N makes is written. What was planned and not committed is done again, over what it had written. Spark has a
checkpoint of its own beside it, with the flows that go on.
"""

from __future__ import annotations

import json
import os
import pickle
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from stat import S_ISREG
from typing import Any, Final

from zenoh_harness.errors import CannotGoOn
from zenoh_harness.files.pcap import is_capture
from zenoh_harness.files.unpacking import BENT, open_unpacked

from .audit import AuditRow, Listener, counted_rows
from .captures import capture_id
from .packets import PacketRow, names
from .traffic import by_flow

IDLE: Final = 3600 * 10**9
"""Nanoseconds after which a flow is over on which nothing came."""
SETTLED: Final = 10.0
"""Seconds for which a file must not have changed to be taken for whole."""
STEP: Final = "follow"


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """The files of one batch."""

    number: int
    first: int
    """How many captures came before."""
    captures: tuple[str, ...]
    results: tuple[str, ...]
    ids: tuple[str, ...]
    """Of all its files, by content."""


class Checkpoint:
    """What was taken, and what was done with it."""

    def __init__(self, folder: Path) -> None:
        """Reads what is there. Raises CannotGoOn for a folder that cannot be used."""
        self.folder = folder
        try:
            for name in ("plans", "commits"):
                (folder / name).mkdir(parents=True, exist_ok=True)
            self.plans = [_plan(file) for file in sorted((folder / "plans").glob("*.json"))]
            self.committed = len(list((folder / "commits").glob("*.json")))
        except (OSError, ValueError, KeyError, TypeError) as why:
            hint = "name another --out, or remove this one to begin again"
            raise CannotGoOn(f"{folder} is no checkpoint of ours: {why}", step=STEP, hint=hint) from why
        self._taken = {id_ for plan in self.plans for id_ in plan.ids}

    def next(self, arrived: Sequence[str]) -> BatchPlan | None:
        """The batch to do: one that was planned and not committed, else a new one of what arrived; None for nothing."""
        return self.plan(self.committed, lambda: arrived)

    def plan(self, number: int, arrived: Callable[[], Sequence[str]]) -> BatchPlan | None:
        """The batch of that number: the one that was planned, else a new one of what arrived; None for nothing."""
        return self.plans[number] if number < len(self.plans) else self._new(arrived())

    def has_new(self, arrived: Sequence[str]) -> bool:
        """Whether one of these files is in no plan."""
        return bool(self._not_taken(arrived))

    def _not_taken(self, arrived: Sequence[str]) -> dict[str, str]:
        new = {capture_id(path): path for path in arrived}
        return {id_: path for id_, path in new.items() if id_ not in self._taken}

    def _new(self, arrived: Sequence[str]) -> BatchPlan | None:
        fresh = self._not_taken(arrived)
        if not fresh:
            return None
        kinds = {path: kind_of(path) for path in fresh.values()}
        plan = BatchPlan(
            len(self.plans), sum(len(each.captures) for each in self.plans),
            tuple(sorted(path for path, kind in kinds.items() if kind == "capture")),
            tuple(sorted(path for path, kind in kinds.items() if kind == "results")), tuple(sorted(fresh)),
        )  # fmt: skip
        _replace(
            self.folder / "plans" / f"{plan.number:08}.json",
            {name: getattr(plan, name) for name in BatchPlan.__slots__},
        )
        self.plans.append(plan)
        self._taken |= set(plan.ids)
        return plan

    def commit(self, plan: BatchPlan, said: Mapping[str, Any]) -> None:
        """All that the batch makes is written."""
        _replace(self.folder / "commits" / f"{plan.number:08}.json", said)
        self.committed = plan.number + 1

    def last(self) -> Mapping[str, Any]:
        """What was said at the newest commit; empty before the first."""
        if not self.committed:
            return {}
        found: dict[str, Any] = json.loads((self.folder / "commits" / f"{self.committed - 1:08}.json").read_text())
        return found


def _plan(file: Path) -> BatchPlan:
    row = json.loads(file.read_text())
    return BatchPlan(row["number"], row["first"], tuple(row["captures"]), tuple(row["results"]), tuple(row["ids"]))


def _replace(file: Path, row: Mapping[str, Any]) -> None:
    """Write a file whole or not at all. Raises CannotGoOn."""
    fresh = file.with_suffix(".new")
    try:
        with fresh.open("w", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")
            out.flush()
            os.fsync(out.fileno())
        fresh.replace(file)
    except OSError as why:
        raise CannotGoOn(
            f"cannot write {file}: {why}", step=STEP, hint="make room, then start it again: it goes on"
        ) from why


class Arrivals:
    """Finds files below a folder that have not changed for `settled` seconds, by their times or by what was seen of them.

    A clock that was set back gives files a time to come; they count as soon as they were seen unchanged for long enough.
    """

    def __init__(self, folder: Path, settled: float = SETTLED) -> None:
        self._folder, self._settled = folder, settled
        self._seen: dict[Path, tuple[tuple[int, int], float]] = {}

    def __call__(self) -> list[str]:
        """The files, sorted."""
        return self._look()[0]

    def once(self) -> list[str]:
        """The files; waits, if the times of some are still to come, until they were seen unchanged for long enough."""
        found, to_come = self._look()
        if to_come:
            time.sleep(max(0.0, self._settled))  # whether a file changes shows in time alone
            found, _ = self._look()
        return found

    def _look(self) -> tuple[list[str], list[Path]]:
        now, clock = time.time(), time.monotonic()
        found, to_come, seen = [], [], self._seen
        self._seen = {}
        for path in self._folder.rglob("*"):
            try:
                status = path.stat()
            except OSError:
                continue  # it went away while we looked: a capture that rotates
            if not S_ISREG(status.st_mode):
                continue
            mark = status.st_size, status.st_mtime_ns
            before = seen.get(path)
            self._seen[path] = known = before if before is not None and before[0] == mark else (mark, clock)
            if status.st_mtime <= now - self._settled or clock - known[1] >= max(0.0, self._settled):
                found.append(str(path))
            elif status.st_mtime > now:
                to_come.append(path)
        return sorted(found), to_come


def arrived(folder: Path, settled: float = SETTLED) -> list[str]:
    """The files below a folder that have not changed for so many seconds."""
    return Arrivals(folder, settled)()


def kind_of(path: str) -> str:
    """`capture`, `results`, or `other` for what is left alone."""
    try:
        with open_unpacked(Path(path)) as source:
            head = source.read(64)
    except (OSError, EOFError, *BENT):
        return "other"
    return "capture" if is_capture(head) else "results" if head.startswith(b'{"type":"header"') else "other"


def goes_on(rows: Iterable[PacketRow], ports: frozenset[int], newest: int) -> Iterator[AuditRow]:
    """The facts of a batch, and each flow that goes on as a row `flow`; rows come in the order of BY, a kept flow before its packets.

    `newest`: the time of the newest packet of earlier batches; a flow that was silent for IDLE before it is over.
    """
    counted: Counter[str] = Counter()
    kept: dict[str, tuple[str, Listener]] = {}
    for flow, units in by_flow(_packets(rows, kept), counted):
        first = next(units)
        hosts = names(first.protocol, first.source, first.target)[0]
        _, listener = kept.pop(flow, (hosts, Listener(ports)))
        for silent, found in kept.items():  # they came by before this one, and had no packet
            yield from _end(silent, *found, newest, counted)
        kept.clear()
        for unit in chain([first], units):
            yield from listener.feed(unit)
        yield from _end(flow, hosts, listener, newest, counted)
    for silent, found in kept.items():
        yield from _end(silent, *found, newest, counted)
    yield from counted_rows(counted)


def _packets(rows: Iterable[PacketRow], kept: dict[str, tuple[str, Listener]]) -> Iterator[PacketRow]:
    """The packets; kept flows are put into `kept` as they come by."""
    for row in rows:
        if row.kind == "flow":
            kept[row.flow] = (row.hosts, pickle.loads(row.payload))  # noqa: S301 - written by us, below our own folder
        else:
            yield row


def _end(flow: str, hosts: str, listener: Listener, newest: int, counted: Counter[str]) -> Iterator[AuditRow]:
    """What a flow says at the end of a batch: all, if it is over; else what is new, and the flow itself."""
    if listener.is_over or listener.newest < newest - IDLE:
        yield from listener.finish()
        counted.update(listener.counted)
        return
    yield from listener.drain()
    counted.update(listener.counted)
    listener.counted.clear()
    yield AuditRow(
        "flow", connection=flow, node=hosts, time=listener.newest, data=pickle.dumps(listener, pickle.HIGHEST_PROTOCOL)
    )


def packet_of(row: AuditRow) -> PacketRow:
    """A kept flow as it stands among packets."""
    return PacketRow(
        "", -1, row.time, "flow", row.node, row.connection, 0, "", "", row.data, 0, 0, 0, 0, 0, 0, False, 0, ""
    )
