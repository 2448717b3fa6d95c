"""Start real nodes that communicate through a tap, and record their links and their logs."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from types import TracebackType
from typing import Any, Final, Self

from zenoh_conformance.reading.conversation import Conversation, Event, Side
from zenoh_harness.errors import CannotGoOn
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.tap import Tap
from zenoh_harness.links.timing import Deadline, scaled
from zenoh_harness.profiles import PROFILES
from zenoh_harness.programs import processes
from zenoh_harness.programs.environments import python_with
from zenoh_harness.targets.adapters.wheel import configuration, settings
from zenoh_harness.targets.agent import AgentClient

LOG: Final = "zenoh_transport=trace"
LOG_LIMIT: Final = 1 << 27
PATIENCE: Final = 10.0
"""Seconds to wait for any answer or event of a node, before scaling."""


class Actor:
    """One real node and its agent."""

    def __init__(self, name: str, program: processes.Program) -> None:
        self.name = name
        self.program = program
        self._agent = AgentClient.over(program)
        self._agent.introduction(Deadline.after(PATIENCE))
        self._passed: list[Mapping[str, Any]] = []
        """Events that arrived while `hears` waited for another one."""

    @property
    def version(self) -> str:
        """The release of the node."""
        return str(self._agent.identity.get("version"))

    def do(self, command: str, **arguments: Any) -> None:
        """Send one command to the agent. Raises AgentError if the agent refuses it."""
        self._agent.ask(command, **arguments)

    def hears(self, event: str, name: str, *, within: float = PATIENCE, **fields: Any) -> Mapping[str, Any]:
        """Wait for an event about the entity with this id, with these fields; return it.

        `within`: seconds, before scaling. Raises CannotGoOn if no such event comes.
        """
        deadline = time.monotonic() + scaled(within)
        wanted = {"event": event, "id": name, **fields}
        for one in self._passed:
            if wanted.items() <= one.items():
                self._passed.remove(one)
                return one
        while (left := deadline - time.monotonic()) > 0:
            for one in self._agent.events(1, left):
                if wanted.items() <= one.items():
                    return one
                self._passed.append(one)
        raise CannotGoOn(f"{self.name} hears no {wanted}", step="live", seen=json.dumps(self._passed[-3:])[:300])

    def events(self, event: str, name: str, within: float = 0.2) -> Mapping[str, Any]:
        """Return the next event about the entity with this id; {} if none comes within these seconds."""
        try:
            return self.hears(event, name, within=within)
        except CannotGoOn:
            return {}

    def all_told(self, name: str) -> list[Mapping[str, Any]]:
        """Return the events so far about the entity with this id, without the event `end` of a query."""
        self._passed += self._agent.events(1000, 0.05)
        found = [one for one in self._passed if one["id"] == name]
        self._passed = [one for one in self._passed if one not in found]
        return [one for one in found if one["event"] != "end"]

    def forget(self) -> None:
        """Discard the events so far."""
        self.all_told("")
        self._passed.clear()

    def gets(self, key: str, **options: Any) -> int:
        """Send a query and wait for its end; return the number of replies and errors."""
        self.do("get", id="get", key=key, **options)
        self.hears("end", "get")
        return self._answers("get")

    def _answers(self, name: str) -> int:
        found = [one for one in self._passed if one["id"] == name and one["event"] in ("reply", "error")]
        self._passed = [one for one in self._passed if one not in found]
        return len(found)

    def finds(self, key: str) -> None:
        """Repeat a query until a queryable answers; earlier declarations of the same session have arrived then, too.

        Raises CannotGoOn if no answer comes.
        """
        deadline = Deadline.after(PATIENCE)
        while not self.gets(key):
            if deadline.passed:
                raise CannotGoOn(f"{self.name} finds nobody at {key}", step="live")


@dataclass(slots=True)
class Recorded:
    """The recording of the nodes of a company."""

    name: str
    version: str
    """The release of the nodes."""
    conversation: Conversation
    logs: dict[str, str] = field(default_factory=dict)
    """The output of each node, by its ZenohID as printed."""


class Company:
    """A node that listens behind a tap, and others that connect to it; use as a context manager."""

    def __init__(self, name: str, profile: str = "default", *, release: str = "", log: str = LOG) -> None:
        """`release`: of the wheel, by default the pinned one; `log`: the value of RUST_LOG for the nodes."""
        self.release = release or settings()["wheel"]["default"]
        self.recorded = Recorded(name, self.release, Conversation(about={"scene": name, "release": self.release}))
        self.profile = PROFILES[profile]
        self._log = log
        self._actors: dict[str, Actor] = {}
        self._tap: Tap | None = None
        self.locator: Locator | None = None
        """The tap's locator, at which other nodes reach the hub."""
        self._happened = threading.Condition()

    def hub(self, mode: str, zid: str, **config: Any) -> Actor:
        """Start the node that listens, and the tap before it."""
        actor = self._start(mode, zid, Side.RESPONDER, {"listen/endpoints": ["tcp/127.0.0.1:0"]} | config)
        host, port = actor.program.listening()[0]
        self._tap = Tap(Locator.tcp("127.0.0.1", 0), Locator.tcp(host, port), self._record)
        self.recorded.conversation.connections = self._tap.conversation.connections
        self._tap.__enter__()
        self.locator = self._tap.locator
        return actor

    def join(self, mode: str, zid: str, *, links: int = 1, **config: Any) -> Actor:
        """Start a node that connects to the hub, over one link or several."""
        assert self._tap is not None, "the hub comes first"
        where = {"connect/endpoints": [str(self._tap.locator)] * links, "listen/endpoints": []}
        return self._start(mode, zid, Side.INITIATOR, where | config)

    def _start(self, mode: str, zid: str, side: Side, config: Mapping[str, Any]) -> Actor:
        folder = processes.work_folder()
        dictionary = folder / "users"
        if self.profile.credentials:
            dictionary.write_text(":".join(self.profile.credentials) + "\n")
        values = configuration(self.profile, side, dictionary=dictionary) | {"mode": mode, "id": zid} | dict(config)
        script = files("zenoh_harness") / "targets" / "nodes" / "wheel_actor.py"
        python = python_with(settings()["wheel"]["package"], self.release)
        program = processes.start(
            [str(python), "-I", "-u", str(script), json.dumps(values)], cwd=folder, folder=folder,
            env={"RUST_LOG": self._log, "NO_COLOR": "1"}, interactive=True, limit=LOG_LIMIT,
        )  # fmt: skip
        try:
            self._actors[zid] = Actor(zid, program)
        except BaseException:
            program.stop()
            raise
        return self._actors[zid]

    def _record(self, event: Event) -> None:
        with self._happened:
            self.recorded.conversation.events.append(event)
            self._happened.notify_all()

    def wait(self, until: Callable[[Sequence[Event]], bool]) -> None:
        """Wait until `until` is true of the recorded events. Raises CannotGoOn after `PATIENCE` seconds."""
        with self._happened:
            if not self._happened.wait_for(lambda: until(self.recorded.conversation.events), scaled(PATIENCE)):
                raise CannotGoOn("what was waited for is not on the links", step="live")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for actor in reversed(self._actors.values()):
            if kind is None:
                actor.do("close")
            actor.program.stop()
            self.recorded.logs[actor.name] = actor.program.output()
        if self._tap is not None:
            self._tap.close()
