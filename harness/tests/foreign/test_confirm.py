"""Foreign confirmation: who agrees, who differs, who cannot be asked; and nothing is lost on the way to the file."""

import json

import pytest

from zenoh_harness.codecs import build as codec_build
from zenoh_harness.codecs.codec import Answer, AnswerKind, Request
from zenoh_harness.codecs.meaning import comparable
from zenoh_harness.codecs.own import OwnCodec
from zenoh_harness.foreign.confirm import live, record, wheel
from zenoh_harness.foreign.confirm.codec import CodecWitness, difference
from zenoh_harness.foreign.confirm.statement import AGREES, Piece, Statement, Unaskable, Word, pieces
from zenoh_harness.identity import Identity
from zenoh_harness.targets.adapters.stdio import StdioCodec
from zenoh_vectors import confirmed
from zenoh_vectors.loader import load

VECTORS = {vector.id: vector for vector in load()}
ZID = {"zid": "0b0a"}


def refusing(layer: str) -> str:
    return next(v.id for v in VECTORS.values() if v.layer == layer and v.refuses and not v.errata)


class Twin(OwnCodec):
    """Our codec under a foreign name; `spoil` changes its answers."""

    def __init__(self, spoil=lambda answer: answer):
        super().__init__()
        self.identity = Identity(name="twin", version="1.10.2", kind="stdio")
        self.spoil = spoil

    def ask(self, requests):
        return map(self.spoil, super().ask(requests))


def statement(ident: str, spoil=lambda answer: answer) -> Statement:
    [said] = CodecWitness(Twin(spoil)).statements([VECTORS[ident]])
    return said


# --- meanings as structs hold them ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "same"),
    [
        ({"Frame": {"exts": [{"QoS": {"value": 5}}]}}, {"Frame": {}}),
        ({"Open": {"lease_in_seconds": True, "lease": 2}}, {"Open": {"lease_in_seconds": False, "lease": 2000}}),
        ({"Init": {"resolution": 10, "batch_size": 65535}}, {"Init": {}}),
        ({"Join": {"resolution": 10, "batch_size": 8192}}, {"Join": {}}),
        ({"Put": {"encoding": {"id": 0}}}, {"Put": {}}),
        ({"Query": {"consolidation": 0, "parameters": ""}}, {"Query": {}}),
        ({"Push": {"exts": [{"A": ZID}, {"B": ZID}]}}, {"Push": {"exts": [{"B": ZID}, {"A": ZID}]}}),
        ({"Push": {"exts": [{"A": {"value": 1}}, {"A": ZID}]}}, {"Push": {"exts": [{"A": ZID}]}}),
        ({"Push": {"exts": [{"Unknown": {"id": 9}}]}}, {"Push": {}}),
        ({"Init": {"zid": "00000b0a"}}, {"Init": ZID}),
        ({"Push": {"key": {"scope": 1, "suffix": ""}}}, {"Push": {"key": {"scope": 1}}}),
        (
            {"Interest": {"options": 0x33, "key": {"scope": 1, "suffix": ""}}},
            {"Interest": {"options": 0x13, "key": {"scope": 1}}},
        ),
    ],
)
def test_what_structs_cannot_tell_apart_is_the_same(one, same):
    assert comparable(one) == comparable(same)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"Frame": {"exts": [{"QoS": {"value": 4}}]}}, {"Frame": {}}),
        ({"Open": {"lease_in_seconds": True, "lease": 2}}, {"Open": {"lease_in_seconds": False, "lease": 2}}),
        ({"Init": {"batch_size": 8192}}, {"Init": {}}),
        ({"Put": {"exts": [{"Unknown": {"id": 9}}]}}, {"Put": {}}),
        ({"Put": {"encoding": {"id": 0, "schema": ""}}}, {"Put": {}}),
        ({"Init": {"zid": "0b00"}}, {"Init": {"zid": "0b"}}),
        ({"Interest": {"options": 0x33}}, {"Interest": {"options": 0x13}}),
        ({"Push": {"key": {"scope": 1, "mapping": True}}}, {"Push": {"key": {"scope": 1, "mapping": False}}}),
    ],
)
def test_all_else_differs(one, other):
    assert comparable(one) != comparable(other)


# --- statements ----------------------------------------------------------------------------------------------------

CLOSE = Piece("transport", b"\x03\x00", ({"Close": {"session": False, "reason": 0}},))
REFUSED = Piece("transport", b"\x03", ())


def decoded(means, size: int) -> Answer:
    return Answer(kind=AnswerKind.DECODED, means=means, size=size)


