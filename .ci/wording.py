"""Measures of wording: names and phrases that keep a reader out. Each yields its places; `.ci/counts.py` holds their number."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Final

Trees = Mapping[Path, ast.Module]

WORDS: Final = tomllib.loads((Path(__file__).parent / "words.toml").read_text(encoding="utf-8"))
FORBIDDEN: Final = re.compile(rf"(?<![\w-])(?:{'|'.join(WORDS['phrases'])})(?![\w-])", re.IGNORECASE)
KEPT: Final = re.compile("|".join(map(re.escape, WORDS["kept"])))


def lone_participles(root: Path, trees: Trees) -> Iterator[str]:
    """Functions whose name is one participle, `told`; properties excepted, since a condition may be named by one."""
    for path, node in functions(trees):
        name = node.name.strip("_")
        regular = name.endswith("ed") and not name.endswith("eed") and len(name) > 3
        if "_" not in name and (regular or name in WORDS["participles"]) and not is_property(node):
            yield f"{path}:{node.lineno}: {node.name}"


def functions(trees: Trees) -> Iterator[tuple[Path, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Every function and method, with its file."""
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield path, node


def is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function is decorated as a property."""
    return any("property" in ast.unparse(decorator) for decorator in node.decorator_list)


def double_names(root: Path, trees: Trees) -> Iterator[str]:
    """Public class names that stand for several classes; messages, faulty nodes and functions excepted."""
    places = defaultdict(list)
    for path, tree in trees.items():
        if not {"messages", "faulty"} & set(path.parts):
            for node in tree.body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places[node.name].append(f"{path}:{node.lineno}")
    return (f"{name}: {', '.join(where)}" for name, where in places.items() if len(where) > 1)


def phrases(root: Path, trees: Trees) -> Iterator[str]:
    """Forbidden phrases in the product's files, its documentation and its README."""
    pages = (page.relative_to(root) for page in chain(root.glob("*.md"), (root / "docs").rglob("*.md")))
    for path in chain(trees, (page for page in pages if page.name != "CONTRIBUTING.md")):
        for number, line in enumerate((root / path).read_text(encoding="utf-8").splitlines(), 1):
            for found in FORBIDDEN.finditer(KEPT.sub("", line)):
                yield f"{path}:{number}: {found[0]}"


def misnamed_texts(root: Path, trees: Trees) -> Iterator[str]:
    """Bindings of the name `text` that are not annotated `str` and are not evidently one."""
    for path, tree in trees.items():
        for node in ast.walk(tree):
            line = misnamed_text(node)
            if line:
                yield f"{path}:{line}: text"


def misnamed_text(node: ast.AST) -> int | None:
    """Return the line of a binding that calls something else than a str `text`, or None."""
    match node:
        case ast.arg(arg="text", annotation=kind) | ast.AnnAssign(target=ast.Name(id="text"), annotation=kind):
            plain = kind is None or ast.unparse(kind).strip("\"'") in ("str", "str | None")
        case ast.For(target=ast.Name(id="text")) | ast.comprehension(target=ast.Name(id="text")):
            return node.target.lineno
        case ast.Assign(targets=[ast.Name(id="text")], value=value):
            plain = is_str(value)
        case _:
            return None
    return None if plain else getattr(node, "lineno", 1)


def is_str(value: ast.expr) -> bool:
    """Return whether an expression is evidently a str."""
    match value:
        case ast.JoinedStr() | ast.Constant(value=str()):
            return True
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name in WORDS["returns_str"]
        case ast.IfExp(body=body, orelse=orelse):
            return is_str(body) and is_str(orelse)
        case ast.BinOp(left=left, right=right):
            return is_str(left) or is_str(right)
        case ast.BoolOp(values=values):
            return any(is_str(each) for each in values)
        case _:
            return False
