"""`zconform explain`: what it is given is what it says it was given."""

from __future__ import annotations

from pathlib import Path

import pytest

from zenoh_harness.cli import invoke
from zenoh_harness.files import capture_writer, conversations
from zenoh_harness.files.content_types import ContentType, content_type

RECORDINGS = sorted((Path(__file__).parents[3] / "conformance" / "tests" / "recordings").glob("*.jsonl"))


def explained(capsys, *arguments):
    code = invoke(["explain", *map(str, arguments)])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_recordings_of_all_modes_and_their_captures(path, capsys, tmp_path):
    capture_writer.write(conversations.read(path), tmp_path / "x.pcapng")

    code, text, _ = explained(capsys, path)
    again, same, _ = explained(capsys, tmp_path / "x.pcapng")

    assert (code, again) == (0, 0)
    assert "refused" not in text + same
    assert text.count("push.header") == same.count("push.header") > 3


def test_a_compressed_keep_alive_is_one(capsys):
    [recording] = [path for path in RECORDINGS if path.stem == "compression"]
    _, text, _ = explained(capsys, recording)

    assert "oam" not in text
    assert "compression" in text


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", ContentType.EMPTY),
        (b"0300\n", ContentType.HEX),
        (b"0x03, 0x00", ContentType.HEX),
        (b"03 0", ContentType.ODD),
        (b"\x03\x00", ContentType.BYTES),
        (b"\xd4\xc3\xb2\xa1\0\0", ContentType.CAPTURE),
        (b"\x0a\x0d\x0d\x0a\0\0", ContentType.CAPTURE),
        (b"\x1f\x8b\x08\0", ContentType.COMPRESSED),
        (b'{"conversation":1,"connections":{}}\n', ContentType.CONVERSATION),
        (b'{"conversation":1,"conn', ContentType.CONVERSATION),
        (b'{"type":"header","format":1}\n{"type":"plan"}\n', ContentType.RESULTS),
        (b'{"probe":1}', ContentType.PROBE),
        (b'{"a":\n1}', ContentType.JSON),
        (b"script 1\nabout x\n", ContentType.SCRIPT),
        (b'[[deviation]]\nrequirement = "x"\n', ContentType.KNOWN),
        ("# Eine Überschrift\n".encode(), ContentType.TEXT),
        (b"hello", ContentType.TEXT),
    ],
)
def test_the_kind_of_a_file_is_told(content, kind):
    assert content_type(content) is kind


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'{"type":"header","format":1}\n', "the results of a run"),
        (b"script 1\n", "a script"),
        (b"030\n", "an odd number"),
        (b"# Words\n", "text, and no hexadecimal"),
        (b"PK\x03\x04", "a compressed file"),
        (b"\xd4\xc3\xb2\xa1" + bytes(20), "a capture of 0 packets"),
    ],
)
def test_what_cannot_be_explained_is_named(content, says, capsys, tmp_path):
    path = tmp_path / "x"
    path.write_bytes(content)

    code, _, error = explained(capsys, path)

    assert code == 2
    assert says in error


def test_odd_digits_are_told(capsys):
    code, _, error = explained(capsys, "030")

    assert code == 2
    assert "odd number" in error


@pytest.mark.parametrize(
    ("digits", "layer"),
    [
        ("01 05 68 65 6c 6c 6f", "put"),
        ("3d00016101020000 3d00016101020000", "push"),
        ("010903", "scout"),
        ("0300", "close"),
    ],
)
def test_guesses(digits, layer, capsys):
    code, text, _ = explained(capsys, digits)

    assert code == 0
    assert f"{layer}.header" in text or layer in text.split()[2]
