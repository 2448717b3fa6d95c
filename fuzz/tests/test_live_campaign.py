"""Live campaigns as a whole: what they find, keep, resume and fail on."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import pytest

from zenoh_fuzz.live import commands, small
from zenoh_fuzz.live.campaign import LiveOrder, LiveWorker, begin
from zenoh_fuzz.live.planted import FAULTY, ZOMBIES
from zenoh_harness.errors import CannotGoOn
from zenoh_harness.links.timing import SCALE_VARIABLE

HERE = "python:zenoh_fuzz.live.planted"


def test_a_campaign_keeps_what_it_found_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A campaign finds a node that falls silent, writes manifest, ledger and finding, and resumes where it stopped."""
    monkeypatch.setenv(SCALE_VARIABLE, "0.5")  # the node never answers again, so half the patience shows it
    monkeypatch.setattr("zenoh_fuzz.live.triage.MOST", 6)
    monkeypatch.setattr("zenoh_fuzz.live.planted.COUNT", 100)  # within the first batches
    order = LiveOrder(target=f"{HERE}:count_1", folder=tmp_path, seconds=60, cpu=True, inputs=200, until_found=1)
    folder = begin(order, {"planted": ""})
    outcome = LiveWorker(order).run()

    ((name, row),) = outcome.findings.items()
    assert row.standing == "minimised"  # of the messages that this node needs, the batch has a part only
    assert (folder / "findings" / name / "finding.json").exists()
    assert name in (folder / "ledger.json").read_text()
    before = json.loads((folder / "state-0.json").read_text())
    again = LiveWorker(
        LiveOrder(
            target=f"{HERE}:sane_0", folder=tmp_path, seconds=60, cpu=True, inputs=before["inputs"] + 16, resume=True
        )
    )
    again.run()
    assert json.loads((folder / "state-0.json").read_text())["tried"] > before["tried"]


@pytest.mark.soak
@pytest.mark.parametrize("name", [*FAULTY, *ZOMBIES])
def test_a_campaign_finds_a_planted_node(name: str, tmp_path: Path) -> None:
    """A campaign that knows nothing of the node finds it within 120 CPU seconds, and confirms it."""
    order = LiveOrder(target=f"{HERE}:{name}", folder=tmp_path, seconds=120, cpu=True, until_found=1)
    begin(order, {"planted": ""})
    (row,) = LiveWorker(order).run().findings.values()

    assert row.standing == "minimised"


def test_a_worker_resumes_with_what_it_put_off(tmp_path: Path) -> None:
    """Inputs of the small spaces that were put off before an interruption are tried after it."""
    order = LiveOrder(target=f"{HERE}:sane_0", folder=tmp_path, seconds=60, cpu=True, seed=3)
    begin(order, {"planted": ""})
    first = LiveWorker(order)
    of_spaces = [make() for _, make in islice(small.in_turns(order.seed), 6)]
    first._is_spared = lambda made: made in (of_spaces[1], of_spaces[4])  # type: ignore[method-assign]
    list(first._draw())
    first._keep()
    again = LiveWorker(replace(order, resume=True))

    assert [made for _, made in again._later] == [of_spaces[1], of_spaces[4]]
    first.trial.stop()
    again.trial.stop()


def test_a_worker_that_fails_fails_the_campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several workers one that ends with an error is told, and is not taken for one that found nothing."""
    worker = SimpleNamespace(name="worker 1", exitcode=1, start=lambda: None, join=lambda: None, terminate=lambda: None)
    made = SimpleNamespace(Process=lambda **_facts: worker)
    monkeypatch.setattr(commands.multiprocessing, "get_context", lambda _method: made)

    with pytest.raises(CannotGoOn, match="2 of 2 workers failed"):
        commands._work(LiveOrder(target="reference", folder=tmp_path, seconds=1, jobs=2))
