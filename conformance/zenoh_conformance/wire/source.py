"""Source of one generated function: lines, and the objects that they name."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


class Source:
    """Collects the lines of a function, then compiles them once.

    `traced` says which of two readers is written: the plain one, or the one that also marks where each segment
    ends.  Everything else about the two is the same lines.
    """

    def __init__(self, signature: str, *, traced: bool = False) -> None:
        self.traced = traced
        self._own = signature[: signature.index("(")]
        self._lines = [f"def {signature}:"]
        self._depth = 1
        self._names: dict[str, Any] = {self._own: self}

    def __call__(self, *lines: str) -> None:
        """Add lines at the present depth."""
        self._lines += ["    " * self._depth + line for line in lines]

    @contextmanager
    def block(self, opening: str) -> Iterator[None]:
        """Add `opening`, and what follows one level deeper."""
        self(opening)
        self._depth += 1
        yield
        self._depth -= 1

    def name(self, value: object, hint: str) -> str:
        """A name under which the lines can refer to `value`."""
        name = hint
        while self._names.setdefault(name, value) is not value:
            name += "_"
        return name

    def make(self, var: str, cls: Any, fields: Iterable[str], values: Iterable[str]) -> None:
        """Leave a `cls` with these fields in `var`: made blank, and named when it is filled.

        The constructor of a frozen dataclass does the same in four times the time.
        """
        self(f"{var} = {self.name(_blank(cls), f'Blank{cls.__name__}')}()")
        self(*(f"{var}.{field} = {value}" for field, value in zip(fields, values, strict=True)))
        self(f"{var}.__class__ = {self.name(cls, cls.__name__)}")

    def mark(self, path: str, note: str = "''", measures: str = "None") -> None:
        """A segment ends here; `note` and `measures` are expressions over what has been read."""
        if self.traced:
            self(f"mark(prefix + {path!r}, at, {note}, {measures})")

    def finish(self, title: str) -> Callable[..., Any]:
        """The compiled function.  Its text is kept for tracebacks and coverage under `title`."""
        text = "\n".join(self._lines) + "\n"
        filename = f"<wire {title}>"
        while filename in linecache.cache:
            filename = f"{filename[:-1]}'>"  # four classes are called QoS
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        namespace = dict(self._names)
        exec(compile(text, filename, "exec"), namespace)  # noqa: S102 - the text is ours, made from declarations
        made: Callable[..., Any] = namespace[self._own]
        return made


@cache
def _blank(cls: Any) -> type:
    """A class with the slots of `cls` and nothing else."""
    return type(f"Blank{cls.__name__}", (), {"__slots__": cls.__slots__})
