"""Our own image of the baseline: `zenohd` compiled from the crate registry, static, alone in an image.

Nothing is pulled: the image has no base. The published crate carries no build profile, so the one that decides verdicts
is set here as upstream's releases have it: a panic aborts. The rest of the profile only buys speed.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import re
import shutil
import subprocess
import tarfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

import filelock

from zenoh_harness.errors import CannotGoOn, UsageError
from zenoh_harness.links.timing import Deadline, scaled
from zenoh_harness.programs import processes
from zenoh_harness.programs.environments import cache_folder
from zenoh_harness.programs.made import Made, Tell

from . import owner
from .engine import refusals
from .images import OURS, Image, find

if TYPE_CHECKING:
    from docker import DockerClient

NAME: Final = "zenohd"
TITLE: Final = "org.opencontainers.image.title"
VERSION: Final = "org.opencontainers.image.version"
TOOLCHAIN: Final = "zconform.toolchain"
PROFILE: Final = "zconform.profile"
RECIPE: Final = "zconform.recipe"
"""Labels of the image; the recipe is a digest of all that decides its contents but for the toolchain."""

STATIC: Final = "-C target-feature=+crt-static"
SHARED: Final = {
    "PANIC": "abort",
    "OVERFLOW_CHECKS": "false",
    "DEBUG_ASSERTIONS": "false",
    "STRIP": "symbols",
    "LTO": "off",
}
PROFILES: Final[Mapping[str, Mapping[str, str]]] = {
    "release": {**SHARED, "OPT_LEVEL": "3", "CODEGEN_UNITS": "16"},
    "quick": {**SHARED, "OPT_LEVEL": "1", "CODEGEN_UNITS": "16"},
}
"""Build profiles by name, as cargo's `CARGO_PROFILE_RELEASE_*`; all panic alike and check alike."""

BEST: Final = "release"
"""The profile that serves whoever asked for another."""
PATIENCE: Final = 3600.0
"""Seconds that a compilation may take, waiting for another one of the same included."""
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?")
END_OF_LOG: Final = 30
"""Lines of a failed build that are shown."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The compiler that is there."""

    release: str
    """As `rustc 1.95.0 (59807616e 2026-04-14)`."""
    host: str
    """The target triple that it compiles for."""


def make(version: str, profile: str, tell: Tell) -> Made:
    """The image `zconform/zenohd:VERSION`, made unless it is there; `tell` gets a line of progress now and then.

    Raises UsageError for a version that does not exist; CannotGoOn without Docker or cargo, and when a build fails,
    with the end of its log.
    """
    began = time.monotonic()
    if not _VERSION.fullmatch(version):
        raise UsageError(f"{version!r} is no release", step="build", hint="as in 1.10.2")
    name = f"{OURS}{NAME}:{version}"
    client = owner.daemon()
    there = find(client, name)
    if there is not None and there.labels.get(RECIPE) in {_recipe(version, profile), _recipe(version, BEST)}:
        return Made(name, _facts(there), False, time.monotonic() - began)
    toolchain = find_toolchain()
    _check_architecture(client, toolchain)
    program = compiled(version, profile, toolchain, tell)
    tell(f"making image {name}")
    image = _make_image(client, name, program, _labels(version, profile, toolchain))
    return Made(name, _facts(image), True, time.monotonic() - began)


def _facts(image: Image) -> dict[str, str]:
    names = {"version": VERSION, "toolchain": TOOLCHAIN, "profile": PROFILE}
    return {"digest": image.id, **{name: image.labels.get(label, "") for name, label in names.items()}}


def find_toolchain() -> Toolchain:
    """The Rust toolchain on the path. Raises CannotGoOn when there is none, or none that links static programs."""
    hint = "install Rust (rustup), or use an image that can be pulled: docker:eclipse/zenoh:VERSION"
    if shutil.which("cargo") is None:
        raise CannotGoOn("cargo is not installed", step="build", hint=hint)
    try:
        text = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True, timeout=scaled(60)).stdout
    except (OSError, subprocess.SubprocessError) as why:
        raise CannotGoOn("rustc does not say which it is", step="build", seen=str(why), hint=hint) from why
    facts = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    toolchain = Toolchain(text.splitlines()[0], facts.get("host", ""))
    if "linux" not in toolchain.host:
        raise CannotGoOn(
            f"the toolchain compiles for {toolchain.host}; a container needs Linux", step="build", hint=hint
        )
    return toolchain


