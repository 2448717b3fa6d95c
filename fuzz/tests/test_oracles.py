"""Each oracle is silent on what is right, and finds what is planted; every tolerated difference is needed."""

from __future__ import annotations

import itertools
import sys
from types import SimpleNamespace

import pytest
from mutation import by_hand
from mutation.engine import planted

from zenoh_conformance.messages import Close, sane
from zenoh_conformance.messages.init import Patch, RegionName
from zenoh_conformance.primitives import keyexpr
from zenoh_conformance.reading import codec, connection
from zenoh_conformance.reading import explain as explaining
from zenoh_conformance.wire import registry
from zenoh_fuzz import inputs, oracle
from zenoh_fuzz.compare import tolerances
from zenoh_fuzz.compare.targets import LibraryTarget, open_codecs
from zenoh_fuzz.compare.tolerances import KEYS, REWRITES, VERDICTS
from zenoh_fuzz.inputs import seeds
from zenoh_fuzz.mutators import Mutator, systematic
from zenoh_harness.codecs.library import load

SHORT = 400
"""Mutated inputs for each oracle: a twin of the campaigns of `tox -e fuzz`."""


def found(name, data, targets=(), *, thorough=False):
    """Signatures of what an oracle finds."""
    made = oracle.make_oracle(name, targets)
    made.thorough = thorough
    return {each.signature for one in data for each in (*oracle.judge_input(made, one), *made.rest())}


def mutated(name):
    """Some seeds, and what the mutators make of them."""
    made = oracle.oracle_without_targets(name)
    corpus = list(itertools.islice(made.seeds(), 0, None, 40))
    change = Mutator()
    return corpus + [change(corpus[n % len(corpus)], made.largest, n) for n in range(SHORT)]


@pytest.mark.parametrize("name", ["decode", "roundtrip", "keyexpr", "explain", "files", "laws"])
def test_an_oracle_is_silent_on_what_is_right(name):
    data = mutated(name)
    if name == "laws":
        data = data[:60]
    assert found(name, data) == set()


def test_the_names_are_those_of_the_modules():
    assert oracle.names() == ["decode", "differential", "explain", "files", "keyexpr", "laws", "roundtrip"]


# --- each has been red ------------------------------------------------------------------------------------------------


@pytest.fixture
def reader_of_close():
    """Puts another reader in the place of CLOSE's."""
    table = registry.READERS[codec.Layer.TRANSPORT]
    right = table[3]

    def put(make):
        table[3] = make(right)

    yield put
    table[3] = right


def test_decode_finds_an_undocumented_exception(reader_of_close):
    reader_of_close(lambda right: lambda data, at, end, notes: [][at + 1])
    assert any("IndexError" in one for one in found("decode", [b"\0\x03\0"]))


def test_decode_finds_work_that_grows_too_fast(reader_of_close):
    def slow(right):
        def read(data, at, end, notes):
            for _ in range((end - at) ** 2):
                len(data)
            return right(data, at, end, notes)

        return read

    reader_of_close(slow)
    assert any("work-grows" in one for one in found("decode", [b"\0\x03" + bytes(900)], thorough=True))


def test_roundtrip_finds_a_lost_bit(monkeypatch):
    declared = registry.of(Close)
    right = declared.write
    monkeypatch.setattr(declared, "write", lambda value, out: right(Close(reason=value.reason & 0x7F), out))
    assert any("meaning-survives: close" in one for one in found("roundtrip", [b"\0\x03\xff"]))


def test_roundtrip_finds_another_reading_of_the_connection(monkeypatch):
    monkeypatch.setattr(connection, "unnest", lambda *_: iter(()))
    assert any("connection-is-decode" in one for one in found("roundtrip", [b"\3\x04"], thorough=True))


def test_an_open_that_would_be_a_hello_on_a_datagram_is_no_finding():
    """02 11 14 01 c3 is an OPEN on a stream, and on a datagram as well a HELLO."""
    assert found("roundtrip", [inputs.make_input("batch", bytes.fromhex("02111401c3"))], thorough=True) == set()


