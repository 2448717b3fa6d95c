"""Plays golden vectors to a whole node: each stands in a live session, and its effect is observed from outside.

Many vectors share a session; a fence shows that the node has read them, and a second session of ours shows what it passes on. Where
something is missing, the group is halved until one vector is left, which is then played once more. What must be refused, and what
has a sequence number, gets a link of its own. A node that shows nothing of what it reads is judged by the end of its sessions only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Final

from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.judging.variation import Row
from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.messages import (
    Close,
    Declare,
    DKeyExpr,
    Interest,
    InterestMode,
    InterestOptions,
    Push,
    Request,
    ResponseFinal,
    sane,
)
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.reading.conversation import Conversation, Side
from zenoh_conformance.talking import Dialogue, Party, Scene
from zenoh_harness.errors import CannotConnect, CannotGoOn
from zenoh_harness.profiles import DEFAULT, PROFILES, Profile
from zenoh_harness.reference.credentials import open_session
from zenoh_harness.run.attempt.scenes import Overtime
from zenoh_harness.run.vectors.answers import VectorAnswer
from zenoh_harness.run.vectors.carriers import PACKING, Carrier, few_of_each, has_carrier, wrong_in_carriers
from zenoh_harness.run.vectors.effects import (
    NOT_REFUSED,
    QUIET_EXTENSIONS,
    SILENCE,
    SURVIVOR,
    TOGETHER,
    answer_for_acceptance,
    answer_for_death,
    answer_for_end,
    answer_for_fault,
    answer_for_reading,
    difference,
    end_of,
    groups,
    is_heard,
    meets_fences,
    not_played,
    second_answer,
    sets_reserved_bits,
)
from zenoh_harness.run.vectors.exchanges import Exchange, Hearing, NoSessionError, SessionEndedError, exchange_of
from zenoh_harness.run.vectors.handshakes import answer_to_close, holds_sessions
from zenoh_harness.run.vectors.in_groups import play_in_groups
from zenoh_harness.run.vectors.initiator_handshakes import ANSWERS_IN_HANDSHAKE
from zenoh_harness.run.vectors.looks import Looks
from zenoh_harness.run.vectors.opening import open_for
from zenoh_harness.run.vectors.passed_on import (
    BEGINNINGS_OF_IDS,
    OUR_IDS,
    QUERIED,
    ROUTED,
    Sessions,
    answer_itself,
    is_final,
    observe,
    too_large,
)
from zenoh_harness.run.vectors.refusals import effect_behind, watch_for_effect, watch_of
from zenoh_harness.run.vectors.standing import Family, VectorInSession, scope_key, standing, whole
from zenoh_vectors.loader import Vector

NO_SESSION: Final = not_played("no session of the node begins as it needs")


class Player:
    """Plays vectors to a node."""

    def __init__(
        self,
        scene: Callable[[int], AbstractContextManager[Scene]],
        *,
        routes: bool,
        side: Side = Side.RESPONDER,
        profile: Profile = PROFILES[DEFAULT],
        revive: Callable[[bool], Verdict | None] = lambda _silent: None,
        advance: Callable[[Vector], object] = lambda _vector: None,
        exchanged: Collection[str] | None = None,
        rows: Sequence[Row] = (),
        few: int = 1,
    ) -> None:
        """`scene` makes a scene by its number; `revive` starts a node again that has died, asked after silence or not.
        `exchanged`: the ids of vectors whose effect on another session is looked for, which is slow; all where None.
        `rows`: of `CARRIERS`, in each of which so `few` vectors of each kind are played again.
        """
        self._scenes, self._side, self._profile = scene, side, profile
        self.routes = routes and side is Side.RESPONDER
        self._revive, self._advance, self._numbers, self._exchangeable = revive, advance, count(), exchanged
        self._read: set[str] = set()
        """Kinds of messages that the node was seen to read without ending the session."""
        self._ended: set[str] = {Close.__name__}
        """Kinds at whose well-formed messages it ended the session."""
        self._asks = False
        """Whether it was seen to pass on a query."""
        self._shown: set[str] = set()
        """Kinds of messages that had their effect on another session."""
        self._rows, self._few, self._carrier = rows, few, Carrier()
        self._works, self._looks = dict[Row, bool](), Looks()
        self._ids = OUR_IDS
        """Where the ids of our own begin."""
        self.fences = 0
        """How many fences were asked."""
        self.carried: dict[str, int] = {}
        """Carriers, in words, to how many vectors were read there."""

    @property
    def lost(self) -> Sequence[tuple[str, Conversation]]:
        """What did not come of a fence that came when the same was said again, each with its session."""
        return self._looks.lost

    def play(self, vectors: Sequence[Vector], controls: Iterable[Vector] = ()) -> list[tuple[Vector, VectorAnswer]]:
        """Return each vector with its answer; of `controls` as many are played as refusals need."""
        answers: dict[str, VectorAnswer] = {}
        self.routes = self.routes and holds_sessions(self._scene, "reader", "writer")
        self._ids = next((ids for ids in BEGINNINGS_OF_IDS if holds_sessions(self._scene, "plain", ids=ids)), OUR_IDS)
        stands = {vector.id: standing(vector, self._side, routes=self.routes) for vector in vectors}
        with suppress(Overtime):
            for one, answer in self._all(
                [one for one in stands.values() if isinstance(one, VectorInSession)], controls
            ):
                answers[one.vector.id] = answer
                self._advance(one.vector)
            answers.update(self._in_carriers([one for one in stands.values() if not isinstance(one, str)], answers))
            in_no_session = [one for one in vectors if isinstance(stands[one.id], str)]
            for vector, answer in play_in_groups(self._scene, self._profile, in_no_session):
                answers[vector.id] = self._looks.with_record(answer)
                self._advance(vector)
        for ident, why in stands.items():
            answers.setdefault(
                ident, not_played(why if isinstance(why, str) else "the time was over, or the node died too often")
            )
        return [(vector, answers[vector.id]) for vector in vectors]

    def _all(
        self, stands: Sequence[VectorInSession], controls: Iterable[Vector]
    ) -> Iterator[tuple[VectorInSession, VectorAnswer]]:
        asked = [one for one in stands if self.routes and one.family is Family.REQUEST and not meets_fences(one)]
        refused = [one for one in stands if one.family is Family.REFUSED]
        exchanged = [one for one in stands if self.routes and self._is_exchanged(one)]
        linked = [one for one in stands if one.family in (Family.HANDSHAKE, Family.CLOSE)]
        apart = {one.vector.id for one in (*asked, *refused, *exchanged, *linked)}
        rest = [one for one in stands if one.vector.id not in apart]
        for alone in (one for one in rest if one.family is Family.ALONE):
            yield from self._group([alone])
        for heard in (True, False):
            together = [one for one in rest if one.family is not Family.ALONE and (one.family is Family.PUSH) == heard]
            for group in groups(together):
                yield from self._group(group)
        yield from self._requests(asked)
        yield from self._exchanges(exchanged)
        yield from ((one, self._on_its_link(one)) for one in linked)
        self._control({one.kind for one in refused}, controls)
        for one in refused:
            yield one, self._looks.with_record(self._alone(self._refusal, one))

    def _in_carriers(
        self, stands: Sequence[VectorInSession], answers: Mapping[str, VectorAnswer]
    ) -> Iterator[tuple[str, VectorAnswer]]:
        """Play some of what was read in each carrier; yield what is wrong in one of them only."""
        read = [
            one
            for one in stands
            if (answer := answers[one.vector.id]).verdict is Verdict.PASS or (answer is SURVIVOR and not one.open_point)
        ]
        some = few_of_each(read, self._few, self._exchangeable or ())
        return wrong_in_carriers(self._rows if some else (), some, self._has, self._played_in, self.carried)

    def _has(self, row: Row) -> bool:
        """Whether the node settles a session for these carriers, and reads what of ours they carry; not when the time is over."""
        if row not in self._works:
            carrier = Carrier(row)
            with suppress(Overtime), self._scene() as scene:
                self._works[row] = has_carrier(
                    carrier, lambda: open_session(scene.dialogue("writer"), self._profile, **carrier.offers)
                )
        return self._works.get(row, False)

    def _played_in(self, row: Row, stands: Sequence[VectorInSession]) -> list[tuple[VectorInSession, VectorAnswer]]:
        """Return the answers in a carrier; those that were there when the time was over."""
        self._carrier, answers = Carrier(row), list[tuple[VectorInSession, VectorAnswer]]()
        try:
            with suppress(Overtime):
                for pair in self._all(stands, ()):
                    answers.append(pair)
        finally:
            self._carrier = Carrier()
        return answers

    def _is_exchanged(self, one: VectorInSession) -> bool:
        return one.family is Family.EXCHANGE and (self._exchangeable is None or one.vector.id in self._exchangeable)

    def _control(self, kinds: set[str], controls: Iterable[Vector]) -> None:
        """Look whether the node reads a well-formed message of each kind that it must refuse otherwise."""
        for vector in controls if kinds - self._read - self._ended else ():
            one = standing(vector, self._side)
            if isinstance(one, VectorInSession) and one.kind in kinds - self._read - self._ended and not vector.refuses:
                list(self._group([one]))

    def _note(self, one: VectorInSession, answer: VectorAnswer) -> None:
        is_read = answer is SURVIVOR or answer.verdict is Verdict.PASS
        (self._read if is_read else self._ended).add(one.kind)

    # -- what is understood

    def _group(
        self, group: Sequence[VectorInSession], *, brief: bool = False
    ) -> Iterator[tuple[VectorInSession, VectorAnswer]]:
        """Play a group; halve those whose effect is missing, down to one, which is played twice.

        `brief`: something is missing in a larger group; for a part of it nobody waits as long as for one vector.
        """
        answers = self._looks.at_first(lambda: self._all_of(group), brief=brief and len(group) > 1)
        if len(group) > 1 and self._looks.awaited and not brief:
            answers = self._looks.again(lambda: self._all_of(group))
        if len(group) == 1:
            if answers[0].verdict.is_wrong:
                answers = [self._looks.confirm(answers[0], lambda: self._all_of(group))]
            if answers[0] is not NO_SESSION:
                self._note(group[0], answers[0])
            yield group[0], answers[0]
            return
        doubtful = []
        for one, answer in zip(group, answers, strict=True):
            if answer not in (SURVIVOR, answer_for_reading(one.vector)):
                doubtful.append(one)
                continue
            self._note(one, answer)
            yield one, answer
        half = (len(doubtful) + 1) // 2
        for some in filter(None, (doubtful[:half], doubtful[half:])):
            yield from self._group(some, brief=True)

    def _all_of(self, group: Sequence[VectorInSession]) -> list[VectorAnswer]:
        """Return the answers for a group, also where no session can be had for it."""
        try:
            return self._together(group)
        except NoSessionError:
            return [NO_SESSION] * len(group)

    def _together(self, group: Sequence[VectorInSession]) -> list[VectorAnswer]:
        """Return the answers for a group that one session plays."""
        shown = [
            [message for message in one.messages if isinstance(message, Push) and is_heard(message)] for one in group
        ]
        with self._sessions(group, hears=any(shown)) as sessions:
            if (
                any(priority is not None for _, priority in group[0].lanes)
                and not Party(sessions.writer, "writer", "").has_lanes
            ):
                return [not_played("lanes were not negotiated")]
            if len(group) == 1 and (why := too_large(sessions.writer, group[0])):
                return [not_played(why)]
            for message in filter(None, (one.begun for one in group)):
                sessions.writer.say(message)
            if end := self._say(sessions.writer, group):
                return self._ends(group, end, sessions.writer.closed)
            if sessions.reader is None:
                return [answer_itself(sessions.writer, one) for one in group]
            return observe(sessions, group, shown)

    def _requests(self, stands: Sequence[VectorInSession]) -> Iterator[tuple[VectorInSession, VectorAnswer]]:
        """Queries go one after the other to a queryable of ours, which ends each; the plain ones first, as a control."""
        waiting = sorted(stands, key=lambda one: len(one.vector.data))
        while waiting:
            group = waiting[:TOGETHER]
            answers = self._looks.at_first(partial(self._as_many, self._answers, group))
            done, waiting = waiting[: len(answers)], waiting[len(answers) :]
            if answers[-1].verdict.is_wrong:
                answers[-1] = self._looks.confirm(answers[-1], partial(self._as_many, self._answers, done[-1:]))
            for one, answer in zip(done, answers, strict=True):
                self._note(one, answer)
                yield one, answer

    def _as_many(
        self, play: Callable[[Sequence[VectorInSession]], list[VectorAnswer]], group: Sequence[VectorInSession]
    ) -> list[VectorAnswer]:
        """Play the group, or as many of it as a session can be had for."""
        try:
            return play(group)
        except NoSessionError:
            return self._as_many(play, group[: len(group) // 2]) if len(group) > 1 else [NO_SESSION]

    def _answers(self, group: Sequence[VectorInSession]) -> list[VectorAnswer]:
        """Return the answers up to the first one that is wrong or shows nothing, after which the session is another one."""
        answers: list[VectorAnswer] = []
        with self._sessions(group, hears=True) as sessions:
            for one in group:
                answers.append(self._ask(sessions, one))
                if answers[-1].verdict is not Verdict.PASS or not is_final(sessions.writer, one.messages[0].id):
                    break
        return answers

    def _ask(self, sessions: Sessions, one: VectorInSession) -> VectorAnswer:
        reader, writer, asked = sessions.reader, sessions.writer, one.messages[0]
        if why := too_large(writer, one):
            return not_played(why)
        if end := self._say(writer, [one]):
            return self._ends([one], end, writer.closed)[0]
        assert reader is not None
        if not (came := sessions.await_passed_on(Request, whole(asked.key))):
            quiet = all(type(ext).__name__ in QUIET_EXTENSIONS for ext in asked.exts)
            must = self._asks and quiet and not sets_reserved_bits(one.vector)
            return answer_for_fault(one.vector, "the query is not passed on") if must else SURVIVOR
        self._asks, fault = True, difference(asked, *came[0])
        reader.say(ResponseFinal(id=came[0][0].id))
        if not writer.wait_until(lambda: is_final(writer, asked.id)) and not fault:
            fault = f"no RESPONSE_FINAL ends the query {asked.id}"
        return answer_for_fault(one.vector, fault) if fault else answer_for_reading(one.vector)

    def _exchanges(self, stands: Sequence[VectorInSession]) -> Iterator[tuple[VectorInSession, VectorAnswer]]:
        """Vectors whose effect is one at another session; what was not seen to work once is judged on nothing."""
        by_kind: dict[str, list[VectorInSession]] = {}
        for one in stands:
            by_kind.setdefault(one.subject, []).append(one)
        for kind in by_kind.values():
            answers = dict(self._of_exchanges(kind))
            works = kind[0].subject in ROUTED or (self._asks and kind[0].subject in QUERIED)
            if any(answer.verdict is Verdict.PASS for answer in answers.values()):
                self._shown.add(kind[0].subject)
            works = works or kind[0].subject in self._shown
            for one in kind:
                answer = answers[one.vector.id]
                is_missing = answer.verdict.is_wrong and not answer.verdict.is_grave and not works
                answer = SURVIVOR if is_missing and not answer.cause.startswith("refused") else answer
                self._note(one, answer)
                yield one, answer

    def _of_exchanges(self, stands: Sequence[VectorInSession]) -> Iterator[tuple[str, VectorAnswer]]:
        for group in groups(stands):
            while group:
                done = self._looks.at_first(partial(self._as_many, self._play_exchanges, group))
                if done[-1].verdict.is_wrong:
                    last = partial(self._as_many, self._play_exchanges, group[len(done) - 1 : len(done)])
                    done[-1] = self._looks.confirm(done[-1], last)
                yield from ((one.vector.id, answer) for one, answer in zip(group, done, strict=False))
                group = group[len(done) :]

    def _play_exchanges(self, group: Sequence[VectorInSession]) -> list[VectorAnswer]:
        """Return the answers up to the first that is not as it should be, after which the sessions are other ones."""
        answers: list[VectorAnswer] = []
        with self._sessions(group, hears=True) as sessions:
            assert sessions.reader is not None
            sessions.reader.say(
                Interest(id=sessions.reader.new_id(), mode=InterestMode.FUTURE, options=int(InterestOptions.TOKENS))
            )
            try:
                sessions.reader.fence()
            except Deviation as deviation:
                return [not_played(f"the session that observes does not work: {deviation}")] * len(group)
            of = Exchange(Hearing(sessions.writer), Hearing(sessions.reader))
            for scope in {scope for one in group for scope in one.scopes}:
                of.near.note_own(DKeyExpr(expr_id=scope, key=WireExpr(suffix=scope_key(scope))))
            for one in group:
                answers.append(self._exchange(of, sessions, one))
                if answers[-1].verdict is not Verdict.PASS and answers[-1] is not SURVIVOR:
                    break
        return answers

    def _exchange(self, of: Exchange, sessions: Sessions, one: VectorInSession) -> VectorAnswer:
        writer, [message] = sessions.writer, one.messages
        if why := too_large(writer, one):
            return not_played(why)

        def says(data: bytes = one.vector.data) -> None:
            if end := self._say(writer, [one], data):
                raise SessionEndedError(end)

        body = message.body if isinstance(message, Declare) else message
        exchange = exchange_of(message)
        assert exchange is not None
        try:
            fault = exchange(of, one, body, says)
        except SessionEndedError as ended:
            return self._ends([replace(one, open_point="")], str(ended), writer.closed)[0]
        except Deviation as deviation:
            if writer.is_over:
                return self._ends([replace(one, open_point="")], writer.text_of(None), writer.closed)[0]
            fault = str(deviation)
        if fault is None or (fault and sets_reserved_bits(one.vector)):
            return SURVIVOR
        return answer_for_fault(one.vector, fault) if fault else answer_for_reading(one.vector)

    def _on_its_link(self, one: VectorInSession) -> VectorAnswer:
        """A step of a handshake, or the end of a session; one that is wrong is played twice."""
        answer = self._alone(self._play_on_link, one)
        if not answer.verdict.is_wrong:
            return answer
        answer = self._looks.with_record(second_answer(answer, self._alone(self._play_on_link, one)))
        is_its_fault = not answer.verdict.is_wrong or answer.verdict.is_grave or holds_sessions(self._scene, "plain")
        return answer if is_its_fault else NO_SESSION  # it ends sessions in which no vector was said

    def _alone(self, play: Callable[[VectorInSession], VectorAnswer], one: VectorInSession) -> VectorAnswer:
        """Play one vector on a link of its own, if a session can be had for it."""
        try:
            return play(one)
        except NoSessionError:
            return NO_SESSION

    def _play_on_link(self, one: VectorInSession) -> VectorAnswer:
        if one.family is Family.CLOSE:
            with self._sessions([one], hears=False) as sessions:
                return answer_to_close(sessions.writer, one)
        with self._scene() as scene:
            answer = ANSWERS_IN_HANDSHAKE[self._side](scene.dialogue("writer"), one)
        verdict = answer.verdict.is_wrong and self._revive(SILENCE in answer.cause)
        return answer_for_death(answer.cause, verdict) if verdict else answer

    # -- what is refused

    def _refusal(self, one: VectorInSession) -> VectorAnswer:
        if one.kind in self._ended and one.kind not in self._read:
            return not_played(f"the node ends the session at well-formed messages of the kind {one.kind}, too")
        with self._sessions([one], hears=watch_of(one) is not None) as sessions:
            try:
                data, effect = watch_for_effect(sessions, one)
            except Deviation as deviation:
                return not_played(f"what would show its effect does not work: {deviation}")
            if end := self._say(sessions.writer, [one], data):
                return self._ends([one], end, sessions.writer.closed)[0]
            shown = effect() or effect_behind(sessions.writer, one)
            return answer_for_acceptance(one.vector, shown) if shown else NOT_REFUSED

    # -- sessions

    @contextmanager
    def _scene(self) -> Iterator[Scene]:
        """Yield the next scene; its record is the evidence of what is wrong in it."""
        with self._scenes(next(self._numbers)) as scene:
            self._looks.record = scene.conversation
            yield scene

    @contextmanager
    def _sessions(self, group: Sequence[VectorInSession], *, hears: bool) -> Iterator[Sessions]:
        """Sessions for a group, with what it needs declared. Raises CannotGoOn where there are none.

        A node may die of an earlier group after it has answered the last fence there: it is revived once.
        """
        with ExitStack() as scenes:
            yield self._open_sessions(scenes, group, hears=hears, may_revive=True)

    def _open_sessions(
        self, scenes: ExitStack, group: Sequence[VectorInSession], *, hears: bool, may_revive: bool
    ) -> Sessions:
        scene = scenes.enter_context(self._scene())
        carrier = Carrier((group[0].mode, PACKING.default)) if group[0].mode else self._carrier
        try:
            return open_for(
                scene, group, carrier, self._profile, self._looks, hears=hears and self.routes, ids=self._ids
            )
        except (Deviation, CannotConnect) as deviation:
            if group[0].sn or group[0].mode:
                raise NoSessionError from deviation
            if may_revive and self._revive(True) is not None:
                return self._open_sessions(scenes, group, hears=hears, may_revive=False)
            if holds_sessions(self._scene, "plain"):
                raise NoSessionError from deviation  # it does not read what we say to prepare for the vector
            raise CannotGoOn("the node opens no session", step="vectors play", seen=str(deviation)) from deviation

    def _say(self, writer: Dialogue, group: Sequence[VectorInSession], data: bytes = b"") -> str:
        """Say each vector, one of them perhaps as `data`, and a fence; return how the session ended, empty where it goes on."""
        network = [data or one.vector.data for one in group if one.vector.layer == "network"]
        self.fences, self._looks.awaited = self.fences + 1, ""
        with self._carrier.said(writer, network):
            for one in (one for one in group if one.vector.layer != "network"):
                for batch in one.batches or (one.vector.data,):
                    writer.send(batch)
                for reliable, priority in one.lanes:
                    writer.next_sn(reliable, sane.DEFAULT_PRIORITY if priority is None else priority)
            try:
                writer.fence()
            except Deviation as missed:
                if not writer.is_over and all(one.vector.refuses is None for one in group):
                    self._looks.note_missing(writer, missed.finding.expected)
                return end_of(writer)
        return ""

    def _ends(self, group: Sequence[VectorInSession], end: str, closed: int | None) -> list[VectorAnswer]:
        """Return the answers for a group at which the session ended."""
        verdict = self._revive(end == SILENCE)
        return [answer_for_death(end, verdict) if verdict else answer_for_end(one, end, closed) for one in group]
