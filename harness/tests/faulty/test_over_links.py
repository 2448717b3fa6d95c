"""Faulty nodes over each link and in groups: a run notices each of them by a check that must notice it."""

import json

import pytest

from zenoh_conformance.cases.case import all_cases
from zenoh_conformance.judging.finding import LOST_ON_THE_WAY
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.cli import invoke
from zenoh_harness.faulty import all_faulty_nodes
from zenoh_harness.links.locators import LINKS

pytestmark = [pytest.mark.spread, pytest.mark.long(5)]

OTHER_LINKS = [name for name in LINKS if name != "tcp"]
UNUSABLE = "target/stays-up"
"""Red where a node refuses every plain session, so that nothing else is judged."""
EACH = 12
"""Faulty nodes of the handshake over each link."""
SILENT = {("udp", "ignores-what-is-not-due"), ("udp", "stays-open-after-close")}
"""They say nothing where a link must end: on datagrams one that was ended without CLOSE looks the same."""


def in_a_handshake(one, cases):
    """Whether a case of the handshake with a listening node, in its plain form, must be red on a faulty node."""
    found = cases.get(one.caught_by[0])
    plain = found is not None and found.role is Side.RESPONDER and found.profile == "default"
    return plain and found.id.startswith("establishment-") and not found.needs and not found.varies and not found.timed


def over_links():
    """(link, faulty node): some of the handshake over each link but TCP, and those in groups."""
    faulty, cases = all_faulty_nodes(), all_cases()
    in_groups = [("tcp", name) for name, one in faulty.items() if one.node.__module__.endswith("faulty.groups")]
    handshakes = [name for name, one in faulty.items() if in_a_handshake(one, cases)]
    in_handshakes = [(link, name) for link in OTHER_LINKS for name in handshakes[:: len(handshakes) // EACH][:EACH]]
    return [*(one for one in in_handshakes if one not in SILENT), *in_groups]


EVERY = over_links()
SOME = [EVERY[0], EVERY[-1]]


def reds(name, link, folder, attempts=3):
    """The checks that are red on a faulty node in a run of those that must be, and in a further one where datagrams were dropped."""
    wanted = [part for check in all_faulty_nodes()[name].caught_by for part in ("--only", check)]
    invoke(["run", f"faulty:{name}?link={link}&as=responder&role=router", *wanted, "--out", str(folder)])
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    judged = [row for row in rows if row["type"] == "judgement"]
    red = {row["check"] for row in judged if row["verdict"] not in ("pass", "not-observed", "not-applicable")}
    dropped = any(row["cause"] == LOST_ON_THE_WAY for row in judged)
    return reds(name, link, folder, attempts - 1) if dropped and not red and attempts > 1 else red


@pytest.mark.needs("multicast")
@pytest.mark.parametrize(("link", "name"), SOME)
def test_a_faulty_node_is_noticed_over_its_link(link, name, tmp_path):
    assert reds(name, link, tmp_path) & {*all_faulty_nodes()[name].caught_by, UNUSABLE}


@pytest.mark.soak
@pytest.mark.needs("multicast")
@pytest.mark.parametrize(("link", "name"), EVERY)
def test_every_faulty_node_is_noticed_over_its_link(link, name, tmp_path):
    assert reds(name, link, tmp_path) & {*all_faulty_nodes()[name].caught_by, UNUSABLE}