def compiled(version: str, profile: str, toolchain: Toolchain, tell: Tell) -> Path:
    """The static program in the user's cache, compiled unless it is there; one maker at a time."""
    digest = hashlib.sha256(toolchain.release.encode()).hexdigest()[:8]
    folder = cache_folder() / NAME / f"{version}-{profile}-{toolchain.host}-{digest}"
    program = folder / NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(folder / "lock", timeout=scaled(PATIENCE)):
            if not program.exists():
                _compile(version, profile, toolchain, folder, tell)
    except filelock.Timeout as why:
        raise CannotGoOn(
            f"another process keeps compiling {NAME} {version}", step="build", seen=f"{folder}/lock is held"
        ) from why
    except OSError as why:
        raise CannotGoOn(
            f"cannot compile into {folder}", step="build", seen=str(why), hint="is there room (1 GB)?"
        ) from why
    return program


def _compile(version: str, profile: str, toolchain: Toolchain, folder: Path, tell: Tell) -> None:
    """Run cargo; its work is kept for the next try when it fails, and thrown away (800 MB) when it succeeds."""
    command = [
        "cargo",
        "install",
        NAME,
        "--version",
        version,
        "--locked",
        "--force",
        "--no-track",
        "--target",
        toolchain.host,
    ]
    work = {"CARGO_TARGET_DIR": str(folder / "target"), "RUSTFLAGS": STATIC, "CARGO_TERM_COLOR": "never"}
    settings = {f"CARGO_PROFILE_RELEASE_{key}": value for key, value in PROFILES[profile].items()}
    with processes.start([*command, "--root", str(folder / "root")], env={**work, **settings}, limit=8 << 20) as cargo:
        ended = _await(cargo, tell)
        log = cargo.output("stderr")
    (folder / "build.log").write_text(log)
    if ended.code != 0:
        raise _failed(version, log, folder, str(ended))
    (folder / "root" / "bin" / NAME).replace(folder / NAME)
    shutil.rmtree(folder / "root", ignore_errors=True)
    shutil.rmtree(folder / "target", ignore_errors=True)


def _await(cargo: processes.Program, tell: Tell) -> processes.Ended:
    deadline, text = Deadline.after(PATIENCE), ""
    while (ended := cargo.wait(deadline.or_sooner(1.0))) is None:
        if deadline.passed:
            raise CannotGoOn(f"compiling {NAME} does not end", step="build", seen=cargo.last_lines())
        line = " ".join(cargo.last_lines(1)).strip()
        if line != text:
            tell(line)
            text = line
    return ended


def _failed(version: str, log: str, folder: Path, how: str) -> CannotGoOn | UsageError:
    lines = log.splitlines()[-END_OF_LOG:]
    if f"could not find `{NAME}`" in log:
        return UsageError(f"there is no {NAME} {version} in the crate registry", step="build", seen=lines[:3])
    hint = f"the whole log: {folder / 'build.log'}; is the crate registry in reach?"
    return CannotGoOn(f"compiling {NAME} {version} failed: {how}", step="build", seen=lines, hint=hint)


def _make_image(client: DockerClient, name: str, program: Path, labels: Mapping[str, str]) -> Image:
    from docker.errors import BuildError

    with refusals(f"build image {name}"):
        try:
            client.images.build(
                fileobj=context(program), custom_context=True, tag=name, labels=dict(labels), forcerm=True
            )
        except BuildError as why:
            lines = [str(each.get("stream", each.get("error", ""))).strip() for each in why.build_log]
            raise CannotGoOn(
                f"building image {name} failed", step="build", seen=[each for each in lines if each][-END_OF_LOG:]
            ) from why
    image = find(client, name)
    if image is None:
        raise CannotGoOn(f"image {name} was built, and is not there", step="build", hint="does something prune images?")
    return image


def context(program: Path) -> io.BytesIO:
    """The build context as a tar archive: the same files give the same bytes."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, data, mode in (("Dockerfile", _dockerfile(), 0o644), (NAME, program.read_bytes(), 0o755)):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), mode
            tar.addfile(entry, io.BytesIO(data))
    archive.seek(0)
    return archive


def _dockerfile() -> bytes:
    return (resources.files("zenoh_harness") / "targets" / NAME / "Dockerfile").read_bytes()


def _recipe(version: str, profile: str) -> str:
    ingredients = [version, STATIC, PROFILES[profile], _dockerfile().decode()]
    return hashlib.sha256(json.dumps(ingredients, sort_keys=True).encode()).hexdigest()


def _labels(version: str, profile: str, toolchain: Toolchain) -> dict[str, str]:
    return {
        TITLE: NAME,
        VERSION: version,
        TOOLCHAIN: toolchain.release,
        PROFILE: profile,
        RECIPE: _recipe(version, profile),
    }


def _check_architecture(client: DockerClient, toolchain: Toolchain) -> None:
    """A program for this machine is of no use to a daemon on another kind of machine."""
    with refusals("ask the daemon for its architecture"):
        theirs = str(client.info().get("Architecture", ""))
    if theirs and theirs != platform.machine():
        raise CannotGoOn(
            f"the daemon's machine is {theirs}, the toolchain's is {toolchain.host}",
            step="build",
            hint="build where the daemon runs",
        )
