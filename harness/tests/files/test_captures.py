"""Captures: packets become conversations, whatever a network and a file have done to them; tshark is the second witness."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import struct
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from zenoh_conformance.messages import Frame, KeepAlive, Push, Put, sane
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.reading.batch import frame_batch
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.conversation import Begins, Connection, Conversation, Event, Framing, Happened, Side
from zenoh_harness.cli import invoke
from zenoh_harness.files import capture_writer, captures, conversations, flows, packets, pcap
from zenoh_harness.files.faults import FileFault

RECORDINGS = sorted((Path(__file__).parents[3] / "conformance" / "tests" / "recordings").glob("*.jsonl"))
INIT, RESP = Side.INITIATOR, Side.RESPONDER


def said(conversation, name=None):
    """What each side of each connection (of one) said, in bytes."""
    text = {}
    for event in conversation:
        if event.kind is Happened.BYTES and name in (None, event.connection):
            text.setdefault((event.connection, event.sender), bytearray()).extend(event.data)
    return sorted(bytes(data) for data in text.values())


def session(count=40, modes=(), size=100, turn=1):
    """A handshake, and then frames of both sides, `turn` at a time, each batch an event of its own."""
    conversation = Conversation({"a": Connection("a", initiator="tcp/10.0.0.1:50000", responder="tcp/10.0.0.2:7447")})
    syn = sane.init_syn(b"\x01", exts=sane.offers(*modes))
    ack = sane.init_ack(syn, b"\x02", b"cookie", exts=sane.offers(*modes))
    steps = [(INIT, syn), (RESP, ack), (INIT, sane.open_syn(ack)), (RESP, sane.open_ack())]
    batches = [(side, frame_batch(encode(message))) for side, message in steps]
    for number in range(count):
        push = Push(key=WireExpr(0, f"k/{number}", mapping=True), body=Put(payload=bytes([number]) * size))
        if "LowLatency" in modes:
            batch = frame_batch(encode(push), prefix=4)
        else:
            frame = encode(Frame(sn=number // 2, messages=(push,))) + encode(KeepAlive())
            batch = frame_batch(frame, compressed="Compression" in modes)
        batches.append(((INIT, RESP)[number // turn % 2], batch))
    conversation.events = [
        Event(index / 1000, "a", side, Happened.BYTES, batch) for index, (side, batch) in enumerate(batches)
    ]
    return conversation


def read(packets_, tmp_path, **options):
    path = tmp_path / "x.pcapng"
    pcap.write(packets_, path)
    return captures.read(path, **options)


@pytest.mark.parametrize("side", [None, *Side], ids=["both", *(side.value for side in Side)])
def test_a_link_of_which_one_side_was_captured_is_met_under_way(side):
    """What the other side said decides what is right."""
    ends = {INIT: "10.0.0.1:50000", RESP: "10.0.0.2:7447"}
    units = list(captures.units(capture_writer.packets(session(4)), Counter()))
    [flow] = flows.flows([unit for unit in units if side is None or unit.source == ends[side]])
    [connection] = captures.heard(flow).connections
    assert (connection.begins is Begins.START) is (side is None)


def numbered(packets_):
    return [packet._replace(number=index) for index, packet in enumerate(packets_, 1)]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_conversation_becomes_a_capture_and_the_same_conversation(path, tmp_path):
    conversation = conversations.read(path)
    capture_writer.write(conversation, tmp_path / "x.pcapng")

    captured = captures.read(tmp_path / "x.pcapng")

    ours = [(event.sender, event.kind, event.data) for event in conversation if event.kind is not Happened.OPEN]
    assert ours == [(e.sender, e.kind, e.data) for e in captured.conversation if e.kind is not Happened.OPEN]
    assert not captured.counted
    assert all(connection.begins is Begins.START for connection in captured.conversation.connections.values())


def disturbed(packets_, seed, *, late=(0, 0, 0, 4.5, 9.5)):
    """The packets of a capture, some late, some twice, some cut into overlapping halves: nothing is lost."""
    draw = random.Random(seed)
    text = []
    for packet in packets_:
        head, payload = packet.data[:40], packet.data[40:]
        if len(payload) > 20 and draw.random() < 0.4:
            cut = draw.randrange(5, len(payload) - 5)
            second = bytearray(head)
            struct.pack_into(">I", second, 24, (struct.unpack_from(">I", head, 24)[0] + cut - 3) & 0xFFFFFFFF)
            parts = [head + payload[:cut], bytes(second) + payload[cut - 3 :]]
        else:
            parts = [packet.data]
        for part in parts:
            whole = part[:2] + struct.pack(">H", len(part)) + part[4:]
            text += [packet._replace(data=whole, size=len(whole))] * (2 if draw.random() < 0.2 else 1)
    keys = [index + draw.choice(late) for index in range(len(text))]
    return numbered([packet for _, packet in sorted(zip(keys, text, strict=True), key=lambda pair: pair[0])])


def turned(turn, seed):
    """What one side says at a time, disturbed; a handshake is left alone."""
    return disturbed(turn, seed, late=(0, 0, 1.5, 2.5)) if len(turn) > 7 else turn


@pytest.mark.parametrize("seed", range(25))
def test_late_repeated_and_overlapping_packets_are_put_right(seed, tmp_path):
    conversation = session()
    captured = read(disturbed(list(capture_writer.packets(conversation)), seed), tmp_path)

    assert said(captured.conversation) == said(conversation)
    assert len(captured.conversation.connections) == 1
    senders = [event.sender for event in captured.conversation if event.data][:4]
    assert senders[0] is INIT, "an answer never stands before its question"


@pytest.mark.needs("tshark")
@pytest.mark.parametrize("seed", range(3))
def test_tshark_puts_the_same_streams_together(seed, tmp_path):
    """tshark gives up sooner than we do: here no packet stands behind the one that acknowledges it."""
    path = tmp_path / "x.pcapng"
    whole = list(capture_writer.packets(session(count=96, turn=12)))
    turns = [whole[:7], *(whole[at : at + 12] for at in range(7, len(whole), 12))]
    pcap.write(numbered(packet for turn in turns for packet in turned(turn, seed)), path)

    text = subprocess.run(
        ["tshark", "-r", path, "-q", "-o", "tcp.reassemble_out_of_order:TRUE", "-z", "follow,tcp,raw,0"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    lines = text.splitlines()[6:-1]
    theirs = sorted(
        bytes.fromhex("".join(line.strip() for line in lines if line.startswith("\t") is answer))
        for answer in (False, True)
    )

    assert said(captures.read(path).conversation) == theirs


@pytest.mark.needs("tshark")
def test_wireshark_finds_nothing_wrong_with_what_we_write(tmp_path):
    path = tmp_path / "x.pcapng"
    conversation = session()
    conversation.connections["u"] = Connection("u", "udp", Framing.DATAGRAM, "udp/[::1]:50000", "udp/[::1]:7447")
    conversation.events += [Event(1, "u", INIT, Happened.BYTES, b"\x04"), Event(2, "a", RESP, Happened.EOF)]
    count = capture_writer.write(conversation, path)

    checks = ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]
    bad = "_ws.malformed or tcp.analysis.flags or ip.checksum.status==0 or tcp.checksum.status==0 or udp.checksum.status==0"
    shown = subprocess.run(
        ["tshark", "-r", path, *checks, "-Y", bad], capture_output=True, text=True, check=True
    ).stdout
    all_ = subprocess.run(["tshark", "-r", path], capture_output=True, text=True, check=True).stdout

    assert shown == ""
    assert len(all_.splitlines()) == count


@pytest.mark.parametrize("modes", [(), ("Compression",), ("LowLatency",)], ids=lambda modes: "".join(modes) or "plain")
@pytest.mark.parametrize("lost", [8, 11, 17])
def test_a_session_whose_beginning_is_missing(modes, lost, tmp_path):
    conversation = session(modes=modes)
    whole = list(capture_writer.packets(conversation))

    captured = read(numbered(whole[lost:]), tmp_path)

    form = {(): Begins.MIDDLE, ("Compression",): Begins.COMPRESSED, ("LowLatency",): Begins.LOWLATENCY}[modes]
    [connection] = captured.conversation.connections.values()
    assert connection.begins is form
    assert connection.responder == "tcp/10.0.0.2:7447"
    assert [e.data for e in captured.conversation] == [e.data for e in conversation][lost - 3 :]


def test_a_batch_that_began_before_the_capture_is_passed_over(tmp_path):
    whole = list(capture_writer.packets(session(size=300)))
    first = whole[9]
    cut = bytearray(first.data[:40] + first.data[140:])
    struct.pack_into(">I", cut, 24, struct.unpack_from(">I", cut, 24)[0] + 100)
    struct.pack_into(">H", cut, 2, len(cut))

    captured = read(numbered([first._replace(data=bytes(cut)), *whole[10:]]), tmp_path)

    assert [e.data for e in captured.conversation] == [e.data for e in session(size=300)][7:]
    assert captured.counted["bytes before the first whole batch"] == len(first.data) - 140


@pytest.mark.parametrize("modes", [(), ("Compression",), ("LowLatency",)], ids=lambda modes: "".join(modes) or "plain")
def test_what_the_capture_lost_parts_the_connection_and_is_told(modes, tmp_path):
    conversation = session(modes=modes)
    whole = list(capture_writer.packets(conversation))
    missing = len(whole[20].data) - 40

    captured = read(numbered(whole[:20] + whole[21:]), tmp_path)

    assert captured.counted["bytes that the capture lost"] == missing
    first, second = captured.conversation.connections.values()
    assert first.begins is Begins.START
    assert second.begins is not Begins.START
    lost = conversation.events[20 - 3].data
    assert b"".join(said(captured.conversation, first.name)) + b"".join(said(captured.conversation, second.name))
    assert sum(map(len, said(captured.conversation))) == sum(map(len, said(conversation))) - len(lost)


def test_a_snap_length_that_cuts_packets(tmp_path):
    whole = list(capture_writer.packets(session(size=300)))

    captured = read([packet._replace(data=packet.data[:96]) for packet in whole], tmp_path)

    assert captured.counted["bytes that the capture lost"] > 0
    assert all(event.packet for event in captured.conversation)


def test_one_port_pair_used_twice_is_two_connections(tmp_path):
    first, second = list(capture_writer.packets(session())), list(capture_writer.packets(session(count=6)))
    shifted = []
    for packet in second:
        data = bytearray(packet.data)
        seq, ack = struct.unpack_from(">II", data, 24)
        struct.pack_into(">II", data, 24, seq + 500_000, ack + 500_000 if ack else 0)
        shifted.append(packet._replace(data=bytes(data), time=packet.time + 10**9))

    captured = read(numbered(first + shifted), tmp_path)

    assert len(captured.conversation.connections) == 2
    assert said(captured.conversation) == sorted(said(session()) + said(session(count=6)))


def test_sequence_numbers_that_begin_again_at_zero(tmp_path):
    packets_ = []
    for packet in capture_writer.packets(session()):
        data = bytearray(packet.data)
        seq, ack = struct.unpack_from(">II", data, 24)
        struct.pack_into(">II", data, 24, (seq - 2000) % 2**32, (ack - 2000) % 2**32)
        packets_.append(packet._replace(data=bytes(data)))

    assert said(read(packets_, tmp_path).conversation) == said(session())


def test_a_clock_that_jumps_back_is_told_and_time_goes_on(tmp_path):
    whole = list(capture_writer.packets(session()))
    captured = read([p._replace(time=p.time + 10**9 * (p.number < 20)) for p in whole], tmp_path)

    times = [event.time for event in captured.conversation]
    assert times == sorted(times)
    assert captured.counted["times the clock went back"] > 0
    assert said(captured.conversation) == said(session())


def ethernet(packet, *tags):
    return packet._replace(link=1, data=bytes(12) + b"".join(tags) + b"\x08\x00" + packet.data + bytes(4))


LINKS = {
    "Ethernet": ethernet,
    "VLAN": lambda packet: ethernet(packet, b"\x81\x00\x00\x05"),
    "loopback": lambda packet: packet._replace(link=0, data=b"\x02\0\0\0" + packet.data),
    "cooked": lambda packet: packet._replace(link=113, data=bytes(14) + b"\x08\x00" + packet.data),
    "PPP": lambda packet: packet._replace(link=9, data=b"\x00\x21" + packet.data),
    "PPP, short protocol": lambda packet: packet._replace(link=9, data=b"\x21" + packet.data),
    "PPP as HDLC": lambda packet: packet._replace(link=50, data=b"\xff\x03\x00\x21" + packet.data),
    "PPPoE": lambda packet: packet._replace(link=51, data=bytes(6) + b"\x00\x21" + packet.data),
    "PPPoE on Ethernet": lambda packet: packet._replace(
        link=1, data=bytes(12) + b"\x88\x64" + bytes(6) + b"\x00\x21" + packet.data
    ),
    "cooked 2": lambda packet: packet._replace(link=276, data=b"\x08\x00" + bytes(18) + packet.data),
}


@pytest.mark.parametrize("link", LINKS)
def test_links(link, tmp_path):
    assert said(read(map(LINKS[link], capture_writer.packets(session())), tmp_path).conversation) == said(session())


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_compressed_capture_is_read_as_it_is(pack, tmp_path, capsys):
    path = tmp_path / "packed"
    pcap.write(capture_writer.packets(session()), path)
    whole = pack(path.read_bytes())
    path.write_bytes(whole)
    assert said(captures.read(path).conversation) == said(session())
    assert [invoke([command, str(path)]) for command in ("audit", "explain")] == [0, 0], capsys.readouterr()

    path.write_bytes(whole[:-30])
    assert "cut off: the compressed file ends too early" in captures.read(path).counted


def test_a_compressed_capture_that_is_damaged_says_so(tmp_path):
    path = tmp_path / "packed"
    pcap.write(capture_writer.packets(session()), path)
    whole = path.read_bytes()
    path.write_bytes(gzip.compress(whole[:3000]) + gzip.compress(whole[3000:])[:10] + b"\x07")
    captured = captures.read(path)
    assert captured.damaged and captured.conversation.events


def checksummed(packet, flipped):
    """The packet with other bytes in the checksum of TCP: xor, or the sum of the pseudo header that a card completes."""
    data = bytearray(packet.data)
    data[36] ^= flipped
    return packet._replace(data=bytes(data))


def left_to_the_card(packet):
    """As Linux hands a segment to a card that completes the checksum."""
    data, body = bytearray(packet.data), packet.data[20:]
    sums = capture_writer.internet_checksum(data[12:20] + bytes([0, 6]) + len(body).to_bytes(2, "big"))
    data[36:38] = (sums ^ 0xFFFF).to_bytes(2, "big")
    return packet._replace(data=bytes(data))


CHECKSUMS = {
    "right": (lambda p: checksummed(p, 0), False),
    "wrong": (lambda p: checksummed(p, 4), True),
    "left to the card": (left_to_the_card, False),
}


@pytest.mark.parametrize(("change", "wrong"), CHECKSUMS.values(), ids=CHECKSUMS)
def test_a_wrong_checksum_is_counted(change, wrong, tmp_path):
    whole = list(capture_writer.packets(session()))
    captured = read(map(change, whole), tmp_path)
    assert captured.counted[captures.WRONG] == wrong * len(whole)
    assert said(captured.conversation) == said(session())


def test_a_link_that_is_not_read_is_told(tmp_path):
    captured = read([p._replace(link=105) for p in capture_writer.packets(session())], tmp_path)

    assert not captured.conversation.events
    assert any("link type 105" in what for what in captured.counted)


def classic(packets_, order="<", nanoseconds=False):
    """A pcap of the old form."""
    magic = 0xA1B23C4D if nanoseconds else 0xA1B2C3D4
    text = struct.pack(f"{order}IHHIIII", magic, 2, 4, 0, 0, 65535, 101)
    for packet in packets_:
        seconds, fraction = divmod(packet.time, 10**9)
        head = struct.pack(
            f"{order}IIII", seconds, fraction // (1 if nanoseconds else 1000), len(packet.data), packet.size
        )
        text += head + packet.data
    return text


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("nanoseconds", [False, True])
def test_old_pcaps(order, nanoseconds, tmp_path):
    path = tmp_path / "x.pcap"
    path.write_bytes(classic(capture_writer.packets(session()), order, nanoseconds))

    assert list(pcap.Capture(path)) == list(capture_writer.packets(session()))


@pytest.mark.parametrize("form", ["pcap", "pcapng"])
def test_a_file_cut_off_anywhere_is_read_as_far_as_it_goes(form, tmp_path):
    path = tmp_path / "x"
    whole = list(capture_writer.packets(session(count=4)))
    pcap.write(whole, path)
    data = path.read_bytes() if form == "pcapng" else classic(whole)
    for size in range(4, len(data), 7):
        path.write_bytes(data[:size])
        capture = pcap.Capture(path)
        found = list(capture)
        assert found == whole[: len(found)]
    assert len(found) >= len(whole) - 1
    assert capture.cut
    assert not capture.damaged


def test_an_old_pcap_that_is_damaged(tmp_path):
    path = tmp_path / "x"
    data = bytearray(classic(list(capture_writer.packets(session(count=4)))))
    data[24 + 8 : 24 + 12] = b"\xff" * 4
    path.write_bytes(data)
    capture = pcap.Capture(path)

    assert list(capture) == []
    assert capture.damaged


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 no capture", b'{"conversation":1}\n'], ids=["empty", "zip", "ours"])
def test_what_is_no_capture_is_refused(data, tmp_path):
    path = tmp_path / "x"
    path.write_bytes(data)

    with pytest.raises(FileFault, match="no capture"):
        captures.read(path)


@pytest.mark.parametrize("seed", range(60))
def test_changed_bytes_stop_nobody(seed, tmp_path):
    draw = random.Random(seed)
    path = tmp_path / "x"
    pcap.write(capture_writer.packets(session(count=6)), path)
    data = bytearray(path.read_bytes())
    for _ in range(draw.randrange(1, 40)):
        data[draw.randrange(4, len(data))] = draw.randrange(256)
    path.write_bytes(data)

    captured = captures.read(path)

    times = [event.time for event in captured.conversation]
    assert times == sorted(times)


def test_fragments_of_ip_are_put_together(tmp_path):
    conversation = Conversation(
        {"u": Connection("u", "udp", Framing.DATAGRAM, "udp/10.0.0.1:5000", "udp/10.0.0.2:7447")}
    )
    frame = encode(Frame(sn=1, messages=(Push(key=WireExpr(0, "k"), body=Put(payload=bytes(4000))),)))
    conversation.events = [Event(0, "u", INIT, Happened.BYTES, frame)]
    [packet] = capture_writer.packets(conversation)
    head, body = packet.data[:20], packet.data[20:]
    pieces = []
    for at in range(0, len(body), 1480):
        part = body[at : at + 1480]
        place = at // 8 | (0x2000 if at + 1480 < len(body) else 0)
        data = head[:2] + struct.pack(">HHH", 20 + len(part), 77, place) + head[8:] + part
        pieces.append(packet._replace(data=data, size=len(data)))

    captured = read(numbered([pieces[2], pieces[0], pieces[0], pieces[1]]), tmp_path)

    assert said(captured.conversation) == [frame]
    assert next(iter(captured.packets.values())) == {1, 2, 3, 4}


def test_what_is_not_zenoh_is_counted(tmp_path):
    hello = {
        "tls": b"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03",
        "web": b"GET / HTTP/1.1\r\n",
        "ssh": b"SSH-2.0-x\r\n",
    }
    conversation = Conversation({
        name: Connection(name, initiator=f"tcp/10.0.0.1:{50000 + index}", responder=f"tcp/10.0.0.2:{22 if name == 'ssh' else 7447}")
        for index, name in enumerate(hello)
    })  # fmt: skip
    conversation.events = [Event(0, name, INIT, Happened.BYTES, data) for name, data in hello.items()]

    captured = read(capture_writer.packets(conversation), tmp_path)

    assert not captured.conversation.events
    assert {what.split()[0] for what in captured.counted} == {"TLS", "HTTP", "flows"}


def test_opened_never_raises():
    draw = random.Random(1)
    for link in (0, 1, 9, 12, 50, 51, 101, 113, 228, 229, 276):
        for _ in range(400):
            data = bytearray(draw.randbytes(draw.randrange(80)))
            for at in (0, 4, 14, 16, 20):
                if len(data) > at:
                    data[at] = draw.choice([0x45, 0x60, 0x4F, data[at]])
            packets.opened(pcap.Packet(1, 0, link, bytes(data), 100))
