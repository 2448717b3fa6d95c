"""Requirements: all that the specification asks for, one TOML a page, loaded and checked here.

A requirement's id, `page/phrase`, lives for ever. What has no RFC 2119 word on the page but is told as a fact carries
`keyword = false`. A LAYOUT requirement, and one with `codec = true`, can be kept or broken by a codec alone.
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
"""Characters of a `says`: one line."""


class Level(StrEnum):
    """How strongly the page asks."""

    MUST = "MUST"
    MUST_NOT = "MUST NOT"
    SHOULD = "SHOULD"
    MAY = "MAY"
    LAYOUT = "LAYOUT"
    """A row of a table or a field of a diagram."""


BINDS = (
    "both", "sender", "receiver", "initiator", "responder", "router", "querier", "queryable", "publisher",
)  # fmt: skip
"""Whom a requirement can bind."""

OWED = ("vector", "law", "case", "model")
"""By what a requirement can be covered, and therefore what it can be owed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """What a LAYOUT requirement says, in a form that a declaration can be checked against and a fault be made from."""

    fact: str
    """`id`, `flag`, `field`, `order`, `extension`, `bits`, `value`, `reserved`, ..."""
    message: str = ""
    """The message's class in the codec."""
    primitive: str = ""
    """The primitive that it is about, where it is about none of the messages."""
    mid: int | None = None
    """The message's id."""
    flag: str = ""
    """The letter in the header."""
    bit: int | None = None
    """Where that letter stands, 0 the lowest."""
    bits: str = ""
    """`high:low`, or one number."""
    field: str = ""
    """As the codec names it."""
    wire: str = ""
    """The type, as the page writes it."""
    when: str = ""
    """The condition under which the field is there."""
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
    """One thing that the specification asks for."""

    id: str
    level: Level
    binds: str
    """Who keeps or breaks it, one of `BINDS`."""
    ref: tuple[str, ...]
    """`page#section`, the defining one first."""
    says: str
    """One line, in our words."""
    keyword: bool = True
    """Whether the page uses an RFC 2119 word for it."""
    codec: bool = False
    """A codec alone can keep or break it."""
    needs: tuple[str, ...] = ()
    """Capabilities without which it does not apply."""
    erratum: tuple[str, ...] = ()
    """The errata that touch it."""
    aliases: tuple[str, ...] = ()
    """Ids that it had before."""
    owed: str = ""
    """What is still to come to cover it, one of `OWED`; empty when nothing is."""
    unobservable: str = ""
    """Why no peer can ever see it; empty when one can."""
    fact: Fact | None = None

    @property
    def page(self) -> str:
        """The page that defines it."""
        return self.id.partition("/")[0]

    @property
    def by_codec(self) -> bool:
        """Whether a vector is enough to judge it."""
        return self.codec or self.level is Level.LAYOUT


class Requirements(Mapping[str, Requirement]):
    """All requirements by id, in the order of the pages and of their files; a former id finds what bears it now."""

    def __init__(self, requirements: Iterable[Requirement]) -> None:
        self._by_id: dict[str, Requirement] = {}
        self._now: dict[str, str] = {}
        for each in requirements:
            self._by_id[each.id] = each
            self._now.update(dict.fromkeys(each.aliases, each.id))
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
        """At most three ids that someone who wrote `ident` may have meant."""
        ending = [known for known in self if known.endswith(f"/{ident.rpartition('/')[2]}")]
        return ending[:3] or get_close_matches(ident, self, n=3)

    def citing(self, ref: str) -> list[Requirement]:
        """What stands in one section."""
        return [each for each in self.values() if ref in each.ref]


@cache
def requirements() -> Requirements:
    """All requirements of the package's own files."""
    folder = resources.files("zenoh_conformance").joinpath("requirements")
    files = [folder.joinpath(f"{page}.toml") for page in pages()]
    if strays := {file.name for file in folder.iterdir() if file.name.endswith(".toml")} - {
        file.name for file in files
    }:
        raise SpecificationError(min(strays), "", "", "pages.toml has no page of this name")
    return read_requirements({file.name: file.read_text(encoding="utf-8") for file in files})


def is_must(requirement: str) -> bool:
    """Whether a deviation from it is a failure, and not a warning; so it is where nobody knows it."""
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


def _requirement(file: str, phrase: str, text: Mapping[str, Any]) -> Requirement:
    said = {key: _plain(file, phrase, key, value) for key, value in text.items()}
    for key in ("level", "binds", "ref", "says"):
        if not said.get(key):
            raise SpecificationError(file, phrase, key, "is missing")
    about = {key: said.pop(key) for key in FACT_KEYS & said.keys()}
    if surplus := said.keys() - OWN_KEYS:
        raise SpecificationError(file, phrase, min(surplus), "no such field of a requirement")
    made = Requirement(
        id=f"{file.removesuffix('.toml')}/{phrase}",
        level=_level(file, phrase, said.pop("level")),
        fact=_fact(file, phrase, about),
        **said,
    )
    for field, why in _faults(made, phrase):
        raise SpecificationError(file, phrase, field, why)
    return made


KINDS: dict[str, type] = {
    "keyword": bool, "codec": bool, "mandatory": bool, "ref": tuple, "needs": tuple, "erratum": tuple, "aliases": tuple,
    "order": tuple, "mid": int, "bit": int, "value": int, "ext_id": int,
}  # fmt: skip
"""What a field holds; text where nothing is said."""


def _plain(file: str, phrase: str, key: str, value: Any) -> Any:
    kind = KINDS.get(key, str)
    if kind is tuple:
        value = tuple(value) if isinstance(value, list) else (value,)
        fits = all(isinstance(each, str) for each in value)
    else:
        fits = type(value) is kind
    if not fits:
        raise SpecificationError(file, phrase, key, f"{value!r} is no {_called(kind)}")
    return value


def _called(kind: type) -> str:
    return "text" if kind is str else "text or list of texts" if kind is tuple else kind.__name__


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
    if not PHRASE.fullmatch(phrase):
        yield "id", "an id is words of a-z and 0-9 with hyphens"
    if made.binds not in BINDS:
        yield "binds", f"{made.binds!r} is none of {', '.join(BINDS)}"
    if made.owed and made.owed not in OWED:
        yield "owed", f"{made.owed!r} is none of {', '.join(OWED)}"
    if made.owed and made.unobservable:
        yield "owed", "what is unobservable cannot be owed"
    if made.owed and (made.owed == "vector") and not made.by_codec:
        yield "owed", "a vector cannot judge what a codec alone cannot break"
    if made.level is Level.LAYOUT and made.fact is None:
        yield "fact", "a LAYOUT requirement tells its fact"
    if len(made.says) > LONGEST or "\n" in made.says or not made.says.endswith("."):
        yield "says", f"is one sentence on one line of at most {LONGEST} characters"
