"""A started node is reached over each link, works there, and a conforming run is one; the cases do not know the link."""

import json
from types import SimpleNamespace

import pytest

from zenoh_conformance.messages import sane
from zenoh_conformance.reading.codec import decode, encode
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.talking.dialogue import Dialogue
from zenoh_harness.cli import invoke
from zenoh_harness.errors import CannotConnect, UsageError
from zenoh_harness.links.certificates import Authority
from zenoh_harness.links.locators import LINKS, Locator
from zenoh_harness.links.opening import LinkListener, connect
from zenoh_harness.links.timing import Deadline
from zenoh_harness.links.wires import Recorder
from zenoh_harness.run.records import link_of
from zenoh_harness.targets.greeting import GREETER, turn_away
from zenoh_harness.targets.reach import parse
from zenoh_harness.targets.target import open_target

pytestmark = pytest.mark.long(10)


@pytest.mark.parametrize("protocol", [name for name in LINKS if name != "tcp"])
def test_the_reference_works_over_each_link(protocol):
    target = open_target(parse(f"reference?link={protocol}"))
    with target.start() as node:
        assert node.locator.protocol == protocol
        assert node.greeting
    assert link_of(target) == protocol


@pytest.mark.parametrize("protocol", [name for name in LINKS if name != "tcp"])
def test_a_wheel_works_over_each_link(protocol):
    with open_target(parse(f"wheel?link={protocol}")).start() as node:
        assert node.locator.protocol == protocol
        assert node.greeting


@pytest.mark.parametrize("protocol", [name for name in LINKS if name != "tcp"])
def test_a_node_connects_over_each_link(protocol):
    with open_target(parse(f"reference?link={protocol}&role=client")).start() as node:
        assert node.locator.protocol == protocol


def test_a_run_over_datagrams_conforms_and_says_its_link(tmp_path):
    only = [
        "--only",
        "establishment-sane/*",
        "--only",
        "establishment-batches/*",
        "--only",
        "scripts/*",
        "--depth",
        "quick",
        "--out",
        str(tmp_path),
    ]
    assert invoke(["run", "reference?link=udp", *only]) == 0
    rows = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    rows = [row for row in rows if row["type"] == "judgement"]
    assert {row["link"] for row in rows} == {"udp"}
    assert {row["verdict"] for row in rows if "in-pieces" in row["check"]} == {"not-applicable"}
    assert [row["verdict"] for row in rows].count("pass") > 5


def test_a_model_does_not_cut_a_datagram(tmp_path):
    models = ["--only", "models/initiation", "--depth", "quick", "--out", str(tmp_path)]
    assert invoke(["run", "reference?link=udp&role=client", *models]) == 0


@pytest.mark.needs("multicast")
def test_a_node_in_a_group_is_reached_at_its_own_port():
    with open_target(parse("wheel?link=udp")).start("multicast") as node:
        assert node.greeting


def test_whoever_is_turned_away_over_datagrams_is_told():
    with LinkListener.open(Locator.parse("udp/127.0.0.1:0")) as listener:
        with connect(listener.locator, Deadline.after(5)) as link:
            link.send(encode(sane.init_syn(GREETER)), Deadline.after(5))
            turn_away(listener.accept(Deadline.after(5)))
            assert decode(link.receive(Deadline.after(5)).data).message == sane.close()


def test_a_link_of_datagrams_on_which_nothing_was_read_is_closed():
    with LinkListener.open(Locator.parse("udp/127.0.0.1:0")) as listener:
        with connect(listener.locator, Deadline.after(5)) as link:
            link.send(encode(sane.init_syn(GREETER)), Deadline.after(5))
            opened = SimpleNamespace(side=Side.INITIATOR, locator=listener.locator, link=listener.accept)
            Dialogue(
                Recorder().wire(opened, "us", Deadline.after(5)), zid=GREETER, unit=1.0, requirement="x/y"
            ).hang_up()
            assert decode(link.receive(Deadline.after(5)).data).message == sane.close()


def test_a_link_without_adapter_is_refused():
    with pytest.raises(UsageError, match="value of link"):
        parse("wheel?link=serial")
    with pytest.raises(UsageError, match="no adapter"):
        open_target(parse("quic/127.0.0.1:1"))


def test_a_plain_node_is_no_tls_node(tmp_path):
    trust = Authority(tmp_path).trust
    with open_target(parse("reference")).start() as node:
        at = Locator("tls", node.locator.address, trust)
        with pytest.raises(CannotConnect, match="no TLS") as error:
            open_target(parse(str(at))).start()
        assert error.value.exit_code == 3


def test_nothing_at_a_udp_port_is_told():
    with LinkListener.open(Locator.parse("udp/127.0.0.1:0")) as listener:
        gone = listener.locator
    with pytest.raises(CannotConnect, match="nothing listens at") as error:
        open_target(parse(str(gone))).start()
    assert error.value.exit_code == 3
