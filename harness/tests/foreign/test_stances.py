"""What the oldest errata say of the baseline is what releases over the whole range do."""

from __future__ import annotations

import live_stances as stances
import pytest
from live_stances import PROBES, asked, routers

from zenoh_conformance.spec.errata import errata

RELEASES = ("1.0.0", "1.5.1", "1.10.2")
OLDEST = 20


def found(release: str) -> dict[str, str]:
    """Erratum to what is otherwise."""
    with routers(release) as of:
        return {name: why for name in PROBES if (why := asked(name, of))}


def test_each_of_the_oldest_is_asked_and_names_the_releases() -> None:
    oldest = list(errata())[:OLDEST]
    assert set(PROBES) == set(oldest)
    for name in oldest:
        assert any(line.startswith(f"wire: {', '.join(RELEASES)}") for line in errata()[name].evidence), name


@pytest.mark.parametrize(
    "release", [*(pytest.param(one, marks=pytest.mark.soak) for one in RELEASES[:-1]), RELEASES[-1]]
)
def test_a_release_does_what_the_oldest_errata_say(release: str) -> None:
    assert found(release) == {}


def test_what_is_otherwise_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind of answer that is no confirmation."""
    monkeypatch.setattr(stances, "DROPPING", stances.SpecifierSet(">=1.10"))
    with routers(RELEASES[-1]) as of:
        assert "Push" in asked("several-messages-per-batch", of)
        assert asked("batch-delivered-piecemeal", of)
        monkeypatch.setattr(stances, "NAME", "00 03 6e 2f 78")
        assert asked("timestamp-epoch", of) == ""
        assert asked("duplicate-extensions", of) == "0 messages came where one is due"