def test_explain_finds_a_lost_byte(monkeypatch):
    right = explaining.READINGS[codec.Layer.NETWORK]
    monkeypatch.setitem(explaining.READINGS, codec.Layer.NETWORK, lambda data: right(data[:-1]))
    assert any("no-byte-is-lost" in one for one in found("explain", [b"\1\x1a\x01\x02"]))


def test_files_finds_an_undocumented_exception(monkeypatch):
    from zenoh_fuzz.oracles import files

    monkeypatch.setitem(files.PARSERS, "target string", lambda data: data[99])
    data = bytes([files.NAMES.index("target string")]) + b"x"
    assert any("IndexError" in one for one in found("files", [data]))


def test_laws_finds_what_depends_on_the_cut(monkeypatch):
    from zenoh_fuzz.oracles import laws

    asked = itertools.count()
    monkeypatch.setattr(laws, "comparable", lambda judged: [("law", next(asked))])
    assert any("depend-on-cuts" in one for one in found("laws", [b"\0\0\2\x03\0"]))


def test_keyexpr_finds_a_relation_that_is_not_mutual(monkeypatch):
    monkeypatch.setattr(keyexpr, "intersects", lambda a, b: a < b or a == b)
    assert any("meeting-is-mutual" in one for one in found("keyexpr", [b"a\nb"]))


# --- the tiny codec ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "data", "rule"),
    [
        (0, b"\0\x03\0", "accept-alike"),
        (8, b"\0\x03\0", "survives-every-input"),
        (9, b"\0\x04\x04", "memory-follows-the-input"),
    ],
)
def test_differential_finds_what_a_library_does(tiny, fault, data, rule):
    target = LibraryTarget(load(tiny(fault)))
    assert any(f"/{rule}:" in one for one in found("differential", [data], (target,)))
    assert not found("differential", [b"\0\x04", b"\1\x04"], (target,))


def test_a_codec_in_another_process_is_asked_in_batches_and_agrees():
    [target] = open_codecs([f"stdio:{sys.executable} -m zenoh_harness.cli codec"])
    made = oracle.make_oracle("differential", (target,))
    data = [one for one in mutated("differential") if one[:1] != b"\5"]
    told = [each.signature for one in data for each in oracle.judge_input(made, one)]
    told += [each.signature for each in made.rest()]
    target.close()
    assert set(told) == set()


# --- zenoh-codec ------------------------------------------------------------------------------------------------------

PUBLIC = {
    "memory-follows-the-input": {
        "the length of a text",
        "the length of bytes, read from a plain run of bytes",
        "the count of a list",
    },
    "survives-every-input": {"while writing", "while reading"},
    "mean-the-same": {"Hello.locators[]"},
    "write-what-was-read": {"does not write it again"},
}
"""What 1.9.0 does and the next release does not, by rule: 2601, 2594, 2606; 2605, 2595; 2607; and an empty slice is not written."""


@pytest.fixture(scope="module")
def current():
    return open_codecs(["lib:zenoh-codec@1.10.2"])


@pytest.mark.needs("cargo")
def test_the_public_faults_of_1_9_are_found_one_finding_each():
    signatures = found("differential", systematic.message_inputs(), open_codecs(["lib:zenoh-codec@1.9.0"]))
    told = {(rule, part) for rule, parts in PUBLIC.items() for part in parts}
    seen = {(rule, part) for rule, part in told if any(f"/{rule}:" in one and part in one for one in signatures)}
    assert seen == told
    assert len(signatures) == len(told), signatures


@pytest.mark.needs("cargo")
def test_the_current_release_reads_as_we_do(current):
    made = oracle.make_oracle("differential", current)
    data = [*systematic.message_inputs(), *seeds.message_seeds(), *mutated("differential")]
    assert {each.signature for one in data for each in oracle.judge_input(made, one)} == set()


