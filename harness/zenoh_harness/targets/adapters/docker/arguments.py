"""Arguments for a node in a container: profiles as `--cfg` options, mounted files, options of the target string."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from zenoh_conformance.reading.conversation import Side
from zenoh_harness.errors import UsageError
from zenoh_harness.links.locators import Locator
from zenoh_harness.profiles import Profile
from zenoh_harness.targets.adapters.wheel import configuration, endpoints
from zenoh_harness.targets.reach import Reach

PORT: Final = 7447
LISTEN: Final = Locator.tcp("0.0.0.0", PORT)  # noqa: S104  inside the container; published to 127.0.0.1 only
USERS_AT: Final = "/zconform/users"
CONFIG_AT: Final = "/zconform/config.json5"
"""Paths of mounted files inside the container."""

NO_GROUPS: Final[Mapping[str, Locator]] = MappingProxyType({})

ROUTERS: Final = frozenset({"zenohd", "zenoh"})
"""Last parts of the names of images that take `zenohd`'s arguments: ours, and upstream's `eclipse/zenoh`."""

NOT_TAKEN: Final = "Couldn't perform configuration"
"""Warning of `zenohd` about an unknown path of `--cfg`; it starts all the same, in another profile than the results would say."""


@dataclass(frozen=True, slots=True)
class Instructions:
    """Arguments, environment and mounted files of one start."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    files: Mapping[Path, str] = field(default_factory=dict)
    """File on our side to its path inside, read-only."""
    folders: tuple[Path, ...] = ()
    """Folders of ours that it may write to."""


def is_router(reach: Reach) -> bool:
    """Whether the image contains `zenohd`, judged by its name."""
    return re.sub(r":[^/:]*$", "", reach.rest.partition("@")[0]).rpartition("/")[2] in ROUTERS


def instructions(
    reach: Reach,
    profile: Profile,
    *,
    role: str,
    zid: str,
    ours: Locator | None,
    folder: Path,
    version: str = "",
    listen: Locator = LISTEN,
    groups: Mapping[str, Locator] = NO_GROUPS,
) -> Instructions:
    """Return the instructions of a start; `ours` is our listener for an initiator, `folder` takes files to mount.

    Raises UsageError for options that cannot be read and a missing configuration file.
    """
    where = ours or listen
    given = {
        "{port}": str(where.port) if where.has_port else "",
        "{host}": where.host if where.has_port else "",
        "{locator}": str(where),
        "{zid}": zid,
        "{profile}": profile.name,
    }
    arguments = [
        re.sub(r"\{\w+\}", lambda found: given.get(found[0], found[0]), word)
        for word in shlex.split(reach.options.get("args", ""))
    ]
    files = {path: str(path) for path in where.files}
    folders = () if where.has_port else (Path(where.address).parent,)
    if "config" in reach.options:
        files[_existing(Path(reach.options["config"]))] = CONFIG_AT
    environment = _environment(reach.options.get("env", ""))
    if not is_router(reach):
        return Instructions(tuple(arguments), environment, files, folders)
    if profile.credentials:
        files[_users(folder, profile.credentials)] = USERS_AT
    values = configuration(
        profile,
        Side.INITIATOR if ours else Side.RESPONDER,
        version=version,
        dictionary=Path(USERS_AT),
        scouting=groups.get("scouting"),
    )
    values |= {"mode": role, **endpoints(listen, ours, groups)}
    words = [
        *(("-c", CONFIG_AT) if "config" in reach.options else ()),
        *_options(values, zid),
        *arguments,
    ]
    environment = {"RUST_LOG": os.environ.get("RUST_LOG", "warn"), **environment}
    return Instructions(tuple(words), environment, files, folders)


def _options(values: Mapping[str, Any], zid: str) -> list[str]:
    """Return a configuration as `zenohd`'s arguments, without blanks: upstream's image splits them once more."""
    options = ["-i", zid]
    for path, value in values.items():
        options += ["--cfg", f"{path}:{json.dumps(value, separators=(',', ':'))}"]
    return options


def _users(folder: Path, credentials: tuple[str, str]) -> Path:
    path = folder / "users"
    path.write_text(":".join(credentials) + "\n")
    path.chmod(0o644)
    return path


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise UsageError(f"no configuration file {path}", step="start")
    return path.resolve()


def _environment(text: str) -> dict[str, str]:
    """Parse `NAME=VALUE` words. Raises UsageError for a word without `=`."""
    pairs = [word.partition("=") for word in shlex.split(text)]
    wrong = next((name for name, equals, _ in pairs if not equals), None)
    if wrong is not None:
        raise UsageError(f"environment {wrong!r} has no value", step="target string", hint=f"write env={wrong}=VALUE")
    return {name: value for name, _, value in pairs}
