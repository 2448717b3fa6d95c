"""Nodes that we start: what the wheel's and a command's instances have in common."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable

from zenoh_conformance.conversation import Side
from zenoh_harness.errors import CannotConnect, CannotStart, NotZenoh, TargetError
from zenoh_harness.links.links import Link, Listener, Observer, StreamLink, connect
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.timing import Deadline, scaled, stretched
from zenoh_harness.profiles import Profile
from zenoh_harness.programs.processes import Running
from zenoh_harness.programs.signs import grave
from zenoh_harness.targets.agent import Agent
from zenoh_harness.targets.greeting import greet
from zenoh_harness.targets.target import NodeBase, Role, Vitals

READY: float = 15.0
"""Seconds that a node may take from its start to its first handshake."""

_SETTLE = 0.3
"""Seconds in which a program that shut a link ends, if that is why."""

_LISTENS = 5.0
"""Seconds in which a node whose port answers must be seen to listen there itself."""

_LETS_GO = 0.02
"""Seconds in which a node sees that we ended a link, on a machine that is not busy."""

_TICK = 0.01
"""Seconds by which the kernel's count of what has passed may be off."""

_GLANCE = 0.02
"""Seconds between two looks: at a port where nobody listens yet, at a program that does not come to ours."""


class LaunchedNode(NodeBase):
    """A node in a process of ours: it listens at `locator`, or connects to `listener`."""

    def __init__(
        self,
        program: Running,
        profile: Profile,
        role: Role,
        *,
        locator: Locator,
        zid: str | None,
        listener: Listener | None = None,
        agent: Agent | None = None,
    ) -> None:
        self.program: Running | None = program
        self.profile = profile
        self.role: Role = role
        self.side = Side.RESPONDER if listener is None else Side.INITIATOR
        self.locator = locator
        self.zid = zid
        self.agent = agent
        self._program = program
        self._listener = listener
        self._early: StreamLink | None = None
        """A link that came before anybody asked for one."""
        self._last: StreamLink | None = None
        """The link that was taken last."""
        self.again: Callable[[], Running] | None = None
        """Starts its program once more, to come to the same listener; None where that cannot be."""
        self.started_in = 0.0
        """Seconds from its start to its first handshake."""
        self.starts = 1
        """How often its program was started."""
        self.last_end = ""
        """How its program ended, before it was last started again."""
        self.brief = False
        """Whether it was seen to listen for one link, and to end in order after it."""
        self._came = False
        """Whether it came to us since it was started."""
        self.patience = math.inf
        """Seconds that a link may have waited for us: early releases give up their attempt soon after, answered or not."""

    def link(self, deadline: Deadline, observer: Observer | None = None) -> Link:
        """A fresh link to it, opened or accepted; CannotConnect when there is none before the deadline."""
        if self._listener is None:
            self._start_if_it_ended(deadline)
            self._last = connect(self.locator, deadline, observer)
            return self._last
        self._let_the_last_one_go()
        link, self._early = self._early or self._accepted(self._listener, deadline), None
        while link.forsaken or self._came_early(link) or link.waited > self.patience:  # it is given up, or will be
            link.close()
            link = self._accepted(self._listener, deadline)
        self._last = link
        link.observe(observer)
        return link

    def _let_the_last_one_go(self) -> None:
        """Give a node that holds one session the moment that it takes to see the end of the last one."""
        over = self._last.over if self._last else None
        if over is not None:
            self._program.wait(Deadline(over + stretched(_LETS_GO)))

    def _came_early(self, link: StreamLink) -> bool:
        """Whether it came while the one before was still up: a client that holds one session refuses it once it opens."""
        over = self._last.over if self._last else None
        return over is not None and link.waited > time.monotonic() - over + _TICK

    def _accepted(self, listener: Listener, deadline: Deadline) -> StreamLink:
        """The next link that comes; its program is started again where it ended in order, or is slower than that to come back."""
        lingers = time.monotonic() + self.habits.linger
        while (link := listener.accept(deadline.or_sooner(_GLANCE))) is None:
            gone = self._program.poll() is not None
            if (gone or time.monotonic() > lingers) and self._came and self.start_again():
                deadline, lingers = Deadline(max(deadline.at, time.monotonic() + scaled(READY))), math.inf
            elif gone or deadline.passed:
                raise CannotConnect(f"nobody connected to {self.locator}", step="accept", seen=self.state())
        self._came = True
        return link

    def _start_if_it_ended(self, deadline: Deadline) -> None:
        """A program that ends after each link is started for the next one, once it has ended."""
        if not self.is_brief or (self._last is not None and self._program.wait(Deadline.after(_SETTLE)) is None):
            return
        if self._program.poll() is not None and self.start_again():
            patience = Deadline(max(deadline.at, time.monotonic() + scaled(READY)))
            while not self._program.listening() and not patience.passed:
                if self._program.wait(patience.or_sooner(_GLANCE)) is not None:
                    return

    @property
    def is_brief(self) -> bool:
        """Whether it listens for one link or session, and ends in order after it."""
        return self.brief or self.habits.brief

    def start_again(self) -> bool:
        """Start its program once more, in place of the one that there is; not where that died, or tells of a panic."""
        vitals = self.vitals()
        if self.again is None or not (vitals.in_order if vitals.ended else grave(vitals.signs) is None):
            return False
        self.last_end = str(vitals.ended) if vitals.ended else "ended by us"
        if vitals.running:
            self._program.kill()
        self._program.stop()
        self.program = self._program = self.again()
        self.starts += 1
        self._came = False
        return True

    def wait_until_ready(self, deadline: Deadline) -> None:
        """A responder is ready when it answers an InitSyn; an initiator when it has come to us for the first time."""
        if self._listener is not None:
            self._early = self._accepted(self._listener, deadline)
        else:
            while not self._answers(deadline):
                pass  # each look waits for the program's end, for a moment
            if not self.brief:
                self._check_whose()

    def _answers(self, deadline: Deadline) -> bool:
        try:
            with contextlib.closing(connect(self.locator, deadline)) as link:
                greet(link, deadline, silently=self.profile.credentials is not None)
        except CannotConnect as why:
            self._still_starting(deadline, why)
            return False
        except NotZenoh as why:
            if self._program.wait(Deadline.after(_SETTLE)) is not None:
                self._still_starting(deadline, why)
            why.hint = why.hint or f"something else may listen at {self.locator}"
            raise
        if self._program.poll() is not None:
            self._ended_once_greeted(deadline)
        return True

    def _ended_once_greeted(self, deadline: Deadline) -> None:
        """One that has answered us as Zenoh does and ended in order listens for one link at a time."""
        self.brief = self.again is not None and self.vitals().in_order
        if not self.brief:
            self._still_starting(deadline, None)

    def _check_whose(self) -> None:
        """A port that was free when it was chosen may be somebody else's now.

        Who listens cannot always be seen (a command that goes through another machine); that is let pass.
        """
        patience = Deadline.after(_LISTENS)
        while not (ports := {port for _, port in self._program.listening()}) and not patience.passed:
            if self._program.wait(patience.or_sooner(_GLANCE)) is not None:
                self._ended_once_greeted(patience)
                return
        if self.locator.protocol == "tcp" and ports and self.locator.port not in ports:
            elsewhere = ", ".join(map(str, sorted(ports)))
            hint = f"the command listens at port {elsewhere}; does it honour {{port}}?"
            raise CannotConnect(
                f"somebody else answers at {self.locator}", step="connect", seen=self.state(), hint=hint
            )

    def _still_starting(self, deadline: Deadline, why: TargetError | None) -> None:
        if self._program.wait(deadline.or_sooner(_GLANCE)) is not None:
            raise CannotStart(
                "the target ended before it was ready", step="start", seen=self.state(), hint="run the command by hand"
            ) from why
        if deadline.passed:
            elsewhere = ", ".join(f"{host}:{port}" for host, port in self._program.listening())
            hint = f"it listens at {elsewhere} instead" if elsewhere else "it listens nowhere"
            raise CannotConnect(
                f"the target never listened at {self.locator}", step="connect", seen=self.state(), hint=hint
            ) from why

    def state(self) -> list[str]:
        """What can be said of its process now, and the last lines that it wrote."""
        ended = self._program.poll()
        first = f"the process ended with {ended}" if ended else "the process runs"
        orphans = (
            [f"it left {ended.orphans} processes behind (started in the background?); they were ended"]
            if ended and ended.orphans
            else []
        )
        return [first, *orphans, *self._program.last_lines(5)]

    def vitals(self) -> Vitals:
        """What can be seen without talking to it; cheap."""
        ended = self._program.poll()
        return Vitals(
            running=ended is None,
            suspended=ended is None and self._program.suspended(),
            ended=ended,
            signs=self._program.signs(),
        )

    def attach(self) -> str:
        """One line that tells a person how to reach it while it is kept up."""
        where = "connects to" if self._listener else "listens at"
        return f"process {self._program.pid} {where} {self.locator}"

    def let_go(self) -> None:
        """Shut the door at which it comes to us, so that somebody else may listen there; it will come again."""
        if self._early is not None:
            self._early.close()
            self._early = None
        if self._listener is not None:
            self._listener.close()

    def stop(self) -> None:
        """End the process, its children, and our listener; idempotent."""
        self.let_go()
        super().stop()
        self._program.stop()
