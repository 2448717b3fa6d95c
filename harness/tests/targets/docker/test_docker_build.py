"""Our own image: made once, labelled, kept; a build that fails says why. The cargo here compiles the little program."""

import contextlib
import importlib
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from zenoh_harness.cli import invoke
from zenoh_harness.errors import CannotGoOn, UsageError
from zenoh_harness.targets.adapters.docker import zenohd
from zenoh_harness.targets.build import BUILDERS, builder

VERSION = f"0.0.{os.getpid()}"
LITTLE = Path(__file__).parents[2] / "little.c"
IMAGE = f"zconform/zenohd:{VERSION}"

CARGO = """#!/bin/sh
echo "   Compiling little v0.0.1" >&2
env | grep -E '^(CARGO_PROFILE|RUSTFLAGS)' > {seen}
while [ $# -gt 0 ]; do
    [ "$1" = --root ] && root=$2
    shift
done
mkdir -p "$root/bin" && gcc -static -o "$root/bin/zenohd" {source} && echo done >> {runs}
"""

RUSTC = """#!/bin/sh
echo 'rustc 1.0.0 (of the tests)'
echo 'host: x86_64-unknown-linux-gnu'
"""


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """A folder of programs before all others on the path, and a cache folder of the test's own."""
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("ZCONFORM_CACHE_DIR", str(tmp_path / "cache"))

    def add(name, text):
        path = folder / name
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    add("rustc", RUSTC)
    return add


@pytest.fixture
def image(docker_client):
    """The image is not there, and will not be."""
    from docker.errors import ImageNotFound

    def remove():
        with contextlib.suppress(ImageNotFound):
            docker_client.images.remove(IMAGE, force=True)

    remove()
    yield lambda: docker_client.images.get(IMAGE)
    remove()


def make(profile="release"):
    return builder("zenohd").make(VERSION, profile, lambda _line: None)


@pytest.mark.needs("docker")
def test_an_image_is_made_once_and_says_what_it_is(tools, image, tmp_path):
    seen, runs = tmp_path / "seen", tmp_path / "runs"
    tools("cargo", CARGO.format(seen=seen, runs=runs, source=LITTLE))

    first = make()
    labels = image().labels
    again = make("quick")

    assert (first.new, again.new) == (True, False)
    assert first.what == again.what == IMAGE
    assert first.facts == again.facts
    assert first.facts["digest"] == image().id
    assert labels["org.opencontainers.image.version"] == VERSION
    assert labels["zconform.toolchain"] == "rustc 1.0.0 (of the tests)"
    assert labels["zconform.profile"] == "release"
    assert image().attrs["Config"]["Entrypoint"] == ["/zenohd"]
    assert image().attrs["Config"]["User"] not in ("", "0", "root")
    assert len(image().attrs["RootFS"]["Layers"]) == 1


def compiled(profile):
    return zenohd.compile_program(VERSION, profile, zenohd.find_toolchain(), lambda _line: None)


def test_what_was_compiled_is_kept(tools, tmp_path):
    runs = tmp_path / "runs"
    tools("cargo", CARGO.format(seen=tmp_path / "seen", runs=runs, source=LITTLE))
    first = compiled("release")
    assert compiled("release") == first
    assert runs.read_text().count("done") == 1
    assert compiled("quick") != first
    assert runs.read_text().count("done") == 2
    assert not [*(tmp_path / "cache").rglob("target")]


def test_two_that_ask_at_once_compile_once(tools, tmp_path):
    runs = tmp_path / "runs"
    tools("cargo", CARGO.format(seen=tmp_path / "seen", runs=runs, source=LITTLE))
    with ThreadPoolExecutor(2) as both:
        first, second = both.map(compiled, ["release", "release"])
    assert first == second
    assert runs.read_text().count("done") == 1


def test_a_new_toolchain_compiles_again(tools, tmp_path):
    tools("cargo", CARGO.format(seen=tmp_path / "seen", runs=tmp_path / "runs", source=LITTLE))
    first = compiled("release")
    tools("rustc", RUSTC.replace("1.0.0", "1.0.1"))
    assert compiled("release") != first


