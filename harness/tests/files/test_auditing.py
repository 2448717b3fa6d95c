"""Audits: who is at fault, by which rule, in which packet; conforming traffic is clean, and what shows a finding is kept."""

from __future__ import annotations

import datetime as dt
import json
import random
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from planted_sessions import HANDSHAKE, INIT, PLANTED, RESP, conversation, planted, push, steps

from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.messages import Fragment, Frame, Init, Join, Open, Scout, sane
from zenoh_conformance.primitives import WireExpr, ZenohID
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.conversation import Connection, Conversation, Event, Framing, Happened
from zenoh_conformance.reading.fragments import fragment
from zenoh_harness.auditing import AuditedFile, excuse
from zenoh_harness.cli import invoke
from zenoh_harness.files import audits, capture_writer, captures, conversations, evidence, known, pcap
from zenoh_harness.files.explained import explain_conversation
from zenoh_harness.run.store import embargo

RECORDINGS = sorted((Path(__file__).parents[3] / "conformance" / "tests" / "recordings").glob("*.jsonl"))


def test_connections_without_evidence_are_counted(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("zenoh_harness.auditing.MOST_EVIDENCE", 1)
    said, _, _ = planted("another cookie")
    both = conversation(said)
    both.connections["b"] = replace(both.connections["a"], name="b", initiator="tcp/10.0.0.9:50001")
    both.events = sorted([*both.events, *(replace(e, connection="b") for e in both.events)], key=lambda e: e.time)
    capture_writer.write(both, tmp_path / "x.pcapng")

    assert invoke(["audit", str(tmp_path / "x.pcapng"), "--out", str(tmp_path / "out")]) == 1
    assert "evidence was written of 1 of the 2 connections with findings" in capsys.readouterr().out


def audited(said, tmp_path, *, seed=None):
    """The capture of these steps, audited; and the packets that carry them. With a seed, packets come twice."""
    whole = list(capture_writer.packets(conversation(said)))
    places = list(range(3, len(whole)))
    if seed is not None:
        draw = random.Random(seed)
        order = [at for at in range(len(whole)) for _ in range(draw.choice([1, 1, 2]))]
        places = [order.index(at) for at in range(3, len(whole))]
        whole = [whole[at]._replace(number=number) for number, at in enumerate(order, 1)]
    path = tmp_path / "x.pcapng"
    pcap.write(whole, path)
    return audits.charges(captures.read(path).conversation), [place + 1 for place in places]


def faults(one):
    """What breaks a MUST in a conversation, and zenoh-rust is not listed with."""
    source = AuditedFile(Path("x"), one, audits.charges(one))
    excuse(source, known.load(known.shipped_lists(), kind="capture"))
    return [charge for charge in source.open if charge.verdict is Verdict.FAIL]


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_violation_is_found_at_its_packet_and_node(name, seed, tmp_path):
    said, place, law = planted(name)

    audit, packets = audited(said, tmp_path, seed=seed)

    found = [(charge.law, charge.packet, charge.role) for charge in audit.charges]
    assert (law, packets[place], said[place][0].value) in found


def test_a_conforming_session_is_clean(tmp_path):
    audit, _ = audited(steps(), tmp_path)

    assert [charge for charge in audit.charges if charge.verdict is Verdict.FAIL] == []
    assert sum(1 for count in audit.subjects.values() if count) > 25
    assert audit.nodes == {"01": {"tcp/10.0.0.1:50000"}, "02": {"tcp/10.0.0.2:7447"}}


@pytest.mark.parametrize("lost", range(0, 26, 3))
def test_a_conforming_session_met_under_way_or_with_losses_is_clean(lost, tmp_path):
    whole = list(capture_writer.packets(conversation(steps())))
    for name, packets in (("begins late", whole[lost:]), ("loses one", whole[:lost] + whole[lost + 1 :])):
        path = tmp_path / f"{name}.pcapng"
        pcap.write([packet._replace(number=n) for n, packet in enumerate(packets, 1)], path)
        assert faults(captures.read(path).conversation) == [], name


@pytest.mark.parametrize("path", [path for path in RECORDINGS if path.stem != "lowlatency"], ids=lambda path: path.stem)
def test_what_stock_nodes_said_is_clean(path, tmp_path):
    capture_writer.write(conversations.read(path), tmp_path / "x.pcapng")

    assert faults(captures.read(tmp_path / "x.pcapng").conversation) == []


def test_stock_nodes_end_low_latency_as_listed(tmp_path):
    [path] = [path for path in RECORDINGS if path.stem == "lowlatency"]

    assert invoke(["laws", "judge", str(path)]) == 1
    assert invoke(["laws", "judge", str(path), "--known", "zenoh-rust", "--version", "1.10.2"]) == 0


ECHO = "law/cookie-echo"


@pytest.mark.parametrize(
    ("entry", "version", "excuses"),
    [
        ({}, "", True),
        ({"cause": "other*"}, "", False),
        ({"verdict": Verdict.WARN}, "", False),
        ({"role": "initiator"}, "", True),
        ({"role": "responder"}, "", False),
        ({"check": "law/init-is-whole"}, "", False),
        ({"versions": SpecifierSet(">=2.0")}, "", True),
        ({"versions": SpecifierSet(">=2.0")}, "1.0", False),
        ({"versions": SpecifierSet(">=2.0")}, "2.1", True),
        ({"expires": dt.date(2026, 6, 2)}, "", True),
        ({"expires": dt.date(2026, 6, 1)}, "", False),
        ({"profile": "default", "link": "tcp"}, "", True),
    ],
    ids=str,
)
def test_an_audit_excuses_what_a_valid_entry_is_about(entry, version, excuses):
    """A capture tells neither profile nor link, and no version unless it is named."""
    one = conversation(planted("another cookie")[0])
    source = AuditedFile(Path("x"), one, audits.charges(one, [all_laws()[ECHO]]))
    listed = known.ListedDeviation(**{"check": ECHO, "verdict": Verdict.FAIL, "cause": "*", "reason": "so", **entry})

    excuse(source, known.Known([listed], dt.date(2026, 6, 1)), version)

    assert [charge.law for charge in source.audit.charges] == [ECHO]
    assert (source.open == [], source.code() == 0) == (excuses, excuses)


def test_one_listed_charge_excuses_no_other():
    one = conversation(planted("another cookie")[0])
    source = AuditedFile(Path("x"), one, audits.charges(one, [all_laws()[ECHO]]))
    [charge] = source.audit.charges
    source.audit.charges.append(replace(charge, cause="another one"))
    source.listed[charge] = known.ListedDeviation(verdict=Verdict.FAIL, cause="*", reason="so", check=ECHO)

    assert source.code() == 1


def datagrams(*said):
    names = {}
    events = []
    for number, (source, target, message) in enumerate(said):
        name = f"{source} {target}"
        names[name] = Connection(name, "udp", Framing.DATAGRAM, f"udp/{source}", f"udp/{target}")
        events.append(
            Event(number / 10, name, INIT, Happened.BYTES, message if isinstance(message, bytes) else encode(message))
        )
    return Conversation(names, events)


def test_scouting_and_multicast_are_clean_and_their_nodes_told(tmp_path):
    join = Join(whatami=1, zid=ZenohID(b"\x07"), lease=9, next_sn_reliable=0, next_sn_best_effort=0)
    hello = bytes.fromhex("02 09 00 05")
    one = datagrams(
        ("10.0.0.1:5000", "224.0.0.224:7446", Scout(what=3)),
        ("10.0.0.2:40000", "10.0.0.1:5000", hello),
        ("10.0.0.3:6000", "224.0.0.225:7447", Frame(sn=3, messages=(push(1),))),
        ("10.0.0.3:6000", "224.0.0.225:7447", join),
        ("10.0.0.3:6000", "224.0.0.225:7447", join),
        ("10.0.0.4:6001", "224.0.0.225:7447", join),
    )
    capture_writer.write(one, tmp_path / "x.pcapng")

    captured = captures.read(tmp_path / "x.pcapng")
    audit = audits.charges(captured.conversation)

    assert [charge for charge in audit.charges if charge.verdict is Verdict.FAIL] == []
    assert len(captured.conversation.connections) == 4
    assert audit.nodes["05"] == {"udp/10.0.0.2:40000"}
    assert audit.nodes["07"] == {"udp/10.0.0.3:6000", "udp/10.0.0.4:6001"}


def test_a_session_on_udp_that_loses_any_datagram_is_clean(tmp_path):
    whole = [(side, encode(message)) for side, message in steps(6)]
    for lost in range(len(whole)):
        known = Connection("u", "udp", Framing.DATAGRAM, "udp/10.0.0.1:5000", "udp/10.0.0.2:7447")
        events = [Event(n, "u", side, Happened.BYTES, data) for n, (side, data) in enumerate(whole) if n != lost]
        capture_writer.write(Conversation({"u": known}, events), tmp_path / "x.pcapng")
        assert faults(captures.read(tmp_path / "x.pcapng").conversation) == [], lost


def test_the_command_writes_what_shows_a_finding(tmp_path, capsys):
    said, _, law = planted("another cookie")
    other = conversation(steps(cookie=b"another"))
    both = conversation(said)
    both.connections["b"] = replace(other.connections["a"], name="b", initiator="tcp/10.0.0.9:50001")
    both.events = sorted([*both.events, *(replace(e, connection="b") for e in other)], key=lambda e: e.time)
    capture_writer.write(both, tmp_path / "x.pcapng")

    code = invoke(["audit", str(tmp_path / "x.pcapng"), "--out", str(tmp_path / "out"), "--format", "json"])

    [told] = json.loads(capsys.readouterr().out)
    [finding] = [each for each in told["findings"] if each["verdict"] == "fail"]
    assert code == 1
    assert (finding["law"], finding["node"], finding["address"]) == (law, "01", "tcp/10.0.0.1:50000")
    rows = [json.loads(line) for line in (tmp_path / "out" / "findings.jsonl").read_text().splitlines()]
    assert [row["packet"] for row in rows if row["verdict"] == "fail"] == [finding["packet"]]
    cut = captures.read(tmp_path / "out" / finding["evidence"])
    assert len(cut.conversation.connections) == 1
    assert [charge.law for charge in faults(cut.conversation)] == [law]
    evidence = (tmp_path / "out" / finding["evidence"]).with_suffix(".jsonl")
    assert invoke(["laws", "judge", str(evidence)]) == 1
    assert f"packet {finding['packet']}," in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["no-such-file"], 2, "cannot be read"),
        (["{good}"], 0, "warn"),
        (["{good}", "--law", "law/cookie-echo"], 0, "no findings"),
        (["{good}", "--strict"], 1, "warn"),
        (["{empty}"], 4, "0 laws"),
        (["{text}"], 2, "but text"),
        (["{good}", "--law", "law/cookie-ecko"], 2, "law/cookie-echo"),
        (["{good}", "--known", "zenoh-rast"], 2, "zenoh-rust"),
        (["{good}", "{bad}"], 1, "cookie-echo"),
        (["{good}", "{empty}"], 0, "warn"),
        (["{empty}", "{good}"], 0, "warn"),
    ],
)
def test_exit_codes(arguments, code, says, tmp_path, capsys):
    files = {name: tmp_path / name for name in ("good", "bad", "empty", "text")}
    capture_writer.write(conversation(steps()), files["good"])
    capture_writer.write(conversation(planted("another cookie")[0]), files["bad"])
    capture_writer.write(Conversation(), files["empty"])
    files["text"].write_text("Words, and nothing else\n")

    assert invoke(["audit", *(argument.format(**files) for argument in arguments)]) == code
    said = capsys.readouterr()
    assert says in said.out + said.err


