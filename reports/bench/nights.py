"""Nights that never were: results of many runs, and how long the tables take that are made of them, and one more night.

    python reports/bench/nights.py FOLDER --judgements 10000000 [--nights 365] [--targets 4] [--master local[2]]

Each night runs some targets; of each check some runs waver. Made of text, since what is measured is the reader. Told are wall
and CPU seconds of each step, and what driver and workers held at most. One night of one target is one large file.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from random import Random

from audit_rate import Watched, cpu

from zenoh_conformance.judging.verdict import Judgement, Key, Verdict
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.files import run_ids
from zenoh_harness.files.results import Footer, Header, footer_row, header_row, judgement_row, line

TARGETS = ("wheel", "docker", "exec", "tcp")
NIGHTS = 365


FIRST = date(2016, 1, 1)


def year(folder: Path, judgements: int, nights: int = NIGHTS, targets: int = len(TARGETS)) -> list[Path]:
    """Results files of so many judgements in all, one a night and target."""
    each = -(-judgements // (nights * targets))
    random = Random(17)
    return [
        night(folder, kind, FIRST + timedelta(index), f"1.{index // 30}.0", each, random)
        for kind in TARGETS[:targets]
        for index in range(nights)
    ]


def night(folder: Path, kind: str, day: date, version: str, count: int, random: Random) -> Path:
    """One results file: the checks say what they always say, but for a few."""
    folder = folder / f"{day}" / kind
    began = f"{day}T01:00:00Z"
    usual = _judgements(version, count)
    lines = list(usual)
    for at in random.sample(range(count), max(1, count // 100)):
        lines[at] = (
            lines[at]
            .replace('"verdict":"pass"', '"verdict":"fail"')
            .replace('"cause":""', f'"cause":"byte {at % 97} of 0x1f"')
        )
    folder.mkdir(parents=True, exist_ok=True)
    about = Header(
        reach=f"{kind}:node", name="node", version=version, role="responder", kind=kind, date=began, run=run_ids.of(began, kind)
    )  # fmt: skip
    head = line(header_row(about))
    foot = line(footer_row(Footer(judged=count, verdicts={"pass": count}, exit=0)))
    (folder / "results.jsonl").write_text(head + "".join(lines) + foot, encoding="utf-8")
    return folder / "results.jsonl"


_USUAL: dict[tuple[str, int], list[str]] = {}


def _judgements(version: str, count: int) -> list[str]:
    """The lines of a run in which all pass, made once a version."""
    if (version, count) not in _USUAL:
        _USUAL.clear()
        names = list(requirements())
        keys = (
            Key(
                target="node", version=version, role="responder", profile="default", link="tcp", requirement=names[at % len(names)],
                check=f"bench/check-{at % 997}", parameters=(("bit", str(at // 997)),),
            )
            for at in range(count)
        )  # fmt: skip
        _USUAL[version, count] = [
            line(judgement_row(Judgement(key=key, level="MUST", verdict=Verdict.PASS))) for key in keys
        ]
    return _USUAL[version, count]


@contextmanager
def told(step: str) -> Iterator[None]:
    """Wall and CPU seconds of a step."""
    wall, used = time.monotonic(), cpu()
    yield
    print(f"  {step}: {time.monotonic() - wall:.0f} s, {cpu() - used:.0f} s of CPU", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--judgements", type=int, default=10_000_000)
    parser.add_argument("--nights", type=int, default=NIGHTS)
    parser.add_argument("--targets", type=int, default=len(TARGETS))
    parser.add_argument("--more", type=int, default=3, help="further nights, which are timed by themselves")
    parser.add_argument("--master", default="local[2]")
    given = parser.parse_args()
    from zenoh_reports.pipeline import job
    from zenoh_reports.pipeline.derive import derive
    from zenoh_reports.pipeline.store import Store
    from zenoh_reports.spark import session

    with told("write the files"):
        files = [str(path) for path in year(given.folder / "nights", given.judgements, given.nights, given.targets)]
    print(f"{len(files)} files, {sum(Path(file).stat().st_size for file in files) / 2**20:.0f} MB", flush=True)
    store = Store(given.folder / "tables")
    with session("nights", given.master) as spark, Watched() as held:
        with told("read, and keep"):
            job.keep_results(spark, files, store)
        with told("matrix, history, flake rates, clusters"):
            derive(spark, store)
        for more in range(given.more):
            day, version = FIRST + timedelta(given.nights + more), f"1.{(given.nights + more) // 30}.0"
            file = night(given.folder / "nights", TARGETS[0], day, version, 1000, Random(more))
            with told("a further night of 1000 judgements"):
                job.report(spark, [str(file)], store.folder)
        for kept in (*job.OF_RUNS, *job.DERIVED):
            print(f"  {kept.name}: {job.get(spark, store, kept).count()} rows", flush=True)
    print(f"at most: {held}")


if __name__ == "__main__":
    main()
