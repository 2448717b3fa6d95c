"""A flow heard packet by packet says what it says when it is heard as a whole, whatever a network and a capture have done to it."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from zenoh_harness.files import capture_writer, conversations, pcap
from zenoh_harness.files.captures import PORTS, heard
from zenoh_harness.files.captures import units as units_of
from zenoh_harness.files.flows import connections, flow_key
from zenoh_harness.files.heard_live import begun_by

RECORDINGS = sorted((Path(__file__).parents[3] / "conformance" / "tests" / "recordings").glob("*.jsonl"))


def as_it_is(packets, random):
    return packets


def beginning_lost(packets, random):
    return packets[random.randrange(5, 20) :]


def some_lost(packets, random):
    return [packet for packet in packets if random.random() > 0.03]


def some_late(packets, random):
    return sorted(packets, key=lambda packet: packet.number + random.choice([0, 0, 0, 4.5]))


def one_side_lost(packets, random):
    return [packet for packet in packets if packet.data[12:16] == packets[0].data[12:16]]


def twice(packets, random):
    return [again for packet in packets for again in [packet] * random.choice([1, 1, 2])]


def as_is(hearing):
    return hearing


def kept_between(hearing):
    return pickle.loads(pickle.dumps(hearing))  # noqa: S301 - our own  # noqa: S301 - our own


def told(hearing, units, *, between=as_is):
    """(connection, sender, kind, bytes) of everything that is said, and how the connections begin."""
    said, known = [], {}
    for unit in units:
        hearing = between(hearing)
        said += hearing.feed(unit)
    said += hearing.finish()
    for connection, _, _ in said:
        known[connection.name] = connection
    return known, [event for _, event, _ in said if event is not None]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
@pytest.mark.parametrize("change", [as_it_is, beginning_lost, some_lost, some_late, one_side_lost, twice])
@pytest.mark.parametrize("kept", [False, True], ids=["at once", "pickled"])
def test_one_by_one_and_as_a_whole(path: Path, change, kept, tmp_path: Path) -> None:
    file = tmp_path / "x.pcapng"
    capture_writer.write(conversations.read(path), file)
    whole = list(pcap.Capture(file))
    for seed in range(3):
        changed = [packet._replace(number=index) for index, packet in enumerate(change(whole, Random(seed)), 1)]
        groups: dict[object, list] = {}
        for unit in units_of(changed, Counter()):
            groups.setdefault(flow_key(unit), []).append(unit)
        for group in groups.values():
            (flow,) = connections(list(group))
            expected = heard(flow, PORTS, Counter())
            again = kept_between if kept and seed == 0 else as_is
            known, events = told(begun_by(group[0], PORTS, Counter()), group, between=again)
            assert known == {
                each.name: each for each in (expected.connections if expected else []) if each.name in known
            }
            assert events == [event for _, event in expected.events] if expected else not events


def test_datagrams_one_by_one(tmp_path: Path) -> None:
    from zenoh_conformance.reading.conversation import Connection, Conversation, Event, Framing, Happened

    recorded = conversations.read(RECORDINGS[0])
    name = next(iter(recorded.connections))
    batches = [event for event in recorded if event.connection == name and event.kind is Happened.BYTES]
    conversation = Conversation(
        {name: Connection(name, "udp", Framing.DATAGRAM, "udp/10.0.0.1:5000", "udp/10.0.0.2:7447")},
        [Event(index / 1000, name, each.sender, each.kind, each.data[2:]) for index, each in enumerate(batches)],
    )
    file = tmp_path / "x.pcapng"
    capture_writer.write(conversation, file)
    units = list(units_of(pcap.Capture(file), Counter()))
    (flow,) = connections(list(units))
    expected = heard(flow, PORTS, Counter())
    known, events = told(begun_by(units[0], PORTS, Counter()), units)

    assert list(known.values()) == expected.connections
    assert events == [event for _, event in expected.events]
