"""What a busy router loses of best effort, and passes on when it is said again, accuses nobody."""

from __future__ import annotations

from collections import Counter
from typing import Any

from zenoh_conformance.models import transporting
from zenoh_harness.reference import Reference
from zenoh_harness.reference.exploring import explored


class LosesEachTwice(Reference):
    """Loses each publication of best effort twice."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.lost: Counter[Any] = Counter()

    def on_push(self, link, push, *, reliable=True):
        said = getattr(push.body, "payload", b"")
        self.lost[said] += not reliable
        if reliable or self.lost[said] > 2:
            super().on_push(link, push, reliable=reliable)


def test_the_model_says_it_again_until_it_comes() -> None:
    assert explored(transporting, LosesEachTwice, seed=0, examples=15) is None
