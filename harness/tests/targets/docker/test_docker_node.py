"""`docker:IMAGE` with programs that are no node: each told in words, nothing left."""

import os
from pathlib import Path

import docker.models.containers
import pytest

from zenoh_harness.errors import CannotConnect, CannotStart, NotZenoh, UsageError
from zenoh_harness.links.locators import Locator
from zenoh_harness.profiles import PROFILES
from zenoh_harness.run.store.embargo import guarded
from zenoh_harness.targets.adapters.docker import container, node
from zenoh_harness.targets.adapters.docker.arguments import instructions, is_router
from zenoh_harness.targets.reach import parse
from zenoh_harness.targets.target import open_target


def containers(client):
    """Ours only: other tests have theirs at the same time."""
    every = client.containers.list(all=True, ignore_removed=True)
    return {each.name for each in every if each.name.startswith(f"zconform-{os.getpid()}-")}


@pytest.mark.needs("docker")
@pytest.mark.parametrize(
    ("words", "error", "text", "hint"),
    [
        ("exit%207", CannotStart, "exit code 7", "run it by hand: docker run"),
        (
            "memory&memory=16",
            CannotStart,
            "ended with SIGKILL, out of memory (its limit is 16 MiB)",
            "raise memory=MIB",
        ),
        ("disk%20/tmp/file", CannotStart, "No space left on device", "it filled its disk: 16 MiB"),
        ("wait", CannotConnect, "nothing listens at port 7447", "does its program listen at 0.0.0.0:7447?"),
        ("listen%20{port}", NotZenoh, "does not answer", "does it speak Zenoh"),
    ],
)
def test_what_is_no_node_is_told_and_removed(docker_client, little, monkeypatch, words, error, text, hint):
    monkeypatch.setattr(node, "READY", 3.0)
    before = containers(docker_client)
    with pytest.raises(error) as why:
        open_target(parse(f"docker:{little}?args={words}")).start()
    assert text in str(why.value)
    assert hint in why.value.hint
    assert why.value.exit_code == 3
    assert containers(docker_client) <= before


@pytest.mark.needs("docker")
def test_a_proxy_that_hangs_up_late_is_no_listener(docker_client, little, monkeypatch):
    look = container._holds_a_connection
    monkeypatch.setattr(node, "READY", 3.0)
    monkeypatch.setattr(
        container, "_holds_a_connection", lambda address, seconds: seconds < 1 or look(address, seconds)
    )
    with pytest.raises(CannotConnect, match="nothing listens at port 7447"):
        open_target(parse(f"docker:{little}?args=wait")).start()


@pytest.mark.needs("docker")
def test_what_has_ended_before_we_look_is_told_the_same(docker_client, little, monkeypatch):
    # Its published port is gone by then, which once was all that was told.
    start = docker.models.containers.Container.start
    monkeypatch.setattr(docker.models.containers.Container, "start", lambda each: (start(each), each.wait()))
    monkeypatch.setattr(container, "LOOK", 0.0)
    with pytest.raises(CannotStart) as why:
        open_target(parse(f"docker:{little}?args=exit%207")).start()
    assert "exit code 7" in str(why.value)
    assert "run it by hand: docker run" in why.value.hint


@pytest.mark.needs("docker")
def test_the_digest_is_recorded(docker_client, little, monkeypatch):
    monkeypatch.setattr(node, "READY", 3.0)
    target = open_target(parse(f"docker:{little}?args=exit%200"))
    assert target.identity.name == little
    with pytest.raises(CannotStart):
        target.start()
    assert target.identity.digest == docker_client.images.get(little).id


