"""Key expressions: validity, canonical form, intersection, inclusion.

A key expression is a sequence of chunks joined by `/`. `*` matches one chunk, `**` any number of chunks, and `$*` inside a chunk
any run of characters. A chunk that begins with `@` is verbatim: no wildcard matches it. The grammar is the one that the baseline
enforces (erratum key-grammar).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache


class KeyExprError(ValueError):
    """A string is no key expression; `at` is the index of the character at fault."""

    def __init__(self, text: str, at: int, why: str) -> None:
        super().__init__(f"{text!r} is no key expression: {why} (at character {at})")
        self.at, self.why = at, why


def check(text: str) -> None:
    """Raise KeyExprError unless `text` is a canonical key expression."""
    if not text:
        raise KeyExprError(text, 0, "it is empty")
    at, before = 0, ""
    for chunk in text.split("/"):
        _check_chunk(text, chunk, at)
        if before == "**" and chunk in ("*", "**"):
            raise KeyExprError(text, at, f"`**/{chunk}` is not canonical")
        at, before = at + len(chunk) + 1, chunk


def _check_chunk(text: str, chunk: str, at: int) -> None:
    if not chunk:
        raise KeyExprError(text, at, "a chunk is empty")
    if chunk in ("*", "**"):
        return
    if chunk == "$*":
        raise KeyExprError(text, at, "a lone `$*` is `*`")
    for match in re.finditer(r"[#?]|\$(?!\*)|(?<!\$)\*|\$\*(?=\$\*)", chunk):
        raise KeyExprError(text, at + match.start(), f"{match.group()!r} may not stand here")


@lru_cache(maxsize=4096)
def is_canonical(text: str) -> bool:
    """Whether `text` is a key expression in canonical form."""
    try:
        check(text)
    except KeyExprError:
        return False
    return True


def canonize(text: str) -> str:
    """The canonical form of a key expression. Raises KeyExprError for a text that has none."""
    chunks: list[str] = []
    for raw in text.split("/"):
        chunk = re.sub(r"(?:\$\*)+", "$*", raw)
        chunk = "*" if chunk == "$*" else chunk
        if chunk == "**" and chunks[-1:] == ["**"]:
            continue
        if chunk == "*" and chunks[-1:] == ["**"]:
            chunks[-1:] = ["*", "**"]
            continue
        chunks.append(chunk)
    canonical = "/".join(chunks)
    check(canonical)
    return canonical


@lru_cache(maxsize=4096)
def _chunks(text: str) -> tuple[str, ...]:
    return tuple(text.split("/"))


@lru_cache(maxsize=65536)
def intersects(left: str, right: str) -> bool:
    """Whether at least one key matches both key expressions."""
    if plain(left) and plain(right):
        return left == right
    a, b = _chunks(left), _chunks(right)
    places = _places(b)
    wild = [other for other in places if not plain(other) and other != "**"]

    @cache
    def meeting(chunk: str) -> int:
        found = places.get(chunk, 0)
        for other in wild if plain(chunk) else places:
            if other != "**" and chunks_intersect(chunk, other):
                found |= places[other]
        return found

    closed = {chunk for chunk in (*a, *places) if verbatim(chunk)}
    return _match(a, len(b), "**", places, meeting, closed, stars=places.get("**", 0))


def verbatim(chunk: str) -> bool:
    """Whether a chunk matches only itself."""
    return chunk.startswith("@")


def plain(text: str) -> bool:
    """Whether a key or chunk has no wildcards, so that it matches only itself."""
    return "*" not in text


def _parts(chunk: str) -> tuple[str, ...]:
    """The characters of a chunk; `$*`, or a whole chunk `*`, is one wildcard."""
    return ("$*",) if chunk == "*" else tuple(re.findall(r"\$\*|.", chunk, re.DOTALL))


@lru_cache(maxsize=65536)
def chunks_intersect(left: str, right: str) -> bool:
    """Whether some chunk matches both; neither is `**`."""
    if verbatim(left) or verbatim(right) or (plain(left) and plain(right)):
        return left == right
    b = _parts(right)
    places = _places(b)
    return _match(_parts(left), len(b), "$*", places, _same(places), set(), stars=places.get("$*", 0))


@lru_cache(maxsize=65536)
def includes(whole: str, part: str) -> bool:
    """Whether every key that matches `part` matches `whole`."""
    if plain(whole):
        return whole == part
    b = _chunks(part)
    places = _places(b)

    @cache
    def inside(chunk: str) -> int:
        if plain(chunk):
            return places.get(chunk, 0)
        found = 0
        for other in places:
            if other != "**" and chunk_includes(chunk, other):
                found |= places[other]
        return found

    return _match(_chunks(whole), len(b), "**", places, inside, {chunk for chunk in places if verbatim(chunk)})


@lru_cache(maxsize=65536)
def chunk_includes(whole: str, part: str) -> bool:
    """Whether every chunk that matches `part` matches `whole`; neither is `**`."""
    if verbatim(whole) or verbatim(part) or plain(whole):
        return whole == part
    b = _parts(part)
    places = _places(b)
    return _match(_parts(whole), len(b), "$*", places, _same(places), set())


# --- the table of both, a row at a time in the bits of an integer -----------------------------------------------------


def _places(items: tuple[str, ...]) -> dict[str, int]:
    """Where each item stands: bit n is the item before the last n - 1, so that bit 0 is the end."""
    found: dict[str, int] = {}
    for index, item in enumerate(items):
        found[item] = found.get(item, 0) | 1 << len(items) - index
    return found


def _same(places: Mapping[str, int]) -> Callable[[str], int]:
    """Where the same character stands."""
    return lambda part: places.get(part, 0)


def _match(
    items: tuple[str, ...],
    length: int,
    star: str,
    places: Mapping[str, int],
    meeting: Callable[[str], int],
    closed: AbstractSet[str],
    *,
    stars: int = 0,
) -> bool:
    """Whether `items` and the `length` others that `places` holds match from the beginning to the end.

    A `star` among the items passes over all others but the `closed`; so do `stars`, the places of stars among the others
    that count as such. `meeting` returns the places where an item may stand. From the end: bit n of a row says whether
    the items seen so far and the last n others match.
    """
    passed = sum(mask for other, mask in places.items() if other not in closed)
    row = _fill(1, stars)
    for item in reversed(items):
        if item == star:
            row = _fill(row, passed)
            continue
        kept = 0 if item in closed else row & stars
        row = _fill(row << 1 & meeting(item) | kept, stars)
    return bool(row >> length & 1)


def _fill(row: int, through: int) -> int:
    """The bits of a row, and all bits of `through` that follow one of them without a gap: a carry runs along them."""
    first = row << 1 & through
    return row | first | ((through + first ^ through) & through)
