"""Links over each protocol: the same bytes come and go; datagrams keep their borders, and TLS checks certificates."""

import contextlib
import datetime as dt
import socket
import threading
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from zenoh_conformance.reading.conversation import Happened, Side
from zenoh_harness.errors import CannotConnect, UsageError
from zenoh_harness.links.certificates import Authority
from zenoh_harness.links.locators import LINKS, Locator
from zenoh_harness.links.opening import LinkListener, connect
from zenoh_harness.links.tap import Tap
from zenoh_harness.links.timing import Deadline


def soon():
    return Deadline.after(5)


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


def test_a_certificate_has_a_common_name(authority):
    """zenoh-rust up to 1.7 reads it, and panics in the connecting client where there is none."""
    chain = Path(authority.listens().split(";")[0].partition("=")[2])
    certificate = x509.load_pem_x509_certificate(chain.read_bytes())
    assert [one.value for one in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == ["localhost"]


STREAMS = [one for one in LINKS if one != "udp"]
"""Links that have an end."""


def where(protocol, folder, authority):
    """Where to listen, and the metadata for the side that connects."""
    if protocol == "unixsock-stream":
        return Locator(protocol, str(folder / "s")), ""
    if protocol == "tls":
        return Locator.of(protocol, "127.0.0.1", 0, authority.listens()), authority.trust
    return Locator.of(protocol, "127.0.0.1", 0), ""


def both_ends(listener, at, first=b"first"):
    """Two links, of which the accepting side is served by a thread, as a TLS handshake needs both."""
    accepted = []
    thread = threading.Thread(target=lambda: accepted.append(listener.accept(soon())))
    thread.start()
    ours = connect(at, soon())
    ours.send(first, soon())
    thread.join()
    return ours, accepted[0]


@pytest.fixture
def pair(request, tmp_path, authority):
    at, trust = where(request.param, tmp_path, authority)
    with LinkListener.open(at) as listener:
        ours, theirs = both_ends(listener, Locator(at.protocol, listener.locator.address, trust))
        with ours, theirs:
            assert theirs.receive(soon()).data == b"first"
            yield ours, theirs


@pytest.mark.parametrize("pair", LINKS, indirect=True)
def test_bytes_go_both_ways(pair):
    ours, theirs = pair
    theirs.send(b"pong", soon())
    assert ours.receive(soon()).data == b"pong"
    assert theirs.framing is theirs.locator.framing


@pytest.mark.parametrize("pair", LINKS, indirect=True)
def test_silence_is_none(pair):
    assert pair[0].receive(Deadline.after(0.01)) is None


@pytest.mark.parametrize("pair", STREAMS, indirect=True)
def test_the_end_of_a_stream_comes_after_its_last_bytes(pair):
    ours, theirs = pair
    theirs.send(b"last", soon())
    theirs.close()
    assert ours.receive(soon()).data == b"last"
    assert ours.receive(soon()).what is Happened.EOF


@pytest.mark.parametrize("pair", STREAMS, indirect=True)
def test_half_an_end_of_a_stream_leaves_the_other_half(pair):
    ours, theirs = pair
    ours.finish()
    assert theirs.receive(soon()).what is Happened.EOF
    theirs.send(b"still", soon())
    assert ours.receive(soon()).data == b"still"


def read(link, size):
    """So many bytes, in however many events."""
    data = b""
    while len(data) < size:
        event = link.receive(soon())
        assert event is not None
        assert not event.ended
        data += event.data
    return data


@pytest.mark.parametrize("pair", STREAMS, indirect=True)
def test_much_goes_through_a_stream_whole(pair):
    ours, theirs = pair
    big = bytes(range(256)) * (1 << 12)
    with sending(ours, big):
        assert read(theirs, len(big)) == big


@contextlib.contextmanager
def sending(link, data):
    """A thread sends what is more than the kernel's buffers hold, while the block reads it."""
    thread = threading.Thread(target=link.send, args=(data, soon()))
    thread.start()
    yield
    thread.join()


@pytest.fixture
def tapped(tmp_path, authority):
    """A tap that ends TLS on both sides, its far side, and what it records."""
    at, trust = where("tls", tmp_path, authority)
    with LinkListener.open(at) as behind:
        recorded = []
        to = Locator("tls", behind.locator.address, trust)
        with Tap(Locator.of("tls", "127.0.0.1", 0, authority.listens()), to, recorded.append) as tap:
            yield Locator("tls", tap.locator.address, trust), behind, recorded


def test_a_tap_records_what_is_inside_tls(tapped):
    at, behind, recorded = tapped
    ours, theirs = both_ends(behind, at)
    big = bytes(range(256)) * (1 << 10)
    with ours, theirs:
        with sending(ours, big):
            assert read(theirs, 5 + len(big)) == b"first" + big
        theirs.send(b"back", soon())
        assert read(ours, 4) == b"back"
        ours.finish()
        assert theirs.receive(soon()).ended
    said = {side: b"".join(event.data for event in recorded if event.sender is side) for side in Side}
    assert said == {Side.INITIATOR: b"first" + big, Side.RESPONDER: b"back"}
    assert {event.kind for event in recorded} >= {Happened.OPEN, Happened.EOF}


def test_a_tap_tells_that_there_is_no_tls_at_the_far_side(tmp_path, authority):
    ended, over = [], threading.Event()

    def note(passed):
        ended.append(passed)
        over.set()

    with LinkListener.open(where("tls", tmp_path, authority)[0]) as behind:
        (tmp_path / "other").mkdir()
        to = Locator("tls", behind.locator.address, Authority(tmp_path / "other").trust)
        with Tap(Locator.tcp("127.0.0.1", 0), to, lambda _event: None, on_end=note) as tap:
            thread = threading.Thread(target=_accept_or_not, args=(behind,))
            thread.start()
            with contextlib.suppress(CannotConnect), connect(tap.locator, soon()) as ours:  # it may be reset by then
                ours.send(b"x", soon())
                assert over.wait(10)
            assert over.wait(10)
            thread.join()
    (passed,) = ended
    assert not passed.reached
    assert passed.how == "no TLS: CERTIFICATE_VERIFY_FAILED"


def _accept_or_not(listener):
    with contextlib.suppress(CannotConnect):
        listener.accept(soon())


@pytest.mark.parametrize("pair", ["tls"], indirect=True)
def test_tls_sends_the_rest_of_a_record_first(pair):
    ours, theirs = pair
    sent = ours.send(bytes(1 << 25), Deadline.after(0.1))
    assert 0 < sent < 1 << 25
    with sending(ours, b"\1"):
        data = read(theirs, sent + 1)
    rest = read(theirs, 1) if not data.endswith(b"\1") else b""
    while rest and not rest.endswith(b"\1"):
        rest = read(theirs, 1)
    assert (data + rest).count(b"\1") == 1


def datagrams():
    return LinkListener.open(Locator.parse("udp/127.0.0.1:0"))


def test_each_datagram_is_an_event_and_none_is_an_end():
    with datagrams() as listener:
        ours, theirs = both_ends(listener, listener.locator)
        with ours, theirs:
            for data in (b"", b"one", b"two"):
                ours.send(data, soon())
            assert [theirs.receive(soon()).data for _ in range(4)] == [b"first", b"", b"one", b"two"]
            assert theirs.ended is None


def test_each_address_has_its_own_datagram_link_once():
    with datagrams() as listener:
        a, at_a = both_ends(listener, listener.locator, b"a")
        b, at_b = both_ends(listener, listener.locator, b"b")
        with a, b:
            a.send(b"more", soon())
            assert [at_a.receive(soon()).data for _ in range(2)] == [b"a", b"more"]
            assert at_b.receive(soon()).data == b"b"
            at_a.close(), at_b.close()
            a.send(b"late", soon())
            assert listener.accept(Deadline.after(0.1)) is None


def test_a_datagram_link_whose_opener_has_left_is_skipped():
    with datagrams() as listener:
        with connect(listener.locator, soon()) as early:
            early.send(b"early", soon())
        with connect(listener.locator, soon()) as late:
            late.send(b"late", soon())
            with listener.accept(soon()) as accepted:
                assert accepted.receive(soon()).data == b"late"


def test_an_address_that_was_left_opens_a_new_link():
    with datagrams() as listener:
        first: tuple[str, int] = ("127.0.0.1", 0)
        for text, local in [(b"first", None), (b"other", ("127.0.0.1", 0)), (b"again", None)]:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                sock.bind(local or first)
                first = first if local else sock.getsockname()
                sock.sendto(text, ("127.0.0.1", listener.locator.port))
                with listener.accept(soon()) as accepted:
                    assert accepted.receive(soon()).data == text


def test_a_port_without_a_listener_is_a_reset():
    with datagrams() as listener:
        gone = listener.locator
    with connect(gone, soon()) as link:
        link.send(b"?", soon())
        assert link.receive(soon()).what is Happened.RESET


def test_a_datagram_above_the_mtu_is_told():
    with (
        datagrams() as listener,
        connect(listener.locator, soon()) as link,
        pytest.raises(Exception, match="MTU") as error,
    ):
        link.send(bytes(1 << 16), soon())
    assert error.value.exit_code == 3


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_taken_port_is_told(protocol):
    with LinkListener.open(Locator.of(protocol, "127.0.0.1", 0)) as listener:
        with pytest.raises(CannotConnect, match="in use") as error:
            LinkListener.open(listener.locator)
        assert error.value.exit_code == 3


def test_no_ipv6_is_told(monkeypatch):
    def none(*_):
        raise OSError(97, "Address family not supported by protocol")

    monkeypatch.setattr(socket, "socket", none)
    with pytest.raises(CannotConnect, match="not supported"):
        connect(Locator.parse("udp/[::1]:1"), soon())


def over_tls(listens, trust, host="127.0.0.1"):
    """What each side is told where a TLS handshake is tried."""
    told = []
    with LinkListener.open(Locator.of("tls", "127.0.0.1", 0, listens)) as listener:

        def accept():
            try:
                link = listener.accept(Deadline.after(2))
                told.append("link" if link else "nobody")
            except CannotConnect as why:
                told.append(str(why))

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            connect(Locator.of("tls", host, listener.locator.port, trust), Deadline.after(2)).close()
            ours = ""
        except CannotConnect as why:
            ours = str(why)
        thread.join()
    return ours, told[0]


def test_sound_certificates_are_taken(authority):
    assert over_tls(authority.listens(), authority.trust) == ("", "link")


@pytest.mark.parametrize(
    ("names", "ends", "why"),
    [
        (("elsewhere.example",), None, "not valid for '127.0.0.1'"),
        (("127.0.0.1",), dt.datetime(2020, 1, 1, tzinfo=dt.UTC), "expired"),
    ],
    ids=["wrong-name", "expired"],
)
def test_an_unsound_certificate_is_told(authority, names, ends, why):
    ours, _ = over_tls(authority.listens(*names, ends=ends), authority.trust)
    assert why in ours


def test_the_name_need_not_be_verified(authority):
    listens = authority.listens("elsewhere.example")
    assert over_tls(listens, f"{authority.trust};verify_name_on_connect=false")[0] == ""


def test_an_unknown_authority_is_told(authority, tmp_path):
    (tmp_path / "other").mkdir()
    ours, theirs = over_tls(authority.listens(), Authority(tmp_path / "other").trust)
    assert "unable to get local issuer" in ours
    assert "unknown ca" in theirs.lower()


def test_a_client_without_its_certificate_is_refused(authority):
    assert "did not return a certificate" in over_tls(authority.demands(), authority.trust)[1]
    assert over_tls(authority.demands(), authority.connects()) == ("", "link")


def test_a_plain_client_on_a_tls_port_is_told(authority):
    with LinkListener.open(Locator.of("tls", "127.0.0.1", 0, authority.listens())) as listener:
        with connect(Locator.of("tcp", "127.0.0.1", listener.locator.port), soon()) as plain:
            plain.send(b"\x0e\0not a client hello", soon())
            with pytest.raises(CannotConnect, match="no TLS"):
                listener.accept(soon())


def test_a_tls_client_on_a_plain_port_is_told(authority):
    with LinkListener.open() as listener:
        port = listener.locator.port

        def answer():
            link = listener.accept(soon())
            link.send(b"\0\0no server hello", soon())

        threading.Thread(target=answer, daemon=True).start()
        with pytest.raises(CannotConnect, match="no TLS"):
            connect(Locator.of("tls", "127.0.0.1", port, authority.trust), soon())


def test_a_client_that_left_the_queue_is_skipped(authority):
    with LinkListener.open(Locator.of("tls", "127.0.0.1", 0, authority.listens())) as listener:
        connect(Locator.of("tcp", "127.0.0.1", listener.locator.port), soon()).close()
        assert listener.accept(Deadline.after(0.2)) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("tls/127.0.0.1:0", "names no certificate"),
        ("tls/127.0.0.1:0#listen_certificate_file=/nowhere.pem", "cannot read the certificates"),
    ],
)
def test_tls_without_certificates_is_a_usage_error(text, why):
    with pytest.raises(UsageError, match=why):
        LinkListener.open(Locator.parse(text))


def test_the_path_of_a_closed_listener_is_free(tmp_path):
    where = Locator("unixsock-stream", str(tmp_path / "node.sock"))
    for _ in range(2):
        LinkListener.open(where).close()
