"""What tells how a tree of code stands, in numbers; to be compared before and after.

python .ci/counts.py [CHECKOUT]     one line a number
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = tuple(f"{name}/zenoh_{name}" for name in ("conformance", "vectors", "harness", "fuzz", "reports"))
HARNESS = Path("harness/zenoh_harness")
CONTRACT = "The harness's own floors"
TABLES = "vectors/zenoh_vectors/build/"
Trees = Mapping[Path, ast.Module]


def trees(root: Path) -> Trees:
    """The syntax tree of each Python file of the packages, by its path from the root."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *(f"{name}/*.py" for name in PACKAGES)],
        cwd=root, text=True, capture_output=True, check=True,
    ).stdout.split()  # fmt: skip
    return {
        Path(name): ast.parse((root / name).read_text(encoding="utf-8"))
        for name in sorted(listed)
        if (root / name).exists()
    }


def loose(root: Path, found: Trees) -> int:
    """Modules at the top of the harness, in no folder."""
    return sum(path.parent == HARNESS and path.name != "__init__.py" for path in found)


def imported(tree: ast.Module, path: Path) -> set[str]:
    """The modules and names of the harness that a module of it imports, dotted, without the package's own name."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            inside = path.parts[1 : len(path.parts) - node.level] if node.level else ()
            base = ".".join((*inside, *([node.module] if node.module else [])))
            found |= {f"{base}.{each.name}" for each in node.names}
    return {name.partition(".")[2] for name in found if name.startswith("zenoh_harness.")}


def _arrows(found: Trees) -> set[tuple[str, str]]:
    """Module to what it imports, in the harness, dotted."""
    return {
        (".".join(path.relative_to(HARNESS).with_suffix("").parts), other)
        for path, tree in found.items() if path.is_relative_to(HARNESS)
        for other in imported(tree, path)
    }  # fmt: skip


def arrows(root: Path, found: Trees) -> int:
    """Arrows between the subjects of the harness: the folders and modules right under it."""
    subjects = {(one.partition(".")[0], other.partition(".")[0]) for one, other in _arrows(found)}
    return sum(one != other for one, other in subjects)


def floors() -> Mapping[str, int]:
    """Module or folder of the harness to its floor, 0 the highest, as this checkout's import contract has them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(each["layers"] for each in settings if each["name"] == CONTRACT)
    return {name.strip(" ()"): at for at, layer in enumerate(layers) for name in layer.split("|")}


def up(root: Path, found: Trees) -> int:
    """Imports of the harness that go from a lower floor to a higher one; what has no floor counts not."""
    level = floors()

    def of(module: str) -> int | None:
        parts = module.split(".")
        prefixes = (".".join(parts[:size]) for size in range(len(parts), 0, -1))
        return next((level[name] for name in prefixes if name in level), None)

    pairs = ((of(one), of(other)) for one, other in _arrows(found))
    return sum(one is not None and other is not None and one > other for one, other in pairs)


def longest_file(root: Path, found: Trees) -> int:
    """Lines, tables apart."""
    return max(
        len((root / path).read_text(encoding="utf-8").splitlines())
        for path in found
        if not path.as_posix().startswith(TABLES)
    )


def longest_function(root: Path, found: Trees) -> int:
    """Lines."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    every = (node for tree in found.values() for node in ast.walk(tree) if isinstance(node, kinds))
    return max((node.end_lineno or node.lineno) - node.lineno + 1 for node in every)


def comments(root: Path, found: Trees) -> int:
    """Lines that hold a comment and nothing else, directives apart."""
    lines = 0
    for path in found:
        text = (root / path).read_text(encoding="utf-8")
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            alone = token.type == tokenize.COMMENT and not token.line[: token.start[1]].strip()
            lines += alone and not token.string.startswith(("#!", "# fmt:", "# type:"))
    return lines


def double_names(root: Path, found: Trees) -> int:
    """Names of public classes, functions apart, that stand for several classes of the packages; messages apart."""
    names = Counter(
        node.name
        for path, tree in found.items() if "messages" not in path.parts and "faulty" not in path.parts
        for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )  # fmt: skip
    return sum(count > 1 for count in names.values())


def loose_types(root: Path, found: Trees) -> int:
    """`Any` as a name in code: in annotations, casts and aliases, imports apart."""
    return sum(isinstance(node, ast.Name) and node.id == "Any" for tree in found.values() for node in ast.walk(tree))


COUNTS: Mapping[str, Callable[[Path, Trees], int]] = {
    "python files": lambda root, found: len(found),
    "loose modules at the top of the harness": loose,
    "arrows between subjects of the harness": arrows,
    "arrows up": up,
    "lines of the longest file": longest_file,
    "lines of the longest function": longest_function,
    "comment lines": comments,
    "class names that stand for several": double_names,
    "Any": loose_types,
}


def main() -> int:
    """Prints the numbers."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    found = trees(root)
    for name, count in COUNTS.items():
        print(f"{count(root, found):7}  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
