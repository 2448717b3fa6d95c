"""Start two nodes, with a tap on the link between them and an application on each side.

    application A -- node A (listens)  <---- tap ----  node B (connects) -- application B

B is started like any initiator and first connects to a listener of the harness; then the tap takes over this address. A node
without an agent gets a wheel client as its application, which connects through a second tap that is not recorded. If a client
cannot connect to the node, or the node does not forward its messages, the other application is alone (`lone.py`), and only
the messages on the link are judged.
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Mapping
from typing import Final, Self

from zenoh_conformance.messages import sane
from zenoh_conformance.reading.conversation import Conversation, Event, Side
from zenoh_harness.errors import AgentUnimplemented, CannotConnect, UsageError
from zenoh_harness.interop.lone import ROUTES, Opening, routes, stir
from zenoh_harness.interop.talk import Fences, Missed, Talk
from zenoh_harness.interop.voice import PATIENCE, Voice
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.tap import Tap
from zenoh_harness.profiles import DEFAULT, ON_THE_LINK
from zenoh_harness.programs.ports import free_port
from zenoh_harness.targets.adapters.launched import LaunchedNode
from zenoh_harness.targets.agent import AgentClient
from zenoh_harness.targets.endpoints import link_protocol, run_authority
from zenoh_harness.targets.reach import KINDS, Reach, parse
from zenoh_harness.targets.target import NodeInstance, NodeTarget, open_target

ZIDS: Final = {Side.RESPONDER: "a11ce", Side.INITIATOR: "b0b"}
APPLICATIONS: Final = {Side.RESPONDER: "a11cea", Side.INITIATOR: "b0ba"}


def on_side(reach: Reach, side: Side) -> Reach:
    """Return the target with the options for its side of the pair, which those in its target string override.

    Raises UsageError if the target cannot be on this side.
    """
    kind = KINDS[reach.kind]
    if "as" not in kind.options:
        if side is Side.INITIATOR:
            hint = f"zconform interop {reach} OTHER: the first one listens"
            raise UsageError(f"{reach} runs already and cannot be told to connect to us", step="interop", hint=hint)
        return reach
    options = {"zid": ZIDS[side], **reach.options, "as": side.value}
    if side is Side.INITIATOR and has_application(reach):
        options.setdefault("role", "client")  # a router would need an address to listen on
    return reach.with_options(**options)


def has_application(reach: Reach) -> bool:
    """Return whether the target has an agent when the harness starts it."""
    return reach.kind == "wheel" or reach.options.get("agent") == "stdio"


class Pair:
    """Both nodes, started and connected; use as a context manager."""

    def __init__(self, responder: Reach, initiator: Reach, sink: Callable[[Event], None]) -> None:
        """Prepare the targets; nothing is started yet. Raises UsageError if a target cannot be on its side.

        `sink` receives the events of the link.
        """
        self.targets: Mapping[Side, NodeTarget] = {
            Side.RESPONDER: open_target(on_side(responder, Side.RESPONDER)),
            Side.INITIATOR: open_target(_listening_too(on_side(initiator, Side.INITIATOR))),
        }
        for side, target in self.targets.items():
            if target.side is not side:
                raise UsageError(f"{target.reach} cannot be the {side.value}", step="interop")
        self.nodes: dict[Side, NodeInstance] = {}
        self.voices: dict[Side, Voice] = {}
        self.lacking = ""
        """The reason why no scenario can be run; empty if scenarios can be run."""
        self._sink = Opening(sink)
        self._tap: Tap | None = None
        self._fences: Fences | None = None
        self._all = contextlib.ExitStack()

    def __enter__(self) -> Self:
        """Start both nodes. Raises TargetError if one does not start, or if they do not connect."""
        try:
            self._start()
        except BaseException:
            self._all.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._all.close()

    @property
    def conversation(self) -> Conversation:
        """The connections through the tap; their events went to the sink."""
        assert self._tap is not None, "not started"
        return self._tap.conversation

    def talk(self, here: Side) -> Talk:
        """Return a new interface for one scenario that begins on this side."""
        assert self._tap is not None and self._fences is not None, "not started"
        routers = all(node.role == "router" for node in self.nodes.values())
        unseen = sane.LEASE_MS / 1000 if link_protocol(self.targets[here].reach) == "udp" else 0.0
        near, far = self.voices[here], self.voices[here.other]
        return Talk(near, far, self._fences, self._tap, routers=routers, unseen=unseen)

    def rest(self) -> None:
        """Restore the link and undeclare everything, after a scenario. Raises Missed, AgentError."""
        assert self._tap is not None and self._fences is not None, "not started"
        self._tap.unbar()
        for voice in self.voices.values():
            voice.hush()
        self._fences.join(*self.voices.values())

    def dead(self) -> dict[Side, str]:
        """Return the nodes that have ended, with the reason."""
        vitals = {side: node.vitals() for side, node in self.nodes.items()}
        alone = len(self.voices) < len(Side)  # a node without an agent may end, and is started again
        return {
            side: f"the node ended with {seen.ended}"
            for side, seen in vitals.items()
            if not seen.running and not (alone and seen.in_order)
        }

    def _start(self) -> None:
        for side, target in self.targets.items():
            self.nodes[side] = self._all.enter_context(target.start(_profile(target)))
        near, far = self.nodes[Side.INITIATOR], self.nodes[Side.RESPONDER]
        self._tap = self._all.enter_context(_taking_over(near, far.locator, self._sink))
        for side, node in self.nodes.items():
            if node.agent is not None or _has_door(self.targets[side]):
                self.voices[side] = Voice(node.agent or self._application(side), side)
        if len(self.voices) < len(Side):
            self._alone(Side.INITIATOR, "has no application of its own, and none can reach it")
            return
        try:
            self._fences = Fences(*self.voices.values())
            own = all(node.agent is not None for node in self.nodes.values())
            self._join(2 * PATIENCE if own else ROUTES)
        except AgentUnimplemented as why:
            self.lacking = "; ".join(why.seen)

    def _join(self, within: float) -> None:
        """Wait until each application receives the other's publications, or one is alone. Raises CannotConnect."""
        assert self._fences is not None, "not started"
        try:
            self._fences.join(*self.voices.values(), within=within)
        except Missed as why:
            if within == 2 * PATIENCE:
                raise CannotConnect("the two nodes do not come together", step="interop", seen=str(why)) from why
            silent = next((side for side in self.nodes if not self._passes_on(side)), None)
            if silent is None:
                self._join(2 * PATIENCE)
            else:
                self._alone(silent, "has no application of its own, and passes nothing on from one at its door")

    def _passes_on(self, side: Side) -> bool:
        """Return whether a node forwards data of applications that connect to it; always for a node with an agent."""
        return self.nodes[side].agent is not None or routes(self.voices[side], Voice(self._application(side, 1), side))

    def _alone(self, side: Side, why: str) -> None:
        """Note why no scenario can be run, and remove the application of this side. Raises CannotConnect."""
        near = self.nodes[Side.INITIATOR]
        assert isinstance(near, LaunchedNode), "only what we start connects to us"
        self._sink.wait(near)
        self.lacking = f"the {side.value} {why}; what both say on the link is judged"
        self.voices.pop(side, None)

    def stir(self) -> None:
        """Let an application that is alone do all commands of applications, so that the link can be judged."""
        if len(self.voices) < len(Side):
            for voice in self.voices.values():
                stir(voice)

    def _application(self, side: Side, number: int = 0) -> AgentClient:
        """Start a wheel client that connects to the node; `number` distinguishes several."""
        reach = parse(f"wheel?role=client&zid={APPLICATIONS[side]}{number or ''}")
        client = self._all.enter_context(open_target(reach).start())
        assert client.agent is not None, "a wheel has an agent"
        self._all.enter_context(_taking_over(client, _door(self.targets[side], self.nodes[side]), _unheard))
        return client.agent


