"""Key expressions: which are valid, what is wrong with the others, which meet, which hold which."""

from __future__ import annotations

import time

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


@pytest.mark.parametrize("key", ["k" * 65_000, "k/" * 32_000 + "k"], ids=["wide", "deep"])
def test_long_keys_are_compared_in_no_time(key: str) -> None:
    """Piece by piece it would take minutes."""
    began = time.process_time()
    assert intersects(key, key)
    assert includes(key, key)
    assert not intersects(key, key + "k")
    assert intersects("k/**" if "/" in key else "k$*", key)
    assert time.process_time() - began < 5
