"""Groups on the loopback interface: our link to one, and the reference node in it."""

import threading

import pytest

from zenoh_conformance.messages import Hello, Join, Scout, sane
from zenoh_conformance.reading.codec import Layer, decode, decode_whole, encode
from zenoh_harness.errors import CannotConnect
from zenoh_harness.links.groups import GroupLink, free_group
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.timing import Deadline
from zenoh_harness.reference import Reference
from zenoh_harness.reference.serve import Server

pytestmark = pytest.mark.needs("multicast")


@pytest.fixture
def groups():
    """The groups of a node that is served meanwhile."""
    server, named = Server(Reference()), {"multicast": free_group(), "scouting": free_group()}
    server.join_groups(named)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    yield named
    server.goes_on = False
    thread.join()


def test_a_scout_is_answered_to_its_sender_alone(groups):
    with GroupLink(groups["scouting"]) as us, GroupLink(groups["scouting"]) as other:
        us.send(encode(Scout(what=0b001)), Deadline.after(1))
        hello = us.receive(Deadline.after(5))
        assert isinstance(decode_whole(hello.data, Layer.SCOUTING).message, Hello)
        assert other.receive(Deadline.after(0)) is None


def test_who_comes_late_hears_the_next_join(groups):
    with GroupLink(groups["multicast"]) as us:
        assert isinstance(decode(us.receive(Deadline.after(5)).data).message, Join)


def test_what_we_say_is_not_what_the_node_says(groups):
    with GroupLink(groups["scouting"]) as us, GroupLink(groups["scouting"]) as other:
        other.send(encode(sane.close()), Deadline.after(1))
        assert us.receive(Deadline.after(0.05)) is None


def test_what_is_no_group_cannot_be_joined():
    with pytest.raises(CannotConnect, match="no multicast at udp"):
        GroupLink(Locator.of("udp", "127.0.0.1", free_group().port))
