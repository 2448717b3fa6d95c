"""The source of a generated function: its lines, and the objects that they refer to."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


class FunctionSource:
    """Collects the lines of a function and compiles them once.

    With `traced`, a reader also marks where each segment ends; all its other lines are those of the plain reader.
    """

    def __init__(self, signature: str, *, traced: bool = False) -> None:
        self.traced = traced
        self._own = signature[: signature.index("(")]
        self._lines = [f"def {signature}:"]
        self._depth = 1
        self._names: dict[str, Any] = {self._own: self}

    def __call__(self, *lines: str) -> None:
        """Add lines at the current depth."""
        self._lines += ["    " * self._depth + line for line in lines]

    @contextmanager
    def block(self, opening: str) -> Iterator[None]:
        """Add `opening`; the lines added inside the `with` block are one level deeper."""
        self(opening)
        self._depth += 1
        yield
        self._depth -= 1

    def raise_if(self, condition: str, error: Callable[..., Exception], arguments: str) -> None:
        """Add a check: when `condition` holds, raise what `error` makes of `arguments`."""
        with self.block(f"if {condition}:"):
            self(f"raise {self.name(error, error.__name__)}({arguments})")

    def name(self, value: object, hint: str) -> str:
        """A name by which the lines can refer to `value`."""
        name = hint
        while self._names.setdefault(name, value) is not value:
            name += "_"
        return name

    def make(self, var: str, cls: Any, fields: Iterable[str], values: Iterable[str]) -> None:
        """Add lines that set `var` to a `cls` with these fields.

        They fill an instance of a blank class and then change its class: the constructor of a frozen dataclass takes four
        times as long.
        """
        self(f"{var} = {self.name(_blank(cls), f'Blank{cls.__name__}')}()")
        self(*(f"{var}.{field} = {value}" for field, value in zip(fields, values, strict=True)))
        self(f"{var}.__class__ = {self.name(cls, cls.__name__)}")

    def mark(self, path: str, note: str = "''", measures: str = "None") -> None:
        """Add the end of a segment, if traced; `note` and `measures` are expressions over the values read so far."""
        if self.traced:
            self(f"mark(prefix + {path!r}, at, {note}, {measures})")

    def finish(self, title: str) -> Callable[..., Any]:
        """Compile the function.  Its source is kept under `title` for tracebacks and coverage."""
        text = "\n".join(self._lines) + "\n"
        filename = f"<wire {title}>"
        while filename in linecache.cache:
            filename = f"{filename[:-1]}'>"  # four classes have the name QoS
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        namespace = dict(self._names)
        exec(compile(text, filename, "exec"), namespace)  # noqa: S102 - the source is ours, made from declarations
        function: Callable[..., Any] = namespace[self._own]
        return function


@cache
def _blank(cls: Any) -> type:
    """A class with the slots of `cls` and nothing else."""
    return type(f"Blank{cls.__name__}", (), {"__slots__": cls.__slots__})
