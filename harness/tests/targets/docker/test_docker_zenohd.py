"""The baseline in a container: the same node as the wheel, reached by another string."""

import pytest
from awaiting import awaited

from zenoh_conformance.messages import Join
from zenoh_conformance.reading.codec import decode
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.errors import CannotGoOn, CannotStart, TargetError
from zenoh_harness.links.groups import GroupLink
from zenoh_harness.links.locators import LINKS
from zenoh_harness.links.timing import Deadline
from zenoh_harness.targets.adapters.docker import owner
from zenoh_harness.targets.greeting import first_batch, greet
from zenoh_harness.targets.reach import parse
from zenoh_harness.targets.target import open_target

pytestmark = pytest.mark.needs("docker")


@pytest.fixture
def target(zenohd_image):
    return lambda options="": open_target(parse(f"docker:{zenohd_image}{options}"))


def soon():
    return Deadline.after(20)


def test_it_answers_an_init_and_is_gone_afterwards(target, docker_client):
    node = target()
    with node.start() as instance:
        assert node.identity.name == "zenoh-rust"
        assert node.identity.version == "1.10.2"
        assert node.identity.digest.startswith("sha256:")
        assert instance.locator.host == "127.0.0.1"
        assert instance.vitals().running
        assert instance.container.usage().threads > 1
        with instance.link(soon()) as link:
            assert greet(link, soon())[0] & 0x3F == 0x21
        assert instance.container.name in instance.attach()
    assert instance.container.name not in {
        each.name for each in docker_client.containers.list(all=True, ignore_removed=True)
    }


def test_a_profile_reaches_it(target):
    """The InitAck of a small-batch node names a small batch; that of a node as it comes does not."""
    sizes = {}
    for profile in ("default", "small-batch"):
        with target().start(profile) as instance, instance.link(soon()) as link:
            answer = greet(link, soon())
            limits = answer[3 + (answer[2] >> 4) + 1 :]
            sizes[profile] = int.from_bytes(limits[1:3], "little") if answer[0] & 0x40 else None
    assert sizes["small-batch"] == 512
    assert sizes["default"] != 512


def test_users_are_known_to_it(target):
    with target().start("user-password") as instance:
        assert "/zconform/users" in str(instance.container.plan.files)
        assert instance.vitals().running


def test_a_profile_that_it_does_not_take_is_no_profile(target):
    """`zenohd` only warns of a path that it does not know."""
    with pytest.raises(CannotStart, match="refused a setting of the profile") as why:
        target("?args=--cfg%20no/such/path:1").start()
    assert "no/such/path" in str(why.value)


def test_arguments_that_it_refuses_are_shown(target):
    with pytest.raises(CannotStart) as why:
        target("?args=--nonsense").start()
    assert "unexpected argument '--nonsense'" in str(why.value)


@pytest.mark.parametrize("options", ["?role=client", "?role=peer", "?as=initiator"])
def test_it_connects_to_us(target, options):
    node = target(options)
    assert node.side is Side.INITIATOR
    with node.start() as instance, instance.link(soon()) as link:
        assert first_batch(link, soon())[0] & 0x3F == 0x01


@pytest.mark.parametrize("side", ["responder", "initiator"])
@pytest.mark.parametrize("protocol", [name for name in LINKS if name != "tcp"])
def test_it_is_reached_over_each_link(target, protocol, side):
    with target(f"?link={protocol}&as={side}").start() as instance, instance.link(soon()) as link:
        assert instance.locator.protocol == protocol
        assert not link.proxied
        if instance.side is Side.RESPONDER:
            assert greet(link, soon())[0] & 0x3F == 0x21
        else:
            assert first_batch(link, soon())[0] & 0x3F == 0x01


@pytest.mark.needs("multicast")
def test_it_joins_our_groups(target):
    node = target()
    with node.start("multicast") as instance, GroupLink(instance.groups["multicast"]) as group:
        heard = group.receive(soon())
        assert type(decode(heard.data).message) is Join
        assert instance.greeting


def test_a_paused_one_is_suspended_and_a_killed_one_has_ended(target, docker_client):
    with target().start() as instance:
        handle = docker_client.containers.get(instance.container.name)
        handle.pause()
        assert instance.vitals().suspended
        handle.unpause()
        awaited(lambda: not instance.vitals().suspended)  # the engine may hear late that it was paused
        handle.kill("SIGKILL")
        assert instance.container.wait(soon()).code == -9
        assert not instance.vitals().running


def test_it_starts_again_after_its_death(target, docker_client):
    node = target()
    with node.start() as first:
        docker_client.containers.get(first.container.name).kill("SIGQUIT")
        assert str(first.container.wait(soon())) == "signal 3 (SIGQUIT)"
    with node.start() as second, second.link(soon()) as link:
        assert greet(link, soon())


def gone(*_words, **_options):
    raise ConnectionRefusedError(111, "Connection refused")


def test_a_daemon_that_dies_meanwhile_is_told(target, docker_client, monkeypatch):
    """Looking at a container through a daemon that has gone is a matter of ours, not the target's."""
    with target().start() as instance:
        monkeypatch.setattr(docker_client.api, "get", gone)
        with pytest.raises(CannotGoOn, match="cannot look at container") as why:
            instance.vitals()
        assert why.value.exit_code == 3
        assert not isinstance(why.value, TargetError)
        monkeypatch.undo()
        assert instance.vitals().running


def test_nothing_of_ours_is_left(docker_client):
    mine = owner.labels()
    left = [
        each
        for each in docker_client.containers.list(all=True, ignore_removed=True)
        if each.labels.get(owner.PID) == mine[owner.PID]
    ]
    assert left == []
