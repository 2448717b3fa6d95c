"""Nodes in programs that we start, and what their targets share."""

from __future__ import annotations

import contextlib
import math
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

from zenoh_conformance.reading.conversation import Side
from zenoh_harness.errors import CannotConnect, CannotStart, NotZenoh, TargetError
from zenoh_harness.links.links import Observer, RecordedLink, StreamLink
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.opening import LinkListener, connect
from zenoh_harness.links.timing import Deadline, UnstarvedDeadline, scaled, stretched
from zenoh_harness.profiles import Profile
from zenoh_harness.programs.processes import Running
from zenoh_harness.programs.signs import grave
from zenoh_harness.targets.agent import AgentClient
from zenoh_harness.targets.greeting import greet, turn_away
from zenoh_harness.targets.reach import Reach
from zenoh_harness.targets.target import TARGET_ZID, NodeBase, Role, Vitals
from zenoh_harness.targets.through import listener_for

READY: float = 15.0
"""Seconds that a node may take from its start to its first handshake."""

STARVED: float = 8.0
"""How many times as long a start may take where the program has no processor."""

_REFUSED = re.compile(r"refused|ECONNREFUSED|(?:os error|errno) 111", re.IGNORECASE)
"""Matches what a program prints whose connection to a port without a listener failed."""

_SETTLE = 0.3
"""Seconds in which a program that shut a link exits, if it shut the link because it exits."""

_LISTENS = 5.0
"""Seconds in which the listening socket of a node whose port answers must show up."""

_LETS_GO = 0.02
"""Seconds in which a node notices that we ended a link, on an idle machine."""

_TICK = 0.01
"""Inaccuracy in seconds of the kernel's count of elapsed time."""

_GLANCE = 0.02
"""Seconds between two checks of a port without a listener, or of a program that does not connect."""


class LaunchedTarget:
    """A node in a program that we start: it listens, or connects to a listener of ours (`as=initiator`)."""

    restartable = True
    can_run_beside = False

    def __init__(self, reach: Reach) -> None:
        self.reach = reach
        self.role = cast(Role, reach.options.get("role", "router"))
        self.side = Side(reach.options.get("as", "responder" if self.role == "router" else "initiator"))

    @property
    def zid(self) -> str:
        """The ZenohID of its nodes."""
        return self.reach.options.get("zid", TARGET_ZID)

    @contextlib.contextmanager
    def listener(self) -> Iterator[LinkListener | None]:
        """The listener for an initiator, None for a responder; it is closed if the block raises."""
        listener = listener_for(self.reach) if self.side is Side.INITIATOR else None
        try:
            yield listener
        except BaseException:
            if listener is not None:
                listener.close()
            raise


