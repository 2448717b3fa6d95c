"""zenoh-rust's own codec, built for one release and kept: the crate under `codecs/zenoh-codec` as a program or a library."""

from __future__ import annotations

import hashlib
import platform
import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final

import filelock

from zenoh_harness.errors import CannotGoOn, UsageError
from zenoh_harness.links.timing import Deadline, scaled
from zenoh_harness.programs import processes
from zenoh_harness.programs.environments import CACHE_VARIABLE, cache_folder
from zenoh_harness.programs.made import BuildResult, Tell
from zenoh_harness.programs.processes import Program

NAME: Final = "zenoh-codec"
PROGRAM: Final = "zenoh-codec-stdio"
PLACE: Final = "@version@"
"""What the manifest's template has in place of the release."""

PATIENCE: Final = 900.0
"""Seconds that a build may take, waiting for another one of the same release included."""
_TELL_EVERY: Final = 5.0
_END_OF_LOG: Final = 25
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?")


COUNTERS: Final = (
    "-Cpasses=sancov-module", "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters", "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
)  # fmt: skip
"""What makes stable rustc count edges as libFuzzer reads them; such a library loads only beside libFuzzer."""


@dataclass(frozen=True, slots=True)
class Form:
    """What is made of the crate."""

    file: str
    """The name under which it is kept."""
    made: str
    """The name that cargo gives it."""
    about: str
    arguments: tuple[str, ...]
    flags: tuple[str, ...] = ()


_LIBRARY: Final = "libzenoh_codec_target.so"
FORMS: Final[Mapping[str, Form]] = {
    "release": Form(PROGRAM, PROGRAM, "a program behind the stdio codec protocol", ("--bin", PROGRAM)),
    "library": Form("libzenoh-codec.so", _LIBRARY, "a library behind zcodec.h", ("--lib",)),
    "coverage": Form("libzenoh-codec-coverage.so", _LIBRARY, "the library with coverage counters", ("--lib",), COUNTERS),
}  # fmt: skip
"""By profile."""


def make(version: str, profile: str, tell: Tell) -> BuildResult:
    """The program, or in the profiles `library` and `coverage` the library, of a release; built unless it is there.

    `tell` gets a line of progress now and then.  Raises UsageError for a release that does not exist; CannotGoOn
    without cargo, and when the build fails, with the end of its log.
    """
    began = time.monotonic()
    if not _VERSION.fullmatch(version):
        raise UsageError(f"{version!r} is no release", step="build", hint="as in 1.10.2")
    form, result = FORMS[profile], program_of(version, profile)
    facts = {"version": version, "recipe": _recipe(version), "locked": "yes" if lock_of(version).is_file() else "no"}
    if result.exists():
        return BuildResult(str(result), facts, False, time.monotonic() - began)
    cargo = find_cargo()
    try:
        result.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(cache_folder() / "targets" / f"{NAME}.lock", timeout=scaled(PATIENCE)):
            if not result.exists():
                _build(cargo, version, form, result, tell)
    except filelock.Timeout as why:
        raise CannotGoOn(f"another process keeps building {NAME}", step="build",
                         seen=f"{why.lock_file} is held", hint="is an older build hanging?") from why  # fmt: skip
    except OSError as why:
        raise CannotGoOn(f"cannot build in {result.parent}", step="build", seen=str(why),
                         hint=f"{CACHE_VARIABLE} names another folder") from why  # fmt: skip
    return BuildResult(str(result), facts, True, time.monotonic() - began)


def crate() -> Path:
    """The crate's sources, as they are installed."""
    return Path(str(resources.files("zenoh_harness"))) / "codecs" / NAME


def lock_of(version: str) -> Path:
    """The lock file of a release; there is none for a release that nobody has built before."""
    return crate() / "locks" / version / "Cargo.lock"


def releases_with_lock() -> tuple[str, ...]:
    """Return the releases that are built from a lock file, oldest first."""
    return tuple(sorted((file.parent.name for file in (crate() / "locks").glob("*/Cargo.lock")), key=_rank))


