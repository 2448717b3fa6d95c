"""Errata: the differences between the text and the validated baseline, and which of the two is tested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from types import MappingProxyType

from .specification import SpecificationError, toml_table


class Stance(StrEnum):
    """The effect of an erratum on verdicts."""

    PIN = "PIN"
    """The baseline's reading is tested; verdicts name a target that follows the text."""
    DEV = "DEV"
    """The text is required; the baseline deviates from it, which is a known deviation."""
    GAP = "GAP"
    """Either reading is reported, none fails."""
    BOTH = "BOTH"
    """Either reading passes."""


AS_WRITTEN = "as written"
"""The reading of a target that follows the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Erratum:
    """A difference between the text and the baseline."""

    id: str
    """A phrase that never changes."""
    alias: str = ""
    """The short name, `ZD-nn`; empty for a difference that this harness found."""
    text: str
    """The specification's rule."""
    baseline: str
    """The behaviour of the validated baseline."""
    evidence: tuple[str, ...]
    """The sources of both."""
    stance: Stance
    public: str = ""
    """The public address of a report that the baseline crashes, if it does."""

    @property
    def reading(self) -> str:
        """The reading of a target that follows the baseline, as verdicts name it."""
        return f"as erratum:{self.id}"


def reading_of(erratum: str | None) -> str:
    """The reading in verdicts: the text's for None, else that of an erratum by phrase or alias. Raises KeyError."""
    return AS_WRITTEN if erratum is None else by_name(erratum).reading


@cache
def errata() -> Mapping[str, Erratum]:
    """Every erratum by phrase id."""
    text = resources.files("zenoh_conformance.spec").joinpath("errata.toml").read_text(encoding="utf-8")
    return read_errata(text, "errata.toml")


def read_errata(text: str, file: str) -> Mapping[str, Erratum]:
    """The errata that a TOML text describes. Raises SpecificationError: file, id, field, why."""
    read = {name: _erratum(file, name, entry) for name, entry in toml_table(text, file).items()}
    aliases: dict[str, str] = {}
    for erratum in read.values():
        if erratum.alias and aliases.setdefault(erratum.alias, erratum.id) != erratum.id:
            why = f"{erratum.alias} is that of {aliases[erratum.alias]}"
            raise SpecificationError(file, erratum.id, "alias", why)
    return MappingProxyType(read)


def by_name(name: str) -> Erratum:
    """The erratum with this phrase or alias. Raises KeyError."""
    return errata().get(name) or {erratum.alias: erratum for erratum in errata().values() if erratum.alias}[name]


def _erratum(file: str, name: str, entry: Mapping[str, object]) -> Erratum:
    keys = {"text", "baseline", "evidence", "stance"}
    for key in sorted((entry.keys() - {"alias", "public"}) ^ keys):
        raise SpecificationError(file, name, key, "is missing" if key in keys else "no such field of an erratum")
    evidence, stance = entry["evidence"], entry["stance"]
    if not isinstance(evidence, list) or not evidence:
        raise SpecificationError(file, name, "evidence", "a list of at least one is expected")
    if stance not in tuple(Stance):
        raise SpecificationError(file, name, "stance", f"{stance!r} is none of {', '.join(Stance)}")
    strings = {key: str(value) for key, value in entry.items() if key not in ("evidence", "stance")}
    return Erratum(id=name, evidence=tuple(map(str, evidence)), stance=Stance(str(stance)), **strings)
