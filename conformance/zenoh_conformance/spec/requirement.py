"""The requirements of the specification, loaded from one TOML file per page and checked.

The id of a requirement, `page/phrase`, never changes. A rule that the page states without an RFC 2119 word has
`keyword = false`. A codec alone can break a LAYOUT requirement or one with `codec = true`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any

from .specification import SpecificationError, pages, toml_table

PHRASE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
LONGEST = 160
"""Characters of the longest `says`, which is one line."""


class Level(StrEnum):
    """The level of a requirement."""

    MUST = "MUST"
    MUST_NOT = "MUST NOT"
    SHOULD = "SHOULD"
    MAY = "MAY"
    LAYOUT = "LAYOUT"
    """A row of a table or a field of a diagram."""


BINDS = ("both", "sender", "receiver", "initiator", "responder", "router", "querier", "queryable", "publisher")
"""The roles that a requirement can bind."""

OWED = ("vector", "law", "case", "model")
"""The kinds of check that can cover a requirement, or be owed to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A LAYOUT requirement as data: tests compare it with the declaration, and plant faults in the codec from it."""

    fact: str
    """`id`, `flag`, `field`, `order`, `extension`, `bits`, `value`, `reserved`, ..."""
    message: str = ""
    """The message's class in the codec."""
    primitive: str = ""
    """The primitive, for a fact about no message."""
    mid: int | None = None
    """The message's id."""
    flag: str = ""
    """The letter in the header."""
    bit: int | None = None
    """The bit of that letter, 0 the lowest."""
    bits: str = ""
    """`high:low`, or one number."""
    field: str = ""
    """The field's name in the codec."""
    wire: str = ""
    """The type, as the page writes it."""
    when: str = ""
    """The condition under which the field is present."""
    value: int | None = None
    """A value of an enumeration."""
    order: tuple[str, ...] = ()
    """The fields in their order."""
    ext: str = ""
    """The extension's name in the codec."""
    ext_id: int | None = None
    """Bits 3:0 of its header."""
    enc: str = ""
    """`unit`, `z64` or `zbuf`."""
    mandatory: bool | None = None
    """Its M bit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One rule of the specification."""

    id: str
    level: Level
    binds: str
    """The role that can break it, one of `BINDS`."""
    ref: tuple[str, ...]
    """`page#section`, the defining one first."""
    says: str
    """One line, in our words."""
    keyword: bool = True
    """Whether the page uses an RFC 2119 word for it."""
    codec: bool = False
    """Whether a codec alone can break it."""
    needs: tuple[str, ...] = ()
    """Capabilities without which it does not apply."""
    erratum: tuple[str, ...] = ()
    """The errata that touch it."""
    aliases: tuple[str, ...] = ()
    """Former ids."""
    owed: str = ""
    """The kind of check that is still missing, one of `OWED`; empty when none is."""
    unobservable: str = ""
    """Why no peer can observe it; empty when one can."""
    fact: Fact | None = None

    @property
    def page(self) -> str:
        """The page that defines it."""
        return self.id.partition("/")[0]

    @property
    def by_codec(self) -> bool:
        """Whether a vector can judge it."""
        return self.codec or self.level is Level.LAYOUT


class Requirements(Mapping[str, Requirement]):
    """All requirements by id, in the order of the pages and of their files; a former id finds the present requirement."""

    def __init__(self, requirements: Iterable[Requirement]) -> None:
        self._by_id: dict[str, Requirement] = {}
        self._now: dict[str, str] = {}
        for requirement in requirements:
            self._by_id[requirement.id] = requirement
            self._now.update(dict.fromkeys(requirement.aliases, requirement.id))
        for former in self._now:
            if former in self._by_id:
                raise SpecificationError("", former, "aliases", "is an id that is in use")

    def __getitem__(self, ident: str) -> Requirement:
        return self._by_id[self._now.get(ident, ident)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_id)

    def __len__(self) -> int:
        return len(self._by_id)

    def aliases(self) -> Mapping[str, str]:
        """Former id to present id."""
        return self._now

    def nearest(self, ident: str) -> list[str]:
        """At most three ids that are similar to `ident`."""
        ending = [known for known in self if known.endswith(f"/{ident.rpartition('/')[2]}")]
        return ending[:3] or get_close_matches(ident, self, n=3)

    def citing(self, ref: str) -> list[Requirement]:
        """The requirements of one section."""
        return [requirement for requirement in self.values() if ref in requirement.ref]


