"""Agents: the wheel's own and the stub, held to the schemas; and those that answer nonsense."""

import json
import sys
from importlib.resources import files

import pytest
from jsonschema import Draft202012Validator

from zenoh_harness.errors import AgentError
from zenoh_harness.links.timing import Deadline
from zenoh_harness.programs import processes
from zenoh_harness.targets import agent as agent_module
from zenoh_harness.targets import target
from zenoh_harness.targets.agent import AgentClient
from zenoh_harness.targets.reach import parse

TARGETS = files("zenoh_harness") / "targets" / "nodes"


def soon():
    return Deadline.after(10)


def speaking(code):
    """A program that says what `code` makes it say."""
    return processes.start([sys.executable, "-I", "-S", "-u", "-c", code], interactive=True)


@pytest.fixture
def stub():
    with processes.start([sys.executable, str(TARGETS / "agent_stub.py")], interactive=True) as program:
        agent = AgentClient.over(program, validate=True)
        agent.introduction(soon())
        yield agent


@pytest.fixture(scope="module")
def wheel():
    with target.open_target(parse("wheel:1.10.2")).start() as node:
        node.agent.validate()
        yield node.agent


def told(agent, count, name):
    return [event for event in agent.events(count, 5) if event["id"] == name]


def test_schemas_are_schemas():
    for side in ("request", "answer"):
        schema = json.loads((files("zenoh_harness") / "files" / "schemas" / f"agent-{side}.json").read_text())
        Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("which", ["stub", "wheel"])
def test_put_is_received(which, request):
    agent = request.getfixturevalue(which)
    agent.ask("declare_subscriber", id="s", key="t/put")
    agent.ask("put", key="t/put", payload="0aff")
    [sample] = told(agent, 1, "s")
    assert (sample["event"], sample["key"], sample["kind"], sample["payload"]) == ("sample", "t/put", "put", "0aff")
    agent.ask("undeclare", id="s")


@pytest.mark.parametrize("which", ["stub", "wheel"])
def test_get_is_answered_and_ends(which, request):
    agent = request.getfixturevalue(which)
    agent.ask("declare_queryable", id="q", key="t/get", plan=[{"reply": "01"}, {"reply": "02"}])
    agent.ask("get", id="g", key="t/get")
    events = agent.events(4 if which == "stub" else 3, 5)
    assert events[0] == {"event": "query", "id": "q", "key": "t/get", "parameters": ""}
    assert [event["event"] for event in events[1:]] in (["reply", "reply", "end"], ["reply", "end"])
    agent.ask("undeclare", id="q")


def test_the_wheel_does_all_that_it_says(wheel):
    wheel.ask("declare_publisher", id="p", key="t/p", priority=2, express=True, congestion="block")
    wheel.ask("declare_subscriber", id="s", key="t/**")
    wheel.ask("put", id="p", payload="01")
    wheel.ask("delete", id="p")
    wheel.ask("put", key="t/e", payload="7b7d", encoding="application/json", attachment="aa")
    wheel.ask("delete", key="t/e")
    samples = told(wheel, 4, "s")
    assert [(one["kind"], one.get("payload")) for one in samples] == [
        ("put", "01"), ("delete", ""), ("put", "7b7d"), ("delete", ""),
    ]  # fmt: skip
    assert samples[0]["priority"] == 2
    assert (samples[2]["encoding"], samples[2]["attachment"]) == ("application/json", "aa")
    for name in ("s", "p"):
        wheel.ask("undeclare", id=name)


def test_a_plan_of_every_step(wheel):
    plan = [{"reply": "01", "key": "t/plan/a"}, {"error": "02"}, {"delete": "t/plan/b"}, {"hold": True}]
    wheel.ask("declare_queryable", id="q", key="t/plan/**", complete=True, plan=plan)
    wheel.ask("get", id="g", key="t/plan/**?x=1", target="all", consolidation="none", timeout_ms=9000, payload="ee")
    query, *answers = wheel.events(4, 5)
    assert (query["parameters"], query["payload"]) == ("x=1", "ee")
    assert [(one["event"], one.get("kind"), one.get("payload")) for one in answers] == [
        ("reply", "put", "01"), ("error", None, "02"), ("reply", "delete", ""),
    ]  # fmt: skip
    assert wheel.events(1, 0.1) == []
    wheel.ask("answer_held", id="q", plan=[{"reply": "03", "key": "t/plan/c"}])
    assert [event["event"] for event in wheel.events(2, 5)] == ["reply", "end"]
    wheel.ask("undeclare", id="q")


def test_a_token_and_its_end(wheel):
    wheel.ask("declare_token", id="t", key="t/alive")
    wheel.ask("undeclare", id="t")


@pytest.mark.parametrize("which", ["stub", "wheel"])
def test_is_honest_about_what_it_cannot(which, request):
    agent = request.getfixturevalue(which)
    assert agent.knows("put")
    assert not agent.knows("levitate")
    with pytest.raises(AgentError, match="refuses undeclare" if which == "wheel" else "refuses declare_token"):
        agent.ask(
            *(["undeclare"] if which == "wheel" else ["declare_token"]),
            id="never",
            **({} if which == "wheel" else {"key": "k"}),
        )


def test_close_ends_it():
    with target.open_target(parse("wheel:1.10.2")).start() as node:
        node.agent.ask("close")
        assert node.program.wait(soon()).code == 0


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("print('hello there')", "no JSON object"),
        ("print('[1]')", "no JSON object"),
        ("print('{}')", "without seq or event"),
        ('import sys; sys.stdin.readline(); print(\'{"seq": 1, "ok": true}\'); input()', "introduce"),
        ('import sys; sys.stdin.readline(); print(\'{"seq": 7, "ok": true}\'); input()', "does not answer"),
        ("pass", "output ended"),
        ("print('x' * (1 << 23), end='')\ninput()", "a line of more than"),
        ("import sys; sys.stdin.close(); import signal; signal.pause()", "does not answer"),
    ],
)
def test_nonsense_is_told(code, says):
    with speaking(code) as program:
        agent = AgentClient.over(program)
        with pytest.raises(AgentError) as refused:
            agent.introduction(Deadline.after(1))
    assert says in str(refused.value)
    assert refused.value.exit_code == 3


def test_what_the_schema_does_not_know_is_told():
    code = 'print(\'{"event": "sample", "id": "s"}\'); input()'
    with speaking(code) as program:
        agent = AgentClient.over(program, validate=True)
        with pytest.raises(AgentError, match="schema"):
            agent.events(1, 5)


def test_we_are_held_to_the_schema_too(stub):
    with pytest.raises(AgentError, match="a command of the harness does not match the schema"):
        stub.ask("put", key="k", payload="not hex")


def test_the_stub_is_short():
    lines = (TARGETS / "agent_stub.py").read_text().splitlines()
    assert len([line for line in lines if line.strip() and not line.startswith("#")]) <= 60


FLOOD = 'while True: print(\'{"event": "sample", "id": "a"}\')'


@pytest.mark.parametrize(
    ("most", "patience", "seen"),
    [(1 << 16, 60.0, "more than"), (1 << 40, 0.05, agent_module.SILENT)],
    ids=["too many", "too long"],
)
def test_an_agent_that_reports_without_end_is_given_up(most, patience, seen, monkeypatch):
    monkeypatch.setattr(agent_module, "MOST_EVENTS", most)
    monkeypatch.setattr(agent_module, "PATIENCE", patience)
    with speaking(FLOOD) as program, pytest.raises(AgentError) as told:
        AgentClient.over(program).ask("put", key="a", payload="")
    assert seen in str(told.value.seen)
