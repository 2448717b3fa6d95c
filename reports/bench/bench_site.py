"""The site: seconds for one run as a command, for thirty targets in one process, its size, and the time to first paint.

python reports/bench/bench_site.py [RESULTS]      a run of the reference in memory unless named
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from zenoh_conformance.judging.verdict import Judgement, Key, Verdict
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.files.results import Header, ResultsWriter
from zenoh_reports.pages import folder
from zenoh_reports.pages.build import build
from zenoh_reports.pages.site import Report
from zenoh_reports.plain import runs

TARGETS = 30


def results(out: Path, version: str) -> None:
    """A run that judges every requirement once; each hundredth deviates."""
    header = Header(reach=f"exec:node-{version}", name="node", version=version, role="responder+codec", kind="exec")
    with ResultsWriter(out / "results.jsonl", header) as writer:
        for number, (ident, requirement) in enumerate(requirements().items()):
            key = Key(
                target="node", version=version, role="responder", profile="default", link="tcp", requirement=ident,
                check=f"x/{number}",
            )  # fmt: skip
            verdict = Verdict.FAIL if number % 100 == 7 else Verdict.PASS
            cause = "stage open: OpenAck where a refusal is required" if verdict is Verdict.FAIL else ""
            writer.judgement(Judgement(key=key, level=str(requirement.level), verdict=verdict, cause=cause))
        writer.footer(1)


def one_run(place: Path, scratch: Path) -> None:
    command = [sys.executable, "-m", "zenoh_harness.cli", "report", str(place), "--out", str(scratch / "one")]
    took = [measured(command) for _ in range(3)]
    start = measured([sys.executable, "-c", "import zenoh_harness.cli"])
    seconds, worked = min(took)
    print(
        f"one run        {seconds:6.2f} s as a command, {worked:.2f} s of a processor; {start[1]:.2f} s of it is the start"
    )


def measured(command: list[str]) -> tuple[float, float]:
    """Seconds by the clock, and of a processor."""
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - began, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def many(scratch: Path) -> Path:
    for number in range(TARGETS):
        results(scratch / "many" / str(number), f"1.{number}.0")
    began, before = time.perf_counter(), time.process_time()
    read, unread = runs.load(runs.found([scratch / "many"]))
    files = build(Report(read, unread))
    took, worked = time.perf_counter() - began, time.process_time() - before
    size = sum(map(len, files.values()))
    pages = {name: len(data) for name, data in files.items() if name.endswith(".html")}
    shown = f"{took:6.2f} s, {worked:.2f} s of a processor, for {len(requirements())} requirements each"
    print(f"{TARGETS} targets     {shown}: {len(files)} files, {size / 1e6:.1f} MB,")
    print(f"               {sum(pages.values()) / 1e6:.1f} MB of pages, the largest {max(pages.values()) / 1e6:.2f} MB")
    folder.write(scratch / "site", files)
    return scratch / "site"


def paint(site: Path) -> None:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return
    program = shutil.which("chromium")
    if program is None:
        return
    code = """new Promise((done) => new PerformanceObserver((list) => done(list.getEntries()[0].startTime))
        .observe({ type: "paint", buffered: true }))"""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for name in ("index.html", "matrix.html"):
            page = browser.new_page()
            page.goto((site / name).as_uri())
            print(f"first paint    {page.evaluate(code):6.0f} ms of {name}")
        browser.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder_:
        scratch = Path(folder_)
        place = Path(sys.argv[1]) if len(sys.argv) > 1 else scratch / "single"
        if len(sys.argv) < 2:
            results(place, "1.0.0")
        one_run(place, scratch)
        paint(many(scratch))


if __name__ == "__main__":
    main()
