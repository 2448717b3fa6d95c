"""`zconform tap` as a program: it records, says who ended what, and leaves a readable file however it ends."""

import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
import tracemalloc

import pytest

from zenoh_conformance.messages import Frame, Push, Put
from zenoh_conformance.messages.sane import close, init_ack, init_syn, open_syn
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.reading.batch import frame_batch
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.conversation import Begins, Connection, Conversation, Event, Happened, Side
from zenoh_harness.cli import invoke
from zenoh_harness.commands.tap import _judge
from zenoh_harness.console import Shell
from zenoh_harness.files import conversations
from zenoh_harness.links.certificates import Authority
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.opening import LinkListener, connect
from zenoh_harness.links.timing import Deadline, scaled

pytestmark = pytest.mark.long

PATIENCE = 20.0


@pytest.fixture
def far():
    """The far side: a listener of the test's own."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        door.settimeout(scaled(PATIENCE))
        yield door


def take(sock, size):
    got = b""
    while len(got) < size and (more := sock.recv(65536)):
        got += more
    return got


def reset(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def run(tmp_path, far, *words):
    """`zconform tap` as a program on TCP; it has said where it listens."""
    program, at = run_at(tmp_path, "tcp/127.0.0.1:0", "tcp/{}:{}".format(*far.getsockname()), *words)
    return program, at.port


def run_at(tmp_path, listen, to, *words):
    """`zconform tap` as a program between two locators, and where it says that it listens."""
    command = [sys.executable, "-m", "zenoh_harness.cli", "tap", "--listen", str(listen), "--to", str(to)]
    program = subprocess.Popen(
        [*command, "--record", str(tmp_path / "talk.jsonl"), *words],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    line = program.stderr.readline()
    assert "listening at " in line
    return program, Locator.parse(line.split("listening at ")[1].split(",")[0])


def test_the_command_records_and_says_who_ended(tmp_path, far):
    program, port = run(tmp_path, far, "--links", "1")
    with program, socket.create_connection(("127.0.0.1", port)) as near:
        there, _ = far.accept()
        near.sendall(b"\x05\x00hello")
        assert take(there, 7) == b"\x05\x00hello"
        reset(there)
        assert program.wait(scaled(PATIENCE)) == 0
        assert "ended by the responder (reset)" in program.stderr.read()
    text = conversations.read(tmp_path / "talk.jsonl")
    assert [(event.sender, event.kind) for event in text][-1] == (Side.RESPONDER, Happened.RESET)
    assert text.connections["link-1"].responder == "tcp/{}:{}".format(*far.getsockname())


def test_the_command_changes_what_one_side_says(tmp_path, far):
    program, port = run(tmp_path, far, "--links", "1", "--change", "set:close.reason=0,drop:oam")
    with program, socket.create_connection(("127.0.0.1", port)) as near:
        there, _ = far.accept()
        there.sendall(frame_batch(encode(close(1))))
        changed = frame_batch(encode(close(0)))
        assert take(near, len(changed)) == changed
        there.close()
        near.close()
        assert program.wait(scaled(PATIENCE)) == 0
        told = program.stderr.read()
    assert "drop:oam matched no message" in told
    assert "set:close.reason matched no message" not in told
    assert changed in [event.data for event in conversations.read(tmp_path / "talk.jsonl")]


def test_a_rule_that_cannot_be_read_is_exit_2(tmp_path):
    where = ["--listen", "tcp/127.0.0.1:0", "--to", "tcp/127.0.0.1:1", "--record", str(tmp_path / "talk.jsonl")]
    assert invoke(["tap", *where, "--change", "dorp:frame"]) == 2


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGKILL, -9)])
def test_however_it_ends_the_recording_is_readable(tmp_path, far, number, code):
    program, port = run(tmp_path, far)
    with program, socket.create_connection(("127.0.0.1", port)) as near:
        there, _ = far.accept()
        near.sendall(b"before the end")
        assert take(there, 14) == b"before the end"
        there.sendall(b"answer")
        assert take(near, 6) == b"answer"
        program.send_signal(number)
        assert program.wait(scaled(PATIENCE)) == code
        there.close()
    text = conversations.read(tmp_path / "talk.jsonl")
    assert text.events[1].data == b"before the end"


def test_a_far_side_that_was_never_there_is_exit_3(tmp_path, far):
    program, port = run(tmp_path, far, "--links", "1")
    far.close()
    with program, socket.create_connection(("127.0.0.1", port)) as near:
        with contextlib.suppress(ConnectionResetError):
            near.recv(1)
        assert program.wait(scaled(PATIENCE)) == 3
        said = program.stderr.read()
    assert "no connection to" in said
    assert "Connection refused" in said
    assert (tmp_path / "talk.jsonl").exists()


@pytest.mark.parametrize(("honest", "code"), [(True, 0), (False, 1)])
def test_the_laws_judge_what_went_by(tmp_path, far, honest, code):
    """An OpenSyn that returns another cookie is told, with the side at fault; an honest one is not."""
    syn = init_syn(b"\x01\x02")
    ack = init_ack(syn, b"\x03\x04", b"cookie")
    answer = open_syn(ack) if honest else open_syn(ack, cookie=b"biscuit")
    program, port = run(tmp_path, far, "--links", "1", "--laws")
    with program, socket.create_connection(("127.0.0.1", port)) as near:
        there, _ = far.accept()
        for speaks, hears, message in ((near, there, syn), (there, near, ack), (near, there, answer)):
            batch = encode(message)
            speaks.sendall(len(batch).to_bytes(2, "little") + batch)
            assert len(take(hears, 2 + len(batch))) == 2 + len(batch)
        near.close()
        there.close()
        assert program.wait(scaled(PATIENCE)) == code
        said = program.stdout.read()
    assert ("link-1 initiator session-establishment/" in said) is not honest


@pytest.mark.parametrize("protocol", ["tcp", "tls"])
def test_each_message_is_told_as_it_goes_by_when_asked(tmp_path, protocol):
    """Over TLS, too: it ends at the tap on both sides."""
    authority = Authority(tmp_path)
    listen = Locator.of(protocol, "127.0.0.1", 0, authority.listens())
    batch = frame_batch(encode(init_syn(b"\x01\x02")))
    with LinkListener.open(listen) as far:
        to = Locator(protocol, far.locator.address, authority.trust)
        program, at = run_at(tmp_path, listen, to, "--links", "1", "-v")
        deadline = Deadline.after(PATIENCE)
        with program, connect(Locator(protocol, at.address, authority.trust), deadline) as near:
            with far.accept(deadline) as there:
                near.send(batch, deadline)
                assert there.receive(deadline).data == batch
            near.close()
            assert program.wait(scaled(PATIENCE)) == 0
            assert f"link-1 initiator init {batch[2:].hex()}" in program.stderr.read()


def test_a_recording_is_not_written_over_unasked(tmp_path, capsys):
    path = tmp_path / "talk.jsonl"
    path.write_text("precious")
    words = ["tap", "--listen", "tcp/127.0.0.1:0", "--to", "tcp/127.0.0.1:1", "--record", str(path)]
    assert invoke(words) == 2
    assert path.read_text() == "precious"
    assert "--force" in capsys.readouterr().err


@pytest.mark.parametrize("locator", ["nonsense", "udp/127.0.0.1:1", "tcp/no.such.host.invalid:1"])
def test_places_that_are_none(tmp_path, locator):
    words = ["tap", "--listen", "tcp/127.0.0.1:0", "--to", locator, "--record", str(tmp_path / "talk.jsonl")]
    assert invoke(words) in (2, 3)
    assert not (tmp_path / "talk.jsonl").exists()


def test_a_recording_is_judged_without_being_held(tmp_path):
    record, count, payload = tmp_path / "talk.jsonl", 200, bytes(60_000)
    key = WireExpr(scope=0, suffix="a", mapping=True)
    with conversations.ConversationWriter(record, Conversation({"a": Connection("a", begins=Begins.MIDDLE)})) as writer:
        for number in range(count):
            frame = Frame(sn=number, messages=(Push(key=key, body=Put(payload=payload)),))
            writer.event(Event(0.0, "a", Side.RESPONDER, Happened.BYTES, frame_batch(encode(frame))))
    _judge(Shell(), record)  # what is made once and kept
    tracemalloc.start()
    try:
        _judge(Shell(), record)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < count * len(payload) / 4
