"""The application of a node that connects to us, as the party that hears what we say: its agent tells what it is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from zenoh_conformance.judging.finding import SILENCE, Deviation
from zenoh_conformance.messages import Del, DSubscriber, Push, Put, sane
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.reading.connection import Seen
from zenoh_conformance.reading.conversation import Event, Happened, Side
from zenoh_conformance.reading.names import plain
from zenoh_conformance.wire import Exts

from .asked import Heard
from .dialogue import Dialogue
from .party import Party
from .scene import Scene

MARK = "told"
"""The chunk below our root of what shows that all before it was told."""

Told = Mapping[str, Any]


def router(scene: Scene, **init: Any) -> Party:
    """The target's session with us, with that in our InitAck, which works for both: what its application says now is said in it.

    Of a router we are a peer: routers route among each other by the topology, of which we say nothing.
    """
    role = sane.PEER if scene.fact("stated_role") == "router" else sane.ROUTER
    us = scene.session("router", whatami=role, **init)
    party = Party(us, "router", f"zconform/{us.zid.hex()}")
    party.settles("not reached: the session works")
    return party


def settling(scene: Scene, **init: Any) -> Party:
    """The same with that in our InitAck, which the target follows or refuses: silence deviates (session-establishment#overview)."""
    try:
        return router(scene, **init)
    except Deviation as found:
        if found.finding.got != SILENCE or found.finding.reached:
            raise
        about = "session-establishment/open-syn-answers-init-ack"
        raise Deviation(replace(found.finding, requirement=about, path="stage init")) from None


def live_session(scene: Scene) -> Dialogue:
    """A live session with the target, whichever side opens it."""
    return router(scene).us if scene.role is Side.INITIATOR else scene.session()


def named(us: Party) -> str:
    """What the application calls what it does in this case: what it is told of other cases has other names."""
    return us.us.zid.hex()


def told(scene: Scene, us: Party, within: float) -> Told | None:
    """The next thing that the application is told in this case; None when time runs out."""
    deadline = us.us.wire.now() + within
    while (left := deadline - us.us.wire.now()) > 0:
        for each in scene.agent.events(1, left):
            if each.get("id") == named(us):
                return each
    return None


class ApplicationParty(Party):
    """A subscriber of a case, where the target connects: the session is that of the publisher, what comes is what its agent tells."""

    def __init__(self, scene: Scene, publisher: Party, name: str) -> None:
        super().__init__(publisher.us, name, publisher.root)
        self._scene, self._publisher = scene, publisher

    def declares_subscriber(self, key: str | WireExpr, entity: int | None = None) -> DSubscriber:
        """The application subscribes to that, and to what shows that it was told all."""
        body = DSubscriber(id=self._entity(entity), key=self.key(key))
        for name, each in ((named(self), body.key.suffix), (self._mark, self._mark)):
            self._scene.agent.ask("declare_subscriber", id=name, key=each)
        self.settles(f"not reached: {self.name} declares")
        return body

    @property
    def _mark(self) -> str:
        return self.whole(MARK)

    def settles(self, step: str = "not reached: the session works") -> None:
        """The application was told what we said before; or the target has ended the session."""
        if not self.us.is_over and self.us.works_or_is_over(step=step):
            self._publisher.says(Push(key=self.key(MARK), exts=Exts(sane.SURELY), body=Put(payload=b"")))
            self._hears(lambda key: key == self._mark, self.us.unit)
        else:
            self._hears(lambda key: False, self.us.unit / 8)

    def expect(
        self, kind: type[Any], where: Callable[[Heard], bool] = lambda heard: True, *, step: str, what: str = ""
    ) -> Heard:
        """The first publication of which the application is told and that was not expected before; deviates when none comes in time."""
        deadline = self.us.wire.now() + self.us.unit
        while (found := self._unused(kind, where)) is None:
            if not self._hears(lambda key: True, deadline - self.us.wire.now()):
                self.us.deviate(expected=what or kind.__name__, got=self.us.text_of(None), step=step)
        return found

    def awaits(self, holds: Callable[[], bool]) -> bool:
        """Take in what the application is told until it holds, for as long as our patience lasts: whether it holds."""
        deadline = self.us.wire.now() + self.us.unit
        while not holds() and self._hears(lambda key: True, deadline - self.us.wire.now()):
            pass
        return holds()

    def _listen(self) -> None:
        """What comes is taken in where it is waited for."""

    def _hears(self, where: Callable[[str], bool], within: float) -> bool:
        """Take in what the application is told, until it is told of such a key; whether it was before time ran out."""
        deadline = self.us.wire.now() + within
        while (left := deadline - self.us.wire.now()) > 0:
            for each in self._scene.agent.events(1, left):
                if each.get("id") in (named(self), self._mark) and each["event"] == "sample":
                    self._takes(each)
                    if where(each["key"]):
                        return True
        return False

    def _takes(self, sample: Told) -> None:
        """Note a publication of which the application is told, as the message that it would be."""
        if sample["key"] != self._mark:
            body = Del() if sample["kind"] == "delete" else Put(payload=bytes.fromhex(sample.get("payload") or ""))
            push = Push(key=plain(sample["key"]), body=body)
            event = Event(self.us.wire.now(), self.us.wire.name, self.us.wire.side.other, Happened.BYTES)
            self._heard.append(Heard(push, sample["key"], Seen(event, "push", push, "push")))
