"""A campaign finds a planted fault, finds none where there is none, and leaves nothing running."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from zenoh_fuzz import campaign
from zenoh_fuzz.cli import known_oracles, seconds_of
from zenoh_fuzz.seeds import decode_seeds, write_corpus
from zenoh_harness.errors import UsageError

pytestmark = pytest.mark.needs("atheris")


def test_a_planted_fault_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]))
    seeds = (seed for seed in decode_seeds() if not seed.startswith(b"\x00\x03") or seed[2:3] < b"\x80")
    write_corpus(tmp_path / "seeds", seeds)

    outcome = campaign.run("planted.close_writer", tmp_path, seconds=60, seeds=[tmp_path / "seeds"])

    assert outcome.findings, outcome.log.read_text()[-2000:]
    assert "came back as" in outcome.why


def test_a_right_codec_stays_green(tmp_path: Path) -> None:
    write_corpus(tmp_path / "seeds", decode_seeds())

    outcome = campaign.run("decode", tmp_path, seconds=5, seeds=[tmp_path / "seeds"])

    assert outcome.findings == ()
    assert outcome.ended == 0
    assert outcome.inputs > 1000
    assert outcome.coverage > 100


def test_durations_are_read_or_refused() -> None:
    assert [seconds_of(text) for text in ("20s", "5m", "1h", "7")] == [20, 300, 3600, 7]
    for text in ("", "0s", "soon", "1d"):
        with pytest.raises(UsageError, match="no duration"):
            seconds_of(text)


def test_the_oracles_are_known() -> None:
    assert "decode" in known_oracles()