@pytest.mark.parametrize(
    ("piece", "answer", "why"),
    [
        (CLOSE, decoded(CLOSE.meanings[0], 2), ""),
        (CLOSE, decoded({"Close": {"session": True, "reason": 0}}, 2), "Close.session: True"),
        (CLOSE, decoded({"KeepAlive": {}}, 2), "Close: '(absent)'"),
        (CLOSE, decoded(CLOSE.meanings[0], 1), "refuses it at byte 1"),
        (CLOSE, Answer(kind=AnswerKind.REFUSED, at=1), "refuses it at byte 1"),
        (CLOSE, Answer(kind=AnswerKind.HANG, why="no answer"), "hang: no answer"),
        (CLOSE, Answer(kind=AnswerKind.CRASH, why="panicked at /x/zenoh-1/a.rs:1"), "crash: panicked at zenoh-1/a"),
        (REFUSED, Answer(kind=AnswerKind.REFUSED, at=1), ""),
        (REFUSED, decoded({"Close": {}}, 1), "accepts it: {'Close': {}}"),
        (REFUSED, decoded({"Close": {}}, 0), ""),
        (REFUSED, Answer(kind=AnswerKind.UNIMPLEMENTED, why="later"), "unimplemented: later"),
    ],
)
def test_how_an_answer_deviates(piece, answer, why):
    assert difference(piece, answer).startswith(why) if why else difference(piece, answer) == ""


def test_a_conversation_is_asked_step_by_step():
    ident = next(v.id for v in VECTORS.values() if v.steps)
    assert statement(ident) == AGREES
    spoiled = statement(ident, lambda answer: Answer(kind=AnswerKind.REFUSED, at=0))
    assert spoiled == Statement(Word.DIFFERS, "refuses it at byte 0")


def test_shared_memory_cannot_be_asked():
    assert statement("put/shm-no-slice").word is Word.CANNOT
    assert statement(refusing("transport")) == AGREES


def test_a_length_before_a_batch_cannot_be_asked():
    with pytest.raises(Unaskable):
        pieces(VECTORS["stream/cut-in-batch"])


# --- the log of a live node ----------------------------------------------------------------------------------------

ACCEPT = "T acc-0 zenoh_transport::unicast::establishment::accept: "
SCOUT = "T net-0 zenoh::net::runtime::orchestrator: "
LOG = f"""\
{ACCEPT}Establishment Accept InitSyn: tcp/127.0.0.1:7 => tcp/127.1.0.1:50. Received: TransportMessage {{ body: A }}
{ACCEPT}Establishment Accept InitAck: tcp/127.0.0.1:7 => tcp/127.1.0.1:50. Sent: TransportMessage {{ body: B }}
{ACCEPT}Received invalid message instead of an InitSyn on tcp/127.0.0.1:7 => tcp/127.1.0.2:50: C
{SCOUT}Received Scout(Scout {{ version: 9 }}) from 127.1.3.250:50
{SCOUT}Received unexpected UDP datagram from 127.1.0.9:50: [34, 9, 0]
"""


def test_the_log_is_read_by_the_address_of_each_probe():
    sources = ["127.1.0.1", "127.1.0.250", "127.1.1.1", "127.1.3.250"]
    assert live._read(LOG) == {sources[0]: "TransportMessage { body: A }", sources[3]: "Scout(Scout { version: 9 })"}
    assert [live._source(number) for number in (0, 249, 250, 999)] == sources


@pytest.mark.parametrize(
    ("expected", "log", "word"),
    [
        ("A { b: 1 }", "A { ext_shm: None, b: 1 }", Word.AGREES),
        ("A { b: 1, ext_shm: None }", "A { b: 1 }", Word.AGREES),
        ("QoS { congestion: Drop }", "QoS { congestion: BlockFirst }", Word.AGREES),
        ("A { b: 1 }", "A { b: 2 }", Word.DIFFERS),
        ("", "A { b: 2 }", Word.DIFFERS),
        ("A { b: 1 }", "", Word.DIFFERS),
    ],
)
def test_the_log_says_what_the_codec_reads(expected, log, word):
    assert wheel._compare_readings(AGREES, [(expected, log)]).word is word


@pytest.mark.parametrize(
    ("ident", "shm", "rest", "word"),
    [
        ("open/syn-shm-1", 'Some(ZExtZ64 { Id: 2, Encoding: "Z64", Value: 1 })', "b: 1", Word.AGREES),
        ("open/syn-shm-1", 'Some(ZExtZ64 { Id: 2, Encoding: "Z64", Value: 2 })', "b: 1", Word.DIFFERS),
        ("open/syn-shm-1", "None", "b: 1", Word.DIFFERS),
        ("init/syn-ext-shm-alone", "Some(ZExtZBuf { Value: ZBuf { slices: [[51, 52]] } })", "b: 1", Word.AGREES),
        ("init/syn-ext-shm-alone", "Some(ZExtZBuf { Value: ZBuf { slices: [[51, 52]] } })", "b: 2", Word.DIFFERS),
    ],
)
def test_shared_memory_of_a_handshake_is_read_from_the_log(ident, shm, rest, word):
    assert wheel._of_shm(VECTORS[ident], "A { b: 1 }", f"A {{ ext_shm: {shm}, {rest} }}").word is word


