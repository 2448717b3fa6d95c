"""Red judgements, and the requirements of the faults that they are folded to."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.cases.faults import faults
from zenoh_conformance.judging.verdict import Judgement, Key, Verdict

RAISED = "session-establishment/resolution-not-raised"


def red(check: str, requirement: str = RAISED, profile: str = "default", **more: Any) -> Judgement:
    key = Key(
        target="t", version="1", role="responder", profile=profile, link="tcp", requirement=requirement, check=check
    )
    return Judgement(**({"key": key, "level": "MUST", "verdict": Verdict.FAIL, "cause": f"by {check}"} | more))


def finding(**told: str) -> dict[str, Any]:
    return {"details": {"found": told}, "cause": " ".join(told.values())}


def heads(*judgements: Judgement) -> set[str]:
    return {fault.requirement for fault in faults(judgements)}
