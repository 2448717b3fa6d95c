"""The templates of an agent around a blocking library: each answers `start` before its session, and says when it is ready."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from zenoh_harness.errors import AgentError
from zenoh_harness.links.timing import Deadline
from zenoh_harness.programs import processes
from zenoh_harness.targets.agent import AgentClient

ADAPTERS = Path(__file__).parents[3] / "docs" / "pages" / "adapters"
BUILT = {
    "agent_blocking.py": lambda source, folder: [],
    "agent_blocking.c": lambda source, folder: [
        "cc",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-pthread",
        "-o",
        folder / "agent",
        source,
    ],
    "BlockingAgent.java": lambda source, folder: ["javac", "-Xlint:all", "-Werror", "-d", folder, source],
    "agent_blocking.go": lambda source, folder: ["go", "build", "-o", folder / "agent", source],
}
"""The templates, and the command that compiles each."""

LONG = [pytest.mark.soak, pytest.mark.needs("go")]
MARKS = {
    "agent_blocking.c": pytest.mark.needs("cc"),
    "BlockingAgent.java": pytest.mark.needs("javac"),
    "agent_blocking.go": LONG,
}


@pytest.fixture(params=[pytest.param(name, marks=MARKS.get(name, ())) for name in BUILT], scope="module")
def program(request, tmp_path_factory):
    """The command that starts the template."""
    source, folder = ADAPTERS / request.param, tmp_path_factory.mktemp("agent")
    if command := BUILT[request.param](source, folder):
        subprocess.run(command, check=True, env={**os.environ, "GOTOOLCHAIN": "local", "GOPROXY": "off"})
    java = ["java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", str(folder), source.stem]
    return {".py": [sys.executable, str(source)], ".java": java}.get(source.suffix, [str(folder / "agent")])


@pytest.fixture
def far():
    """The far side of the session, which is open when it says something."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


@pytest.fixture
def agent(far, program):
    locator = f"tcp/127.0.0.1:{far.getsockname()[1]}"
    with processes.start([*program, locator], interactive=True) as started:
        client = AgentClient.over(started, validate=True)
        client.introduction(Deadline.after(10))  # no session yet
        yield client


def test_a_command_that_comes_before_the_session_is_asked_again(agent, far, monkeypatch):
    """An agent that called its session open some milliseconds after the handshake had 32 false zombies."""
    waited, links = AgentClient._becomes_ready, []

    def open_now(self, deadline):
        links.append(far.accept()[0])
        links[0].send(b"x")
        return waited(self, deadline)

    monkeypatch.setattr(AgentClient, "_becomes_ready", open_now)
    assert agent.ask("declare_subscriber", id="s", key="a")["ok"]
    agent.ask("declare_queryable", id="q", key="b", plan=[{"reply": "01"}, {"reply": "02", "key": "c"}])
    agent.ask("put", key="a", payload="2a")
    agent.ask("get", id="g", key="b")
    told = [(event["event"], event.get("key")) for event in agent.events(5, 10)]
    assert told == [("sample", "a"), ("query", "b"), ("reply", "b"), ("reply", "c"), ("end", None)]
    assert len(links) == 1
    with pytest.raises(AgentError, match="refuses undeclare") as refused:
        agent.ask("undeclare", id="never")
    assert any(why in refused.value.seen[0] for why in ("KeyError('never')", "nothing is declared under this id"))
    links[0].close()


def test_one_that_never_becomes_ready_is_refused_with_its_reason(agent, monkeypatch):
    monkeypatch.setattr(AgentClient, "_becomes_ready", lambda *_: False)
    with pytest.raises(AgentError, match="refuses put") as refused:
        agent.ask("put", key="a", payload="")
    assert refused.value.seen == ("the session is not open yet",)
    assert not agent.knows("levitate")
    assert agent.knows("put")


def test_that_it_is_ready_is_no_event_for_a_case(agent, far):
    link, _ = far.accept()
    link.send(b"x")
    assert agent.events(1, 1.0) == []
    link.close()


@pytest.mark.parametrize("name", BUILT)
def test_each_template_is_short(name):
    assert len((ADAPTERS / name).read_text(encoding="utf-8").splitlines()) < 150
