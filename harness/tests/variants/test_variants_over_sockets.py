"""Variants about programs and links, started as programs: nothing is red on them over sockets either."""

import pytest

from zenoh_conformance.reading.conversation import Side
from zenoh_harness import cli
from zenoh_harness.errors import UsageError
from zenoh_harness.files import results
from zenoh_harness.programs import processes
from zenoh_harness.targets.adapters.reference import open_target
from zenoh_harness.targets.reach import parse
from zenoh_harness.variants import all_variants

PROGRAMS = (
    "comes-back-at-once", "comes-back-after-300-ms", "comes-back-after-3-s", "comes-back-after-10-s", "never-comes-back",
    "ends-with-0", "ends-with-1", "ends-with-255", "is-another-at-each-start",
)  # fmt: skip
LINKS = (
    "takes-one-link-at-a-time", "holds-one-session", "holds-four-sessions", "holds-eight-half-open-handshakes",
    "takes-two-links-a-session", "takes-the-new-for-the-old", "gives-a-handshake-a-second", "gives-a-handshake-half-a-second",
    "frees-its-place-late", "takes-messages-of-4096-bytes",
    "takes-first-batches-of-2048-bytes", "ends-by-fin", "ends-by-rst", "says-close-and-waits", "writes-byte-by-byte",
    "writes-slowly-in-pieces", "answers-after-500-ms", "answers-now-and-then", "writes-an-alarming-log",
    "answers-nothing-in-a-session", "lease-1-s", "keeps-alive-all-the-time",
    "lease-300-ms", "urgent-goes-first", "answers-close-by-close", "talks-management", "settles-otherwise-each-time",
)  # fmt: skip

SAMPLE = {
    "ends-with-255": ("client", "initiator-open-ack/a-sane-*"),
    "takes-one-link-at-a-time": ("router", "establishment-sane/*"),
    "holds-eight-half-open-handshakes": ("router", "establishment-states/*parallel*"),
    "frees-its-place-late": ("router", "establishment-init/its-own-zid*"),
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


def as_it_is(name, side):
    """A variant in a role in which it is permitted: one that is a peer is told to be none other."""
    peer = "whatami" in all_variants()[name].node.settings
    role = {"initiator": "client", "responder": "router"}[side]
    return f"variant:{name}?role={'peer' if peer else role}&as={side}"


@pytest.mark.soak
@pytest.mark.parametrize("side", ["initiator", "responder"])
@pytest.mark.parametrize("name", [*PROGRAMS, *LINKS])
def test_nothing_is_red_on_any(name, side, tmp_path):
    assert red(tmp_path, as_it_is(name, side), "--budget", "2m") == (0, [])


def test_a_peer_is_a_peer_whatever_the_target_string_says():
    name = "variant:ends-links-in-its-own-time"
    target = open_target(parse(f"{name}?as=responder"))
    assert (target.role, target.side) == ("peer", Side.RESPONDER)
    with pytest.raises(UsageError, match="is a peer"):
        open_target(parse(f"{name}?role=router"))


def test_a_peer_is_started_as_a_peer():
    assert as_it_is("answers-nothing-in-a-session", "responder").endswith("?role=peer&as=responder")
    assert as_it_is("ends-by-rst", "initiator").endswith("?role=client&as=initiator")
