"""Errata: where the text and the validated baseline differ, and which of the two is tested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from types import MappingProxyType

from .specification import SpecificationError, toml_table


class Stance(StrEnum):
    """What a difference means for a verdict."""

    PIN = "PIN"
    """The baseline's reading is tested, and the text's is named."""
    DEV = "DEV"
    """The text is required; the baseline deviates from it, which is a known deviation."""
    GAP = "GAP"
    """Observed and reported, never failed."""
    BOTH = "BOTH"
    """Either is accepted."""


AS_WRITTEN = "as written"
"""The reading of a target that follows the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Erratum:
    """One difference."""

    id: str
    """A phrase, for ever."""
    alias: str = ""
    """Its short name, `ZD-nn`, if it has one: what the harness found itself has none."""
    text: str
    """What the specification says."""
    baseline: str
    """What the validated baseline does."""
    evidence: tuple[str, ...]
    """Where that was read or seen."""
    stance: Stance
    public: str = ""
    """The address at which everybody can read that the baseline dies of it, where it does."""

    @property
    def reading(self) -> str:
        """The reading of a target that follows the baseline, as verdicts name it."""
        return f"as erratum:{self.id}"


def reading_of(erratum: str | None) -> str:
    """How verdicts name a reading: the text's, or that of an erratum by phrase or alias. Raises KeyError for an unknown one."""
    return AS_WRITTEN if erratum is None else by_name(erratum).reading


@cache
def errata() -> Mapping[str, Erratum]:
    """Every erratum by phrase id."""
    text = resources.files("zenoh_conformance").joinpath("errata.toml").read_text(encoding="utf-8")
    return read_errata(text, "errata.toml")


def read_errata(text: str, file: str) -> Mapping[str, Erratum]:
    """The errata that a TOML text describes. Raises SpecificationError: file, id, field, why."""
    read = {name: _erratum(file, name, shown) for name, shown in toml_table(text, file).items()}
    aliases: dict[str, str] = {}
    for each in read.values():
        if each.alias and aliases.setdefault(each.alias, each.id) != each.id:
            raise SpecificationError(file, each.id, "alias", f"{each.alias} is that of {aliases[each.alias]}")
    return MappingProxyType(read)


def by_name(name: str) -> Erratum:
    """The erratum with this phrase or alias. Raises KeyError."""
    return errata().get(name) or {each.alias: each for each in errata().values() if each.alias}[name]


def _erratum(file: str, name: str, text: Mapping[str, object]) -> Erratum:
    keys = {"text", "baseline", "evidence", "stance"}
    for key in sorted((text.keys() - {"alias", "public"}) ^ keys):
        raise SpecificationError(file, name, key, "is missing" if key in keys else "no such field of an erratum")
    evidence = text["evidence"]
    if not isinstance(evidence, list) or not evidence:
        raise SpecificationError(file, name, "evidence", "a list of at least one is expected")
    if text["stance"] not in tuple(Stance):
        raise SpecificationError(file, name, "stance", f"{text['stance']!r} is none of {', '.join(Stance)}")
    return Erratum(
        id=name, alias=str(text.get("alias", "")), text=str(text["text"]), baseline=str(text["baseline"]),
        evidence=tuple(map(str, evidence)), stance=Stance(str(text["stance"])), public=str(text.get("public", "")),
    )  # fmt: skip
