"""A wheel and a container meet through the tap, each as the one that listens and as the one that connects."""

from collections import Counter

import pytest

from zenoh_conformance.judging.verdict import Verdict
from zenoh_harness.cli import invoke
from zenoh_harness.files import conversations, results

pytestmark = pytest.mark.needs("docker")

SHORT = (
    "joining", "liveliness", "a-subscriber-lives-through-a-cut", "declarations-outlive-a-blink", "an-error-arrives-as-one",
    "samples-of-one-priority-stay-in-order", "payloads-around-the-border-arrive", "small-ones-pass-between-large-ones",
)  # fmt: skip
"""What goes wrong first when the tap, an attached application or the daemon's proxy harms what it passes on."""


def meet(listens, connects, out, only=()):
    """The exit code, and the verdicts of the scenarios by name."""
    words = [word for name in only for word in ("--only", name)]
    code = invoke(["interop", listens, connects, *words, "--out", str(out), "-q"])
    text = {}
    for one in results.read(out).judgements:
        if one.key.check.startswith("interop/"):
            text.setdefault(one.key.check.removeprefix("interop/"), Counter())[one.verdict] += 1
    return code, text


def passed(text):
    """Whether all that is about such a pair passed; the blink is told apart: whom it parts depends on the roles."""
    fine = {Verdict.PASS, Verdict.NOT_APPLICABLE}
    return all(
        Verdict.PASS in verdicts and set(verdicts) <= fine for name, verdicts in text.items() if "blink" not in name
    )


def test_a_container_listens_and_a_wheel_connects(zenohd_image, tmp_path):
    wheel = f"wheel:{zenohd_image.partition(':')[2]}"
    code, text = meet(f"docker:{zenohd_image}", wheel, tmp_path / "out", SHORT)
    assert code == 0
    assert passed(text)
    assert len(text) == 14
    assert set(text["declarations-outlive-a-blink"]) <= {Verdict.PASS, Verdict.NOT_APPLICABLE}
    recorded = conversations.read(tmp_path / "out" / "conversation.jsonl")
    assert sum(len(event.data) for event in recorded) > 2_000_000


def test_a_wheel_listens_and_a_container_connects(zenohd_image, tmp_path):
    """Both are routers: a link that blinks costs them their declarations, as listed; a busy machine may not blink."""
    wheel = f"wheel:{zenohd_image.partition(':')[2]}"
    code, text = meet(wheel, f"docker:{zenohd_image}", tmp_path / "out", SHORT)
    assert code == 0
    assert passed(text)
    assert set(text["declarations-outlive-a-blink"]) <= {Verdict.KNOWN, Verdict.NOT_APPLICABLE}


@pytest.mark.soak
@pytest.mark.parametrize("turned", [False, True])
def test_every_scenario_with_a_container(zenohd_image, tmp_path, turned):
    pair = [f"docker:{zenohd_image}", f"wheel:{zenohd_image.partition(':')[2]}"]
    code, text = meet(*(pair[::-1] if turned else pair), tmp_path / "out")
    assert code == 0
    assert passed(text)
