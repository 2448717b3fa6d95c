"""What a killed harness leaves behind is removed by the next one, and nobody else's is touched."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from zenoh_harness.files import results
from zenoh_harness.targets.adapters.docker import owner
from zenoh_harness.targets.adapters.docker.container import Container, ContainerPlan
from zenoh_harness.targets.adapters.docker.images import obtain_image

pytestmark = pytest.mark.needs("docker")

HARNESS = """
import sys
from pathlib import Path
from zenoh_harness.programs import processes
from zenoh_harness.targets.adapters.docker import owner
from zenoh_harness.targets.adapters.docker.container import Container, ContainerPlan
from zenoh_harness.targets.adapters.docker.images import obtain_image
from zenoh_harness.files import results
folder = processes.work_folder()
client = owner.daemon()
container = Container(client, ContainerPlan(image=obtain_image(client, sys.argv[1]), arguments=["stubborn"], folder=folder))
print(container.name, folder, flush=True)
if sys.argv[2] == "wait":
    sys.stdin.read()
"""


def harness(little, *words):
    """Another harness, which starts a container, says its name and folder, and waits or leaves."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-c", HARNESS, little, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )


def names(client):
    return {each.name for each in client.containers.list(all=True, ignore_removed=True)}


def test_a_killed_harness_is_tidied_up_after(docker_client, little):
    with harness(little, "wait") as killed:
        name, folder = killed.stdout.readline().split()
        assert name in names(docker_client)
        assert name not in owner.reap(docker_client)
        assert name in names(docker_client)
        assert Path(folder).exists()

        killed.send_signal(signal.SIGKILL)
        killed.wait()

        assert name in names(docker_client)
        assert name in owner.reap(docker_client)
        assert name not in names(docker_client)
        assert not Path(folder).exists()


def test_a_harness_that_leaves_takes_its_containers_along(docker_client, little):
    with harness(little, "leave") as leaving:
        name, folder = leaving.communicate()[0].split()
        assert leaving.returncode == 0
    assert name not in names(docker_client)
    assert not Path(folder).exists()


@pytest.mark.parametrize(
    ("changed", "orphan"),
    [
        ({}, False),
        ({owner.BORN: "1"}, True),
        ({owner.PID: "nonsense"}, True),
        ({owner.PID: str(2**22 + 1)}, True),
        ({owner.WORLD: "another machine", owner.BORN: "1"}, False),
    ],
)
def test_whose_owner_is_dead_is_told_by_its_labels(changed, orphan):
    assert owner.is_orphan({**owner.labels(), **changed}) is orphan


def test_what_is_not_ours_has_no_owner_to_die():
    assert not owner.is_orphan({})


def test_a_zombie_owns_nothing():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as dying:
        born = Path(f"/proc/{dying.pid}/stat").read_text().rpartition(")")[2].split()[19]
        labels = {**owner.labels(), owner.PID: str(dying.pid), owner.BORN: born}
        assert not owner.is_orphan(labels)
        dying.stdin.close()
        os.waitid(os.P_PID, dying.pid, os.WEXITED | os.WNOWAIT)
        assert owner.is_orphan(labels)


def test_a_label_that_names_a_folder_of_others_is_not_believed(docker_client, little, monkeypatch, tmp_path):
    """An orphan whose label was tampered with is removed; the folder that it names stays."""
    precious = tmp_path / "zconform-precious"
    precious.mkdir()
    honest = owner.labels()
    monkeypatch.setattr(owner, "labels", lambda _folder: {**honest, owner.BORN: "1", owner.FOLDER: str(precious)})
    container = Container(docker_client, ContainerPlan(image=obtain_image(docker_client, little), arguments=["wait"]))
    assert container.name in owner.reap(docker_client)
    assert precious.exists()
    assert precious.parent != Path(tempfile.gettempdir())
    container.stop()


def test_two_that_remove_the_same_one_do_not_mind(docker_client, little):
    container = Container(docker_client, ContainerPlan(image=obtain_image(docker_client, little), arguments=["wait"]))
    handle = docker_client.containers.get(container.name)
    assert owner.remove(handle)
    assert not owner.remove(handle)
    container.stop()


def test_a_run_that_is_killed_in_the_middle_is_tidied_up_after_by_the_next(docker_client, zenohd_image, tmp_path):
    """The real command, killed while it judges: its container lives on until the next command that uses Docker."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "zenoh_harness.cli", "run", f"docker:{zenohd_image}?as=responder", "-q", "--out"]
    some = ["--only", "establishment-*", "--jobs", "1"]
    with subprocess.Popen([*command, str(tmp_path / "r"), *some], env=environment) as killed:
        file = tmp_path / "r" / "results.jsonl"
        while not file.exists() or '"pass"' not in file.read_text():
            assert killed.poll() is None
            time.sleep(0.05)  # files tell nobody
        [left] = mine(docker_client, killed.pid)
        folder = Path(left.labels[owner.FOLDER])
        assert folder.exists()
        killed.kill()
    assert not results.read(file).complete
    assert [one.name for one in mine(docker_client, killed.pid)] == [left.name]

    again = [*command, str(tmp_path / "again"), "--only", "establishment-sane/a-sane-handshake-is-accepted"]
    assert subprocess.run(again, env=environment, check=False).returncode == 0

    assert mine(docker_client, killed.pid) == []
    assert not folder.exists()


def mine(client, pid):
    return client.containers.list(all=True, filters={"label": f"{owner.PID}={pid}"}, ignore_removed=True)
