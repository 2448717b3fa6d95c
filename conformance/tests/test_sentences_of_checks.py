"""A case asserts no more than the sentence of its requirement, as far as its source tells.

What a case asserts by an absence (`expect_no_*`, `expected="no .."`) or a refusal (`expect_refusal`, the end of a link) is read from
the functions of the case. The requirement that it is filed under has to say so, or name an erratum that does.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import pytest

from zenoh_conformance.cases.case import all_cases
from zenoh_conformance.judging.finding import NOT_REACHED
from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.spec.requirement import Level, Requirement, requirements

FORBIDS = re.compile(
    r"\b(no|not|nor|never|nothing|none|without|only|exactly|zero|refuse[sd]|reject(s|ed)|closed?|dead|discard(ed)?|told|stops|reason)\b",
    re.IGNORECASE,
)
"""Words of a sentence that forbids something or asks for a refusal."""

ABSENT = re.compile(r"""^f?['"](no|nothing|silence|none|not)\b""")
"""How the expectation of an absence begins, in source."""

Function = Callable[..., Any]


@cache
def body(function: Function) -> list[ast.stmt]:
    """The statements of a function, without its decorators."""
    node = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function)))).body[0]
    assert isinstance(node, ast.FunctionDef)
    return node.body


def denies(call: ast.Call) -> bool:
    """Whether a call asserts an absence or a refusal of what the check is about."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    words = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    if NOT_REACHED in words.get("step", "") or "NOT_REACHED" in words.get("step", ""):
        return False
    if name in ("require", "deviate"):
        return ABSENT.search(words.get("expected", "")) is not None
    return name.startswith("expect_no_") or name == "expect_refusal" or (name == "expect_end" and not call.args)


def named(value: ast.expr, function: Function) -> set[str]:
    """The requirements that `about` may be given: those written there or, for a name, in the tables that the function reads."""
    texts = {each.value for each in ast.walk(value) if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    if isinstance(value, ast.Name):
        read = (getattr(function, "__globals__", {}).get(name) for name in function.__code__.co_names)
        rows = [row for table in read if isinstance(table, Mapping) for row in table.values()]
        texts |= {each for row in rows if isinstance(row, tuple) for each in row}
    return {each for each in texts if isinstance(each, str) and each in requirements()}


def is_of_cases(helper: Any) -> bool:
    """Whether it is a function of the cases."""
    return inspect.isfunction(helper) and helper.__module__.startswith("zenoh_conformance.cases")


def asserted(function: Function, under: frozenset[str], seen: set[Function]) -> Iterator[tuple[frozenset[str], str]]:
    """The denials of a function and of the helpers that it calls: the requirements that each is filed under, and its source."""
    if function in seen:
        return
    seen.add(function)

    def visit(node: ast.AST, under: frozenset[str]) -> Iterator[tuple[frozenset[str], str]]:
        if isinstance(node, ast.With):
            abouts = [each.context_expr for each in node.items if isinstance(each.context_expr, ast.Call)]
            for call in abouts:
                if isinstance(call.func, ast.Attribute) and call.func.attr == "about":
                    own = under if "us.requirement" in ast.unparse(call) else frozenset()
                    under = frozenset(named(call.args[0], function)) | own or under
        if isinstance(node, ast.Call) and denies(node):
            yield under, ast.unparse(node)
        if isinstance(node, ast.Name) and is_of_cases(helper := function.__globals__.get(node.id)):
            yield from asserted(inspect.unwrap(helper), under, seen)
        for child in ast.iter_child_nodes(node):
            yield from visit(child, under)

    for statement in body(function):
        yield from visit(statement, under)


def carries(requirement: Requirement) -> bool:
    """Whether a requirement forbids something, in its sentence or in an erratum of it, or fails nobody."""
    by_level = requirement.level in (Level.MUST_NOT, Level.MAY)
    return by_level or bool(requirement.erratum) or FORBIDS.search(requirement.says) is not None


def beyond(function: Function, requirement: str) -> list[str]:
    """The denials of a case of that requirement whose sentence does not carry them."""
    found = asserted(inspect.unwrap(function), frozenset({requirement}), set())
    return [
        f"{source} under {ident}: {requirements()[ident].says}"
        for under, source in found
        for ident in sorted(under)
        if not carries(requirements()[ident])
    ]


@pytest.mark.parametrize("check", sorted(all_cases()))
def test_a_case_asserts_no_more_than_its_sentence(check: str) -> None:
    case = all_cases()[check]

    assert beyond(case.function, case.requirement) == []


def test_what_is_beyond_a_sentence_is_found() -> None:
    """A refusal under a layout is found in a case and in its helper, and not below `about`."""

    def refuses(us: Any) -> None:
        us.expect_refusal("init", never=None)

    def hears_nothing(party: Any) -> None:
        party.expect_no_push(but=1)
        with party.us.about("push/push-only-intersecting"):
            party.expect_no_push(but=1)

    assert len(beyond(refuses, "session-establishment/init-field-order")) == 1
    assert len(beyond(hears_nothing, "push/put-delivers-value")) == 1
    assert beyond(refuses, "session-establishment/refusal-is-close") == []


CONDUCT = {
    "query/query-consolidation": "an erratum tells that no page says who consolidates",
    "query/query-ext-query-body": "its sentence says that the value goes with the query",
}
"""Layouts under which a law judges what a router does."""


def test_a_law_of_a_layout_judges_bytes() -> None:
    """A row of a table says how bytes stand, and not what a node does: a law that compares two messages needs a rule."""
    of_layouts = {
        law.requirement for law in all_laws().values() if requirements()[law.requirement].level is Level.LAYOUT
    }
    forwarded = {law.requirement for law in all_laws().values() if law.id.startswith("law/forwarded-")} & of_layouts

    assert forwarded <= set(CONDUCT)
