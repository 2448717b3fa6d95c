"""Key expressions: which are valid, what is wrong with the others, which meet, which hold which."""

from __future__ import annotations

import re
import time
from itertools import product

import pytest

from zenoh_conformance.primitives.keyexpr import KeyExprError, canonize, check, includes, intersects, is_canonical

INVALID = [
    ("", 0), ("/a", 0), ("a/", 2), ("a//b", 2), ("a#", 1), ("a?b", 1), ("a$b", 1), ("a*", 1), ("**/**", 3), ("**/*", 3),
    ("$*", 0),
]  # fmt: skip


@pytest.mark.parametrize("text", ["a", "a/b", "*", "**", "a/*/b", "*/**", "a$*b", "@a/**", "a/**/b", "é/日本"])
def test_these_are_canonical(text: str) -> None:
    assert is_canonical(text)


@pytest.mark.parametrize(("text", "at"), INVALID)
def test_these_are_refused_where_they_go_wrong(text: str, at: int) -> None:
    with pytest.raises(KeyExprError) as refused:
        check(text)

    assert refused.value.at == at


@pytest.mark.parametrize(
    ("text", "canonical"), [("**/**", "**"), ("**/*", "*/**"), ("$*", "*"), ("**/*/**", "*/**"), ("a", "a")]
)
def test_other_spellings_have_one_form(text: str, canonical: str) -> None:
    assert canonize(text) == canonical


MEET = [("a", "a"), ("*", "a"), ("**", "a/b/c"), ("a/**", "a"), ("a/*/c", "a/b/*"), ("a$*", "$*b"), ("*/**", "a")]
APART = [
    ("a", "b"),
    ("*", "a/b"),
    ("a/**", "b"),
    ("a$*", "b$*"),
    ("*", "@a"),
    ("**", "@a"),
    ("a/*", "a/@b"),
    ("*/**", "@a"),
]


@pytest.mark.parametrize(("left", "right"), MEET)
def test_these_meet(left: str, right: str) -> None:
    assert intersects(left, right)
    assert intersects(right, left)


@pytest.mark.parametrize(("left", "right"), APART)
def test_these_do_not_meet(left: str, right: str) -> None:
    assert not intersects(left, right)
    assert not intersects(right, left)


@pytest.mark.parametrize(
    ("whole", "part"), [("**", "*"), ("a/**", "a/b/*"), ("*", "a$*"), ("a$*", "ab"), ("@a", "@a"), ("a/**", "a")]
)
def test_these_hold_the_others(whole: str, part: str) -> None:
    assert includes(whole, part)


@pytest.mark.parametrize(("whole", "part"), [("*", "**"), ("a", "*"), ("a$*", "*"), ("**", "@a"), ("a/*", "a/**")])
def test_these_do_not(whole: str, part: str) -> None:
    assert not includes(whole, part)


CHUNKS = ("a", "b", "ab", "*", "**", "@a", "@b", "a$*", "$*b", "a$*b", "$*a$*")


def matched(pattern: str, key: str) -> bool:
    """Whether a key without wildcards matches: the definition, chunk by chunk."""

    def chunks(left: tuple[str, ...], right: tuple[str, ...]) -> bool:
        if not left:
            return not right
        if left[0] == "**":
            passed = right and not right[0].startswith("@") and chunks(left, right[1:])
            return bool(passed) or chunks(left[1:], right)
        return bool(right) and chunk(left[0], right[0]) and chunks(left[1:], right[1:])

    def chunk(left: str, right: str) -> bool:
        if left.startswith("@") or right.startswith("@"):
            return left == right
        form = ".*" if left == "*" else re.escape(left).replace(r"\$\*", ".*")
        return re.fullmatch(form, right) is not None

    return chunks(tuple(pattern.split("/")), tuple(key.split("/")))


def test_relations_are_those_of_the_keys_that_match() -> None:
    """Every pair of patterns of one or two chunks, by all short keys; an inclusion that keys refute is none."""
    keys = ["/".join(one) for n in (1, 2, 3) for one in product(("a", "b", "ab", "aab", "@a", "@b"), repeat=n)]
    patterns = ["/".join(one) for n in (1, 2) for one in product(CHUNKS, repeat=n) if is_canonical("/".join(one))]
    held = {pattern: {key for key in keys if matched(pattern, key)} for pattern in patterns}
    for left, right in product(patterns, repeat=2):
        assert intersects(left, right) is bool(held[left] & held[right]), (left, right)
        if includes(left, right):
            assert held[right] <= held[left], (left, right)
        elif "$" not in left + right and "**" not in right:
            assert not held[right] <= held[left] or "*" in right, (left, right)


@pytest.mark.parametrize("chunk", ["**/a", "**/@a", "*/**/a", "a$*/**"])
def test_keys_with_many_wildcards_are_compared_in_no_time(chunk: str) -> None:
    """A table of every chunk by every chunk took 2.8 s for 800 of them; these are eight thousand."""
    key = "/".join([chunk] * 8_000)
    began = time.process_time()
    assert intersects(key, key)
    assert includes(key, key)
    assert not intersects(key, f"{key}/@b")
    assert not includes(key, f"{key}/@b")
    assert intersects("$*a" * 20_000, "a" * 60_000)
    assert time.process_time() - began < 5


@pytest.mark.parametrize("key", ["k" * 65_000, "k/" * 32_000 + "k"], ids=["wide", "deep"])
def test_long_keys_are_compared_in_no_time(key: str) -> None:
    """Piece by piece it would take minutes."""
    began = time.process_time()
    assert intersects(key, key)
    assert includes(key, key)
    assert not intersects(key, key + "k")
    assert intersects("k/**" if "/" in key else "k$*", key)
    assert time.process_time() - began < 5
