"""Plants a fault in a running codec and takes it back: other code in a function, another entry in a table."""

from __future__ import annotations

import inspect
import linecache
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from types import FunctionType
from typing import Any, cast

from zenoh_vectors.loader import Vector

Judge = Callable[[Iterable[Vector]], Iterator[tuple[str, str]]]
"""Vectors to ids and causes of those that the codec gets wrong."""


class NoSuchPlace(LookupError):  # noqa: N818 - reads as what it says
    """The fault has no place in the function: the text that it replaces is not there."""


@dataclass(frozen=True, slots=True)
class Text:
    """A function whose source reads otherwise."""

    function: Callable[..., Any]
    old: str
    new: str
    nth: int | None = None
    """Which occurrence, 0 the first; all when None."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A table, or the namespace of a function, with another value in one place; `DELETED` for none."""

    table: Any
    key: Any
    value: Any


@dataclass(frozen=True, slots=True)
class Code:
    """A function that does what another one does."""

    function: Callable[..., Any]
    other: Callable[..., Any]


DELETED = object()
Change = Text | Entry | Code


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault."""

    name: str
    changes: tuple[Change, ...]
    requirement: str = ""
    """The layout that it breaks, if it was made from one."""
    first: tuple[str, ...] = ()
    """Beginnings of the ids of vectors that are asked first."""


def source_of(function: Callable[..., Any]) -> str:
    """Its source, also where it was generated."""
    name = cast(FunctionType, function).__code__.co_filename
    if name.startswith("<wire "):
        return "".join(linecache.getlines(name))
    return textwrap.dedent(inspect.getsource(function))


def edited(function: Callable[..., Any], edits: Iterable[Text]) -> Callable[..., Any]:
    """The function with its source changed.  Raises NoSuchPlace."""
    text = source_of(function)
    for edit in edits:
        pieces, nth = text.split(edit.old), edit.nth
        if len(pieces) < 2 or (nth is not None and nth >= len(pieces) - 1):
            raise NoSuchPlace(f"{cast(FunctionType, function).__name__}: {edit.old!r}")
        if nth is not None:
            pieces = [edit.old.join(pieces[: nth + 1]), edit.old.join(pieces[nth + 1 :])]
        text = edit.new.join(pieces)
    namespace = dict(cast(FunctionType, function).__globals__)
    exec(compile(text, "<mutant>", "exec", flags=_future(), dont_inherit=True), namespace)  # noqa: S102 - our own source, changed
    made: Callable[..., Any] = namespace[cast(FunctionType, function).__name__]
    return made


def _future() -> int:
    import __future__

    return __future__.annotations.compiler_flag


def planted(mutant: Mutant) -> AbstractContextManager[None]:
    """The codec with the fault.  Raises NoSuchPlace."""
    return compiled(mutant)()


def compiled(mutant: Mutant) -> Callable[[], AbstractContextManager[None]]:
    """A function that plants the fault, to be called often: the sources are compiled once.  Raises NoSuchPlace."""
    texts: dict[Callable[..., Any], list[Text]] = {}
    for change in mutant.changes:
        if isinstance(change, Text):
            texts.setdefault(change.function, []).append(change)
    codes = [(function, edited(function, edits)) for function, edits in texts.items()]
    entries = [change for change in mutant.changes if isinstance(change, Entry)]
    codes += [(change.function, change.other) for change in mutant.changes if isinstance(change, Code)]

    caches = [one for function, _ in codes for one in _caches_beside(function)]

    @contextmanager
    def plant() -> Iterator[None]:
        with ExitStack() as stack:
            for cache in caches:
                cache.cache_clear()
                stack.callback(cache.cache_clear)
            for function, other in codes:
                stack.enter_context(_code(function, other))
            for entry in entries:
                stack.enter_context(_entry(entry.table, entry.key, entry.value))
            yield

    return plant


def _caches_beside(function: Callable[..., Any]) -> list[Any]:
    """What the module of a function remembers: answers given with a fault are not those without it."""
    beside = cast(FunctionType, function).__globals__.values()
    return [one for one in beside if hasattr(one, "cache_clear") and one.__module__ == function.__module__]


@contextmanager
def _entry(table: Any, key: Any, value: Any) -> Iterator[None]:
    had = not isinstance(table, MutableMapping) or key in table
    before = table[key] if had else None
    if value is DELETED:
        del table[key]
    else:
        table[key] = value
    try:
        yield
    finally:
        if had:
            table[key] = before
        else:
            del table[key]


@contextmanager
def _code(function: Callable[..., Any], other: Callable[..., Any]) -> Iterator[None]:
    mine, theirs = cast(FunctionType, function), cast(FunctionType, other)
    code, names = mine.__code__, dict(mine.__globals__)
    added = {name: value for name, value in theirs.__globals__.items() if names.get(name, DELETED) is not value}
    mine.__code__ = theirs.__code__
    mine.__globals__.update({name: value for name, value in added.items() if value is not theirs})
    try:
        yield
    finally:
        mine.__code__ = code
        for name in added:
            if name in names:
                mine.__globals__[name] = names[name]
            else:
                mine.__globals__.pop(name, None)


def noticed(mutant: Mutant, vectors: Iterable[Vector], judge: Judge) -> str:
    """The id of the first vector that notices the fault; empty when none does."""
    near: list[Vector] = []
    rest: list[Vector] = []
    for vector in vectors:
        close = mutant.requirement in vector.covers or vector.id.startswith(mutant.first or ("?",))
        (near if close else rest).append(vector)
    with planted(mutant):
        for group in (near, rest):
            try:
                for ident, _ in judge(group):
                    return str(ident)
            except Exception:  # noqa: BLE001 - a codec that falls over is noticed too
                return near[0].id if near else rest[0].id
    return ""


def tables_with(functions: Mapping[str, Callable[..., Any]], wanted: Callable[..., Any]) -> Iterator[Any]:
    """The tables, in the namespaces of these functions, that lead to the wanted one."""
    seen: set[int] = set()
    for function in functions.values():
        for value in cast(FunctionType, function).__globals__.values():
            if isinstance(value, list | dict) and id(value) not in seen:
                found = value if isinstance(value, list) else value.values()
                if any(item is wanted for item in found):
                    seen.add(id(value))
                    yield value
