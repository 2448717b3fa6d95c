"""Our image of the baseline: `zenohd`, compiled from the crate registry as a static program, alone in an image.

The image has no base, so nothing is pulled. The published crate has no build profile; the setting that affects verdicts is
set here as in upstream's releases: a panic aborts. The other settings only affect speed.
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
from zenoh_harness.programs.made import BuildResult, Tell

from . import owner
from .engine import refusals
from .images import OURS, Image, find_image

if TYPE_CHECKING:
    from docker import DockerClient

NAME: Final = "zenohd"
TITLE: Final = "org.opencontainers.image.title"
VERSION: Final = "org.opencontainers.image.version"
TOOLCHAIN: Final = "zconform.toolchain"
PROFILE: Final = "zconform.profile"
RECIPE: Final = "zconform.recipe"
"""Labels of the image; the recipe is a digest of everything that determines its contents, except the toolchain."""

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
"""Build profiles by name, as cargo's `CARGO_PROFILE_RELEASE_*`; all treat panics and overflow alike."""

BEST: Final = "release"
"""The profile that satisfies a request for any other."""
PATIENCE: Final = 3600.0
"""Seconds that a compilation may take, including the wait for another one of the same program."""
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?")
END_OF_LOG: Final = 30
"""Lines of a failed build's log in the error."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The installed compiler."""

    release: str
    """As `rustc 1.95.0 (59807616e 2026-04-14)`."""
    host: str
    """The target triple that it compiles for."""


def make(version: str, profile: str, tell: Tell) -> BuildResult:
    """Return the image `zconform/zenohd:VERSION`, built unless it exists; `tell` gets lines of progress.

    Raises UsageError for a version that does not exist; CannotGoOn without Docker or cargo, and for a failed build, with
    the end of its log.
    """
    began = time.monotonic()
    if not _VERSION.fullmatch(version):
        raise UsageError(f"{version!r} is no release", step="build", hint="as in 1.10.2")
    name = f"{OURS}{NAME}:{version}"
    client = owner.daemon()
    there = find_image(client, name)
    if there is not None and there.labels.get(RECIPE) in {_recipe(version, profile), _recipe(version, BEST)}:
        return BuildResult(name, _facts(there), False, time.monotonic() - began)
    toolchain = find_toolchain()
    _check_architecture(client, toolchain)
    program = compile_program(version, profile, toolchain, tell)
    tell(f"making image {name}")
    image = _make_image(client, name, program, _labels(version, profile, toolchain))
    return BuildResult(name, _facts(image), True, time.monotonic() - began)


def _facts(image: Image) -> dict[str, str]:
    names = {"version": VERSION, "toolchain": TOOLCHAIN, "profile": PROFILE}
    return {"digest": image.id, **{name: image.labels.get(label, "") for name, label in names.items()}}


def find_toolchain() -> Toolchain:
    """Return the Rust toolchain on the path. Raises CannotGoOn if there is none for Linux."""
    hint = "install Rust (rustup), or use an image that can be pulled: docker:eclipse/zenoh:VERSION"
    if shutil.which("cargo") is None:
        raise CannotGoOn("cargo is not installed", step="build", hint=hint)
    try:
        printed = subprocess.run(
            ["rustc", "-vV"], check=True, capture_output=True, text=True, timeout=scaled(60)
        ).stdout
    except (OSError, subprocess.SubprocessError) as why:
        raise CannotGoOn("`rustc -vV` fails", step="build", seen=str(why), hint=hint) from why
    facts = dict(line.split(": ", 1) for line in printed.splitlines() if ": " in line)
    toolchain = Toolchain(printed.splitlines()[0], facts.get("host", ""))
    if "linux" not in toolchain.host:
        raise CannotGoOn(
            f"the toolchain compiles for {toolchain.host}; a container needs Linux", step="build", hint=hint
        )
    return toolchain


def compile_program(version: str, profile: str, toolchain: Toolchain, tell: Tell) -> Path:
    """Return the static program in the user's cache, compiled if it is missing; a lock allows one compilation at a time."""
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
            f"another process is still compiling {NAME} {version}", step="build", seen=f"{folder}/lock is held"
        ) from why
    except OSError as why:
        raise CannotGoOn(
            f"cannot compile into {folder}", step="build", seen=str(why), hint="is there room (1 GB)?"
        ) from why
    return program


def _compile(version: str, profile: str, toolchain: Toolchain, folder: Path, tell: Tell) -> None:
    """Run cargo; its files are kept for the next attempt if it fails, and deleted (800 MB) if it succeeds."""
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
        ended = _wait_for_build(cargo, tell)
        log = cargo.output("stderr")
    (folder / "build.log").write_text(log)
    if ended.code != 0:
        raise _build_error(version, log, folder, str(ended))
    (folder / "root" / "bin" / NAME).replace(folder / NAME)
    shutil.rmtree(folder / "root", ignore_errors=True)
    shutil.rmtree(folder / "target", ignore_errors=True)


def _wait_for_build(cargo: processes.Program, tell: Tell) -> processes.ProcessEnd:
    deadline, last_line = Deadline.after(PATIENCE), ""
    while (ended := cargo.wait(deadline.or_sooner(1.0))) is None:
        if deadline.passed:
            raise CannotGoOn(
                f"compiling {NAME} takes more than {PATIENCE:.0f} s", step="build", seen=cargo.last_lines()
            )
        line = " ".join(cargo.last_lines(1)).strip()
        if line != last_line:
            tell(line)
            last_line = line
    return ended


def _build_error(version: str, log: str, folder: Path, how: str) -> CannotGoOn | UsageError:
    lines = log.splitlines()[-END_OF_LOG:]
    if f"could not find `{NAME}`" in log:
        return UsageError(f"there is no {NAME} {version} in the crate registry", step="build", seen=lines[:3])
    hint = f"the whole log: {folder / 'build.log'}; is the crate registry reachable?"
    return CannotGoOn(f"compiling {NAME} {version} failed: {how}", step="build", seen=lines, hint=hint)


def _make_image(client: DockerClient, name: str, program: Path, labels: Mapping[str, str]) -> Image:
    from docker.errors import BuildError

    with refusals(f"build image {name}"):
        try:
            client.images.build(
                fileobj=context(program), custom_context=True, tag=name, labels=dict(labels), forcerm=True
            )
        except BuildError as why:
            lines = [str(entry.get("stream", entry.get("error", ""))).strip() for entry in why.build_log]
            raise CannotGoOn(
                f"building image {name} failed", step="build", seen=[entry for entry in lines if entry][-END_OF_LOG:]
            ) from why
    image = find_image(client, name)
    if image is None:
        raise CannotGoOn(
            f"image {name} was built, but the daemon does not have it",
            step="build",
            hint="does something prune images?",
        )
    return image


def context(program: Path) -> io.BytesIO:
    """Return the build context as a tar archive; the same files give the same bytes."""
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
    """Raise CannotGoOn if the daemon's machine has another architecture."""
    with refusals("ask the daemon for its architecture"):
        theirs = str(client.info().get("Architecture", ""))
    if theirs and theirs != platform.machine():
        raise CannotGoOn(
            f"the daemon's machine is {theirs}, the toolchain's is {toolchain.host}",
            step="build",
            hint="build where the daemon runs",
        )
