"""What a node that forwards nothing shows of vectors: it answers queries itself, and goes on where what was begun is ended."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from zenoh_conformance.messages import CloseReason, Err, Response, ResponseFinal, UToken
from zenoh_conformance.reading.names import plain
from zenoh_harness.reference import Reference
from zenoh_harness.reference.config import Refused
from zenoh_harness.reference.memory import MemoryScene
from zenoh_harness.run.vectors.codec_run import golden
from zenoh_harness.run.vectors.play import Player

BAD_QUERY = "request/key-suffix-bad-utf8-beyond-unicode"
"""A query whose id is 9."""


class Receiver(Reference):
    """Forwards nothing."""

    def receivers(self, link, key):
        return []


class AnswersWhatIsNoMessage(Receiver):
    """Ends a query whose key is no UTF-8."""

    def on_undecodable(self, link, seen):
        for message in self.answers if link.live else ():
            self.say(link, message)

    answers = (ResponseFinal(id=9),)


class RefusesQuery(AnswersWhatIsNoMessage):
    """Answers it with an error before."""

    answers = (Response(id=9, key=plain("a"), body=Err(payload=b"what is that?")), ResponseFinal(id=9))


class LosesFragments(Receiver):
    def on_fragment(self, link, fragment):
        pass


class EndsAtUndeclared(Receiver):
    def on_declare(self, link, declare):
        if isinstance(declare.body, UToken):
            raise Refused(CloseReason.INVALID, "what is a U_TOKEN?")
        super().on_declare(link, declare)


class ReadsShortIds(Reference):
    """A router that ends the session at a query with an id of two bytes."""

    def on_request(self, link, request):
        if request.id > 127:
            raise Refused(CloseReason.INVALID, "an id of two bytes")
        super().on_request(link, request)


def played(node, *beginnings, routes=False):
    """The verdicts and causes by id."""
    player = Player(lambda number: nullcontext(MemoryScene("", node, seed=number)), routes=routes)
    answers = player.play([one for one in golden() if one.id.startswith(beginnings)], golden())
    return {one.id: (answer.verdict.value, answer.cause) for one, answer in answers}


@pytest.mark.parametrize(("node", "shown"), [(AnswersWhatIsNoMessage, True), (RefusesQuery, False), (Receiver, False)])
def test_a_query_that_is_no_message_and_is_answered_was_taken(node, shown):
    verdict, cause = played(node, BAD_QUERY)[BAD_QUERY]
    assert (verdict == "fail", cause.endswith("it is answered")) == (shown, shown)


def test_fragments_hold_a_query_that_a_node_answers():
    right, wrong = played(Receiver, "fragment/reliable", "fragment/sn-"), played(LosesFragments, "fragment/reliable")
    assert {verdict for verdict, _ in right.values()} == {"pass", "not-observed"}
    assert wrong["fragment/reliable-last"] == ("fail", "the query in its fragments is not answered")
    assert right["fragment/reliable-last"] == right["fragment/reliable-more"] == ("pass", "")


def test_the_end_of_a_session_at_what_ends_a_declaration_is_judged():
    wrong, right = played(EndsAtUndeclared, "u-token/id-1"), played(Receiver, "u-token/id-1")
    assert {verdict for verdict, _ in right.values()} == {"not-observed"}
    assert {verdict for verdict, _ in wrong.values()} == {"fail"}


def test_a_router_that_reads_no_ids_of_two_bytes_is_played_all_others():
    """Our own ids have two bytes: no session could be prepared, and nothing was judged."""
    verdicts = played(ReadsShortIds, "request/id-", "put/payload-1-byte", routes=True)
    assert verdicts.pop("request/id-128")[0] == verdicts.pop("request/id-16383")[0] == "fail"
    assert {verdicts[one][0] for one in ("request/id-1", "request/id-127", "put/payload-1-bytes")} == {"pass"}


def test_only_what_no_session_can_be_prepared_for_is_not_played():
    class ReadsNoLongKeys(Reference):
        def on_declare(self, link, declare):
            key = getattr(declare.body, "key", None)
            if key is not None and len(key.suffix or "") > 100:
                raise Refused(CloseReason.INVALID, "too long")
            super().on_declare(link, declare)

    verdicts = played(ReadsNoLongKeys, "request/key-suffix-1", "request/plain", routes=True)
    assert {verdicts["request/key-suffix-127-bytes"][1]} == {"not played: no session of the node begins as it needs"}
    assert verdicts["request/plain"][0] == "pass"