# --- the files -----------------------------------------------------------------------------------------------------


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setattr(confirmed, "file", lambda: tmp_path / "confirmed.json")
    asked = [VECTORS["close/session-reason-0"] if "close/session-reason-0" in VECTORS else VECTORS["init/zid-16-bytes"]]
    asked += [VECTORS["put/shm-no-slice"], VECTORS["vle/value-16385"]]
    said = {
        "one": [AGREES, Statement(Word.CANNOT, "why not"), AGREES],
        "two": [AGREES, AGREES, Statement(Word.DIFFERS, "3 instead of 4")],
    }
    record.keep(asked, said)
    return asked, said, tmp_path


def test_every_statement_is_in_one_of_the_files(kept):
    asked, _, folder = kept
    yes = confirmed.read()
    rest = json.loads((folder / "unconfirmed.json").read_text())
    marks = [confirmed.digest(vector) for vector in asked]
    assert [yes[v.id][mark] for v, mark in zip(asked, marks, strict=True)] == [["one", "two"], ["two"], ["one"]]
    assert rest == {
        asked[1].id: {marks[1]: {"one": ["cannot", "why not"]}},
        asked[2].id: {marks[2]: {"two": ["differs", "3 instead of 4"]}},
    }


def test_the_same_statements_make_the_same_files(kept):
    asked, said, folder = kept
    before = [(folder / name).read_bytes() for name in ("confirmed.json", "unconfirmed.json")]
    record.keep(asked, said)
    assert before == [(folder / name).read_bytes() for name in ("confirmed.json", "unconfirmed.json")]


def test_what_others_said_stays_when_one_is_asked_again(kept):
    """Live nodes are not asked each time; what they said is lost only when the bytes are others."""
    asked, said, folder = kept
    before = json.loads((folder / "unconfirmed.json").read_text())
    record.keep(asked, {"one": said["one"]}, whole=True)
    assert json.loads((folder / "unconfirmed.json").read_text()) == before
    assert confirmed.read()[asked[1].id][confirmed.digest(asked[1])] == ["two"]
    record.keep(asked[:1], {"one": said["one"][:1]})
    assert json.loads((folder / "unconfirmed.json").read_text()) == before
    record.keep(asked[:2], {"one": said["one"][:2]}, whole=True)
    assert set(json.loads((folder / "unconfirmed.json").read_text())) == {asked[1].id}


def test_a_disagreement_is_explained_or_told(kept, tmp_path, monkeypatch):
    asked, said, _ = kept
    [found] = record.disagreements(asked, said)
    assert (found.witness, found.vector, found.why) == ("two", "vle/value-16385", "3 instead of 4")
    assert found.explained == ""
    table = tmp_path / "explained.toml"
    rows = [("two", "vle/*", "known"), ("o*", "*", "")]
    table.write_text("".join(f'[[explained]]\nwitness = "{w}"\nvector = "{v}"\nwhy = "{y}"\n' for w, v, y in rows))
    monkeypatch.setattr(record, "EXPLAINED", table)
    found = record.disagreements(asked, said)
    assert found[0].explained == "known"
    assert record.idle_rows(found, ["one", "two"]) == ["o* on *"]


def test_every_recorded_disagreement_is_explained():
    """What the committed files say; a vector that has changed since waits to be asked again."""
    rows = json.loads(record.unconfirmed_file().read_text())
    said = {}
    for ident, marks in rows.items():
        vector = VECTORS.get(ident)
        for witness, (word, why) in (marks.get(confirmed.digest(vector), {}) if vector else {}).items():
            said.setdefault(witness, []).append((vector, Statement(Word(word), why)))
    for witness, pairs in said.items():
        found = record.disagreements(
            [vector for vector, _ in pairs], {witness: [comparable for _, comparable in pairs]}
        )
        assert [one for one in found if not one.explained] == []


# --- the witnesses themselves --------------------------------------------------------------------------------------


@pytest.mark.needs("cargo")
def test_zenoh_codec_and_a_live_node_agree_with_samples_of_every_file():
    samples = {}
    for vector in VECTORS.values():
        samples.setdefault((vector.file, vector.refuses is None), vector)
    asked = list(samples.values())
    made = codec_build.make("1.10.2", "release", lambda line: None)
    with StdioCodec([made.what]) as codec:
        witness = CodecWitness(codec)
        said = {witness.name: list(witness.statements(asked))}
        said["wheel"] = list(wheel.WheelWitness(witness).statements(asked))
        assert next(codec.ask([Request.decode("vle", b"\x01")])).size == 1
    for statements in said.values():
        assert sum(one == AGREES for one in statements) > 0.9 * len(asked) - 8
    assert [one for one in record.disagreements(asked, said) if not one.explained] == []