@pytest.mark.needs("cargo")
def test_a_list_of_what_was_read_may_double_as_it_grows(current):
    """2,049 messages of two bytes in one FRAME: zenoh-codec asks for 4,096 places of 184 bytes."""
    data = inputs.make_input("batch", b"\x25\x07" + b"\x1a\x05" * 2049)
    assert list(oracle.judge_input(oracle.make_oracle("differential", current), data)) == []


@pytest.mark.needs("cargo")
def test_what_it_writes_of_ours_it_may_read_with_the_bits_that_it_drops(current):
    """Its encoder writes all bits of a resolution, in its own order of extensions, and its decoder drops two of them."""
    made = oracle.make_oracle("differential", current)
    made.thorough = True
    init = bytes.fromhex("e1fdd03155c25ca67d4256835855c25ca67d424e057b12bc80d8c40bf4646bc0a753dd8cb2c001854300")
    assert list(oracle.judge_input(made, inputs.make_input("transport", init))) == []


NEEDED = {
    "integers-cut-to-their-width": "01 1e 20 80 80 04 00 01 61",
    "encoding-cut-to-16-bits": "01 1d 00 41 80 80 10 00",
    "resolution-of-six-bits": "00 41 09 32 c4 c3 c2 c1 6a ff ff",
    "unknown-consolidation-is-auto": "01 3c 09 00 01 61 23 7f",
    "queryable-info-has-two-fields": "01 1e a4 04 00 01 61 21 7f",
    "wire-expr-flags-of-two-bits": "01 1e 87 04 5f 05 89 00 61 2f 62",
    "extension-read-straight-on": "01 bb 09 00 01 61 43 7f 10 0b 0a 03 04 01 01 76",
    "frame-ends-where-a-message-breaks": "00 25 07 3d 00 01 61 01 01 00 3d 00 01 61 00",
    "frame-ends-before-a-marked-message": "00 25 07 1a 05 3d 00 01 61 81 12 00",
    "region-name-unchecked": "00 81 09 32 c4 c3 c2 c1 48 01 c3",
    "shm-marker-refused": "01 3d 00 01 61 81 12 00",
    "locator-has-a-form": "02 22 09 30 c4 c3 c2 c1 01 03 61 62 63",
    "key-of-an-undeclaration-not-empty": "01 1e 85 04 5f 02 03 00",
}
"""For each rule an input that is a finding without it."""


@pytest.mark.needs("cargo")
@pytest.mark.parametrize("rule", NEEDED)
def test_a_tolerated_difference_is_there_and_is_needed(rule, current, monkeypatch):
    data = bytes.fromhex(NEEDED[rule])
    made = oracle.make_oracle("differential", current)
    made.thorough = True
    assert list(oracle.judge_input(made, data)) == []
    assert made.tolerated[rule], made.tolerated
    monkeypatch.delitem(REWRITES if rule in REWRITES else VERDICTS, rule)
    assert found("differential", [data], current, thorough=True)


@pytest.mark.needs("cargo")
def test_one_extension_is_kept_whole_by_the_codec(current):
    """RemoteBound beyond eight bits, beside shared memory, which the codec passes over."""
    data = bytes.fromhex("00c20a0703a1a2a381a24dc303616263c402717227862701")
    assert {each.signature for each in oracle.judge_input(oracle.make_oracle("differential", current), data)} == set()


@pytest.mark.needs("cargo")
def test_an_older_release_skips_what_is_newer():
    made = oracle.make_oracle("differential", open_codecs(["lib:zenoh-codec@1.9.0"]))
    made.thorough = True
    assert list(oracle.judge_input(made, bytes.fromhex("01 bd 00 01 61 47 02 01 00 01 01 76"))) == []


PATCH, NAME = Patch(value=1), RegionName(name="r")


@pytest.mark.parametrize(
    ("release", "kept"),
    [
        ((1, 0, 3), ()), ((1, 0, 4), (PATCH,)), ((1, 8, 9), (PATCH,)), ((1, 9), (PATCH, NAME)), ((1, 9, 0), (PATCH, NAME)),
        ((), (PATCH, NAME)),
    ],
)  # fmt: skip
def test_a_release_skips_what_came_after_it_alone(release, kept):
    """A codec without a release is held to everything."""
    made = sane.init_syn(b"\x01", exts=(PATCH, NAME))
    skipped = REWRITES["newer-extension-skipped"].rewrite(made, SimpleNamespace(release=release))
    assert tuple(skipped.exts) == kept


