"""What several of the harness's test files stand on."""

import io
import os
import signal
import subprocess
import tarfile
from pathlib import Path

import pytest

from zenoh_harness import pytest_needs

LITTLE = f"zconform-test/little:{os.getpid()}"
"""A name of this run's own: several may share a daemon."""


@pytest.fixture(scope="session", autouse=True)
def interruptible():
    """What runs in the background of a shell inherits that Ctrl-C is ignored, and hands it on; our programs are to hear it."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def on_the_reference(tmp_path_factory):
    """What all cases and laws say of the reference in memory."""
    from on_the_reference import looked_up

    return looked_up(tmp_path_factory.getbasetemp())


@pytest.fixture(scope="session")
def docker_client():
    """The daemon; the containers of killed runs are removed first."""
    from zenoh_harness.targets.adapters.docker import owner

    return owner.daemon()


@pytest.fixture(scope="session")
def zenohd_image_made(docker_client):
    """The name of the baseline's image, and whether it is there: where `CI` is set it is compiled now (minutes)."""
    from zenoh_harness.targets.adapters.docker.images import find_image
    from zenoh_harness.targets.build import builder

    name = f"zconform/zenohd:{builder('zenohd').default}"
    if find_image(docker_client, name) is None:
        if not pytest_needs.in_ci():
            return name, False
        builder("zenohd").make(None, "quick", print)
    return name, True


@pytest.fixture
def zenohd_image(request, zenohd_image_made):
    """The baseline's image; a test that finds none is listed with the command that makes it."""
    name, made = zenohd_image_made
    if not made:
        pytest_needs.skip_or_fail(request.node, f"the image {name}: ./toxw -e image")
    return name


@pytest.fixture(scope="session")
def little(docker_client, tmp_path_factory):
    """An image that holds one static program, which ends, speaks or misbehaves as it is told."""
    program = tmp_path_factory.mktemp("little") / "little"
    source = Path(__file__).with_name("little.c")
    subprocess.run(["gcc", "-Wall", "-static", "-O1", "-o", program, source], check=True)
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as tar:
        recipe = b'FROM scratch\nCOPY little /little\nVOLUME /volume\nENTRYPOINT ["/little"]\n'
        for name, data, mode in (("Dockerfile", recipe, 0o644), ("little", program.read_bytes(), 0o755)):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), mode
            tar.addfile(entry, io.BytesIO(data))
    context.seek(0)
    docker_client.images.build(fileobj=context, custom_context=True, tag=LITTLE, forcerm=True)
    yield LITTLE
    docker_client.images.remove(LITTLE, force=True)


@pytest.fixture(autouse=True)
def idle_machine(monkeypatch):
    """What runs in this process waits as on an idle machine: the nodes of the tests have times of their own."""
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0), raising=False)