class LaunchedNode(NodeBase):
    """A node in a program that we started: it listens at `locator`, or connects to `listener`."""

    def __init__(
        self,
        program: Running,
        profile: Profile,
        role: Role,
        *,
        locator: Locator,
        zid: str | None,
        listener: LinkListener | None = None,
        agent: AgentClient | None = None,
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
        """A link that came before anything asked for one."""
        self._last: StreamLink | None = None
        """The last link."""
        self.again: Callable[[], Running] | None = None
        """Starts its program again, to connect to the same listener; None where that is impossible."""
        self.started_in = 0.0
        """Seconds from its start to its first handshake."""
        self.starts = 1
        """Number of starts of its program."""
        self.last_end = ""
        """How its program ended before the last restart."""
        self.brief = False
        """Whether it was seen to accept one link and to exit in order after it."""
        self._has_connected = False
        """Whether it has connected to us since its last start."""
        self._owns_port = False
        """Whether our own program was seen to listen at `locator`; what we start may run on another machine."""
        self.patience = math.inf
        """Seconds that a link may wait for us: early releases give up an attempt soon after, answered or not."""

    def link(self, deadline: Deadline, observer: Observer | None = None) -> RecordedLink:
        """Open or accept a link; CannotConnect if there is none before the deadline."""
        if self._listener is None:
            self._start_if_it_ended(deadline)
            self._last = connect(self.locator, deadline, observer)
            return self._last
        self._await_last_end()
        link, self._early = self._early or self._next_link(self._listener, deadline), None
        patience = min(self.patience, self.habits.stale_after)
        while link.forsaken or self._overlaps_last(link) or link.waited > patience:  # the node gave it up, or will
            turn_away(link)
            link = self._next_link(self._listener, deadline)
        self._last = link
        link.observe(observer)
        return link

    def held_up(self, since: float) -> float:
        """Seconds since a moment of `time.monotonic` for which the node could not run; infinite where that cannot be seen."""
        return self._program.held_up(since) if self._owns_port else math.inf

    def _await_last_end(self) -> None:
        """Give a node with a single session the time to notice the end of the last one."""
        over = self._last.over if self._last else None
        if over is not None:
            self._program.wait(Deadline(over + stretched(_LETS_GO)))

    def _overlaps_last(self, link: StreamLink) -> bool:
        """Whether the link came while the last one was still up: a client with a single session refuses it once it opens."""
        over = self._last.over if self._last else None
        return over is not None and link.waited > time.monotonic() - over + _TICK

    def _next_link(self, listener: LinkListener, deadline: Deadline) -> StreamLink:
        """Return the next link; restart the program if it exited in order, or takes longer to reconnect than a restart."""
        lingers = time.monotonic() + self.habits.linger
        while (link := listener.accept(deadline.or_sooner(_GLANCE))) is None:
            gone = self._program.poll() is not None
            if (gone or time.monotonic() > lingers) and self._has_connected and self.start_again():
                deadline, lingers = Deadline(max(deadline.at, time.monotonic() + scaled(READY))), math.inf
            elif gone or deadline.passed:
                hint = (
                    ""
                    if self._has_connected
                    else "does the program listen itself? then add as=responder to its options"
                )
                what = f"the target did not connect to {self.locator}"
                why = CannotConnect(what, step="accept", seen=self.state(), hint=hint)
                why.silent = not gone
                raise why
        self._has_connected = True
        return link

    def _start_if_it_ended(self, deadline: Deadline) -> None:
        """Restart a program that exits after each link, once it has exited."""
        if not self.is_brief or (self._last is not None and self._program.wait(Deadline.after(_SETTLE)) is None):
            return
        if self._program.poll() is not None and self.start_again():
            patience = Deadline(max(deadline.at, time.monotonic() + scaled(READY)))
            while not self._sees_listening() and not patience.passed:
                if self._program.wait(patience.or_sooner(_GLANCE)) is not None:
                    return

    def _sees_listening(self) -> bool:
        """Whether it listens again, as far as that can be seen without a link."""
        if self.locator.has_port:
            return bool(self._program.listening(self.locator.protocol))
        return Path(self.locator.address).exists()

    @property
    def is_brief(self) -> bool:
        """Whether it serves one link or session and exits in order after it."""
        return self.brief or self.habits.brief

    def start_again(self) -> bool:
        """Replace its program by a new start, unless it crashed, reported a panic or does something for us; return whether it did."""
        vitals = self.vitals()
        relied_on = self.agent is not None and self.agent.relied_on
        if self.again is None or relied_on or not (vitals.in_order if vitals.ended else grave(vitals.signs) is None):
            return False
        self.last_end = str(vitals.ended) if vitals.ended else "ended by us"
        if vitals.running:
            self._program.kill()
        self._program.stop()
        self.program = self._program = self.again()
        self.starts += 1
        self._has_connected = False
        return True

    def wait_until_ready(self, deadline: Deadline) -> None:
        """Wait until a responder answers an InitSyn, or an initiator connects for the first time.

        What it waits for a processor on a busy machine does not count, up to a bound.
        """
        program = self._program
        deadline = UnstarvedDeadline(deadline.at, lambda: program.held_up(0.0), STARVED * scaled(READY))
        if self._listener is not None:
            self._early = self._next_link(self._listener, deadline)
        else:
            while not self._answers(deadline):
                pass  # each check waits a moment for the program to exit
            if not self.brief:
                self._check_port_owner()

    def _answers(self, deadline: Deadline) -> bool:
        try:
            with contextlib.closing(connect(self.locator, deadline)) as link:
                self.greeting = greet(link, deadline, silently=self.profile.credentials is not None)
        except CannotConnect as why:
            self._still_starting(deadline, why)
            return False
        except NotZenoh as why:
            if self._program.wait(Deadline.after(_SETTLE)) is not None:
                self._still_starting(deadline, why)
            why.hint = why.hint or f"something else may listen at {self.locator}"
            raise
        if self._program.poll() is not None:
            self._note_brief(deadline)
        return True

    def _note_brief(self, deadline: Deadline) -> None:
        """Note that the program, which answered and exited in order, serves one link at a time."""
        self.brief = self.again is not None and self.vitals().in_order
        if not self.brief:
            self._still_starting(deadline, None)

    def _check_port_owner(self) -> None:
        """Check that our program owns the port: another one may have taken it since it was chosen.

        The owner cannot always be seen (a command may run on another machine); then the check passes.
        """
        if not self.locator.has_port:
            self._owns_port = True  # we made its path for it
            return
        patience = Deadline.after(_LISTENS)
        protocol = self.locator.protocol
        while not (ports := {port for _, port in self._program.listening(protocol)}) and not patience.passed:
            if self._program.wait(patience.or_sooner(_GLANCE)) is not None:
                self._note_brief(patience)
                return
        self._owns_port = self.locator.port in ports
        if ports and not self._owns_port:
            elsewhere = ", ".join(map(str, sorted(ports)))
            hint = f"the command listens at port {elsewhere}; does it honour {{port}}?"
            raise CannotConnect(
                f"another program answers at {self.locator}", step="connect", seen=self.state(), hint=hint
            )

    def _still_starting(self, deadline: Deadline, why: TargetError | None) -> None:
        if self._program.wait(deadline.or_sooner(_GLANCE)) is not None:
            raise CannotStart(
                "the target ended before it was ready",
                step="start",
                seen=self.state(),
                hint=self._hint("run the command by hand"),
            ) from why
        if deadline.passed:
            elsewhere = ", ".join(f"{host}:{port}" for host, port in self._program.listening(self.locator.protocol))
            hint = f"it listens at {elsewhere} instead" if elsewhere else self._hint("it has no listening socket")
            never = CannotConnect(
                f"the target never listened at {self.locator}", step="connect", seen=self.state(), hint=hint
            )
            never.silent = True
            raise never from why

    def _hint(self, usual: str) -> str:
        """Return the usual hint or, where the program tried to connect to the address on which it should listen, the role to add."""
        if _REFUSED.search("\n".join(self._last_lines(20))) is None:
            return usual
        return (
            f"it connects to {self.locator} instead of listening there: add ?role=client (or role=peer) to the target "
            "string, and the harness listens"
        )

    def state(self) -> list[str]:
        """Return the state of its process and the last lines that it wrote."""
        ended = self._program.poll()
        first = f"the process ended with {ended}" if ended else "the process runs"
        orphans = (
            [f"it left {ended.orphans} processes behind (started in the background?), which were ended"]
            if ended and ended.orphans
            else []
        )
        return [first, *orphans, *self._last_lines(5)]

    def _last_lines(self, count: int) -> tuple[str, ...]:
        """Return the last lines of its standard error or, if it wrote none there, of its standard output."""
        lines = self._program.last_lines(count)
        return lines if lines or self.agent is not None else self._program.last_lines(count, "stdout")

    def vitals(self) -> Vitals:
        """Return what can be seen without talking to it; cheap."""
        ended = self._program.poll()
        return Vitals(
            running=ended is None,
            suspended=ended is None and self._program.suspended(),
            ended=ended,
            signs=self._program.signs(),
        )

    def attach(self) -> str:
        """Return a line that tells a person how to reach it while it is kept running."""
        where = "connects to" if self._listener else "listens at"
        return f"process {self._program.pid} {where} {self.locator}"

    def let_go(self) -> None:
        """Close our listener, so that another program may listen there; the node will reconnect."""
        if self._early is not None:
            turn_away(self._early)
            self._early = None
        if self._listener is not None:
            self._listener.close()

    def stop(self) -> None:
        """End the process, its children and our listener; idempotent."""
        self.let_go()
        super().stop()
        self._program.stop()
