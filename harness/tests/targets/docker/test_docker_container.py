"""A container: bounded, watched, its end told apart, always removed. Against the real daemon."""

import contextlib
import os
import time

import psutil
import pytest

from zenoh_harness.errors import CannotGoOn
from zenoh_harness.links.timing import Deadline
from zenoh_harness.targets.adapters.docker import container as containers
from zenoh_harness.targets.adapters.docker import owner
from zenoh_harness.targets.adapters.docker.container import Container, ContainerPlan
from zenoh_harness.targets.adapters.docker.endings import EndKind, read_end
from zenoh_harness.targets.adapters.docker.images import obtain_image

pytestmark = pytest.mark.needs("docker")


@pytest.fixture
def run(docker_client, little):
    """Start the little program; whatever a test leaves is removed."""
    started = []

    def start(*words, **bounds):
        container = Container(
            docker_client, ContainerPlan(image=obtain_image(docker_client, little), arguments=words, **bounds)
        )
        started.append(container)
        return container

    yield start
    for container in started:
        container.stop(grace=0)


def soon():
    return Deadline.after(20)


def comes(holds):
    """Whether it comes to hold: a signal is delivered a moment after it was sent."""
    deadline = soon()
    while not (found := holds()) and not deadline.passed:
        time.sleep(0.005)
    return found


def is_there(client, container):
    return any(each.name == container.name for each in client.containers.list(all=True, ignore_removed=True))


@pytest.mark.parametrize(
    ("words", "kind", "code", "text"),
    [
        (("exit", "7"), EndKind.EXITED, 7, "exit code 7"),
        (("exit", "0"), EndKind.EXITED, 0, "exit code 0"),
        (("abort",), EndKind.SIGNALLED, -6, "signal 6 (SIGABRT)"),
        (("kill",), EndKind.SIGNALLED, -9, "signal 9 (SIGKILL)"),
        (("memory",), EndKind.OUT_OF_MEMORY, -9, "SIGKILL, out of memory (its limit is 16 MiB)"),
    ],
)
def test_ends_are_told_apart(run, words, kind, code, text):
    end = run(*words, memory=16 << 20).wait(soon())
    assert (end.kind, end.code, str(end)) == (kind, code, text)


def test_a_container_that_somebody_removes_is_gone(run, docker_client):
    container = run("wait")
    docker_client.containers.get(container.name).remove(force=True)
    assert container.wait(soon()).kind is EndKind.GONE
    assert container.usage() is None


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ({"Running": True}, None),
        ({"Running": True, "Paused": True}, None),
        ({}, EndKind.GONE),
        ({"ExitCode": 137}, EndKind.SIGNALLED),
        ({"ExitCode": 137, "OOMKilled": True}, EndKind.OUT_OF_MEMORY),
        ({"ExitCode": 128}, EndKind.EXITED),
        ({"ExitCode": 127}, EndKind.EXITED),
        ({"ExitCode": 255}, EndKind.SIGNALLED),
        ({"ExitCode": 128, "Error": "no such device"}, EndKind.NEVER),
    ],
)
def test_each_state_of_the_engine_is_one_end(state, kind):
    end = read_end(state, 1 << 20)
    assert (end and end.kind) == kind
    assert end is None or str(end)


def test_it_runs_with_nothing_that_it_does_not_need(run, docker_client):
    container = run("listen", "7447")
    assert container.wait_listening(soon())
    settings = docker_client.containers.get(container.name).attrs["HostConfig"]
    assert settings["ReadonlyRootfs"]
    assert settings["CapDrop"] == ["ALL"]
    assert settings["SecurityOpt"] == ["no-new-privileges:true"]
    assert settings["Memory"] == settings["MemorySwap"] == container.plan.memory
    assert settings["PidsLimit"] == container.plan.pids
    published = docker_client.containers.get(container.name).attrs["NetworkSettings"]["Ports"]
    assert [each["HostIp"] for each in published["7447/tcp"]] == ["127.0.0.1"]


def test_it_holds_no_capability(run):
    container = run("copy", "/proc/self/status")
    container.wait(soon())
    container.stop()
    assert "CapEff:\t0000000000000000" in container.output()
    assert "NoNewPrivs:\t1" in container.output()


def test_it_breeds_no_more_than_it_may(run):
    container = run("breed", pids=20)
    container.wait(soon())
    container.stop()
    assert 10 <= int(container.output().split()[1]) < 20


