"""Key expressions: validity, canonical form, intersection, inclusion.

A key expression is a sequence of chunks joined by `/`. `*` matches one chunk, `**` any number of chunks, and `$*` inside a chunk
any run of characters. A chunk that begins with `@` is verbatim: no wildcard matches it. The grammar is the one that the baseline
enforces (erratum key-grammar).
"""

from __future__ import annotations

import re
from functools import lru_cache


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
    reach = [[False] * (len(b) + 1) for _ in range(len(a) + 1)]
    reach[len(a)][len(b)] = True
    for i in range(len(a), -1, -1):
        for j in range(len(b), -1, -1):
            if (i, j) != (len(a), len(b)):
                reach[i][j] = _meet(a, b, i, j, reach)
    return reach[0][0]


def _meet(a: tuple[str, ...], b: tuple[str, ...], i: int, j: int, reach: list[list[bool]]) -> bool:
    """Whether `a` from chunk i and `b` from chunk j match a common key; `reach` holds the answers for later chunks."""
    if i < len(a) and a[i] == "**" and (reach[i + 1][j] or (j < len(b) and not verbatim(b[j]) and reach[i][j + 1])):
        return True
    if j < len(b) and b[j] == "**" and (reach[i][j + 1] or (i < len(a) and not verbatim(a[i]) and reach[i + 1][j])):
        return True
    if i == len(a) or j == len(b) or "**" in (a[i], b[j]):
        return False
    return chunks_intersect(a[i], b[j]) and reach[i + 1][j + 1]


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
    a, b = _parts(left), _parts(right)
    row = [True] + [False] * len(b)
    for j, part in enumerate(b):
        row[j + 1] = row[j] and part == "$*"
    for part in a:
        last, row = row, [row[0] and part == "$*"]
        for j, other in enumerate(b):
            wild = "$*" in (part, other)
            row.append(last[j + 1] or row[j] or last[j] if wild else part == other and last[j])
    return row[-1]


@lru_cache(maxsize=65536)
def includes(whole: str, part: str) -> bool:
    """Whether every key that matches `part` matches `whole`."""
    if plain(whole):
        return whole == part
    a, b = _chunks(whole), _chunks(part)
    reach = [[False] * (len(b) + 1) for _ in range(len(a) + 1)]
    reach[len(a)][len(b)] = True
    for i in range(len(a) - 1, -1, -1):
        for j in range(len(b), -1, -1):
            if a[i] == "**":
                reach[i][j] = reach[i + 1][j] or (j < len(b) and not verbatim(b[j]) and reach[i][j + 1])
            elif j < len(b) and b[j] != "**":
                reach[i][j] = chunk_includes(a[i], b[j]) and reach[i + 1][j + 1]
    return reach[0][0]


@lru_cache(maxsize=65536)
def chunk_includes(whole: str, part: str) -> bool:
    """Whether every chunk that matches `part` matches `whole`; neither is `**`."""
    if verbatim(whole) or verbatim(part) or plain(whole):
        return whole == part
    a, b = _parts(whole), _parts(part)
    row = [True] + [False] * len(b)
    for piece in a:
        last, row = row, [row[0] and piece == "$*"]
        for j, other in enumerate(b):
            row.append(last[j + 1] or row[j] if piece == "$*" else piece == other and last[j])
    return row[-1]