def _profile(target: NodeTarget) -> str:
    """Return the profile in which all messages go over the link, unless the target string names a profile."""
    chooses = target.reach.kind in ("wheel", "docker") and "profile" not in target.reach.options
    return ON_THE_LINK if chooses and ON_THE_LINK in target.profiles else DEFAULT


def _taking_over(node: NodeInstance, to: Locator, sink: Callable[[Event], None]) -> Tap:
    """Replace the listener to which the node has connected by a tap; the node is disconnected and connects again.

    Over TLS it has another certificate of the same authority.
    """
    assert isinstance(node, LaunchedNode), "only what we start connects to us"
    node.let_go()
    listen = node.locator
    if listen.protocol == "tls":
        listen = Locator(listen.protocol, listen.address, run_authority().listens())
    return Tap(listen, to, sink)


def _listening_too(reach: Reach) -> Reach:
    """Return a container that connects with the option to listen, too, so that its application can connect to it."""
    if reach.kind != "docker":
        return reach
    port = free_port()
    listen = shlex.quote(f'listen/endpoints:["tcp/127.0.0.1:{port}"]')
    return reach.with_options(args=f"{reach.options.get('args', '')} --cfg {listen}".strip())


def _has_door(target: NodeTarget) -> bool:
    """Return whether an application can connect to the node."""
    return target.side is Side.RESPONDER or target.reach.kind == "docker"


def _door(target: NodeTarget, node: NodeInstance) -> Locator:
    """Return the address at which an application connects to the node."""
    if node.side is Side.RESPONDER:
        return node.locator
    words = shlex.split(target.reach.options["args"])
    endpoint = next(word for word in words if word.startswith("listen/endpoints:"))
    return Locator.parse(endpoint.partition(":")[2].strip('[]"'))


def _unheard(_event: Event) -> None:
    """Ignore an event between an application and its own node, which is not judged."""