@pytest.mark.parametrize("place", ["/tmp/file", "/volume/file"])
def test_what_is_writable_has_a_bound(run, place):
    container = run("disk", place, disk=1 << 20)
    container.wait(soon())
    container.stop()
    assert container.disk_full
    assert "No space left on device" in container.output()


def test_the_root_is_read_only(run):
    container = run("disk", "/file")
    container.wait(soon())
    container.stop()
    assert "Read-only file system" in container.output()
    assert not container.disk_full


def test_files_and_environment_reach_it(run, tmp_path):
    given = tmp_path / "given"
    given.write_text("given to it\n")
    given.chmod(0o644)
    reads = run("copy", "/zconform/given", files={given: "/zconform/given"})
    speaks = run("env", "WORD", environment={"WORD": "spoken"})
    for container, said in ((reads, "given to it"), (speaks, "spoken")):
        container.wait(soon())
        container.stop()
        assert container.output().strip() == said


def test_its_standard_error_is_watched_for_death(run):
    container = run("panic")
    assert container.wait(soon()).code == 101
    container.stop()
    assert [(sign.kind, sign.line) for sign in container.signs()] == [("panic", "thread 'rx' panicked at io.rs:7")]


def test_what_it_prints_without_end_is_kept_within_bounds(run):
    container, patience = run("talk", "60000"), Deadline.after(20)
    while "bytes ...]" not in container.output() and not patience.passed:
        container.wait_listening(Deadline.after(0.2))
    container.stop()
    assert 1 << 19 <= len(container.output()) < 1 << 21
    assert "bytes ...]" in container.output()
    assert len(container.last_lines(3)) == 3


def test_a_port_without_a_listener_is_not_mistaken_for_one(run):
    assert not run("wait").wait_listening(Deadline.after(0.5))


def test_a_paused_container_stands_still(run, docker_client):
    container = run("wait")
    assert not container.suspended()
    docker_client.containers.get(container.name).pause()
    assert container.suspended()
    assert container.poll() is None
    assert container.stop().code == -9


@pytest.mark.parametrize("here", [True, False])
def test_usage_is_measured(run, here):
    """By the kernel where it is ours, else by the daemon."""
    container = run("wait")
    container.pid = container.pid if here else 0
    held = container.usage()
    assert held.memory > 4096
    assert held.threads >= 1
    assert (held.descriptors > 0) is here


def test_one_that_ignores_sigterm_is_killed(run, docker_client):
    container = run("stubborn")
    assert container.stop(grace=0.2).code == -9
    assert not is_there(docker_client, container)
    assert container.stop() == container.ended


@pytest.mark.parametrize(("words", "minded"), [(("exit", "0"), False), (("wait",), True)])
def test_one_that_has_ended_cannot_be_killed_in_any_engines_words(run, monkeypatch, words, minded):
    """Podman says so in other words than Docker; one that runs and cannot be killed is told."""
    from docker.errors import APIError

    container = run(*words)
    container.wait(soon() if not minded else Deadline.after(0))

    def refuse(_self, _signal):
        raise APIError("container state improper")

    with monkeypatch.context() as patched:
        patched.setattr(type(container._handle), "kill", refuse)
        with pytest.raises(CannotGoOn, match="state improper") if minded else contextlib.nullcontext():
            container.kill()


def test_a_start_that_fails_leaves_nothing(docker_client, little, monkeypatch):
    ours = {"label": f"{owner.PID}={os.getpid()}"}
    before = {each.id for each in docker_client.containers.list(all=True, filters=ours, ignore_removed=True)}
    monkeypatch.setattr(containers, "settings", lambda _plan: {"runtime": "no-such-runtime"})
    with pytest.raises(CannotGoOn, match="no-such-runtime"):
        Container(docker_client, ContainerPlan(image=obtain_image(docker_client, little), arguments=["wait"]))
    assert {each.id for each in docker_client.containers.list(all=True, filters=ours, ignore_removed=True)} <= before


def test_a_program_that_is_stopped_inside_stands_still(run):
    """SIGSTOP reaches the program that the engine's init started, not the init."""
    container = run("listen", "7447")
    assert container.wait_listening(soon())
    [child] = psutil.Process(container.pid).children()
    assert not container.suspended()
    child.suspend()
    assert comes(container.suspended)
    child.resume()
    assert comes(lambda: not container.suspended())
