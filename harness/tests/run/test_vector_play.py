"""Golden vectors played to nodes in memory: the reference, faulty ones, and receivers that show nothing of what they read."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace

import pytest
from click.testing import CliRunner
from vectors_of_a_user import REFUSED, write_vectors

from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.messages import CloseReason, Del, Oam, Put
from zenoh_harness.commands._played import totals
from zenoh_harness.commands.vectors import command
from zenoh_harness.errors import CannotConnect
from zenoh_harness.faulty import all_faulty_nodes
from zenoh_harness.probing.habits import study
from zenoh_harness.reference import Reference
from zenoh_harness.reference.config import Refused
from zenoh_harness.reference.memory import MemoryScene
from zenoh_harness.run.store import embargo
from zenoh_harness.run.vectors.answers import VectorAnswer
from zenoh_harness.run.vectors.codec_run import golden
from zenoh_harness.run.vectors.play import Player
from zenoh_harness.run.vectors.rows import judge_fences
from zenoh_harness.run.vectors.started import PlayedTo
from zenoh_harness.variants import all_variants

CORE = [vector for vector in golden() if vector.core]


def played(node=Reference, vectors=CORE, *, routes=True):
    """The answers by the ids of the vectors."""
    player = Player(lambda number: nullcontext(MemoryScene("", node, seed=number)), routes=routes)
    return {vector.id: answer for vector, answer in player.play(vectors, golden())}


def reds(answers):
    """The ids and causes of what is red."""
    return {ident: answer.cause for ident, answer in answers.items() if answer.verdict.is_red()}


def test_no_basic_vector_is_red_on_the_reference():
    assert reds(played()) == {}


class _EndsAtDel(Reference):
    def on_push(self, link, push, **options):
        if isinstance(push.body, Del):
            raise Refused(CloseReason.INVALID, "what is a DEL?")
        super().on_push(link, push, **options)


class _ReadsPayloadsShort(Reference):
    def on_push(self, link, push, **options):
        if isinstance(push.body, Put):
            push = replace(push, body=replace(push.body, payload=push.body.payload[:1]))
        super().on_push(link, push, **options)


class _Receiver(Reference):
    """Routes nothing."""

    def receivers(self, link, key):
        return []


class _ReceiverEndsAtDel(_EndsAtDel, _Receiver):
    pass


def test_a_session_that_ends_at_del_is_found_with_routing_and_without():
    some = [vector for vector in CORE if vector.id.startswith(("del/", "put/"))]
    for node, routes in ((_EndsAtDel, True), (_ReceiverEndsAtDel, False)):
        found = reds(played(node, some, routes=routes))
        assert set(found) == {vector.id for vector in some if vector.id.startswith("del/") and vector.means}
        assert set(found.values()) == {"refused: Close(INVALID)"}


def test_no_vector_is_taken_for_the_node_of_another():
    """Vectors hold the same few ZenohIDs, and no page says how soon a node may come back."""
    known = set()

    class HoldsOnToNodes(Reference):
        def answer_init(self, link, syn):
            if str(syn.zid) in known:
                raise Refused(CloseReason.INVALID, "that node has a session")
            known.add(str(syn.zid))
            return super().answer_init(link, syn)

    some = [vector for vector in golden() if vector.id.startswith("init/packed-") and vector.means]
    assert len(some) > 2
    assert reds(played(HoldsOnToNodes, some)) == {}


def test_another_value_that_is_passed_on_is_found_by_its_field():
    found = reds(played(_ReadsPayloadsShort, [vector for vector in golden() if vector.id == "put/payload-127-bytes"]))
    assert [cause.split(":")[0] for cause in found.values()] == ["push.put.payload"]


def test_a_receiver_survives_and_is_not_judged_by_what_it_shows_nothing_of():
    understood = [vector for vector in CORE if vector.means and vector.layer == "network"]
    answers = played(_Receiver, understood, routes=False)
    counts = totals(answers.values())
    assert counts["judged"] == {} and sum(counts["survived"].values()) > 150
    assert {answer.verdict for answer in answers.values()} == {Verdict.NOT_OBSERVED}


def test_a_node_that_ends_the_session_at_everything_is_judged_by_no_refusal():
    class EndsAtOam(Reference):
        def on_session(self, link, message):
            if isinstance(message, Oam):
                raise Refused(CloseReason.INVALID, "no OAM")
            super().on_session(link, message)

    answers = played(EndsAtOam, [vector for vector in golden() if vector.id.startswith("oam/enc-")])
    assert {answer.cause[:10] for answer in answers.values()} == {"not played"}


def test_an_answer_that_cannot_be_decoded_says_nothing_of_what_it_answers():
    """Eleven rows of INIT were red on a node that sets flag Z of an InitAck without extensions: it had read each InitSyn."""
    node = all_faulty_nodes()["announces-extensions-that-it-has-not"].node
    some = [vector for vector in golden() if vector.id in ("init/syn-with-size", "init/resolution-fsn-0-rid-0")]
    answers = played(node, some)
    assert {answer.cause for answer in answers.values()} == {
        "not played: its answer is no message, which law/what-is-said-decodes judges"
    }


def test_what_is_no_message_of_a_session_is_not_played_and_says_why():
    vectors = [vector for vector in golden() if vector.id in ("init/syn-plain", "vle/one-byte-0", "scout/plain")]
    others = [vector for vector in golden() if vector.layer in ("vle", "scouting")][:2]
    assert all(answer.cause.startswith("not played: ") for answer in played(vectors=[*vectors, *others]).values())


def test_the_command_plays_to_a_node_and_says_what_was_judged():
    ended = CliRunner().invoke(
        command, ["play", "reference", "push/body-id-0*", "--format", "json"], standalone_mode=False
    )
    said = json.loads(ended.output)
    assert ended.return_value == 0 and said["routes"] and said["totals"]["judged"] == {"pass": len(said["vectors"])}
    assert {each["by"] for each in said["vectors"]} == {"node"}


@pytest.mark.soak
def test_no_vector_is_red_on_the_baseline():
    ended = CliRunner().invoke(command, ["play", "wheel:1.10.2", "--format", "json"], standalone_mode=False)
    said = json.loads(ended.output)
    assert set(said["totals"]["judged"]) == {"pass"} and said["totals"]["judged"]["pass"] > 2000


def test_what_is_grave_on_an_implementation_of_others_is_kept_back_and_only_counted(monkeypatch, tmp_path):
    def grave(target, vectors, controls, **options):
        return PlayedTo(
            [(vector, VectorAnswer(Verdict.ZOMBIE, "answers nothing after it")) for vector in vectors], True
        )

    monkeypatch.setattr("zenoh_harness.commands.vectors.play", grave)
    monkeypatch.setattr(embargo, "user_data_path", lambda *names, **options: tmp_path)
    monkeypatch.setattr(embargo, "guarded", lambda target: True)
    ended = CliRunner().invoke(command, ["play", "reference", "push/body-id-0*"], standalone_mode=False)
    assert ended.return_value == 1 and "embargoed: kept in your data folder" in ended.output
    assert "body-id" not in ended.output and "answers nothing" not in ended.output
    assert "answers nothing after it" in "".join(path.read_text() for path in tmp_path.rglob(embargo.KEPT))


def test_a_second_session_is_looked_for_once(monkeypatch):
    """`vectors play` of a node that serves one link at a time waited four times for a session that never opens."""
    asked = []
    monkeypatch.setattr(study, "_forwards_once", lambda *given: asked.append(given) or True)
    CliRunner().invoke(command, ["play", "reference?role=router", "put/attachment-0*"], standalone_mode=False)
    assert len(asked) == 1


def test_a_node_that_serves_one_link_at_a_time_is_judged_as_a_receiver():
    answers = played(
        all_variants()["takes-one-link-at-a-time"].node, [vector for vector in CORE if vector.id.startswith("put/")]
    )
    assert reds(answers) == {} and {answer.verdict for answer in answers.values()} == {
        Verdict.PASS,
        Verdict.NOT_OBSERVED,
    }


def test_a_users_vectors_are_played_but_for_those_that_cannot_be_used(tmp_path, monkeypatch):
    monkeypatch.setattr(embargo, "guarded", lambda _target: False)
    write_vectors(tmp_path, {}, {"bytes": "00"}, REFUSED, {"covers": ["push/no-such-row"]})
    arguments = ["play", "reference?role=router", "mine/*", "--vectors", str(tmp_path), "--format", "json"]
    result = CliRunner().invoke(command, arguments, standalone_mode=False)
    said = json.loads(result.stdout)
    assert result.return_value == 2
    assert [one["id"] for one in said["vectors"] if one["verdict"] == "pass"] == ["mine/number-0"]
    wrong = [line.split(": ")[:3] for line in said["broken"]]
    assert [(ident, field) for _, ident, field in wrong] == [
        ("mine/number-1", "bytes"), ("mine/number-2", "refuses"), ("mine/number-3", "covers"),
    ]  # fmt: skip
    assert all(int(where.removeprefix("mine.json:")) > 1 for where, _, _ in wrong)
    assert {one["check"] for one in said["judgements"]} == {
        f"vectors/{row}" for one in said["vectors"] for row in one["covers"]
    }
    assert {one["details"]["by"] for one in said["judgements"]} == {"node"}


@pytest.mark.parametrize("connects", [True, False])
def test_a_node_that_dies_after_the_last_fence_of_a_group_is_revived_and_the_rest_is_played(connects):
    """wheel:1.5.1 forwarded nothing any more after some declarations, and `vectors play` ended with exit code 3.

    As a client it connected no more, and all that it had been played before was lost.
    """

    class Dead(Reference):
        def on_request(self, link, request):
            pass

    alive, revived = [True], []

    def revive(silent):
        if not silent:
            return None
        revived.append(silent)
        alive[0] = True
        return Verdict.ZOMBIE

    def advance(vector):
        alive[0] = bool(revived) or (alive[0] and not vector.id.startswith("del/"))

    some = [vector for vector in CORE if vector.id.startswith(("del/", "query/", "put/"))]

    class Scene(MemoryScene):
        def wire(self, *args, **options):
            if not (alive[0] or connects):
                raise CannotConnect("the target did not connect", step="accept")
            return super().wire(*args, **options)

    scene = lambda number: nullcontext(Scene("", Reference if alive[0] else Dead, seed=number))  # noqa: E731
    answers = Player(scene, routes=True, revive=revive, advance=advance).play(some, ())
    assert revived == [True]
    assert not any(answer.verdict.is_wrong or answer.cause.startswith("not played: the time") for _, answer in answers)


class _LosesFences(Reference):
    """Drops the first request in every fourth session, and goes on."""

    sessions = dropped = 0

    def on_live(self, link):
        super().on_live(link)
        _LosesFences.sessions += 1
        self.drops = _LosesFences.sessions % 4 == 0

    def on_request(self, link, request):
        drops, self.drops = self.drops, False
        _LosesFences.dropped += drops
        if not drops:
            super().on_request(link, request)


class _LosesTheFirst(Reference):
    """Loses what asks first in each session, as a client does that is not ready when it has read our OpenAck."""

    def on_live(self, link):
        super().on_live(link)
        self.fresh = {link.name}

    def on_request(self, link, request):
        if link.name in self.fresh:
            self.fresh = set()
        else:
            super().on_request(link, request)


class _NeverEnds(Reference):
    """Answers no query at all."""

    def on_request(self, link, request):
        pass


def lost_by(node, vectors):
    player = Player(lambda number: nullcontext(MemoryScene("", node, seed=number)), routes=False)
    answers = player.play(vectors, golden())
    return player, [one.id for one, answer in answers if answer.verdict.is_red()]


def test_a_fence_that_is_lost_among_vectors_is_told_as_lost():
    """It is no fault of a vector, and no other session shows it."""
    player, red = lost_by(_LosesFences, [one for one in CORE if one.refuses is None])
    assert red == []
    assert 1 < len(player.lost) <= _LosesFences.dropped  # some were no fences
    [(requirement, row)] = judge_fences(player.lost, player.fences)
    assert (requirement, row.verdict) == ("reply/final-always-comes", Verdict.FLAKY)
    assert row.details["lost"] == {"times": len(player.lost), "of": player.fences}


def test_a_fence_that_is_lost_each_time_right_behind_the_handshake_is_no_fault_of_a_vector():
    player, red = lost_by(_LosesTheFirst, [one for one in CORE if one.refuses is None])
    assert {name.partition("/")[2] for name in red} <= {"sn-0"}  # nothing can be asked before the first number
    assert player.lost


def test_a_node_that_loses_no_fence_or_each_is_not_told_to_lose_some():
    assert lost_by(Reference, CORE)[0].lost == lost_by(_NeverEnds, CORE[:20])[0].lost == []
