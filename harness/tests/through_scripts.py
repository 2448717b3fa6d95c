"""What scripts of reds say that the changing tap made of the real router: of the changed router, and of the router itself."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from zenoh_conformance.judging.verdict import Verdict
from zenoh_harness import cli
from zenoh_harness.files import results

Fault = tuple[str, str, str]
"""Rule of the tap, check that is run, requirement that notices it."""
Said = dict[tuple[str, str, str], tuple[int, int]]
"""(rule, check, parameters) to the exit codes of the replay: toward the changed router, and toward the router."""


def convicted(folder: Path, router: str, faults: Iterable[Fault]) -> Said:
    """Run each fault's check at quick, and replay the script of each unexpected red."""
    said: Said = {}
    for number, (rule, only, _) in enumerate(faults):
        at, changed = folder / str(number), f"{router}?through={rule}"
        cli.invoke(["run", changed, "--only", only, "--depth", "quick", "--budget", "none", "--out", str(at)])
        for one in results.read(at).judgements:
            if one.verdict is Verdict.FAIL and one.evidence:
                script = str((at / one.evidence).with_suffix(".script"))
                codes = cli.invoke(["replay", script, changed]), cli.invoke(["replay", script, router])
                said[rule, one.key.check, str(one.key.parameters)] = codes
    return said


def silent(said: Said) -> Said:
    """Scripts that the changed router does not turn red again. Asserts that none accuses the router itself."""
    assert [script for script, (_, itself) in said.items() if itself == 1] == []
    return {script: codes for script, codes in said.items() if codes[0] != 1}