@pytest.mark.parametrize(
    ("path", "size", "number", "explained"),
    [
        ("frame.messages[1].push", 1, 0, True), ("frame.messages[1].push", 5, 0, True), ("frame.messages[1].push", 6, 0, False),
        ("frame.messages[1].push", 0, 0, False), ("frame.messages[1].push", 5, 1, False), ("frame.sn", 5, 0, False),
    ],
)  # fmt: skip
def test_a_frame_may_end_where_a_message_breaks_and_nowhere_else(path, size, number, explained):
    """We refuse at byte 5; the other codec must have read something, and nothing behind that byte."""
    asked = SimpleNamespace(number=number, refusal=SimpleNamespace(path=path, at=5), theirs=SimpleNamespace(size=size))
    assert VERDICTS["frame-ends-where-a-message-breaks"].explains(asked) is explained


def test_every_rule_has_its_input():
    assert {*REWRITES, *VERDICTS} == {*NEEDED, "newer-extension-skipped"}
    assert {one.id for one in KEYS} == {*NEEDED_KEYS}


NEEDED_KEYS = {"part-wildcards-left-in-a-row": (b"a$*$*$*:b", b"c/a$*$*$*$*b", b"a$*$*bc$*d", b"a$*$*/b$*")}
"""For each rule on keys some that are findings without it."""


@pytest.mark.needs("cargo")
@pytest.mark.parametrize(("rule", "key"), [(rule, key) for rule, keys in NEEDED_KEYS.items() for key in keys])
def test_a_tolerated_key_is_there_and_is_needed(rule, key, current, monkeypatch):
    made = oracle.make_oracle("keyexpr", current)
    assert list(oracle.judge_input(made, key + b"\na")) == []
    assert made.tolerated[rule] == 1
    monkeypatch.setattr(tolerances, "KEYS", ())
    assert [each.rule for each in oracle.judge_input(made, key + b"\na")] == ["canonical-alike"]


@pytest.mark.needs("cargo")
@pytest.mark.parametrize("key", [b"$*$*$*:b", b"$*$*$*", b"a$*$*bcd", b"a/$*$*b/c"])
def test_the_rule_on_keys_touches_nothing_else(key, current):
    made = oracle.make_oracle("keyexpr", current)
    assert list(oracle.judge_input(made, key + b"\na")) == []
    assert made.tolerated == {}


# --- planted faults ---------------------------------------------------------------------------------------------------

FAULTS = 20
"""So many of the faults that people make, spread over all kinds."""


@pytest.mark.needs("cargo")
def test_planted_faults_are_found(current):
    data = [*seeds.message_seeds(), *systematic.message_inputs()]
    mutants = [one for one in by_hand.mutants() if not one.name.startswith("keys")]
    chosen = mutants[:: max(1, len(mutants) // FAULTS)][:FAULTS]
    lost = []
    for mutant in chosen:
        with planted(mutant):
            made = [oracle.make_oracle("differential", current), oracle.make_oracle("roundtrip")]
            if not any(oracle.judge_input(each, one) for one in data for each in made):
                lost.append(mutant.name)
    assert lost == []


@pytest.mark.parametrize(
    "mutant",
    [one for one in by_hand.mutants() if "length-prefix" in one.name or one.name.startswith("strings: slices")],
    ids=lambda one: one.name,
)
def test_faults_that_only_lengths_around_messages_show_are_found(mutant):
    with planted(mutant):
        made = oracle.make_oracle("roundtrip")
        assert any(oracle.judge_input(made, one) for one in made.seeds())


def test_inputs_are_what_their_first_byte_says():
    assert inputs.split_input(b"") == (0, b"")
    assert inputs.split_input(inputs.make_input("scouting", b"x")) == (2, b"x")
    assert inputs.make_input("vle", b"") == b"\5"
