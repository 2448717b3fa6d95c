"""Which requirements a vector covers.

Requirements of the kinds id, flag, field, order, extension and reserved say which message and which place they are
about: vectors are chosen by their segments there.  All others stand in `covers.toml`, as patterns of vector ids.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import translate
from importlib import resources
from typing import Any

from zenoh_vectors.build.vector import Vector, slug

Fact = Mapping[str, Any]
"""A requirement's block, as the TOML has it."""
Pool = Sequence[Vector]

FEW, MANY = 6, 40
"""How many vectors stand for a fact that every vector shows, and for one that vectors were written for."""

FAMILIES = {"Put": ("put", "reply-put"), "Del": ("del", "reply-del"), "DKeyExpr": ("d-keyexpr",), "UKeyExpr": ("u-keyexpr",)}
"""First words of vector ids, where they are not the message's name."""


def snake(name: str) -> str:
    """KeepAlive -> keep_alive, DKeyExpr -> d_key_expr, QoSLink -> qos_link."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name.replace("QoS", "Qos")).lower()


def covers(vectors: Iterable[Vector]) -> dict[str, list[str]]:
    """Vector id to the requirements that it covers, sorted."""
    pools: dict[str, list[Vector]] = defaultdict(list)
    every = []
    for vector in vectors:
        pools[vector.id.partition("/")[0]].append(vector)
        every.append(vector.id)
    out: dict[str, set[str]] = defaultdict(set)
    for requirement, fact in facts().items():
        for ident in chosen(fact, pools):
            out[ident].add(requirement)
    for requirement, pattern in patterns().items():
        for ident in filter(pattern.fullmatch, every):
            out[ident].add(requirement)
    return {ident: sorted(found) for ident, found in out.items()}


def facts() -> dict[str, Fact]:
    """Requirement id to its block, for those that a codec can keep or break."""
    folder = resources.files("zenoh_conformance.spec") / "requirements"
    out = {}
    for file in sorted((f for f in folder.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name):
        for phrase, block in tomllib.loads(file.read_text(encoding="utf-8")).items():
            if block.get("level") == "LAYOUT" and block.get("message"):
                out[f"{file.name.removesuffix('.toml')}/{phrase}"] = block
    return out


def patterns() -> dict[str, re.Pattern[str]]:
    """Requirement id to a pattern of vector ids, from `covers.toml`."""
    table = tomllib.loads((resources.files(__package__) / "covers.toml").read_text(encoding="utf-8"))
    return {f"{page}/{phrase}": re.compile("|".join(map(translate, globs))) for page, rows in table.items()
            for phrase, globs in rows.items()}  # fmt: skip


def chosen(fact: Fact, pools: Mapping[str, Pool]) -> Iterator[str]:
    """Ids of the vectors that show this fact."""
    rule = RULES.get(fact["fact"])
    kind = fact["message"]
    pool = [vector for stem in FAMILIES.get(kind, (snake(kind).replace("_", "-"),)) for vector in pools.get(stem, ())]
    if rule is not None:
        yield from (vector.id for vector in rule(fact, snake(kind), pool))


# --- a rule for each kind of fact --------------------------------------------------------------------------------------


def by_id(fact: Fact, path: str, pool: Pool) -> Pool:
    """The shortest whole messages."""
    return smallest(plain(pool), FEW)


def by_flag(fact: Fact, path: str, pool: Pool) -> Pool:
    """Some with the flag and some without."""
    bits = int(fact["bits"].split(":")[1]) if "bits" in fact else fact["bit"]
    mask = 0x60 if fact.get("bits") == "6:5" else 1 << bits
    groups: dict[int, list[Vector]] = defaultdict(list)
    for vector in plain(pool):
        if (head := header(vector, path)) is not None:
            groups[head & mask].append(vector)
    return [vector for group in groups.values() for vector in smallest(group, FEW // 2)]


def by_field(fact: Fact, path: str, pool: Pool) -> Pool:
    """Those that were written for the field, else some that have it."""
    tail: str = fact["field"].removesuffix("[]")
    if fact["field"] == "body":
        return [vector for vector in pool if "carries" in vector.id or "body-id" in vector.id][:MANY]
    if "ext" in fact:
        tail = f"exts.{snake(fact['ext'])}.{tail.rpartition('.')[2]}"
    at = f"{path}.{tail}"
    touching = [vector for vector in pool if touches(vector, at)]
    word = slug(tail.removeprefix("exts.")).removesuffix("-value")
    written = [vector for vector in touching if word in vector.id.partition("/")[2] or refused_at(vector, at)]
    return smallest(written, MANY) if written else smallest(plain(touching), FEW)


def by_order(fact: Fact, path: str, pool: Pool) -> Pool:
    """Those with the most different fields."""
    def fields(vector: Vector) -> int:
        inner = [s.path.partition(f"{path}.")[2].partition(".")[0] for s in vector.segments if f"{path}." in s.path]
        return len(set(inner))

    return sorted(plain(pool), key=lambda vector: (-fields(vector), len(vector.data), vector.id))[:FEW]


def by_extension(fact: Fact, path: str, pool: Pool) -> Pool:
    """Those that were written for the extension."""
    name = snake(fact["ext"])
    word = f"ext-{slug(name)}-"
    at = f"{path}.exts.{name}"
    return smallest([v for v in pool if word in v.id or (touches(v, at) and slug(name) in v.id)], MANY)


def by_reserved(fact: Fact, path: str, pool: Pool) -> Pool:
    """Those that are remarked upon."""
    return [vector for vector in pool for kind, _, where in vector.remarks
            if kind == "reserved-bit" and where.endswith(f"{path}.header")]  # fmt: skip


RULES: dict[str, Callable[[Fact, str, Pool], Pool]] = {
    "id": by_id, "flag": by_flag, "field": by_field, "order": by_order, "extension": by_extension, "reserved": by_reserved,
}  # fmt: skip


def plain(pool: Iterable[Vector]) -> Pool:
    """Those that a writer gives, whole."""
    return [vector for vector in pool if vector.means is not None and vector.canonical and not vector.errata]


def smallest(pool: Iterable[Vector], count: int) -> Pool:
    """The shortest ones."""
    return sorted(pool, key=lambda vector: (len(vector.data), vector.id))[:count]


def header(vector: Vector, path: str) -> int | None:
    """The header byte of the message of this path name in the vector."""
    tail = f"{path}.header"
    return next((s.data[0] for s in vector.segments if s.path == tail or s.path.endswith("." + tail)), None)


def touches(vector: Vector, at: str) -> bool:
    """Whether the vector has the place, or is refused there."""
    return any(under(segment.path, at) for segment in vector.segments) or refused_at(vector, at)


def refused_at(vector: Vector, at: str) -> bool:
    """Whether the vector is refused at the place."""
    return vector.refuses is not None and under(vector.refuses["path"], at)


def under(path: str, at: str) -> bool:
    """Whether a path leads to this place, or further down."""
    found = f".{path}.".find(f".{at}.")
    return found >= 0 or f".{path}[".find(f".{at}[") >= 0


def errata_ids() -> dict[str, str]:
    """Alias to phrase id, as the errata table has them."""
    file = resources.files("zenoh_conformance.spec") / "errata.toml"
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    return {row["alias"]: phrase for phrase, row in table.items() if "alias" in row}
