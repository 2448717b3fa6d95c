"""The image of the harness: what its Dockerfile says, and the image itself on a base that is made of this Python."""

import re
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path
from uuid import uuid4

import pytest

ROOT = Path(__file__).resolve().parents[3]
IMAGE = ROOT / ".ci/image"
SHELL = Path("/bin/sh")
STUBS = ("libgcc_s.so.1", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1", "libm.so.6")


def test_the_dockerfile_copies_what_is_there_and_fetches_nothing():
    lines = [line for line in (IMAGE / "Dockerfile").read_text().splitlines() if not line.startswith("#")]
    steps = [line.split() for line in lines]
    assert steps[:2] == [["ARG", "BASE=python:3.11-slim"], ["FROM", "${BASE}"]]
    copied = {step[1] for step in steps if step[0] == "COPY"}
    assert copied == {"site", *(path.name for path in IMAGE.iterdir() if path.name != "Dockerfile")}
    assert not {"RUN", "ADD"} & {step[0] for step in steps}
    assert "sys.exit" not in (IMAGE / "zconform").read_text()


def needed(files):
    """The shared libraries that programs need, by the paths under which they are looked for."""
    said = subprocess.run(["ldd", *files], capture_output=True, text=True, check=False).stdout
    found = {Path(path) for path in re.findall(r"(/\S+\.so\S*) \(0x", said)}
    # what wheels ask for, and none of these programs, stands beside the C library
    beside = (path.with_name(stub) for path in found if path.name == "libc.so.6" for stub in STUBS)
    return found | {path for path in beside if path.exists()}


def wanted(entry):
    """What of Python's own files is wanted: not its tests, nor what others installed."""
    skipped = ("/test", "/site-packages", "/__pycache__", "/idlelib", "/config-")
    return None if any(part in f"/{entry.name}" for part in skipped) or entry.name.endswith(".a") else entry


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """An image of the Python that runs this: its files, a shell, and the libraries of both."""
    home, name = Path(sys.base_prefix), f"zconform-test/python:{uuid4().hex[:8]}"
    python, library = home / f"bin/python3.{sys.version_info.minor}", Path(sysconfig.get_path("stdlib"))
    packed = tmp_path_factory.mktemp("base") / "base.tar"
    with tarfile.open(packed, "w", dereference=True) as tar:
        tar.add(library, filter=wanted)
        for path in {python, SHELL, *needed([python, SHELL, *library.glob("lib-dynload/*.so")])}:
            tar.add(path)
        link = tarfile.TarInfo("usr/local/bin/python3")
        link.type, link.linkname = tarfile.SYMTYPE, str(python)
        tar.addfile(link)
        tmp = tarfile.TarInfo("tmp")
        tmp.type, tmp.mode = tarfile.DIRTYPE, 0o1777
        tar.addfile(tmp)
    path = "PATH=/usr/local/bin:/usr/bin:/bin"
    subprocess.run(["docker", "import", "--change", f"ENV {path}", packed, name], check=True, capture_output=True)
    yield name
    subprocess.run(["docker", "rmi", "--force", name], check=True, capture_output=True)


@pytest.mark.needs("docker", "python-3.11")
def test_the_image_judges_the_reference(base):
    name = f"zconform-test/harness:{uuid4().hex[:8]}"
    made = [sys.executable, ROOT / ".ci/image.py", "--base", base, "--tag", name]
    try:
        done = subprocess.run(made, capture_output=True, text=True, check=False, cwd=ROOT)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == name
        assert "zconform, version" in done.stdout or "zconform 0" in done.stdout
        run = [
            "zconform",
            "run",
            "reference",
            "--depth",
            "quick",
            "--only",
            "establishment-cookie/*",
            "--out",
            "/tmp/r",
        ]
        judged = subprocess.run(
            ["docker", "run", "--rm", "--network", "none", name, *run], capture_output=True, text=True, check=False
        )
        assert judged.returncode == 0, judged.stdout + judged.stderr
        assert "Exit 0: conforms in everything that was judged" in judged.stdout
    finally:
        subprocess.run(["docker", "rmi", "--force", name], check=False, capture_output=True)