def test_half_a_conversation_file_is_judged_as_far_as_it_goes(tmp_path, capsys):
    path = tmp_path / "x.jsonl"
    conversations.write(conversation(planted("another cookie")[0]), path)
    path.write_text(path.read_text()[:-40])

    assert invoke(["laws", "judge", str(path)]) == 1
    assert "cookie-echo" in capsys.readouterr().out


def spoilt(path, size, packet=8):
    """A capture in which a packet's block claims another size."""
    data, at, seen = bytearray(path.read_bytes()), 0, 0
    while seen < packet:
        kind, length = struct.unpack_from("<II", data, at)
        seen += kind == 6
        last, at = at, at + length
    struct.pack_into("<I", data, last + 4, size)
    path.write_bytes(data)


@pytest.mark.parametrize("size", [0, 8, 1 << 20, 0x7FFFFFFF])
@pytest.mark.parametrize("command", [["audit"], ["laws", "judge"], ["explain"]], ids="-".join)
def test_what_a_damaged_capture_hides_is_not_judged(command, size, tmp_path, capsys):
    path = tmp_path / "x.pcapng"
    capture_writer.write(conversation(steps()), path)
    spoilt(path, size)

    assert invoke([*command, str(path)]) == 3
    assert "after packet 7" in capsys.readouterr().out