@pytest.mark.parametrize("profile", zenohd.PROFILES)
def test_every_profile_panics_and_checks_as_upstreams_release(tools, tmp_path, profile):
    """The published crate carries no profile: unless told, a panic would unwind and the node live on."""
    seen = tmp_path / "seen"
    tools("cargo", CARGO.format(seen=seen, runs=tmp_path / "runs", source=LITTLE))
    compiled(profile)
    text = dict(line.split("=", 1) for line in seen.read_text().splitlines())
    assert text["CARGO_PROFILE_RELEASE_PANIC"] == "abort"
    assert text["CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS"] == "false"
    assert text["CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS"] == "false"
    assert "+crt-static" in text["RUSTFLAGS"]


@pytest.mark.needs("docker")
def test_a_failing_build_shows_the_end_of_its_log(tools, image, tmp_path, capsys):
    tools("cargo", "#!/bin/sh\nseq 1 100 >&2\necho 'error: linker said no' >&2\nexit 101\n")
    with pytest.raises(CannotGoOn) as why:
        make()
    assert "exit code 101" in why.value.what
    assert why.value.seen[-1] == "error: linker said no"
    assert "100" in why.value.seen
    assert "1" not in why.value.seen
    [log] = (tmp_path / "cache").rglob("build.log")
    assert str(log) in why.value.hint
    assert len(log.read_text().splitlines()) == 101

    assert invoke(["targets", "build", "zenohd", "--version", VERSION]) == 3
    assert "linker said no" in capsys.readouterr().err


@pytest.mark.needs("docker")
def test_a_version_that_does_not_exist(tools, image):
    tools("cargo", "#!/bin/sh\necho 'error: could not find `zenohd` with version `=0.0.9`' >&2\nexit 101\n")
    with pytest.raises(UsageError, match=f"there is no zenohd {VERSION}"):
        make()


@pytest.mark.needs("docker")
def test_an_image_that_cannot_be_built_shows_the_engines_log(tools, image, monkeypatch, tmp_path):
    tools("cargo", CARGO.format(seen=tmp_path / "seen", runs=tmp_path / "runs", source=LITTLE))
    monkeypatch.setattr(zenohd, "_dockerfile", lambda: b"FROM scratch\nCOPY nothing /\n")
    with pytest.raises(CannotGoOn) as why:
        make()
    assert "nothing" in str(why.value)


@pytest.mark.needs("docker")
def test_no_cargo(tools, image, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotGoOn, match="cargo is not installed") as why:
        make()
    assert "rustup" in why.value.hint
    assert invoke(["targets", "build", "zenohd", "--version", VERSION]) == 3


@pytest.mark.needs("docker")
def test_a_toolchain_for_another_system(tools, image):
    tools("rustc", "#!/bin/sh\necho 'rustc 1.0.0'\necho 'host: aarch64-apple-darwin'\n")
    tools("cargo", "#!/bin/sh\nexit 1\n")
    with pytest.raises(CannotGoOn, match="compiles for aarch64-apple-darwin"):
        make()


@pytest.mark.parametrize("version", ["", "latest", "1.10", "1.10.2 --git x", "../1.0.0", "--help"])
def test_a_version_that_is_none(version):
    with pytest.raises(UsageError, match="is no release"):
        zenohd.make(version, "release", lambda _line: None)


def test_a_thing_or_profile_that_is_unknown(capsys):
    assert invoke(["targets", "build", "zenhod"]) == 2
    assert "did you mean zenohd" in capsys.readouterr().err
    assert invoke(["targets", "build", "zenohd", "--profile", "slow"]) == 2


def test_every_builder_can_be_imported():
    for row in BUILDERS.values():
        assert importlib.import_module(row.module).make


def test_the_context_is_the_same_each_time(tmp_path):
    program = tmp_path / "zenohd"
    program.write_bytes(b"a program")
    assert zenohd.context(program).getvalue() == zenohd.context(program).getvalue()
