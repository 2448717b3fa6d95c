"""Target strings: what is read, and which words are offered for what is not."""

import pytest

from zenoh_harness.errors import UsageError
from zenoh_harness.links.locators import Locator
from zenoh_harness.targets.reach import KINDS, Face, Reach, parse


@pytest.mark.parametrize(
    ("text", "kind", "rest", "options"),
    [
        ("wheel", "wheel", "", {}),
        ("wheel:1.9.0", "wheel", "1.9.0", {}),
        ("wheel:1.9.0?role=client&profile=short-lease", "wheel", "1.9.0", {"role": "client", "profile": "short-lease"}),
        ("exec:./node --port {port}", "exec", "./node --port {port}", {}),
        ("exec:./node a?b --listen {port}?as=initiator", "exec", "./node a?b --listen {port}", {"as": "initiator"}),
        ("exec:./node {port} x?role=1?", "exec", "./node {port} x?role=1", {}),
        ("tcp/127.0.0.1:7447", "tcp", "127.0.0.1:7447", {}),
        ("tcp/[::1]:7447?role=peer", "tcp", "[::1]:7447", {"role": "peer"}),
        ("unixsock-stream//run/z.sock", "unixsock-stream", "/run/z.sock", {}),
        ("stdio:python codec.py", "stdio", "python codec.py", {}),
        ("reference", "reference", "", {}),
        ("faulty:believes-any-cookie", "faulty", "believes-any-cookie", {}),
        ("docker:eclipse/zenoh:1.10.2", "docker", "eclipse/zenoh:1.10.2", {}),
        ("lib:./libcodec.so", "lib", "./libcodec.so", {}),
        ("wheel?name=a%20b", "wheel", "", {"name": "a b"}),
    ],
)
def test_is_taken_apart(text, kind, rest, options):
    reach = parse(text)
    assert (reach.kind, reach.rest, dict(reach.options)) == (kind, rest, options)
    assert parse(str(reach)) == reach


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("weel:1.9.0", "wheel"),
        ("wheel:1.9.0?rle=client", "role"),
        ("wheel?role=klient", "client"),
        ("tcp:127.0.0.1:7447", "tcp/ADDRESS"),
        ("tcp/127.0.0.1", "HOST:PORT"),
        ("tcp/127.0.0.1:99999", "65535"),
        ("tcp/::1:7447", "brackets"),
        ("wheel/1.9.0", "wheel:VERSION"),
        ("exec:", "COMMAND"),
        ("faulty", "NAME"),
        ("reference:x", "takes nothing"),
        ("wheel?role=client&role=peer", "twice"),
        ("", "wheel:1.10.2"),
        ("?role=client", "cannot read"),
        ("stdio:cat?agent=stdio", "option"),
    ],
)
def test_refusal_offers_the_nearest(text, says):
    with pytest.raises(UsageError) as refused:
        parse(text)
    assert says in str(refused.value)
    assert refused.value.exit_code == 2


def test_faces():
    assert parse("stdio:cat").faces == {Face.CODEC}
    assert parse("wheel").faces == {Face.NODE}
    assert parse("reference").faces == {Face.NODE, Face.CODEC}
    assert parse("faulty:x?face=codec").faces == {Face.CODEC}


def test_every_kind_has_a_face_and_says_what_follows():
    for kind in KINDS.values():
        assert kind.faces
        assert bool(kind.rest) >= kind.required


def test_options_are_set_on_a_copy():
    before = parse("wheel:1.9.0?role=peer")
    after = before.with_options(profile="qos-off")
    assert str(after) == "wheel:1.9.0?profile=qos-off&role=peer"
    assert "profile" not in before.options
    assert hash(after) != hash(before)


def test_locator_of_a_link_kind():
    assert parse("tcp/[::1]:7447").locator == Locator("tcp", "[::1]:7447")
    assert parse("wheel").locator is None


@pytest.mark.parametrize("text", ["tcp/127.0.0.1:0", "tls/example.org:7447#so_rcvbuf=1", "udp/224.0.0.1:7446?iface=lo"])
def test_locators_come_back_as_they_were(text):
    assert str(Locator.parse(text)) == text


@pytest.mark.parametrize("text", ["tcp", "tpc/127.0.0.1:1", "tcp/:1", "tcp/h:x", "tcp/h:-1", "unixsock-stream/"])
def test_locators_refused(text):
    with pytest.raises(UsageError):
        Locator.parse(text)


def test_a_reach_is_a_key():
    assert {parse("wheel"): 1}[Reach("wheel")] == 1
