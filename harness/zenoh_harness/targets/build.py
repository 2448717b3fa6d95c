"""What `zconform targets build` can make: one row a thing, each made by the module that knows how."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, cast

from zenoh_harness.errors import unknown
from zenoh_harness.programs.made import Made, Tell


@dataclass(frozen=True, slots=True)
class Builder:
    """One row: what can be made, and by whom."""

    name: str
    about: str
    default: str
    """The version that is made when none is said."""
    profiles: tuple[str, ...]
    """Build profiles, the default first."""
    module: str
    """Has `make(version, profile, tell) -> Made`; imported only when it is asked."""

    def make(self, version: str | None, profile: str | None, tell: Tell) -> Made:
        """Make it, unless it is there; HarnessError says why it cannot be had."""
        if profile is not None and profile not in self.profiles:
            raise unknown(f"build profile of {self.name}", profile, self.profiles, step="build")
        make = cast(Callable[[str, str, Tell], Made], importlib.import_module(self.module).make)
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
    """The builder of that name; UsageError offers the nearest."""
    if name not in BUILDERS:
        raise unknown("thing to build", name, BUILDERS, step="build")
    return BUILDERS[name]
