"""The lock of a revision: what it requires, by id and level, and a digest of each section that says so.

What is locked stays: an id that vanished without an alias, and a level that changed, are faults. A draft takes new ids;
after the first release of a revision that is a fault too, because a verdict on the revision would change its meaning.
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
    """What one revision requires."""

    revision: str
    draft: bool
    levels: Mapping[str, str]
    """Requirement id to level."""
    sections: Mapping[str, str]
    """Section reference to digest."""

    def faults(self, requirements: Requirements) -> list[str]:
        """What is wrong with the requirements as they are now, a line each; empty when nothing is."""
        text = []
        for ident, level in self.levels.items():
            if ident not in requirements and ident not in requirements.aliases():
                text.append(f"{ident}: vanished; an id lives for ever, keep it as an alias of what replaced it")
            elif requirements[ident].level != level:
                text.append(f"{ident}: {level} became {requirements[ident].level}; what is locked does not change")
        new = [ident for ident in requirements if ident not in self.levels]
        if not self.draft:
            text += [f"{ident}: is not in the lock of {self.revision}, which is no draft" for ident in new]
        return text


@cache
def lock(revision: str = REVISION) -> Lock:
    """The lock of a revision, from the package's own files. Raises SpecificationError."""
    name = f"{revision}.lock"
    file = resources.files("zenoh_conformance").joinpath("requirements", name)
    if not file.is_file():
        raise SpecificationError(name, "", "", "there is no lock of this revision")
    return read_lock(file.read_text(encoding="utf-8"), name)


def revisions() -> list[str]:
    """The revisions that have a lock, sorted."""
    folder = resources.files("zenoh_conformance").joinpath("requirements")
    return sorted(file.name.removesuffix(".lock") for file in folder.iterdir() if file.name.endswith(".lock"))


def read_lock(text: str, file: str) -> Lock:
    """The lock that a TOML text holds. Raises SpecificationError."""
    try:
        shown = tomllib.loads(text)
        return Lock(**shown)
    except (tomllib.TOMLDecodeError, TypeError) as bad:
        raise SpecificationError(file, "", "", f"no lock: {bad}") from None


def write_lock(requirements: Requirements, sections: Mapping[str, str], *, draft: bool = True) -> str:
    """The text of a lock: the same requirements and sections give the same text."""
    rows = [f'revision = "{REVISION}"', f"draft = {str(draft).lower()}", "", "[levels]"]
    rows += [f'"{ident}" = "{requirements[ident].level}"' for ident in sorted(requirements)]
    rows += ["", "[sections]"]
    rows += [f'"{ref}" = "{sections[ref]}"' for ref in sorted(sections)]
    return "# Written by `zconform requirements lock`; not by hand.\n" + "\n".join(rows) + "\n"
