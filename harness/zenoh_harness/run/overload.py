"""What a busy machine kept from being judged, and when the machine is calm enough to judge it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from threading import Event
from typing import Final

from zenoh_conformance.judging.verdict import Judgement
from zenoh_harness.files import judged
from zenoh_harness.links.timing import scaled, strain

RESTS: Final = "rests on "
"""How the cause of a check begins whose control was not judged."""

DELAY: Final = 0.02
"""Seconds by which a calm machine may be late when a short wait is over."""

STRAIN: Final = 1.5
"""The factor by which load may stretch timeouts on a calm machine."""

LONGEST: Final = 300.0
"""Seconds that are waited for a calm machine at most, before scaling: the load average of a minute goes down slowly."""

LOOKS: Final = 20
"""Short waits of one look."""

PAUSE: Final = 0.005
"""Seconds of one of them."""

BETWEEN: Final = 1.0
"""Seconds between two looks."""


def prevented_judgements(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Those for which the machine was too busy, and those that rest on one of them."""
    late = [one for one in judgements if judged.is_prevented(one)]
    checks = tuple(f"{RESTS}{one.key.check}," for one in late)
    return late + [one for one in judgements if one.verdict.says_nothing and checks and one.cause.startswith(checks)]


def describe_prevented(count: int, share: float = 1.0) -> str:
    """How many checks met a busy machine, and what to do; `share`: what is left of what was judged before. Empty for none."""
    if not count:
        return ""
    checks = f"{count} checks met a busy machine and were" if count > 1 else "1 check met a busy machine and was"
    left = f", {share:.0%} of what was judged before is left" if share < 1 else ""
    return f"{checks} not judged{left}: --calm judges such checks alone when it is calm"


def scheduling_delay() -> float:
    """Seconds by which the latest of some short waits was late."""
    pause, late = Event(), []
    for _ in range(LOOKS):
        began = time.monotonic()
        pause.wait(PAUSE)
        late.append(time.monotonic() - began - PAUSE)
    return max(late)


def wait_until_calm(longest: float = LONGEST) -> bool:
    """Wait until neither the load nor the scheduler makes us late. Returns False if that takes longer than `longest` seconds."""
    pause, until = Event(), time.monotonic() + scaled(longest)
    while strain() > STRAIN or scheduling_delay() > DELAY:
        if time.monotonic() >= until:
            return False
        pause.wait(BETWEEN)
    return True
