"""Sessions of two links as a Hypothesis state machine: what CLOSE ends, of the session (S=1) and of one link (S=0).

Each run opens sessions and second links, closes and drops them in any order, and after each step asks every session that should
live for work, over a link that it has left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from zenoh_conformance.cases.session.close_scope import answers
from zenoh_conformance.judging.finding import NOT_REACHED, Deviation
from zenoh_conformance.messages import sane
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.talking import Dialogue, Scene

from . import blame
from .modelled import Known, judged

REQUIREMENT = "close/session-close-ends-session"
OF_ONE_LINK = "close/link-close-ends-link"
ALSO = (OF_ONE_LINK,)
"""Requirements whose breach it finds as well; each was shown to it once."""
PROFILE = "two-links"
NEEDS = ("stream", "multilink", "several-links", "several-sessions", "finals")
BREAKS = ("law/to-self-needs-one-zid",)
"""Laws that our own side breaks in it on purpose."""
MOST_SESSIONS, MOST_LINKS = 2, 2
SHARE = 0.4
"""Of the runs that a model has: it has few rules, and a session takes a real node a while to end."""

which = st.integers(0, MOST_SESSIONS - 1)


class Closing(RuleBasedStateMachine):
    """Subclass it with a `stage`; see `machine`."""

    stage: ClassVar[Callable[[], Scene]]
    known: ClassVar[Known] = frozenset()

    def __init__(self) -> None:
        super().__init__()
        self.scene = type(self).stage()
        self.sessions: list[list[Dialogue]] = []
        """The links of each session that should live."""
        self.doubt = blame.LIVES
        """The requirement that the last step put to the test: what does not live any more has broken it."""

    @initialize()
    def arrive(self) -> None:
        """A session of two links."""
        self.open_session(second=True)

    @precondition(lambda self: len(self.sessions) < MOST_SESSIONS)
    @rule(second=st.sampled_from((True, True, False)))
    def open_session(self, second: bool) -> None:
        """One session more, of one link or of two."""
        self.doubt = blame.LIVES
        first = self.scene.session()
        self.sessions.append([first])
        if second:
            self.sessions[-1].append(self.one_more(first))

    def one_more(self, first: Dialogue) -> Dialogue:
        """A further link of a session."""
        try:
            return self.scene.session("more", zid=first.zid).beside(first)
        except Deviation as found:
            step = found.finding.path.removeprefix(f"{NOT_REACHED}: ")
            here = replace(found.finding, requirement=blame.OPEN_IS_ANSWERED, path=f"a second link: {step}")
            raise Deviation(here) from found

    @precondition(lambda self: any(len(links) < MOST_LINKS for links in self.sessions))
    @rule(which=which)
    def open_second_link(self, which: int) -> None:
        """One link more of a session that has one."""
        self.doubt = blame.LIVES
        single = [links for links in self.sessions if len(links) < MOST_LINKS]
        links = single[which % len(single)]
        links.append(self.one_more(links[0]))

    @precondition(lambda self: bool(self.sessions))
    @rule(which=which, link=st.integers(0, MOST_LINKS - 1), reason=st.integers(0, 8))
    def close_link(self, which: int, link: int, reason: int) -> None:
        """CLOSE without S: this link ends."""
        self.doubt = OF_ONE_LINK
        us = self.take(which, link)
        us.send(sane.close(reason, session=False))
        with us.about(blame.CLOSED):
            us.expect_end(step="the link that was closed")

    @precondition(lambda self: bool(self.sessions))
    @rule(which=which, link=st.integers(0, MOST_LINKS - 1), reason=st.integers(0, 8))
    def close_session(self, which: int, link: int, reason: int) -> None:
        """CLOSE with S: every link of the session ends."""
        self.doubt = REQUIREMENT
        links = self.sessions.pop(which % len(self.sessions))
        links[link % len(links)].send(sane.close(reason, session=True))
        for us in links:
            us.expect_end(step="a link of the session that was closed", silent=False)

    @precondition(lambda self: any(len(links) > 1 for links in self.sessions))
    @rule(which=which, link=st.integers(0, MOST_LINKS - 1))
    def drop_link(self, which: int, link: int) -> None:
        """A link ends without a word; its session has another, as soon as the target has seen the end."""
        several = [number for number, links in enumerate(self.sessions) if len(links) > 1]
        self.doubt = OF_ONE_LINK
        us = self.take(several[which % len(several)], link)
        us.wire.finish()
        with us.about(blame.CLOSED):
            us.expect_end(step="the link that ended")
        us.hang_up()

    @invariant()
    def what_should_live_lives(self) -> None:
        """Each session works, asked over any link that it has left."""
        for links in self.sessions:
            for us in links:
                with us.about(self.doubt):
                    answers(us, links, step="a session that should live")

    def take(self, which: int, link: int) -> Dialogue:
        """A link out of its session, which is over with its last one."""
        links = self.sessions[which % len(self.sessions)]
        us = links.pop(link % len(links))
        self.sessions = [links for links in self.sessions if links]
        return us

    def teardown(self) -> None:
        """Let go, and let the laws judge."""
        for links in self.sessions:
            for us in links:
                us.hang_up()
        judged(self.scene, Side.RESPONDER, self.known, BREAKS)


def machine(stage: Callable[[], Scene], known: Known = frozenset()) -> type[Closing]:
    """The machine for a stage: every run of it begins with a new scene."""
    return type("ClosingOnStage", (Closing,), {"stage": staticmethod(stage), "known": known})
