"""How fast captures are judged: messages a second of CPU time, in one process and on Spark, and what takes it.

    python reports/bench/audit_rate.py CAPTURE [--master local[1]]... [--laws] [--cold] [--tshark]

CPU seconds of all processes that take part are counted, so that the figure stands on a machine that does other things too;
wall seconds are told beside it. `fleet.py` makes captures.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Self

import psutil

from zenoh_conformance.judging.engine import TELLING, Judge
from zenoh_conformance.judging.law import Law
from zenoh_conformance.reading.connection import ConnectionDecoder, Seen
from zenoh_conformance.reading.conversation import Conversation
from zenoh_harness.files.captures import PORTS
from zenoh_reports.plain import audit, packets, traffic


def cpu() -> float:
    """CPU seconds of this process and of all below it, those that ended too."""
    return sum(cpu_by_kind().values())


def cpu_by_kind() -> Counter[str]:
    """The same by what runs: Java, Python."""
    total: Counter[str] = Counter()
    me = psutil.Process()
    for process in [me, *me.children(recursive=True)]:
        try:
            kind, times = "Java" if process.name() == "java" else "Python", process.cpu_times()
        except psutil.Error:
            continue
        total[kind] += times.user + times.system
        total["Python"] += (
            times.children_user + times.children_system
        )  # what ended: Java starts Python, and nothing starts Java
    return total


class Watched:
    """Looks, while it is open, what this process and those below it hold; says the most of each kind, and of all at one time."""

    def __init__(self, every: float = 0.5) -> None:
        self._every, self._over = every, threading.Event()
        self._most: dict[str, float] = {}
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def __str__(self) -> str:
        return ", ".join(f"{name} {size:.0f} MB" for name, size in sorted(self._most.items()))

    def _watch(self) -> None:
        me = psutil.Process()
        while not self._over.wait(self._every):
            whole = 0.0
            for process in [me, *me.children(recursive=True)]:
                try:
                    name = (
                        "Java"
                        if process.name() == "java"
                        else "driver's Python"
                        if process == me
                        else "a worker's Python"
                    )
                    size = process.memory_info().rss / 2**20
                except psutil.Error:
                    continue  # it ended while we looked
                whole += size
                self._note(name, size)
            self._note("all at one time", whole)

    def _note(self, name: str, size: float) -> None:
        self._most[name] = max(self._most.get(name, 0.0), size)


def in_one_process(path: str) -> None:
    """Reading, putting together, decoding and judging, each by itself."""
    marks = [time.process_time()]
    rows = list(packets.packets([path]))
    marks.append(time.process_time())
    rows = list(traffic.sorted_rows(rows))
    marks.append(time.process_time())
    facts = list(audit.audit_rows(rows, PORTS, Counter()))
    marks.append(time.process_time())
    messages = sum(row.amount for row in facts if row.what == "messages")
    read, order, judge = (after - before for before, after in pairwise(marks))
    print(
        f"one process: {len(rows)} packets, {messages} messages, {messages / (marks[-1] - marks[0]):,.0f} messages/s of CPU"
    )
    print(f"  read {read:.2f} s, sort {order:.2f} s, hear, decode and judge {judge:.2f} s")
    print(f"  resident at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def by_law(path: str) -> None:
    """Decoding alone, all laws, and each law by itself, over messages that are decoded already; the best of several times."""
    spoken = [
        one for said in traffic.heard_all(traffic.sorted_rows(packets.packets([path]))) for one in traffic.spoken(said)
    ]
    decoded: list[tuple[traffic.Spoken, list[Seen]]] = []

    def decode() -> None:
        decoded.clear()
        for one in spoken:
            decoder = ConnectionDecoder(one.connection)
            decoded.append((one, [seen for event in one.events for seen in decoder.feed(event)]))

    def judge(laws: tuple[type[Law], ...]) -> None:
        for one, messages in decoded:
            judging = Judge(Conversation({one.connection.name: one.connection}), laws)
            for seen in messages:
                if seen.kind in TELLING:
                    judging._sessions.note(seen)
                    judging._forget_steps(seen.connection)
                judging._see(seen)
            judging.finish()

    def best(once: Callable[[], None], times: int = 5) -> float:
        return min(timed(once) for _ in range(times))

    every = audit.laws_of(wide=False)
    alone, nothing = best(decode), best(partial(judge, ()))
    whole = best(partial(judge, every)) - nothing
    count = sum(len(messages) for _, messages in decoded)
    print(f"{count} messages and batches: decode {alone:.2f} s, all {len(every)} laws {whole:.2f} s more; of these")
    shares = {law.id: best(partial(judge, (law,))) - nothing for law in every}
    for name, seconds in sorted(shares.items(), key=lambda each: -each[1]):
        if seconds > whole / 100:
            print(f"  {name:<45} {seconds / whole:5.0%}")


def timed(once: Callable[[], None]) -> float:
    """CPU seconds of doing it once."""
    began = time.process_time()
    once()
    return time.process_time() - began


def by_tshark(path: str) -> None:
    """What counting the same TCP segments costs there."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["tshark", "-r", path, "-q", "-z", "io,stat,0,tcp.len>0"], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    count = sum(row.kind == "unit" for row in packets.packets([path]))
    print(
        f"tshark: {count / used:,.0f} segments/s of CPU ({used:.1f} s), {after.ru_maxrss / 1024:.0f} MB resident at most"
    )


def on_spark(path: str, master: str, *, cold_only: bool = False) -> None:
    """From the file to the facts, cold and warm, and what the processes held."""
    from zenoh_reports.pipeline import audit as stages
    from zenoh_reports.pipeline import traffic as spark_traffic
    from zenoh_reports.spark import session

    started = time.monotonic()
    with session("bench", master) as spark, Watched() as held:
        up = time.monotonic() - started

        def once() -> int:
            facts = stages.facts(spark_traffic.packets(spark, [path], packed=True))
            found = facts.where("what = 'messages'").selectExpr("sum(amount) as n").collect()
            return int(found[0].n)

        for how in ("cold",) if cold_only else ("cold", "warm"):
            wall, before = time.monotonic(), cpu_by_kind()
            messages = once()
            wall, by_kind = time.monotonic() - wall, cpu_by_kind() - before
            used = sum(by_kind.values())
            split = ", ".join(f"{kind} {each:.1f} s" for kind, each in sorted(by_kind.items()))
            print(
                f"{master}, {how}: {messages} messages, {messages / used:,.0f} messages/s of CPU ({split}), "
                f"{messages / wall:,.0f}/s of wall ({wall:.1f} s)",
                flush=True,
            )
    print(f"  up in {up:.1f} s; at most: {held}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capture", type=Path)
    parser.add_argument("--master", action="append", default=[])
    parser.add_argument("--laws", action="store_true", help="each law's share")
    parser.add_argument("--cold", action="store_true", help="on Spark once, and not in one process: for large captures")
    parser.add_argument("--tshark", action="store_true")
    given = parser.parse_args()
    if not given.cold:
        in_one_process(str(given.capture))
    if given.tshark:
        by_tshark(str(given.capture))
    if given.laws:
        by_law(str(given.capture))
    for master in given.master:
        on_spark(str(given.capture.resolve()), master, cold_only=given.cold)


if __name__ == "__main__":
    main()