def program_of(version: str, profile: str = "release") -> Path:
    """Where what is made of a release is, or will be: a place of its own for each state of the sources."""
    return cache_folder() / "targets" / f"{NAME}-{version}-{_recipe(version)}" / FORMS[profile].file


def find_cargo() -> str:
    """The path of cargo.  CannotGoOn when there is none."""
    found = shutil.which("cargo") or shutil.which("cargo", path=str(Path.home() / ".cargo" / "bin"))
    if found is None:
        raise CannotGoOn("cargo is not installed", step="build", seen="neither on PATH nor in ~/.cargo/bin",
                         hint="install Rust (rustup), stable is enough")  # fmt: skip
    return found


def _rank(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def _recipe(version: str) -> str:
    """A digest of all that decides the program but for the toolchain."""
    digest = hashlib.sha256()
    files = [crate() / "Cargo.toml.in", crate() / "build.rs", *sorted((crate() / "src").glob("*.rs")), lock_of(version)]
    for file in files:
        if file.is_file():
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]


def _build(cargo: str, version: str, form: Form, result: Path, tell: Tell) -> None:
    """Lay the crate out beside the result, run cargo on it, keep what it makes.

    All releases share cargo's work, since most of what they are made of is the same: the first takes half a minute,
    each further one a third of that.
    """
    work = result.parent / "crate"
    shutil.rmtree(work, ignore_errors=True)
    lay_out(work, version)
    command = [cargo, "build", "--release", "--color", "never", *form.arguments, "--target", host()]
    if lock_of(version).is_file():
        command.append("--locked")
    target = cache_folder() / "targets" / ("cargo-coverage" if form.flags else "cargo")
    environment = {"CARGO_TARGET_DIR": str(target)}
    if form.flags:
        environment["RUSTFLAGS"] = " ".join(form.flags)
    with processes.start(command, cwd=work, env=environment) as running:
        _wait(running, version, tell)
    shutil.copy(target / host() / "release" / form.made, result.with_suffix(".new"))
    result.with_suffix(".new").replace(result)
    shutil.rmtree(work, ignore_errors=True)


def lay_out(work: Path, version: str) -> None:
    """The crate for one release, with its lock file where there is one, in a folder that is not there yet."""
    (work / "src").mkdir(parents=True)
    for file in (crate() / "src").glob("*.rs"):
        shutil.copy(file, work / "src")
    shutil.copy(crate() / "build.rs", work)
    manifest = (crate() / "Cargo.toml.in").read_text(encoding="utf-8")
    (work / "Cargo.toml").write_text(manifest.replace(PLACE, version), encoding="utf-8")
    if lock_of(version).is_file():
        shutil.copy(lock_of(version), work / "Cargo.lock")


def host() -> str:
    """This machine as cargo calls it; named, so that flags for the library do not reach build scripts."""
    return f"{platform.machine()}-unknown-linux-gnu"


def _wait(running: Program, version: str, tell: Tell) -> None:
    deadline = Deadline.after(PATIENCE)
    while (ended := running.wait(deadline.or_sooner(_TELL_EVERY))) is None and not deadline.passed:
        tell(f"building {NAME} {version}: " + " ".join(running.last_lines(1)).strip())
    if ended is None:
        raise CannotGoOn(f"building {NAME} {version} stalls", step="build", seen=running.last_lines(_END_OF_LOG))
    if ended.code:
        raise _build_error(running, version)


def _build_error(running: Program, version: str) -> CannotGoOn | UsageError:
    seen = running.last_lines(_END_OF_LOG)
    if "failed to select a version" in running.output() or "no matching package" in running.output():
        return UsageError(f"there is no {NAME} {version} in the crate registry", step="build", seen=seen,
                          hint="tried before: " + ", ".join(releases_with_lock()))  # fmt: skip
    return CannotGoOn(f"{NAME} {version} does not build", step="build", seen=seen,
                      hint="is the crate registry reachable, and Rust 1.80 or newer?")  # fmt: skip