@pytest.mark.parametrize("command", [["audit"], ["explain"]], ids="-".join)
def test_a_capture_that_ends_too_early_is_judged_as_far_as_it_goes(command, tmp_path, capsys):
    path = tmp_path / "x.pcapng"
    capture_writer.write(conversation(steps()), path)
    path.write_bytes(path.read_bytes()[:-30])

    assert invoke([*command, str(path)]) == 0
    assert "cut off: the file ends inside a block" in capsys.readouterr().out


def test_of_what_is_under_embargo_nothing_is_written(tmp_path, capsys):
    path, out = tmp_path / "x.jsonl", tmp_path / "out"
    conversations.write(evidence.with_embargo_mark(conversation(planted("another cookie")[0])), path)

    assert invoke(["laws", "judge", str(path), "--out", str(out)]) == 1
    assert "under embargo" in capsys.readouterr().out
    assert [(file.name, file.read_bytes()) for file in out.rglob("*") if file.is_file()] == [("findings.jsonl", b"")]


def test_what_lies_where_findings_are_kept_is_under_embargo(tmp_path):
    kept = embargo.folder(tmp_path) / "node-1" / "x.jsonl"

    assert embargo.kept_back(kept, Conversation(), tmp_path)
    assert not embargo.kept_back(tmp_path / "x.jsonl", Conversation(), tmp_path)


