"""The conversation file: there and back, by its schema, and each refusal names its line."""

import json
from importlib.resources import files

import jsonschema
import pytest

from zenoh_conformance.reading.conversation import Connection, Conversation, Event, Framing, Happened, Side
from zenoh_harness.files import conversations
from zenoh_harness.files.faults import FileFault

HEAD = '{"conversation":1,"connections":{"a":{"link":"tcp"}}}\n'


def sample() -> Conversation:
    events = [
        Event(0.0, "a", Side.INITIATOR, Happened.OPEN),
        Event(0.25, "a", Side.INITIATOR, Happened.BYTES, b"\x0f\x00\xff"),
        Event(0.5, "b", Side.RESPONDER, Happened.BYTES, b""),
        Event(0.75, "a", Side.RESPONDER, Happened.RESET),
    ]
    named = {"a": Connection("a", initiator="harness"), "b": Connection("b", "udp", Framing.DATAGRAM)}
    return Conversation(named, events, {"case": "x/y"})


def test_what_is_written_is_read_again(tmp_path):
    conversations.write(sample(), tmp_path / "c.jsonl")
    assert conversations.read(tmp_path / "c.jsonl") == sample()


def test_the_writer_flushes_each_event(tmp_path):
    with conversations.ConversationWriter(tmp_path / "c.jsonl", Conversation({"a": Connection("a")})) as writer:
        writer.event(sample().events[1])
        assert conversations.read(tmp_path / "c.jsonl").events == [sample().events[1]]


def test_every_line_fits_the_schema_and_a_changed_one_does_not():
    schema = json.loads((files("zenoh_harness.files") / "schemas" / "conversation.schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    for line in conversations.lines(sample()):
        row = json.loads(line)
        validator.validate(row)
        assert not validator.is_valid(row | {"extra": 1})


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("", None, "empty"),
        ("hello\n", 1, "JSON"),
        ('{"conversation":2,"connections":{}}\n', 1, "format 1"),
        ('{"conversation":1,"connections":{"a":{"framing":"wide"}}}\n', 1, "framing"),
        (HEAD + "[]\n", 2, "object"),
        (HEAD + '{"t":0,"c":"a","from":"us","bytes":""}\n', 2, "initiator or responder"),
        (HEAD + '{"t":0,"c":"a","from":"initiator","bytes":"0"}\n', 2, "hexadecimal"),
        (HEAD + '{"t":0,"c":"a","from":"initiator"}\n', 2, "exactly one"),
        (HEAD + '{"t":0,"c":"a","from":"initiator","event":"nap"}\n', 2, "open, eof, reset"),
        (HEAD + '{"t":true,"c":"a","from":"initiator","event":"eof"}\n', 2, "'t'"),
        (HEAD + '{"c":"a","from":"initiator","event":"eof"}\n', 2, "missing"),
    ],
)
def test_a_file_that_is_none_is_refused_with_its_line(text, line, word):
    with pytest.raises(FileFault) as refused:
        conversations.parse(text.splitlines(keepends=True))
    assert refused.value.line == line
    assert word in refused.value.why


def test_a_cut_last_line_is_left_out():
    whole = list(conversations.lines(sample()))
    read = conversations.parse([*whole[:-1], whole[-1][:-5]])
    assert read.events == sample().events[:-1]
