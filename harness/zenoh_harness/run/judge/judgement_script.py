"""The script of a judgement, and whether that of a target's end ends it again: one that does not says so."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.reading.conversation import Conversation
from zenoh_harness.errors import HarnessError
from zenoh_harness.files.scripts import STAYS_UP, Script, parse, text
from zenoh_harness.run.attempt.attempt import AttemptOutcome, Conditions, attempt
from zenoh_harness.run.node.lifecycle import Lifecycle, Unhealthy
from zenoh_harness.run.plan.plan import Item
from zenoh_harness.scripting.binder import case_of
from zenoh_harness.scripting.recorder import is_scriptable, record

TRIES: Final = 3
"""How many scripts of one case are tried: each takes a target, and they are much alike."""

NOT_REPEATED: Final = "its steps alone do not repeat it"
NOT_TRIED: Final = "not tried, as others of this case were"

_NAME: Final = "scripts/of-its-own"


def script_of(
    conversation: Conversation, *, requirement: str, check: str, profile: str, verdict: Verdict, finding: Finding | None
) -> Script:
    """What is written beside the evidence: held to its check, and that of an end to whether the target stays up."""
    held_to = STAYS_UP if verdict.is_grave else check
    return record(
        conversation, header={"requirement": requirement, "check": held_to, "profile": profile}, finding=finding
    )


@dataclass(slots=True)
class Convicted:
    """Tries the scripts of what ended a target on a fresh one."""

    lifecycle: Lifecycle
    tried: Counter[str] = field(default_factory=Counter)

    def lacks(self, item: Item, outcome: AttemptOutcome, unhealthy: Unhealthy, conditions: Conditions) -> str:
        """What is wrong with its script; empty where it does the same again, or where nothing was said.

        The target that it is tried on is the one at hand, and is replaced when it ended.
        """
        if (
            item.case.id.startswith("scripts/")
            or not outcome.conversation.events
            or not is_scriptable(outcome.conversation)
        ):
            return ""
        self.tried[item.case.id] += 1
        if self.tried[item.case.id] > TRIES:
            return NOT_TRIED
        script = script_of(
            outcome.conversation, requirement=item.case.requirement, check=item.label, profile=item.case.profile,
            verdict=unhealthy.verdict, finding=None,
        )  # fmt: skip
        try:
            case = case_of(parse(text(script)), _NAME)
        except HarnessError as why:
            return f"it cannot be read again: {why.what}"
        attempt(Item(case, {}), conditions)
        found = self.lifecycle.unhealthy()
        if found is None:
            return NOT_REPEATED
        self.lifecycle.renew()
        return "" if found.verdict is unhealthy.verdict else f"{NOT_REPEATED}: {found.verdict.value}"
