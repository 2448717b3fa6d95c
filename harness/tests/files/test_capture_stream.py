"""A capture read as a stream says what it says when it is read at once, and what is held does not grow with the file."""

from __future__ import annotations

import tracemalloc
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from planted_sessions import INIT, conversation, planted, push, steps

from zenoh_conformance.messages import Frame, Put
from zenoh_harness import auditing
from zenoh_harness.auditing import judge_file, write_evidence
from zenoh_harness.commands import explain
from zenoh_harness.files import audits, capture_stream, capture_writer, captures, content_types, conversations, pcap
from zenoh_harness.files.capture_stream import CaptureStream

HERE = Path(__file__).parent
RECORDINGS = sorted((HERE.parents[2] / "conformance" / "tests" / "recordings").glob("*.jsonl"))
CAPTURES = sorted((HERE / "captures").glob("*.pcapng"))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """All captures and recordings side by side, with packets that are late, lost and repeated, and a clock that goes back."""
    folder, draw = tmp_path_factory.mktemp("mixed"), Random(1)
    sources = [list(pcap.Capture(path)) for path in CAPTURES]
    for path in RECORDINGS:
        capture_writer.write(conversations.read(path), folder / "x.pcapng")
        sources.append(list(pcap.Capture(folder / "x.pcapng")))
    packets = []
    while any(sources):
        source = draw.choice([source for source in sources if source])
        packet = source.pop(0)._replace(time=10**18 + len(packets) * 10**7 - draw.choice([0, 0, 0, 10**8]))
        packets += [packet] * draw.choice([0, *[1] * 30, 2])
    shifted = sorted(enumerate(packets), key=lambda pair: pair[0] + draw.choice([0, 0, 0, 9]))
    pcap.write([packet for _, packet in shifted], folder / "mixed.pcapng")
    return folder / "mixed.pcapng"


def by_connection(events):
    """The events of each connection, without times: those of what comes late are their own."""
    found = defaultdict(list)
    for event in events:
        found[event.connection].append((event.sender, event.kind, event.data, event.packet))
    return dict(found)


def test_a_stream_has_the_events_of_the_whole(mixed):
    whole = captures.read(mixed)

    stream = CaptureStream(mixed)
    events = list(stream)

    assert events == whole.conversation.events
    assert [event.packet for event in events] == [event.packet for event in whole.conversation.events]
    assert stream.connections == whole.conversation.connections
    assert stream.counted - Counter(packets=stream.read) == whole.counted
    assert stream.counted["times the clock went back"]


@pytest.mark.parametrize("few", [{"STEP": 1, "IDLE": 20}, {"STEP": 16, "MOST_PENDING": 2000}], ids=str)
def test_what_waits_for_others_no_longer_comes_late_and_is_the_same(few, mixed, monkeypatch):
    whole = captures.read(mixed).conversation
    for name, value in few.items():
        monkeypatch.setattr(capture_stream, name, value)

    stream = CaptureStream(mixed)
    events = list(stream)

    assert events != whole.events
    assert by_connection(events) == by_connection(whole)
    assert stream.connections.keys() == whole.connections.keys()
    latest = {}
    for event in events:
        assert event.time >= latest.get(event.connection, 0)
        latest[event.connection] = event.time


def test_flows_past_the_bound_end_and_begin_again_in_the_middle(mixed, monkeypatch):
    monkeypatch.setattr(capture_stream, "MOST_FLOWS", 2)
    stream = CaptureStream(mixed)

    assert {event.packet for event in stream} <= set(range(1, stream.read + 1))
    assert len(stream.connections) > len(captures.read(mixed).conversation.connections)


def large(folder, frames, write, suffix):
    """A recording of one session that publishes 20,000 bytes at a time."""
    said, body = steps(0)[:-1], Put(payload=bytes(20_000))
    said += [(INIT, Frame(sn=number, messages=(replace(push(0), body=body),))) for number in range(frames)]
    path = folder / f"{frames}{suffix}"
    write(conversation(said), path)
    return path


def audit_of(path):
    noted = []
    assert judge_file(path, laws=(), note=noted.append).audit.messages
    assert noted


def explain_of(path):
    assert sum(1 for _ in explain._explain((str(path),), None))


def peak_of(read, path):
    tracemalloc.start()
    read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("read", [audit_of, explain_of])
@pytest.mark.parametrize(
    ("write", "suffix"), [(capture_writer.write, ".pcapng"), (conversations.write, ".jsonl")], ids=["capture", "events"]
)
def test_four_times_the_file_takes_no_more_memory(read, write, suffix, tmp_path, monkeypatch):
    files = [large(tmp_path, frames, write, suffix) for frames in (30, 120)]
    monkeypatch.setattr(capture_stream, "STEP", 32)
    monkeypatch.setattr(auditing, "NOTED", 8)
    monkeypatch.setattr(content_types, "HEAD", 1 << 10)
    read(files[0])

    small, whole = (peak_of(read, path) for path in files)

    assert whole < small + (1 << 20)


def test_findings_that_are_taken_on_the_way_are_those_of_the_end(tmp_path, monkeypatch):
    for name in ("another cookie", "garbage after a FRAME", "PUSH by itself", "FRAME after CLOSE"):
        said = planted(name)[0]
        at_once = audits.charges(conversation(said))
        with monkeypatch.context() as few:
            few.setattr(audits, "MOST_UNTAKEN", 0)
            few.setattr(audits, "PER_CONNECTION", 0)
            assert audits.charges(conversation(said)) == at_once, name


@pytest.mark.parametrize("untaken", [0, 1 << 24])
def test_a_connection_has_a_hundred_findings_of_a_law_however_often_they_are_taken(untaken, monkeypatch):
    monkeypatch.setattr(audits, "MOST_UNTAKEN", untaken)
    monkeypatch.setattr(audits, "PER_CONNECTION", 0)
    bad = bytes.fromhex("a5013125")  # a FRAME with a reserved bit beside its priority
    found = audits.charges(conversation(steps(0)[:-1] + [(INIT, bad)] * 250))

    charges = [charge for charge in found.charges if charge.law == "law/frame-qos-reserved"]
    assert len(charges) == 100


def test_past_the_bound_of_a_node_findings_are_counted(monkeypatch):
    monkeypatch.setattr(audits, "MOST_CHARGES", 3)
    bad = bytes.fromhex("a5013125")
    found = audits.charges(conversation(steps(0)[:-1] + [(INIT, bad)] * 5))

    assert len([charge for charge in found.charges if charge.law == "law/frame-qos-reserved"]) == 3
    assert found.unread[audits.BEYOND] >= 2


def test_evidence_of_many_connections_is_cut_in_one_go(tmp_path, mixed):
    source = judge_file(mixed)
    names = {charge.connection for charge in source.audit.charges}
    assert len(names) > 2

    write_evidence([source], tmp_path)

    whole = captures.read(mixed)
    for name, relative in source.evidence.items():
        numbers = whole.packets[name]
        expected = [packet[1:] for packet in pcap.Capture(mixed) if packet.number in numbers]
        assert [packet[1:] for packet in pcap.Capture(tmp_path / relative)] == expected
        cut = conversations.read((tmp_path / relative).with_suffix(".jsonl"))
        assert by_connection(cut) == {name: by_connection(whole.conversation)[name]}
