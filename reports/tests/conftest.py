"""What several tests of the reports share: one Spark session, which takes seconds to start; and results to make sites of."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from zenoh_conformance.cases.case import all_cases, shown_all
from zenoh_conformance.judging.verdict import Judgement, Key, Verdict, exit_code
from zenoh_harness.faulty import all_faulty_nodes
from zenoh_harness.faulty.table import provoke
from zenoh_harness.files import evidence, scripts
from zenoh_harness.files.results import Header, ResultsWriter, check_label, label
from zenoh_harness.reference import Reference
from zenoh_harness.scripting.recorder import record
from zenoh_reports.spark import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = (
    "establishment-cookie/a-changed-cookie-is-refused",
    "establishment-init/an-unknown-version-is-unsupported",
    "establishment-sane/a-sane-proposal-is-answered",
)

MakeRun = Callable[..., Path]


SMALL = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""For tables of a few rows: compiling a plan takes longer than running it."""


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one session of all tests of the pipeline."""
    before = os.environ.get("JDK_JAVA_OPTIONS")
    os.environ["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1"  # Java's own compiler has little to gain either
    try:
        with session("test", "local[2]", SMALL, quiet=True) as found:
            yield found
    finally:
        os.environ.pop("JDK_JAVA_OPTIONS")
        if before is not None:
            os.environ["JDK_JAVA_OPTIONS"] = before


@pytest.fixture(scope="session")
def making_runs() -> Callable[[Path], MakeRun]:
    """`make_run` for a folder of one's own: what several tests read is made once."""
    return runs_under


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """A function that writes the results of a few cases on a node in memory, and says where."""
    return runs_under(tmp_path)


def runs_under(root: Path) -> MakeRun:
    """A function that writes the results of a few cases on a node in memory into a folder below `root`, and says where."""

    def make(
        folder: str, fault: str = "", *, version: str = "1.0.0", name: str = "node", kind: str = "exec",
        more: list[Judgement] | None = None, footer: bool = True, known: str = "", reach: str = "",
        planned: tuple[str, ...] = (), command: str = "",
    ) -> Path:  # fmt: skip
        out = root / folder
        node = all_faulty_nodes()[fault].node if fault else Reference
        header = Header(
            reach=reach or f"{kind}:{name}", name=name, version=version, role="responder", kind=kind, profiles=("default",),
            command=command,
        )  # fmt: skip
        written = [one for case in CASES for one in judged(out, node, case, name, version, known)] + (more or [])
        with ResultsWriter(out / "results.jsonl", header, [*(label(one.key) for one in written), *planned]) as writer:
            for one in written:
                writer.judgement(one)
            if footer:
                writer.footer(exit_code(one.verdict for one in written))
        return out

    return make


def judged(out: Path, node: type[Reference], case_id: str, name: str, version: str, known: str) -> list[Judgement]:
    """The judgements of one case, with the evidence of those that deviate."""
    case = all_cases()[case_id]
    found = []
    for parameters in case.parameters[:3]:
        findings, scene = provoke(case, parameters, node)
        key = Key(
            target=name, version=version, role=case.role.value, profile=case.profile, link="memory", requirement=case.requirement,
            check=case.id, parameters=shown_all(parameters),
        )  # fmt: skip
        if not findings:
            found.append(Judgement(key=key, level="MUST", verdict=Verdict.PASS))
            continue
        of = check_label(key.check, key.parameters)
        saved = evidence.save(scene.conversation, out, of)
        script = record(scene.conversation, header={"profile": "default"}, finding=findings[0])
        scripts.write(script, (out / saved).with_suffix(scripts.SUFFIX))
        details = {"known": {"expected": "fail", "reason": known, "see": "https://example.org/1"}} if known else {}
        found.append(
            Judgement(
                key=key, level="MUST", verdict=Verdict.KNOWN if known else Verdict.FAIL, cause=findings[0].cause, end=findings[0].end,
                evidence=saved, repeat=f"zconform run exec:{name} --only '{of}'", details=details,
            )
        )  # fmt: skip
    return found


def pytest_itemcollected(item: pytest.Item) -> None:
    """Sites and tables take long: the quick round leaves these tests out."""
    item.add_marker("long")