@pytest.mark.parametrize(
    ("image", "known"),
    [
        ("eclipse/zenoh:1.10.2", True),
        ("eclipse/zenoh", True),
        ("eclipse/zenoh@sha256:" + "0" * 64, True),
        ("eclipse/zenoh:1.9.0@sha256:" + "0" * 64, True),
        ("mirror.example:5000/eclipse/zenoh:1.9.0", True),
        ("zconform/zenohd:1.10.2", True),
        ("somebody/node:1", False),
        ("zenoh.example:5000/node", False),
    ],
)
def test_zenohd_is_known_by_its_image(image, known):
    reach = parse(f"docker:{image}")
    assert is_router(reach) is known
    assert ("qos-off" in open_target(reach).profiles) is known


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("eclipse/zenoh:1.10.2", "1.10.2"),
        ("eclipse/zenoh:v1.0.0-rc.1", "1.0.0-rc.1"),
        ("eclipse/zenoh:1.9.0@sha256:" + "0" * 64, "1.9.0"),
        ("eclipse/zenoh:1.9.0-alpine", "1.9.0-alpine"),
        ("eclipse/zenoh:latest", ""),
        ("mirror.example:5000/eclipse/zenoh", ""),
    ],
)
def test_the_version_is_read_off_the_tag(image, version, monkeypatch):
    """Where no daemon answers, it is all that is known."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/such/socket")
    identity = open_target(parse(f"docker:{image}")).identity
    assert (identity.version, identity.digest) == (version, "")


@pytest.mark.parametrize(
    ("image", "kept"),
    [
        ("eclipse/zenoh:1.10.2", True),
        ("zconform/zenohd:1.10.2", True),
        ("eclipse/zenoh:1.10.2-alpine", True),
        ("eclipse/zenoh:1.11.0", True),
        ("eclipse/zenoh:latest", True),
        ("eclipse/zenoh:1.9.0", True),
        ("somebody/node:1.10.2", False),
    ],
)
def test_what_ends_a_release_is_kept_back_in_a_container_too(image, kept, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/such/socket")
    assert guarded(open_target(parse(f"docker:{image}"))) is kept


@pytest.mark.parametrize(
    ("image", "has"), [("eclipse/zenoh:1.0.3", False), ("eclipse/zenoh:1.0.4", True), ("somebody/node:1.10.2", False)]
)
def test_claims_are_those_of_the_release(image, has, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/such/socket")
    assert ("patch" in open_target(parse(f"docker:{image}")).claims) is has


def told(reach, profile, tmp_path, ours=None, **others):
    return instructions(parse(reach), PROFILES[profile], role="router", zid="ab", ours=ours, folder=tmp_path, **others)


@pytest.mark.parametrize(("version", "pause"), [("1.1.0", 1000), ("1.1.1", 2), ("", 2)])
def test_an_old_initiator_gives_us_time_to_answer(version, pause, tmp_path):
    words = told("docker:eclipse/zenoh", "default", tmp_path, Locator.tcp("127.0.0.1", 9), version=version).arguments
    assert any(f'"period_init_ms":{pause},' in word for word in words)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_becomes_options_without_a_blank(profile, tmp_path):
    """Upstream's image splits its arguments once more."""
    words = told("docker:eclipse/zenoh", profile, tmp_path).arguments
    assert words[:2] == ("-i", "ab")
    assert all(not any(char.isspace() for char in word) for word in words)
    assert 'listen/endpoints:["tcp/0.0.0.0:7447"]' in words


def test_qos_off_is_an_option(tmp_path):
    assert "transport/unicast/qos/enabled:false" in told("docker:eclipse/zenoh", "qos-off", tmp_path).arguments
    assert "transport/unicast/qos/enabled:false" not in told("docker:eclipse/zenoh", "default", tmp_path).arguments


def test_users_are_mounted(tmp_path):
    users = told("docker:eclipse/zenoh", "user-password", tmp_path)
    assert 'transport/auth/usrpwd/dictionary_file:"/zconform/users"' in users.arguments
    [(path, inside)] = users.files.items()
    assert inside == "/zconform/users"
    assert path.read_text() == "conformance:open-sesame\n"


