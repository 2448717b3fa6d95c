"""`exec:` and addresses: what is filled in, who listens, who comes, and whose port it is."""

import contextlib
import shlex
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path

import pytest

from zenoh_conformance.messages import sane
from zenoh_conformance.reading.batch import frame_batch
from zenoh_conformance.reading.codec import decode, encode
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.kinds import InitSyn, OpenSyn
from zenoh_conformance.talking.dialogue import Dialogue
from zenoh_harness.errors import CannotConnect, CannotStart, NotZenoh, UsageError
from zenoh_harness.links.opening import LinkListener
from zenoh_harness.links.timing import Deadline
from zenoh_harness.links.wires import Recorder
from zenoh_harness.programs import processes
from zenoh_harness.programs.environments import python_with
from zenoh_harness.run.node import health
from zenoh_harness.targets import target
from zenoh_harness.targets.habits import Return, SessionEnd, TargetHabits
from zenoh_harness.targets.reach import parse

HERE = Path(__file__).parents[1]


def script(name, *arguments):
    return shlex.join([sys.executable, str(HERE / name)]) + " " + " ".join(arguments)


def opened(reach):
    return target.open_target(parse(reach))


def soon():
    return Deadline.after(10)


def test_a_node_that_comes_to_us_comes_again():
    reach = f"exec:{script('initiating_node.py', '{host}', '{port}', '{zid}')}?as=initiator&zid=c0ffee"
    with opened(reach).start() as node:
        assert node.side is Side.INITIATOR
        for _ in range(3):
            dialogue = Dialogue(Recorder().wire(node, "us", soon()), zid=b"\1\2", unit=5.0, requirement="x/y")
            syn = dialogue.expect(InitSyn)
            assert str(syn.zid) == "c0ffee"
            dialogue.ask(dialogue.init_ack(syn), expect=OpenSyn)
            dialogue.wire.shut()


def test_a_node_that_has_gone_does_not_come():
    with pytest.raises(CannotConnect) as refused:
        opened(f"exec:{script('no_node.py', 'exits', '{port}')}?as=initiator").start()
    assert "the target did not connect" in str(refused.value)
    assert "as=responder" in refused.value.hint
    assert "cannot find my config" in str(refused.value)
    assert not processes.running()


def test_a_link_that_waited_too_long_is_left_out():
    reach = f"exec:{script('initiating_node.py', '{host}', '{port}', '{zid}', '0.2')}?as=initiator"
    with opened(reach).start() as node:
        for _ in range(2):
            deadline = soon()
            node._early = node._early or node._next_link(node._listener, deadline)
            while not node._early.forsaken:
                assert not deadline.passed
            dialogue = Dialogue(Recorder().wire(node, "us", soon()), zid=b"\1\2", unit=5.0, requirement="x/y")
            dialogue.open()
            dialogue.wire.shut()


def test_a_link_that_came_while_another_was_up_is_left_out():
    """One that holds a single session may still hold the old one when we answer: it would refuse the new one."""
    reach = f"exec:{script('initiating_node.py', '{host}', '{port}', '{zid}', '60', '2')}?as=initiator"
    with opened(reach).start() as node:
        first = node.link(soon())
        early = node._next_link(node._listener, soon())
        while early.waited < 0.2:
            assert not early.forsaken
        first.close()
        node._early = early
        assert node.link(soon()) is not early
        assert node._early is None


@pytest.mark.parametrize(("patience", "taken"), [(0.1, False), (60.0, True)])
def test_a_link_that_is_about_to_be_given_up_is_left_out(patience, taken):
    reach = f"exec:{script('initiating_node.py', '{host}', '{port}', '{zid}', '60')}?as=initiator"
    with opened(reach).start() as node:
        node.patience = patience
        early = node._early
        while early.waited < 0.2:
            assert not early.forsaken
        assert (node.link(soon()) is early) is taken


def test_every_blank_is_filled_in():
    code = (
        "import socket, sys; print(sys.argv[1:], file=sys.stderr); "
        "s = socket.create_connection((sys.argv[1], int(sys.argv[2]))); s.recv(1)"
    )
    words = shlex.join([sys.executable, "-u", "-c", code])
    with opened(f"exec:{words} {{host}} {{port}} {{locator}} {{zid}} {{profile}}?as=initiator").start(
        "qos-off"
    ) as node:
        deadline = soon()
        while not node.program.output():
            assert node.program.wait(Deadline.after(0.02)) is None
            assert not deadline.passed
        port = str(node.locator.port)
        assert node.program.output().strip() == str(["127.0.0.1", port, f"tcp/127.0.0.1:{port}", node.zid, "qos-off"])


def test_braces_that_are_no_blank_stay():
    code = "import sys; sys.exit(len({}) + 5)"
    words = shlex.join([sys.executable, "-c", code])
    with pytest.raises(CannotConnect, match="exit code 5"):
        opened(f"exec:{words} {{port}}?as=initiator").start()


@pytest.mark.parametrize(
    ("reach", "says"),
    [
        ("exec:./node {prot}", "{port}"),
        ("exec:./node 'unclosed {port}", "cannot split the command"),
        ("exec:./node", "names no address"),
        ("exec:./node {port}?profile=low-latncy", "low-latency"),
    ],
)
def test_usage(reach, says):
    with pytest.raises(UsageError) as refused:
        opened(reach)
    assert says in str(refused.value)


def test_a_command_without_profiles_has_one():
    assert list(opened("exec:./node {port}").profiles) == ["default"]
    assert "low-latency" in opened("exec:./node {port} {profile}").profiles
    assert list(opened("exec:./node {port}?profile=low-latency").profiles) == ["low-latency"]


STUB = Path(str(files("zenoh_harness"))) / "targets" / "nodes" / "agent_stub.py"