@cache
def requirements() -> Requirements:
    """All requirements of the package's own files."""
    folder = resources.files("zenoh_conformance.spec").joinpath("requirements")
    files = [folder.joinpath(f"{page}.toml") for page in pages()]
    if strays := {file.name for file in folder.iterdir() if file.name.endswith(".toml")} - {
        file.name for file in files
    }:
        raise SpecificationError(min(strays), "", "", "pages.toml has no page of this name")
    return read_requirements({file.name: file.read_text(encoding="utf-8") for file in files})


def is_must(requirement: str) -> bool:
    """Whether a deviation from a requirement is a failure and not a warning; true for an unknown id."""
    known = requirements().get(requirement)
    return known is None or known.level not in (Level.SHOULD, Level.MAY)


def read_requirements(texts: Mapping[str, str]) -> Requirements:
    """The requirements in these files, name (`<page>.toml`) to text. Raises SpecificationError."""
    return Requirements(
        _requirement(file, phrase, shown)
        for file, text in texts.items()
        for phrase, shown in toml_table(text, file).items()
    )


FACT_KEYS = frozenset(field.name for field in fields(Fact))
OWN_KEYS = frozenset(field.name for field in fields(Requirement)) - {"id", "fact"}


def _requirement(file: str, phrase: str, entry: Mapping[str, Any]) -> Requirement:
    values = {key: _check_type(file, phrase, key, value) for key, value in entry.items()}
    for key in ("level", "binds", "ref", "says"):
        if not values.get(key):
            raise SpecificationError(file, phrase, key, "is missing")
    about = {key: values.pop(key) for key in FACT_KEYS & values.keys()}
    if surplus := values.keys() - OWN_KEYS:
        raise SpecificationError(file, phrase, min(surplus), "no such field of a requirement")
    requirement = Requirement(
        id=f"{file.removesuffix('.toml')}/{phrase}",
        level=_level(file, phrase, values.pop("level")),
        fact=_fact(file, phrase, about),
        **values,
    )
    for field, why in _faults(requirement, phrase):
        raise SpecificationError(file, phrase, field, why)
    return requirement


KINDS: dict[str, type] = {
    **dict.fromkeys(("keyword", "codec", "mandatory"), bool),
    **dict.fromkeys(("ref", "needs", "erratum", "aliases", "order"), tuple),
    **dict.fromkeys(("mid", "bit", "value", "ext_id"), int),
}
"""The types of fields; all others are text."""
TYPE_NAMES = {str: "text", tuple: "text or list of texts", bool: "bool", int: "int"}


def _check_type(file: str, phrase: str, key: str, value: Any) -> Any:
    """A field's value, after a check of its type; a single text becomes a tuple where one is expected."""
    kind = KINDS.get(key, str)
    if kind is tuple:
        value = tuple(value) if isinstance(value, list) else (value,)
        fits = all(isinstance(item, str) for item in value)
    else:
        fits = type(value) is kind
    if not fits:
        raise SpecificationError(file, phrase, key, f"{value!r} is no {TYPE_NAMES[kind]}")
    return value


def _level(file: str, phrase: str, text: str) -> Level:
    if text not in tuple(Level):
        raise SpecificationError(file, phrase, "level", f"{text!r} is none of {', '.join(Level)}")
    return Level(text)


def _fact(file: str, phrase: str, about: dict[str, Any]) -> Fact | None:
    if not about:
        return None
    if "fact" not in about:
        raise SpecificationError(file, phrase, "fact", f"is missing beside {', '.join(sorted(about))}")
    return Fact(**about)


def _faults(made: Requirement, phrase: str) -> Iterator[tuple[str, str]]:
    is_sentence = len(made.says) <= LONGEST and "\n" not in made.says and made.says.endswith(".")
    rules = (
        (PHRASE.fullmatch(phrase), "id", "an id is words of a-z and 0-9 with hyphens"),
        (made.binds in BINDS, "binds", f"{made.binds!r} is none of {', '.join(BINDS)}"),
        (not made.owed or made.owed in OWED, "owed", f"{made.owed!r} is none of {', '.join(OWED)}"),
        (not made.owed or not made.unobservable, "owed", "what is unobservable cannot be owed"),
        (made.owed != "vector" or made.by_codec, "owed", "a vector cannot judge what a codec alone cannot break"),
        (made.level is not Level.LAYOUT or made.fact is not None, "fact", "a LAYOUT requirement tells its fact"),
        (is_sentence, "says", f"is one sentence on one line of at most {LONGEST} characters"),
    )
    return ((field, why) for holds, field, why in rules if not holds)