def test_one_that_connects_listens_nowhere(tmp_path):
    words = told("docker:eclipse/zenoh", "default", tmp_path, Locator.tcp("127.0.0.1", 9)).arguments
    assert 'connect/endpoints:["tcp/127.0.0.1:9"]' in words
    assert "listen/endpoints:[]" in words


def test_what_a_link_needs_is_mounted(tmp_path):
    tls = Locator.of("tls", "127.0.0.1", 9, "#listen_certificate_file=/a/node.pem;enable_mtls=true")
    other = told("docker:some/node", "default", tmp_path, listen=tls)
    assert (other.files, other.folders) == ({Path("/a/node.pem"): "/a/node.pem"}, ())
    unix = told(
        "docker:some/node?args={locator}:{port}",
        "default",
        tmp_path,
        listen=Locator("unixsock-stream", "/a/node.sock"),
    )
    assert (unix.files, unix.folders) == ({}, (Path("/a"),))
    assert unix.arguments == ("unixsock-stream//a/node.sock:",)


def test_one_in_a_group_listens_beside_it(tmp_path):
    groups = {"multicast": Locator.of("udp", "239.0.0.1", 9), "scouting": Locator.of("udp", "239.0.0.2", 8)}
    words = told("docker:eclipse/zenoh", "multicast", tmp_path, listen=Locator.tcp("127.0.0.1", 7), groups=groups)
    assert 'listen/endpoints:["tcp/127.0.0.1:7","udp/239.0.0.1:9#iface=lo"]' in words.arguments
    assert 'scouting/multicast/address:"239.0.0.2:8"' in words.arguments


def test_a_container_on_another_machine_shares_no_network(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "tcp://other:2375")
    assert "multicast" not in open_target(parse("docker:eclipse/zenoh")).profiles
    target = open_target(parse("docker:eclipse/zenoh?link=udp"))
    target.image = None
    with pytest.raises(UsageError, match="cannot share our network"):
        target.start()


@pytest.mark.parametrize(
    ("ours", "filled"),
    [
        (None, ("0.0.0.0:7447", "tcp/0.0.0.0:7447", "ab/default", "{other}")),
        (Locator.tcp("127.0.0.1", 9), ("127.0.0.1:9", "tcp/127.0.0.1:9", "ab/default", "{other}")),
    ],
)
def test_the_same_words_are_filled_in_as_in_a_command(tmp_path, ours, filled):
    reach = "docker:some/node?args={host}:{port}%20{locator}%20{zid}/{profile}%20{other}"
    assert told(reach, "default", tmp_path, ours).arguments == filled


def test_options_of_the_reach_string_are_passed_on(tmp_path):
    config = tmp_path / "node.json5"
    config.write_text("{}")
    options = f"args=--port%20{{port}}%20--id%20{{zid}}&env=A=1%20B=2&config={config}"
    other = told(f"docker:some/node?{options}", "default", tmp_path)
    assert other.arguments == ("--port", "7447", "--id", "ab")
    assert other.environment == {"A": "1", "B": "2"}
    assert other.files == {config: "/zconform/config.json5"}
    router = told(f"docker:eclipse/zenoh?config={config}", "default", tmp_path)
    assert router.arguments[:2] == ("-c", "/zconform/config.json5")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ("config=/no/such/file", "no configuration file"),
        ("env=A", "has no value"),
        ("memory=1", "memory=1"),
        ("pull=maybe", "value of pull 'maybe'"),
    ],
)
def test_options_that_cannot_be_read(options, why, tmp_path):
    def use(reach):
        open_target(parse(reach))
        told(reach, "default", tmp_path)

    with pytest.raises(UsageError, match=why):
        use(f"docker:eclipse/zenoh?{options}")


@pytest.mark.parametrize("image", ["eclipse/zenoh:1.10.2", "zconform/zenohd"])
def test_only_our_own_images_can_be_built(image):
    with pytest.raises(UsageError, match="can be built"):
        open_target(parse(f"docker:{image}?build=quick")).start()