def test_kinds_of_steps_are_those_that_are_planted_in():
    kinds = [type(message) for _, message in steps(2)]
    assert kinds[:HANDSHAKE] == [Init, Init, Open, Open]


def endless_fragments():
    """A chain of fragments without an end on each of two lanes."""
    pieces = [Fragment(reliable=not n % 2, more=True, sn=n // 2, payload=bytes(60_000)) for n in range(40)]
    return [*steps(0)[:HANDSHAKE], *[(RESP, piece) for piece in pieces]]


def test_a_chain_of_fragments_without_an_end_is_held_in_bounds_and_told(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("zenoh_conformance.reading.pieces.LARGEST", 1 << 20)
    capture = tmp_path / "endless.pcapng"
    capture_writer.write(conversation(endless_fragments()), capture)
    invoke(["audit", str(capture)])
    assert "2 chains of fragments dropped" in capsys.readouterr().out


def test_a_batch_that_never_ends_is_not_held_and_told(tmp_path, capsys):
    exts = sane.offers("LowLatency")
    syn = sane.init_syn(b"\x01", exts=exts)
    ack = sane.init_ack(syn, b"\x02", b"cookie", exts=exts)
    opened = conversation([(INIT, syn), (RESP, ack), (INIT, sane.open_syn(ack)), (RESP, sane.open_ack())])
    endless = [(1 << 31).to_bytes(4, "little"), *[bytes(1 << 15)] * 9]
    opened.events[-2:] = [Event(1.0 + n / 100, "a", RESP, Happened.BYTES, data) for n, data in enumerate(endless)]
    recorded = tmp_path / "endless.jsonl"
    conversations.write(opened, recorded)
    invoke(["audit", str(recorded)])
    shown = capsys.readouterr().out
    assert "1 batches of more than 67108864 bytes" in shown
    assert "batching/frame-holds-complete-messages" not in shown


def test_a_finding_shows_the_bytes_of_its_message_in_a_large_frame(tmp_path):
    """Not those of the segment, and once for each message at fault."""
    several = Frame(
        sn=0,
        messages=tuple(replace(push(n), key=WireExpr(0, f"k/{n}//" if n in (3, 5) else f"k/{n}")) for n in range(8)),
    )
    said = [*steps(0)[:HANDSHAKE], (INIT, several)]
    charges = [each for each in audited(said, tmp_path)[0].charges if each.data]
    shown = {each.data for each in charges if b"//" in each.data}
    assert len(shown) == 2
    assert all(encode(several)[each.at :].startswith(each.data) for each in charges)


def test_explain_shows_the_message_that_fragments_carry():
    """With the number of pieces; of a chain that holds none it says why."""
    data = encode(push(7))
    chains = [
        *fragment(data, sn=0, size=15),
        *list(fragment(data, sn=9, size=15))[::2],
        *fragment(data, sn=30, size=50),
    ]
    heads = [
        each
        for each in explain_conversation(conversation([(INIT, each) for each in chains]))
        if "FRAGMENTs" in each.head
    ]
    assert [each.head.partition("initiator")[2].strip() for each in heads] == [
        f"{len(data)} bytes of 3 FRAGMENTs",
        "no message of 1 FRAGMENTs: piece 11 after 9",
        f"{len(data)} bytes of 1 FRAGMENTs",
    ]
    assert {message for each in heads if each.explanation for message in each.explanation.messages} == {push(7)}
