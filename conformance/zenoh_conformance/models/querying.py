"""The life of a query as a Hypothesis state machine: queryables that answer, fail, finish, repeat themselves, fall silent and leave.

Two queriers, up to four queryables of one session each, one or several routers between. The oracle is a table of which of a few
keys meet, written by hand, and what the pages say of targets and finals. At the end every law judges the whole conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from zenoh_conformance.cases.routing.circumstances import ANSWER, CARRIED, DONE, LIMITED, ROUTING, SIZE, TARGETED
from zenoh_conformance.cases.routing.varied import a_query_is_answered_in_any_circumstances
from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.judging.variation import Variation
from zenoh_conformance.messages import (
    ConsolidationMode,
    Err,
    Query,
    QueryAttachment,
    QueryBody,
    QueryTarget,
    Reply,
    Request,
    Response,
    Target,
    UQueryable,
)
from zenoh_conformance.primitives import Encoding
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.talking import Asked, Party, Scene, one_more, parties_of, told
from zenoh_conformance.wire import Exts

from .manners import VariedExchange, manners, payload_of_size, qos_of, rows_of, say_drawn, terms
from .modelled import Known, judged, unless_known
from .questions import KEYS, Question, Source, answer_of, essence, holds, mark_of, meets

REQUIREMENT = "query/query-complete-on-finals"
ALSO = (
    "query/query-reaches-intersecting", "query/query-only-intersecting", "query/all-reaches-every-match",
    "query/all-complete-reaches-complete", "query/best-matching-reaches-one", "query/query-target-default",
    "query/consolidation-none-forwards-all", "reply/exactly-one-final", "reply/nothing-after-final",
    "reply/final-always-comes", "reply/err-reaches-querier", "reply/reply-carries-put-semantics", "reply/response-correlates",
    "reply/final-matches-request",
)  # fmt: skip
"""Requirements whose breach it finds as well; each was shown to it once."""
NEEDS = ("routing", "several-sessions", "finals")
BREAKS = ("law/nothing-after-final", "law/one-final")
"""Laws that our own side breaks in it on purpose."""
MOST = 4
"""Queryables at a time."""

keys = st.sampled_from(KEYS)
which = st.integers(0, MOST - 1)
answers = st.lists(st.sampled_from(("put", "err", "del")), min_size=1, max_size=4)
modes = st.sampled_from((ConsolidationMode.NONE, None, ConsolidationMode.MONOTONIC, ConsolidationMode.LATEST))


ANSWERED = VariedExchange(
    "query/query-reaches-intersecting",
    a_query_is_answered_in_any_circumstances,
    (ANSWER, *ROUTING, TARGETED, LIMITED, DONE),
)


def is_thorough(model: Querying) -> bool:
    """Whether there is time for steps that are exchanges of their own: not in a quick run."""
    return bool(model.scene.fact("variations", "quick") != "quick")


class Querying(RuleBasedStateMachine):
    """Subclass it with a `stage`; see `machine`."""

    stage: ClassVar[Callable[[], Scene]]
    known: ClassVar[Known] = frozenset()

    def __init__(self) -> None:
        super().__init__()
        self.scene = type(self).stage()
        self.sources: list[Source] = []
        self.questions: list[Question] = []
        self.queriers: list[Party] = []
        self.count = 0
        self.left = -inf
        """When a queryable was taken back, or a session ended, last."""

    def teardown(self) -> None:
        """Let go, and let the laws judge."""
        for each in (*self.queriers, *(source.party for source in self.sources)):
            each.us.hang_up()
        judged(self.scene, Side.RESPONDER, self.known, BREAKS)

    # -- steps

    @initialize(served=st.lists(st.tuples(keys, st.booleans()), min_size=1, max_size=2), fields=terms, others=terms)
    def arrive(self, served: list[tuple[str, bool]], fields: dict[str, Any], others: dict[str, Any]) -> None:
        """Two queriers, and one queryable or two."""
        self.queriers = list(parties_of(self.scene, querier=fields, other=others))
        for key, complete in served:
            self.serve(key, complete, others)

    @precondition(lambda self: sum(source.here for source in self.sources) < MOST)
    @rule(key=keys, complete=st.booleans(), fields=terms)
    def serve(self, key: str, complete: bool, fields: dict[str, Any]) -> None:
        """One more queryable."""
        party = one_more(self.scene, f"source-{len(self.sources)}", self.queriers[0], **fields)
        declared = party.declares_queryable(key, complete=complete)
        self.sources.append(Source(party, key, complete, declared.id))

    @rule(key=keys, who=st.integers(0, 1), whom=st.sampled_from((Target.ALL, None, *Target)), mode=modes, v=manners)
    def ask(self, key: str, who: int, whom: Target | None, mode: int | None, v: Variation) -> None:
        """A query reaches the queryables that its target names. A node may notice a little later than we that a session has left."""
        querier, right = self.queriers[who], False
        while not right:
            may_be_early = self.may_be_early(querier)
            question = self.put(querier, key, whom, mode, v)
            right, *deviation = self.choice(question)
            if not may_be_early:
                self.require(querier.us, right, *deviation)
                break
            querier.us.next(0.0 if right else querier.us.unit / 16)

    @precondition(is_thorough)
    @rule(v=rows_of(ANSWERED.varies))
    def ask_in_circumstances(self, v: Variation) -> None:
        """A query beside the others is answered, in circumstances of all dimensions."""
        ANSWERED.run(self.scene, self.known, v)

    def put(self, querier: Party, key: str, whom: Target | None, mode: int | None, v: Variation) -> Question:
        """Ask once, and see to whom it comes."""
        self.count += 1
        asked = self.said(querier, key, whom, mode, v)
        question = Question(asked, key, whom, mode, v, early=self.may_be_early(querier))
        querier.settles()
        self.await_choice(question)
        for source in self.sources:
            if source.here and self.came(source, asked):
                question.sources.append(source)
                question.owing.append(source)
        self.questions.append(question)
        return question

    def said(self, querier: Party, key: str, whom: Target | None, mode: int | None, v: Variation) -> Asked:
        """A query as it was drawn."""
        payload, few = payload_of_size(v, self.count), not v.number(SIZE)
        carrier: Any = QueryAttachment if v[CARRIED] != CARRIED.default else partial(QueryBody, encoding=Encoding(0))
        exts = querier.full_dress.query() if few else (carrier(payload=payload),)
        query = Query(consolidation=mode, parameters=str(self.count), exts=Exts(exts))
        target = () if whom is None else (QueryTarget(value=int(whom)),)
        request = Request(id=querier.us.new_id(), key=querier.key(key), exts=Exts((qos_of(v), *target)), body=query)
        say_drawn(querier, v, request)
        return Asked(request.id, querier.whole(key), request, querier)

    def may_be_early(self, querier: Party) -> bool:
        """Whether the node may not have noticed yet that a session has left."""
        return querier.us.wire.now() < self.left + querier.us.unit

    def came(self, source: Source, asked: Asked) -> bool:
        """Whether a query came to a source, after a fence."""
        source.party.settles(step=f"not reached: {source.party.name} is served")
        return self.has_come(source, asked)

    @staticmethod
    def has_come(source: Source, asked: Asked) -> bool:
        """Whether a query came to a source so far."""
        here = source.party.heard(Request)
        return any(one.message.body.parameters == asked.request.body.parameters for one in here)

    def able(self, question: Question) -> tuple[list[Source], list[Source]]:
        """Who matches, and who of those is complete, by the table."""
        serving = [source for source in self.sources if source.here and source.serves]
        matching = [source for source in serving if meets(source.key, question.key)]
        return matching, [source for source in matching if source.complete and holds(source.key, question.key)]

    def await_choice(self, question: Question) -> None:
        """Wait for the query where it is due: a node may forward it after it has answered the querier's fence."""
        matching, complete = self.able(question)
        if question.target in (Target.ALL, Target.ALL_COMPLETE):
            for source in matching if question.target is Target.ALL else complete:
                source.party.awaits(partial(self.has_come, source, question.asked))
            return
        us, some = question.asked.by.us, complete or matching
        deadline = us.wire.now() + us.unit
        while some and not any(self.came(one, question.asked) for one in some) and us.wire.now() < deadline:
            us.next(us.unit / 16)

    def choice(self, question: Question) -> tuple[bool, str, str, str]:
        """Whether those were asked whom the table names; the requirement, what is due and what was otherwise."""
        matching, complete = self.able(question)
        got = question.sources
        if any(source not in matching for source in got):
            return False, "query/query-only-intersecting", "nobody else asked", "somebody else"
        if question.target is Target.ALL:
            return len(got) == len(matching), "query/all-reaches-every-match", "all asked", "not all"
        if question.target is Target.ALL_COMPLETE:
            right = set(complete) <= set(got) and all(source.complete for source in got)  # of a part: either is right
            return right, "query/all-complete-reaches-complete", "the complete ones asked", "others"
        name = "query/query-target-default" if question.target is None else "query/best-matching-reaches-one"
        some = len(got) in {min(1, len(matching)), len(matching)}
        return (
            (len(got) == 1 and got[0].complete) if complete else some,
            name,
            "the best match asked",
            "another choice",
        )

    @precondition(lambda self: self.open_questions())
    @rule(at=which, source=which, how=st.sampled_from(("put", "err", "del")), times=st.integers(1, 3), v=manners)
    def answer(self, at: int, source: int, how: str, times: int, v: Variation) -> None:
        """An answer, or several."""
        question = self.pick(at)
        self.give(question, question.owing[source % len(question.owing)], [how] * times, v)

    @precondition(is_thorough)
    @rule(key=keys, who=st.integers(0, 1), whom=st.sampled_from((Target.ALL, None)), hows=answers, v=manners)
    def live_through(self, key: str, who: int, whom: Target | None, hows: list[str], v: Variation) -> None:
        """The whole life of a query: each queryable that is asked answers in every way, and sends its final."""
        self.ask(key, who, whom, ConsolidationMode.NONE, v)
        question = self.questions[-1]
        for source in question.sources:
            self.give(question, source, hows, v)
        while question.owing:
            self.compare(question)
            question.owing.pop().party.finishes(question.asked)

    def give(self, question: Question, who: Source, hows: Sequence[str], v: Variation) -> None:
        """Answers of a source, one by one."""
        for how in hows:
            self.count += 1
            key = f"{question.key.rstrip('*').rstrip('/')}/{self.count}" if "*" in question.key else question.key
            body = answer_of(who.party, v, how, self.count)
            mark = mark_of(body) or b""
            question.said[mark] = body
            exts: Exts[Any] = Exts((qos_of(v), *who.party.full_dress.responder()))
            number = who.party.takes(question.asked)
            say_drawn(who.party, v, Response(id=number, key=who.party.key(key), exts=exts, body=body))
            question.given.append(mark)
            question.errors |= {mark} if how == "err" else set()
            self.await_answers(question)
        who.party.settles()

    def await_answers(self, question: Question) -> None:
        """Wait for what was answered, if all of it is due: what follows in another lane might overtake it."""
        querier = question.asked.by
        if question.mode == ConsolidationMode.NONE:
            querier.awaits(lambda: len(querier.answers(question.asked)) >= len(question.given))

    @precondition(lambda self: self.open_questions())
    @rule(at=which, source=which, times=st.integers(1, 2), late=st.booleans())
    def finish(self, at: int, source: int, times: int, late: bool) -> None:
        """The end of one source, perhaps said twice, perhaps with an answer after it."""
        question = self.pick(at)
        who = question.owing.pop(source % len(question.owing))
        for _ in range(times):
            who.party.finishes(question.asked)
        if late:
            who.party.replies(question.asked, b"late")
        who.party.settles()

    @precondition(lambda self: any(source.here for source in self.sources))
    @rule(source=which, how=st.sampled_from(("takes back", "leaves", "is cut")))
    def go(self, source: int, how: str) -> None:
        """A queryable is taken back, or its session ends; what it owed is settled."""
        here = [each for each in self.sources if each.here]
        who = here[source % len(here)]
        self.left = who.party.us.wire.now()
        if how == "takes back":
            if who.serves:
                who.party.retracts(UQueryable, who.entity)
            who.serves = False
            return
        who.here = False
        who.party.leaves() if how == "leaves" else who.party.us.break_off()
        for question in self.open_questions():
            if who in question.owing:
                question.owing.remove(who)

    def await_final(self, question: Question) -> None:
        """All queryables have sent RESPONSE_FINAL: the final comes, now or a little later, or a queryable got the query late."""
        try:
            with unless_known(question.asked.by.us, self.known, "reply/final-always-comes"):
                question.asked.by.expect_final(question.asked, step="the life of a query")
        except Deviation:
            late = [
                one for one in self.sources if one.here and one not in question.sources and meets(one.key, question.key)
            ]
            question.owing = [one for one in late if self.came(one, question.asked)]
            if not question.owing and not question.early:
                raise
            question.sources += question.owing
            if not question.owing:
                self.asks_again(question)

    def asks_again(self, question: Question) -> None:
        """A query that may have gone to a session that left ends by the node's own timeout; sent again, it counts as any other."""
        self.questions.remove(question)
        self.compare(self.put(question.asked.by, question.key, question.target, question.mode, question.v))

    # -- what holds

    @invariant()
    def every_query_stands_as_it_should(self) -> None:
        """Open while a source owes its final, over when none does; answers as they were given."""
        for querier in self.queriers:
            querier.settles()
        for question in [*self.questions]:
            self.compare(question)

    def compare(self, question: Question) -> None:
        """One query, against what was done."""
        querier = question.asked.by
        us, finals = querier.us, querier.finals(question.asked)
        if not question.owing and not finals:  # a node may notice later than we that a session has ended
            self.await_final(question)
            finals = querier.finals(question.asked)
            if question not in self.questions:
                return
        if question.owing:
            self.require(us, not finals, "query/query-complete-on-finals", "an open query", "ResponseFinal")
        else:
            name = "reply/exactly-one-final" if finals else "reply/final-always-comes"
            self.require(us, finals == 1, name, "one ResponseFinal", str(finals))
        self.await_answers(question)
        got = [mark_of(heard.message) for heard in querier.answers(question.asked)]
        if question.mode == ConsolidationMode.NONE:
            lost = set(question.given) - set(got)
            right, name = got == question.given, "query/consolidation-none-forwards-all"
            name = "reply/err-reaches-querier" if lost and lost <= question.errors else name
        else:
            right, name = set(got) <= set(question.given) and len(got) == len(set(got)), "reply/response-correlates"
        self.require(us, right, name, told(question.given), told(got))
        for heard in querier.answers(question.asked):
            self.compare_value(us, question.said.get(mark_of(heard.message) or b""), heard.message.body)

    def compare_value(self, us: Any, said: Reply | Err | None, got: Any) -> None:
        """One answer, against the one with that payload."""
        if said is not None:
            name = "reply/err-reaches-querier" if isinstance(said, Err) else "reply/reply-carries-put-semantics"
            right = type(said) is type(got) and essence(got) == essence(said)
            self.require(us, right, name, "the answer as it was said", "another")

    # -- helpers

    def open_questions(self) -> list[Question]:
        """Queries for which a queryable still owes RESPONSE_FINAL."""
        return [question for question in self.questions if question.owing]

    def pick(self, at: int) -> Question:
        """One of the open ones."""
        every = self.open_questions()
        return every[at % len(every)]

    def require(self, us: Any, holds: bool, requirement: str, expected: str, got: str) -> None:
        """Deviate from one requirement of its own, unless it is known to be deviated from."""
        with unless_known(us, self.known, requirement):
            us.require(holds, expected=expected, got=got, step="the life of a query")


def machine(stage: Callable[[], Scene], known: Known = frozenset()) -> type[Querying]:
    """The machine for a stage: every run of it begins with a new scene. `known`: requirements left to their own cases."""
    return type("QueryingOnStage", (Querying,), {"stage": staticmethod(stage), "known": known})
