"""The things that `zconform targets build` can build, one row each, with the module that builds it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, cast

from zenoh_harness.errors import unknown
from zenoh_harness.programs.made import BuildResult, Tell


@dataclass(frozen=True, slots=True)
class Builder:
    """One row: a thing that can be built, and its module."""

    name: str
    about: str
    default: str
    """The version that is built if none is named."""
    profiles: tuple[str, ...]
    """Build profiles, the default first."""
    module: str
    """Has `make(version, profile, tell) -> Made`; imported when a build is asked for."""

    def make(self, version: str | None, profile: str | None, tell: Tell) -> BuildResult:
        """Build it unless it exists. Raises HarnessError."""
        if profile is not None and profile not in self.profiles:
            raise unknown(f"build profile of {self.name}", profile, self.profiles, step="build")
        make = cast(Callable[[str, str, Tell], BuildResult], importlib.import_module(self.module).make)
        return make(version or self.default, profile or self.profiles[0], tell)


BUILDERS: Final[Mapping[str, Builder]] = MappingProxyType(
    {
        builder.name: builder
        for builder in (
            Builder(
                name="zenohd",
                about="image zconform/zenohd:VERSION, zenoh-rust's router compiled from the crate registry",
                default="1.10.2",
                profiles=("release", "quick"),
                module="zenoh_harness.targets.adapters.docker.zenohd",
            ),
            Builder(
                name="zenoh-codec",
                about="zenoh-rust's own codec as a stdio codec target; profile library: as a lib: target",
                default="1.10.2",
                profiles=("release", "library", "coverage"),
                module="zenoh_harness.codecs.build",
            ),
        )
    }
)


def builder(name: str) -> Builder:
    """Return the builder of that name. Raises UsageError with the nearest name."""
    if name not in BUILDERS:
        raise unknown("thing to build", name, BUILDERS, step="build")
    return BUILDERS[name]
