"""Vectors as a part of a node's run: what a requirement is judged by, on nodes that route, that only read, and that read nothing."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.messages import CloseReason
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.files.results import read
from zenoh_harness.reference import Reference
from zenoh_harness.reference.memory import MemoryScene
from zenoh_harness.run.attempt.options import Options
from zenoh_harness.run.plan.plan import Selection
from zenoh_harness.run.runner import RESULTS, parts_of, run_target
from zenoh_harness.run.vectors import node_run, rows
from zenoh_harness.run.vectors.answers import VectorAnswer
from zenoh_harness.run.vectors.codec_run import golden
from zenoh_harness.run.vectors.effects import SURVIVOR, answer_for_end
from zenoh_harness.run.vectors.play import Player
from zenoh_harness.run.vectors.shared_causes import FORMS, IntegerForm, uses_of
from zenoh_harness.run.vectors.standing import standing
from zenoh_harness.targets.reach import parse

ROW = "push/put-payload"


class _Receiver(Reference):
    """Forwards nothing."""

    def receivers(self, link, key):
        return []


class _ReadsNothing(Reference):
    """Drops each message of a session but the queries of fences."""

    def on_undecodable(self, link, seen):
        if not link.live:
            super().on_undecodable(link, seen)

    def receivers(self, link, key):
        return []


class _DropsAll(_ReadsNothing):
    """Drops each message of a session, those of fences too, and keeps its lease."""

    lacks = frozenset({"finals"})

    def on_session(self, link, message):
        pass


def judged(node, *, routes, requirements=None):
    """The verdicts by requirement, of the vectors of a quick run."""
    wanted = requirements or rows.rows(Selection(), Side.RESPONDER)
    player = Player(lambda number: nullcontext(MemoryScene("", node, seed=number)), routes=routes)
    answers = player.play(rows.choose_vectors(golden(), wanted, "quick"), golden())
    played = rows.Played.of(answers, routes=routes)
    return {row: rows.judge_row(row, played).verdict for row in wanted}


@pytest.fixture(scope="module")
def on_router():
    return judged(Reference, routes=True)


def count(verdicts):
    return sum(verdict is Verdict.PASS for verdict in verdicts.values())


def test_a_router_is_judged_on_most_rows_and_red_on_none(on_router):
    assert {*on_router.values()} <= {Verdict.PASS, Verdict.NOT_OBSERVED}
    assert count(on_router) > 0.8 * len(rows.judged_on()["router"])


def test_what_ends_a_queryable_is_judged_on_a_router_as_on_a_receiver(on_router):
    """Nothing shows when a router takes a queryable back, and the table of routers has no vectors for these rows."""
    some = [row for row in rows.judged_on()["receiver"] if row.startswith("declarations/undeclare-queryable-")]
    assert some and {on_router[row] for row in some} == {Verdict.PASS}


def test_a_receiver_is_judged_on_fewer_and_one_that_reads_nothing_on_hardly_any(on_router):
    receiver, deaf = judged(_Receiver, routes=False), judged(_ReadsNothing, routes=False)
    assert {*receiver.values()} <= {Verdict.PASS, Verdict.NOT_OBSERVED}
    layouts = [row for row in deaf if not row.startswith("session-establishment/")]
    assert count(on_router) > count(receiver) > count(deaf)
    assert sum(deaf[row] is Verdict.PASS for row in layouts) < 0.2 * count(receiver)


def test_a_node_that_drops_all_is_red_on_none():
    """The time that passes in its fences is no answer to what stands behind a malformed message."""
    assert {*judged(_DropsAll, routes=False).values()} <= {Verdict.PASS, Verdict.NOT_OBSERVED}


def answers(verdict, cause=""):
    """The vectors that notice a misreading of the row, each answered so."""
    ids = rows.judged_on()["router"][ROW]
    return [(vector, VectorAnswer(verdict, cause)) for vector in golden() if vector.id in ids]


def test_a_row_is_judged_by_the_vectors_that_notice_its_misreading():
    assert rows.judge_row(ROW, rows.Played.of(answers(Verdict.PASS), routes=True)).verdict is Verdict.PASS
    others = [(one, VectorAnswer(Verdict.PASS)) for one in golden() if one.id == "init/syn-plain"]
    assert rows.judge_row(ROW, rows.Played.of(others, routes=True)).verdict is Verdict.NOT_OBSERVED


def test_a_row_that_only_survives_is_not_judged():
    some = [(vector, SURVIVOR) for vector, _ in answers(Verdict.PASS)]
    row = rows.judge_row(ROW, rows.Played.of(some, routes=True))
    assert row.verdict is Verdict.NOT_OBSERVED and row.cause.startswith("survived")
    assert row.details["survived"] == len(some)


def test_one_red_vector_is_the_verdict_and_is_named():
    mixed = [*answers(Verdict.PASS), *answers(Verdict.FAIL, "push.put.payload: expected 01, found 02")]
    covering = [(one, each) for one, each in mixed if ROW in one.covers]
    row = rows.judge_row(ROW, rows.Played.of(covering, routes=True))
    assert row.verdict is Verdict.FAIL and row.cause.startswith("push.put.payload")
    assert row.details["vectors"] and row.details["by"] == "node"


def test_a_run_records_one_judgement_for_a_requirement(tmp_path):
    options = Options(out=tmp_path, depth="quick", selection=Selection((f"vectors/{ROW}",)))
    reach = parse("reference?role=router&as=responder")
    ran = run_target(reach, options, parts_of(reach, options))
    mine = [one for one in ran.judgements if one.key.check == f"vectors/{ROW}"]
    assert [(one.verdict, one.key.requirement, one.details["by"]) for one in mine] == [(Verdict.PASS, ROW, "node")]
    assert read(tmp_path / RESULTS).footer.pending == ()


def test_a_run_that_is_resumed_plays_what_it_would_have_played(tmp_path, monkeypatch):
    """A row may rest on a vector that is played for another row, and that row may be judged already."""
    options = Options(out=tmp_path, depth="quick")
    part = parts_of(parse("reference?role=router&as=responder"), options)[0]
    chosen = []
    monkeypatch.setattr(node_run, "choose_vectors", lambda _vectors, wanted, *_how: chosen.append(set(wanted)) or ())
    with part.target.start() as node:
        lifecycle = SimpleNamespace(node=node)
        part.vectors["default"]._play(lifecycle, options, routes=True)
        part.vectors["default"].leave_out(lambda label: ROW not in label)
        part.vectors["default"]._play(lifecycle, options, routes=True)
    assert len(part.vectors["default"].rows) == 1
    assert chosen[0] == chosen[1]


def refused(*ids):
    """What a node is told to break that refuses these well-formed vectors and reads all others, by row."""
    covers = {row for one in golden() if one.id in ids for row in one.covers}
    wrong = VectorAnswer(Verdict.FAIL, "refused: link shut")
    said = [(one, wrong if one.id in ids else VectorAnswer(Verdict.PASS)) for one in golden() if {*one.covers} & covers]
    played = rows.Played.of(said, routes=True)
    return {row: judged.breaks for row in covers if (judged := rows.judge_row(row, played)).verdict is Verdict.FAIL}


NODE_ID = "message-reference/network-node-id-extension"
"""The row that no other vector covers than the one with NodeId alone."""


def test_an_extension_that_is_refused_alone_explains_all_that_contain_it():
    """It is no fault of the row about chains, or about the place of a body."""
    alone, *longer = "interest/ext-node-id-alone", "interest/ext-all", "push/ext-all", "request/ext-all"
    assert {*refused(alone, *longer).values()} == {NODE_ID}
    assert NODE_ID not in refused(*longer).values()
    assert refused(*longer)["message-reference/body-is-innermost"] == "message-reference/body-is-innermost"


@pytest.mark.parametrize("row", ["primitives/extension-encoding-3", "primitives/whatami-3"])
def test_who_reads_what_nobody_writes_breaks_the_row_that_asks_to_refuse_it(row):
    unused = f"{row}-not-used"
    taken = [(one, VectorAnswer(Verdict.FAIL, "taken")) for one in golden() if unused in one.covers]
    assert rows.judge_row(unused, rows.Played.of(taken, routes=True)).breaks == f"{row}-refused"
    refused_too = [(one, VectorAnswer(Verdict.PASS)) for one, _ in taken]
    assert rows.judge_row(unused, rows.Played.of(refused_too, routes=True)).verdict is Verdict.PASS


def well_formed(wanted):
    """The ids of the well-formed vectors that are wanted."""
    return [one.id for one in golden() if one.covers and one.refuses is None and wanted(one)]


@pytest.mark.parametrize("row", sorted({form.requirement for form in FORMS}))
def test_a_form_of_integers_that_is_misread_in_every_field_is_told_as_that(row):
    having = well_formed(
        lambda one: any(isinstance(what, IntegerForm) and what.requirement == row for what, _ in uses_of(one))
    )
    assert {*refused(*having).values()} == {row}


def test_the_widest_integers_may_show_in_one_vector_of_many():
    """Timestamps with smaller times are of nine bytes, too; all the others are read."""
    assert {*refused("timestamp/put-timestamp-time-2-to-63").values()} == {"primitives/vle-ninth-byte"}


@pytest.mark.parametrize("part", ["push.del", "interest", "response.err"])
def test_a_message_that_is_refused_whatever_is_in_it_is_one_finding(part):
    having = well_formed(lambda one: any(each.path == f"{part}.header" for each in one.segments))
    assert len({*refused(*having).values()}) == 1


def test_a_field_that_is_refused_with_every_value_is_no_matter_of_its_integer():
    having = well_formed(lambda one: any(".timestamp.time" in part.path for part in one.segments))
    assert not {form.requirement for form in FORMS}.intersection(refused(*having).values())


@pytest.mark.parametrize(
    ("reason", "vector", "breaks"),
    [
        (CloseReason.EXPIRED, "del/attachment-length-lies", "close/expired-lease-is-expired"),
        (CloseReason.GENERIC, "del/attachment-length-lies", "close/malformed-is-invalid"),
        (CloseReason.EXPIRED, "frame/ext-qos-as-enc-11", "close/expired-lease-is-expired"),
        (CloseReason.INVALID, "del/attachment-length-lies", ""),
    ],
)
def test_a_wrong_reason_breaks_what_is_said_of_reasons(reason, vector, breaks):
    """The node refuses what it must: how it reads the field is right."""
    [malformed] = [one for one in golden() if one.id == vector]
    answer = answer_for_end(standing(malformed, Side.RESPONDER), f"Close({reason.name})", reason)
    row = rows.judge_row(malformed.covers[0], rows.Played.of([(malformed, answer)], routes=True))
    assert (answer.breaks, answer.verdict is Verdict.FAIL) == (breaks, bool(breaks))
    assert row.breaks == breaks
