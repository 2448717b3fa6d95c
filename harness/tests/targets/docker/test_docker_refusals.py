"""No Docker, or one that refuses: what failed, what was seen, what to do next; never a traceback."""

import contextlib
import http.server
import os
import socket
import socketserver
import tempfile
import threading
from pathlib import Path

import pytest

from zenoh_harness.cli import invoke
from zenoh_harness.errors import CannotGoOn, TargetError
from zenoh_harness.targets.adapters.docker import engine
from zenoh_harness.targets.adapters.docker.engine import connect, refusals
from zenoh_harness.targets.adapters.docker.images import Pull, obtain_image
from zenoh_harness.targets.reach import parse
from zenoh_harness.targets.target import open_target


@pytest.fixture
def at(monkeypatch, tmp_path):
    """Point DOCKER_HOST at a socket of the test's own."""
    path = tmp_path / "docker.sock"
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    return path


class Daemon(http.server.BaseHTTPRequestHandler):
    """As little of a daemon as a connection needs; then it refuses everything in the way that the test sets."""

    status, message = 500, "write /var/lib: no space left on device"

    def do_GET(self):
        if self.path.endswith(("/version", "/_ping")):
            self.answer(200, b'{"ApiVersion": "1.41"}')
        else:
            self.answer(self.status, b'{"message": "%s"}' % self.message.encode())

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self):
        return "unix"

    def log_message(self, *_):
        pass


@pytest.fixture
def refusing(at):
    """A daemon that answers, and refuses."""
    with socketserver.ThreadingUnixStreamServer(str(at), Daemon) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield
        server.shutdown()


def refused(act):
    with pytest.raises(CannotGoOn) as why:
        act()
    assert why.value.exit_code == 3
    return str(why.value)


def test_no_docker(at):
    text = refused(connect)
    assert str(at) in text
    assert "no such socket" in text
    assert "DOCKER_HOST" in text


def test_a_dead_daemon(at):
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(at))
        text = refused(connect)
    assert "connection refused: the daemon does not run" in text
    assert "start it" in text


def test_a_daemon_that_does_not_answer(at, monkeypatch):
    monkeypatch.setattr(engine, "PATIENCE", 0.2)
    with socket.socket(socket.AF_UNIX) as stuck:
        stuck.bind(str(at))
        stuck.listen()
        assert "does not answer within 0.2 s" in refused(connect)


def test_a_daemon_that_hangs_up(at):
    def hang_up(door):
        with contextlib.suppress(OSError):
            while True:
                door.accept()[0].close()

    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(at))
        door.listen()
        threading.Thread(target=hang_up, args=(door,), daemon=True).start()
        text = refused(connect)
        door.shutdown(socket.SHUT_RDWR)
    assert "cannot reach the Docker daemon" in text


def test_no_permission(at):
    def denied():
        with refusals("reach the Docker daemon"):
            raise PermissionError(13, "Permission denied")

    text = refused(denied)
    assert "no permission" in text
    assert "group docker" in text


@pytest.mark.needs("root")
def test_no_permission_at_a_real_socket(monkeypatch):
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as theirs:
        monkeypatch.setenv("DOCKER_HOST", f"unix://{folder}/docker.sock")
        theirs.bind(f"{folder}/docker.sock")
        theirs.listen()
        Path(folder).chmod(0o755)
        Path(folder, "docker.sock").chmod(0o600)
        os.seteuid(65534)
        try:
            text = refused(connect)
        finally:
            os.seteuid(0)
    assert "no permission" in text


@pytest.mark.parametrize("address", ["nonsense://x", "unix:", "tcp://"])
def test_an_address_that_is_none(monkeypatch, address):
    monkeypatch.setenv("DOCKER_HOST", address)
    assert "DOCKER_HOST" in refused(connect)


def test_a_full_disk_of_the_daemon(refusing):
    text = refused(lambda: obtain_image(connect(), "some/image:1"))
    assert "no space left on the daemon's disk" in text
    assert "docker image prune" in text


def test_a_daemon_that_refuses_says_why(refusing, monkeypatch):
    monkeypatch.setattr(Daemon, "message", "the moon is full")
    text = refused(lambda: obtain_image(connect(), "some/image:1"))
    assert "cannot look for image some/image:1" in text
    assert "the daemon says: the moon is full" in text


@pytest.mark.parametrize("words", [("targets", "build", "zenohd"), ("run", "docker:zconform/zenohd:1.10.2", "-q")])
def test_the_command_line_says_it_and_exits_3(words, at, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert invoke(words) == 3
    text = capsys.readouterr().err
    assert "no such socket" in text
    assert "hint   is Docker installed and running?" in text


@pytest.mark.needs("docker")
@pytest.mark.parametrize(
    ("name", "seen", "hint"),
    [
        ("zconform/zenohd:0.0.0", "the daemon does not have it", "zconform targets build zenohd --version 0.0.0"),
        ("127.0.0.1:1/some/image:1", "connection refused", "is the name right"),
    ],
)
def test_an_image_that_cannot_be_had(docker_client, name, seen, hint):
    with pytest.raises(TargetError) as why:
        open_target(parse(f"docker:{name}")).start()
    assert why.value.exit_code == 3
    assert seen in str(why.value)
    assert hint in str(why.value)


@pytest.mark.needs("docker")
def test_an_image_that_is_not_to_be_pulled(docker_client, little):
    assert obtain_image(docker_client, little, Pull.NEVER).id.startswith("sha256:")
    with pytest.raises(TargetError, match="is not available"):
        obtain_image(docker_client, "127.0.0.1:1/some/image:1", Pull.NEVER)


@pytest.mark.needs("docker")
def test_an_image_that_is_there_is_pulled_only_when_asked(docker_client, little):
    there = f"127.0.0.1:1/some/{little}"
    docker_client.images.get(little).tag(there)
    try:
        assert obtain_image(docker_client, there).id == docker_client.images.get(little).id
        with pytest.raises(TargetError, match="is not available"):
            obtain_image(docker_client, there, Pull.ALWAYS)
    finally:
        docker_client.images.remove(there)


@pytest.mark.needs("docker")
def test_a_name_that_is_none(docker_client):
    text = refused(lambda: obtain_image(docker_client, "UPPER/Case"))
    assert "must be lowercase" in text
    assert "as in eclipse/zenoh:1.10.2" in text
