"""Golden vectors played to nodes that connect: what their handshakes say of an InitAck and an OpenAck, and what sessions survive."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import ClassVar

import pytest

from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.messages import CloseReason, Del, sane
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.reference import Reference
from zenoh_harness.reference.config import Refused
from zenoh_harness.reference.memory import MemoryScene, over_datagrams
from zenoh_harness.run.attempt.options import Options
from zenoh_harness.run.plan.plan import Selection
from zenoh_harness.run.runner import parts_of, run_target
from zenoh_harness.run.vectors import rows
from zenoh_harness.run.vectors.codec_run import golden
from zenoh_harness.run.vectors.play import Player
from zenoh_harness.targets.reach import parse

ROW = "session-establishment/init-cookie"
SYN = next(vector.id for vector in golden() if vector.id.startswith("init/syn"))


class _Client(Reference):
    settings: ClassVar = {"whatami": sane.CLIENT}


class _EndsAtDel(_Client):
    def on_push(self, link, push, **options):
        if isinstance(push.body, Del):
            raise Refused(CloseReason.INVALID, "what is a DEL?")
        super().on_push(link, push, **options)


class _CutsCookies(_Client):
    def confirm(self, link, ack):
        return super().confirm(link, replace(ack, cookie=ack.cookie[:-1]))


def played(node, vectors):
    """The answers by the ids of the vectors."""
    player = Player(
        lambda number: nullcontext(MemoryScene("", node, role=Side.INITIATOR, seed=number)),
        routes=False,
        side=Side.INITIATOR,
    )
    return {vector.id: answer for vector, answer in player.play(vectors, golden())}


def red(answers):
    """The ids of what is red."""
    return {ident for ident, answer in answers.items() if answer.verdict.is_wrong}


def about(*heads):
    """The basic vectors whose ids begin so."""
    return [vector for vector in golden() if vector.core and vector.id.startswith(heads)]


def test_no_basic_vector_is_red_on_a_client():
    answers = played(_Client, about("init/", "open/", "del/", "put/", "close/", "frame/", "d-"))
    assert red(answers) == set()
    assert sum(one.verdict is Verdict.PASS for one in answers.values()) > 20


def test_steps_of_the_other_side_are_not_played():
    [answer] = played(_Client, [vector for vector in golden() if vector.id == SYN]).values()
    assert "to a node that connects" in answer.cause


def test_a_client_over_datagrams_owes_no_answer_to_a_close():
    """wheel:1.0.0 was red for `the link stays open`, and 1.10.2 flaky in a fence that followed our CLOSE."""
    some = [vector for vector in golden() if vector.id.startswith("close/ext-unknown")]
    answers = played(over_datagrams(_Client), some)
    assert {answer.verdict for answer in answers.values()} == {Verdict.NOT_OBSERVED}


@pytest.mark.parametrize(("node", "heads"), [(_EndsAtDel, ("del/",)), (_CutsCookies, ("init/ack",))])
def test_what_a_client_misreads_is_found(node, heads):
    assert red(played(node, about(*heads, "put/")))


def test_a_run_judges_rows_of_an_initiator(tmp_path):
    options = Options(out=tmp_path, depth="quick", selection=Selection((f"vectors/{ROW}",)))
    reach = parse("reference?role=client")
    ran = run_target(reach, options, parts_of(reach, options))
    [mine] = [one for one in ran.judgements if one.key.check == f"vectors/{ROW}"]
    assert (mine.verdict, mine.key.role, mine.details["by"]) == (Verdict.PASS, "initiator", "node")
    assert ROW in rows.judged_on()[rows.INITIATOR]
