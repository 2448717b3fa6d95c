"""The lock of a revision: its requirements by id and level, and a digest of each section.

A locked id that vanished without an alias, and a locked level that changed, are faults. A draft may get new ids; after the
first release of a revision a new id is a fault too, since it would change the meaning of verdicts on that revision.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from .requirement import Requirements
from .specification import REVISION, SpecificationError


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """The requirements of one revision."""

    revision: str
    draft: bool
    levels: Mapping[str, str]
    """Requirement id to level."""
    sections: Mapping[str, str]
    """Section reference to digest."""

    def faults(self, requirements: Requirements) -> list[str]:
        """The differences of the current requirements from the lock, one per line."""
        faults = []
        for ident, level in self.levels.items():
            if ident not in requirements and ident not in requirements.aliases():
                faults.append(f"{ident}: vanished; an id lives for ever, keep it as an alias of what replaced it")
            elif requirements[ident].level != level:
                faults.append(f"{ident}: {level} became {requirements[ident].level}; what is locked does not change")
        new = [ident for ident in requirements if ident not in self.levels]
        if not self.draft:
            faults += [f"{ident}: is not in the lock of {self.revision}, which is no draft" for ident in new]
        return faults


@cache
def lock(revision: str = REVISION) -> Lock:
    """The lock of a revision, from the package's own files. Raises SpecificationError."""
    name = f"{revision}.lock"
    file = resources.files("zenoh_conformance.spec").joinpath("requirements", name)
    if not file.is_file():
        raise SpecificationError(name, "", "", "there is no lock of this revision")
    return read_lock(file.read_text(encoding="utf-8"), name)


def revisions() -> list[str]:
    """The revisions that have a lock, sorted."""
    folder = resources.files("zenoh_conformance.spec").joinpath("requirements")
    return sorted(file.name.removesuffix(".lock") for file in folder.iterdir() if file.name.endswith(".lock"))


def read_lock(text: str, file: str) -> Lock:
    """The lock that a TOML text holds. Raises SpecificationError."""
    try:
        return Lock(**tomllib.loads(text))
    except (tomllib.TOMLDecodeError, TypeError) as bad:
        raise SpecificationError(file, "", "", f"no lock: {bad}") from None


def write_lock(requirements: Requirements, sections: Mapping[str, str], *, draft: bool = True) -> str:
    """The TOML text of a lock; the same requirements and sections give the same text."""
    rows = [f'revision = "{REVISION}"', f"draft = {str(draft).lower()}", "", "[levels]"]
    rows += [f'"{ident}" = "{requirements[ident].level}"' for ident in sorted(requirements)]
    rows += ["", "[sections]"]
    rows += [f'"{ref}" = "{sections[ref]}"' for ref in sorted(sections)]
    return "# Written by `zconform requirements lock`; not by hand.\n" + "\n".join(rows) + "\n"
