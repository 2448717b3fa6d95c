"""Variants about programs and links, started as programs: nothing is red on them over sockets either."""

import pytest

from zenoh_harness import cli
from zenoh_harness.files import results
from zenoh_harness.programs import processes

PROGRAMS = (
    "comes-back-at-once", "comes-back-after-300-ms", "comes-back-after-3-s", "comes-back-after-10-s", "never-comes-back",
    "ends-with-0", "ends-with-1", "ends-with-255", "is-another-at-each-start",
)  # fmt: skip
LINKS = (
    "takes-one-link-at-a-time", "holds-one-session", "holds-four-sessions", "holds-eight-half-open-handshakes",
    "takes-two-links-a-session", "takes-the-new-for-the-old", "gives-a-handshake-a-second", "takes-messages-of-4096-bytes",
    "takes-first-batches-of-2048-bytes", "ends-by-fin", "ends-by-rst", "says-close-and-waits", "writes-byte-by-byte",
    "writes-slowly-in-pieces", "answers-after-500-ms", "answers-now-and-then", "writes-an-alarming-log",
    "answers-nothing-in-a-session", "lease-1-s", "keeps-alive-all-the-time",
)  # fmt: skip

SAMPLE = {
    "ends-with-255": ("client", "initiator-open-ack/a-sane-*"),
    "takes-one-link-at-a-time": ("router", "establishment-sane/*"),
    "holds-eight-half-open-handshakes": ("router", "establishment-states/*parallel*"),
    "ends-by-rst": ("router", "establishment-cookie/*"),
    "finds-its-first-way-late": ("router", "routing-plain/a-publication*"),
}
"""What each of a few is started as, and tried with, each time."""


def red(folder, target, *words):
    """The exit code of a run, and whatever is red."""
    code = cli.invoke(["run", target, "--depth", "quick", *words, "--out", str(folder), "-q"])
    assert not processes.running()
    fine = ("pass", "not-observed", "not-applicable", "slow")
    judged = results.read(folder).judgements
    assert any(one.verdict.value == "pass" for one in judged)
    return code, [
        (one.key.check, one.key.parameters, one.verdict.value, one.cause)
        for one in judged
        if one.verdict.value not in fine
    ]


@pytest.mark.parametrize("name", SAMPLE)
def test_nothing_is_red_on_a_few(name, tmp_path):
    role, checks = SAMPLE[name]
    assert red(tmp_path, f"variant:{name}?role={role}", "--only", checks, "--jobs", "1") == (0, [])


@pytest.mark.soak
@pytest.mark.parametrize("role", ["client", "router"])
@pytest.mark.parametrize("name", [*PROGRAMS, *LINKS])
def test_nothing_is_red_on_any(name, role, tmp_path):
    assert red(tmp_path, f"variant:{name}?role={role}", "--budget", "2m") == (0, [])
