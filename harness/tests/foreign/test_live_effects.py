"""The table of what a live node makes of what we send has a row for all that is declared, and is what a node says."""

from pathlib import Path

import pytest

from zenoh_conformance.reading import codec
from zenoh_harness.foreign.live import effects
from zenoh_harness.foreign.live.effects import effects_table, read
from zenoh_harness.foreign.live.variants import message, variants
from zenoh_harness.foreign.live.witness import LiveWitness
from zenoh_vectors.judge import parts

ROWS = {each.row: each for each in variants()}

NOTICED = {
    "put.encoding", "put.timestamp", "put.payload", "put.exts.attachment", "put.exts.source_info", "push.exts.qos",
    "push.exts.ts_stack", "query.parameters", "query.exts.query_body", "query.exts.attachment", "request.exts.query_target",
    "request.exts.budget", "request.exts.timeout", "reply.body", "err.payload", "response.id", "d_subscriber.key",
    "u_subscriber.id", "d_queryable.key", "d_token.key", "u_token.id", "d_key_expr.expr_id", "interest.mode",
    "init.batch_size", "init.resolution", "init.exts.qos", "init.exts.patch", "open.cookie",
}  # fmt: skip
"""Rows of which somebody beside the log must notice something."""


def told():
    return {row["row"]: row for row in effects_table()["rows"]}


def test_each_field_and_each_extension_has_a_row_in_the_order_of_the_declarations():
    assert list(told()) == list(ROWS)


def test_each_row_has_an_effect_or_a_reason():
    assert [name for name, row in told().items() if not {"log", "seen", "why"} & set(row)] == []
    assert {name for name, row in told().items() if "seen" in row} >= NOTICED
    assert {name for name, row in told().items() if "why" in row} == set(effects.WHY_NOT)


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_the_two_messages_of_a_row_are_sane_and_differ_there(row):
    sent = [codec.encode(message(row.layer, means)) for means in (row.one, row.other)]
    assert sent[0] != sent[1]
    for data in sent:
        assert codec.decode_whole(data, row.layer).diagnostics == ()
    last = row.row.rpartition(".")[2]
    changed = {path for path, _, _ in parts(row.one, row.other, "")}
    assert any(last in path or "exts" in path or "body" in path or ".enc" in path for path in changed) or "ack" in last


def test_the_first_difference_of_two_logs_is_told():
    assert read("A { b: 1, c: Some(2) }", "A { b: 1, c: None }") == "c: Some(2) -> None"
    assert read("A { b: [B { c: 1 }] }", "A { b: [B { c: 2 }] }") == "c: 1 -> 2"
    assert read("A { b: 1 }", "A { b: 1 }") == ""


class Deaf(LiveWitness):
    """Sees the same whatever is sent, but for who is told."""

    def __init__(self, one, other):
        self.answers = [one, other]

    def _effects_of(self, watch, means):
        return self.answers.pop(0)


@pytest.mark.parametrize(
    ("one", "other", "seen"),
    [
        ({"we": {"a": 1}}, {"we": {"a": 1}}, ""),
        ({"we": {"a": 1}}, {"we": {"a": 2}}, "we: a 1 -> 2"),
        ({"we": {"timestamp": "77/a1"}}, {"we": {"timestamp": "78/a1"}}, ""),
        (
            {"we": {"timestamp": "77/a1"}},
            {"we": {"timestamp": "7000000000000000001/5eed"}},
            "we: timestamp 77/a1 -> 7000",
        ),
        ({"app": {}}, {"we": "link shut"}, "we: the session goes on -> link shut"),
    ],
)
def test_what_a_node_makes_anew_is_no_effect(one, other, seen):
    found = Deaf(one, other).difference(ROWS["put.timestamp"])
    assert found.startswith(seen) and bool(found) == bool(seen)


@pytest.mark.soak
def test_a_live_node_says_the_same_again(tmp_path):
    release = effects_table()["witness"].rpartition(" ")[2]
    effects.write(tmp_path / effects.TABLE, release)
    kept = Path(effects.__file__).with_name(effects.TABLE)
    assert (tmp_path / effects.TABLE).read_text() == kept.read_text()