@pytest.mark.parametrize(
    ("options", "name", "version"),
    [
        ("agent=stdio", "stub", "1"),
        ("agent=stdio&name=mine", "mine", "1"),
        ("version=7", Path(sys.executable).name, "7"),
        ("name=mine", "mine", ""),
    ],
)
def test_who_it_is_is_known_before_it_is_judged(options, name, version):
    found = opened(f"exec:{shlex.join([sys.executable, str(STUB)])} {{port}}?{options}").identity
    assert (found.name, found.version, found.kind) == (name, version, "exec")
    assert not processes.running()


def test_an_agent_that_does_not_say_who_it_is_leaves_the_name_of_its_program():
    found = opened("exec:cat {port}?agent=stdio").identity
    assert (found.name, found.version) == ("cat", "")
    assert not processes.running()


def test_somebody_else_at_the_port_is_told():
    with opened("wheel:1.10.2").start() as other:
        words = script("no_node.py", "elsewhere", str(other.locator.port))
        with pytest.raises(CannotStart, match=f"another program already listens at {other.locator}"):
            opened(f"exec:{words}?listen={other.locator.address}").start()
    assert not processes.running()


def test_somebody_who_took_the_port_while_it_started_is_told(monkeypatch):
    """Nobody was there when we looked; then somebody came before the program did, which listens elsewhere."""
    monkeypatch.setattr("zenoh_harness.targets.adapters.command._check_port_is_free", lambda locator: None)
    with opened("reference").start() as other:
        words = script("no_node.py", "elsewhere", str(other.locator.port))
        with pytest.raises(CannotConnect, match=f"another program answers at {other.locator}") as told:
            opened(f"exec:{words}?listen={other.locator.address}").start()
    assert "does it honour {port}?" in told.value.hint
    assert not processes.running()


def test_a_node_that_runs_already():
    with opened("wheel:1.10.2").start() as router:
        reach = parse(f"{router.locator}")
        with target.open_target(reach).start() as found:
            assert health.check(found).verdict.value == "pass"
            assert found.program is None
        assert router.program.poll() is None


ROUTER = """
import json, signal, sys, zenoh
config = zenoh.Config()
for path, value in {"mode": "router", "listen/endpoints": [sys.argv[1]], "scouting/multicast/enabled": False}.items():
    config.insert_json5(path, json.dumps(value))
session = zenoh.open(config)
print("up", flush=True)
signal.pause()
"""


def test_a_unix_socket_that_runs_already(tmp_path):
    where = f"unixsock-stream/{tmp_path}/z.sock"
    python = str(python_with("eclipse-zenoh", "1.10.2"))
    with processes.start([python, "-c", ROUTER, where], interactive=True) as program:
        assert program.stdout.readline() == b"up\n"
        with opened(where).start() as node:
            assert health.check(node).verdict.value == "pass"


def test_a_port_where_nobody_speaks_zenoh(monkeypatch):
    monkeypatch.setattr("zenoh_harness.targets.adapters.address.READY", 0.3)
    with LinkListener.open() as listener, pytest.raises(NotZenoh, match="does not answer"):
        opened(str(listener.locator)).start()


def answered(answer):
    """The node at a port where `answer`, of the batch that comes, is the answer."""

    def answers():
        with contextlib.closing(listener.accept(Deadline.after(5))) as link:
            asked = link.receive(Deadline.after(5)).data
            link.send(frame_batch(answer(asked[2:]), "stream"), Deadline.after(5))

    with LinkListener.open() as listener, ThreadPoolExecutor(1) as pool:
        pool.submit(answers)
        return opened(str(listener.locator)).start()


def test_whoever_answers_with_a_wrong_init_is_judged():
    """It forgot INIT's A: the checks say so."""
    assert InitSyn.matches(decode(answered(lambda asked: encode(sane.init_syn(b"\1"))).greeting).message)


def test_an_echo_speaks_no_zenoh():
    with pytest.raises(NotZenoh, match="as Zenoh does"):
        answered(lambda asked: asked)


def test_an_address_has_the_profile_that_it_is_said_to_have():
    assert list(opened("tcp/127.0.0.1:1?profile=compression").profiles) == ["compression"]
    assert not opened("tcp/127.0.0.1:1").restartable


SPEAKING = """
import json, os, socket, sys
link = socket.create_connection((sys.argv[1], int(sys.argv[2])))
for line in sys.stdin:
    about = {"identity": {"name": "tired", "version": str(os.getpid())}, "capabilities": ["put"]}
    print(json.dumps({"seq": json.loads(line)["seq"], "ok": True, **about}), flush=True)
"""
"""An initiator with an agent that connects once."""


@pytest.fixture
def tired_node():
    words = shlex.join([sys.executable, "-I", "-S", "-c", SPEAKING])
    with opened(f"exec:{words} {{host}} {{port}}?as=initiator&agent=stdio").start() as node:
        node.habits = TargetHabits(again=True, returns={SessionEnd.FIN: Return(after=None, waited=1.0)})
        yield node


def test_an_application_is_started_again_with_its_node(tired_node):
    first = tired_node.agent.identity
    tired_node.link(soon()).close()
    tired_node.link(soon()).close()
    assert (tired_node.starts, tired_node.agent.knows("put")) == (2, True)
    assert tired_node.agent.identity["version"] == str(tired_node.program.pid) != first["version"]


def test_an_application_that_was_asked_for_something_is_not_started_again(tired_node):
    """A new start forgets what it declared: the node would be charged with that."""
    tired_node.link(soon()).close()
    tired_node.agent.ask("put", key="k", payload="00")
    with pytest.raises(CannotConnect):
        tired_node.link(Deadline.after(0.1))
    tired_node.agent.rest()
    tired_node.link(soon()).close()
    assert tired_node.starts == 2
