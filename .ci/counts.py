"""Counts how a tree of code stands, and fails where a number got worse.

    python .ci/counts.py [CHECKOUT]        one line a number
    python .ci/counts.py --places NAME     the places behind a number
    python .ci/counts.py --check           exit code 1 where a number is above its ceiling in .ci/ceilings.toml
    python .ci/counts.py --lower           write each smaller number into .ci/ceilings.toml

A ceiling is raised by hand, in a commit whose body gives the reason.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import wording

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = tuple(f"{name}/zenoh_{name}" for name in ("conformance", "vectors", "harness", "fuzz", "reports"))
CEILINGS = ROOT / ".ci/ceilings.toml"
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


def logical_lines(root: Path, found: Trees) -> int:
    """Statements as the tokenizer ends them, tables of vectors excepted."""
    return sum(
        token.type == tokenize.NEWLINE
        for path in found
        if not path.as_posix().startswith(TABLES)
        for token in tokenize.generate_tokens(io.StringIO((root / path).read_text(encoding="utf-8")).readline)
    )


def top_modules(root: Path, found: Trees, package: str) -> int:
    """Modules and folders right below a package, `__init__` excepted."""
    top = Path(package, f"zenoh_{package}")
    return len({path.relative_to(top).parts[0] for path in found if path.is_relative_to(top)} - {"__init__.py"})


def loose_types(root: Path, found: Trees) -> int:
    """`Any` as a name in code: in annotations, casts and aliases, imports excepted."""
    return sum(isinstance(node, ast.Name) and node.id == "Any" for tree in found.values() for node in ast.walk(tree))


def skipped_formats(root: Path, found: Trees) -> Iterator[str]:
    """Lines that the formatter must leave as they are."""
    for path in found:
        for number, line in enumerate((root / path).read_text(encoding="utf-8").splitlines(), 1):
            if "# fmt: skip" in line and not path.as_posix().startswith(TABLES):
                yield f"{path}:{number}"


def verdict_sets(root: Path, found: Trees) -> Iterator[str]:
    """Collections of verdicts written by hand outside `verdict.py`: `Verdict` answers such questions itself."""
    for path, tree in found.items():
        if path.name != "verdict.py":
            for node in ast.walk(tree):
                if isinstance(node, ast.Set | ast.Tuple | ast.List) and sum(map(is_verdict, node.elts)) > 1:
                    yield f"{path}:{node.lineno}: {ast.unparse(node)}"


def is_verdict(node: ast.expr) -> bool:
    """Return whether an expression is a member of `Verdict`, or a verdict that says nothing as a string."""
    match node:
        case ast.Attribute(value=ast.Name(id="Verdict")):
            return node.attr.isupper()
        case ast.Constant(value=str(value)):
            return value in ("not-observed", "not-applicable", "unimplemented", "zombie", "panic")
        case _:
            return False


Measure = Callable[[Path, Trees], int | Iterable[str]]
MEASURES: Final[Mapping[str, Measure]] = {
    "python files": lambda root, found: len(found),
    "logical lines": logical_lines,
    "modules at the top of conformance": lambda root, found: top_modules(root, found, "conformance"),
    "modules at the top of fuzz": lambda root, found: top_modules(root, found, "fuzz"),
    "modules at the top of the harness": loose,
    "arrows between subjects of the harness": arrows,
    "arrows up": up,
    "lines of the longest file": longest_file,
    "lines of the longest function": longest_function,
    "comment lines": comments,
    "class names with several meanings": wording.double_names,
    "functions named by a lone participle": wording.lone_participles,
    "forbidden phrases": wording.phrases,
    "names `text` that hold no str": wording.misnamed_texts,
    "verdict sets written by hand": verdict_sets,
    "# fmt: skip": skipped_formats,
    "Any": loose_types,
}


def measure(root: Path) -> dict[str, int]:
    """Return every number of a checkout, by name."""
    found = trees(root)
    counts = {name: count(root, found) for name, count in MEASURES.items()}
    return {name: count if isinstance(count, int) else sum(1 for _ in count) for name, count in counts.items()}


def ceilings() -> Mapping[str, int]:
    """Return the highest number that each held measure may have."""
    table: Mapping[str, int] = tomllib.loads(CEILINGS.read_text(encoding="utf-8"))
    return table


def faults(counts: Mapping[str, int], held: Mapping[str, int]) -> list[str]:
    """Return one line for each number above its ceiling, with what to do."""
    return [
        f"{name}: {counts[name]}, at most {most}; python .ci/counts.py --places {name!r} lists them"
        for name, most in held.items()
        if counts[name] > most
    ]


def lower(counts: Mapping[str, int], text: str) -> str:
    """Return the text of the ceilings with each number that got smaller."""

    def smaller(line: re.Match[str]) -> str:
        return f"{line[1]}{min(int(line[3]), counts[line[2]])}"

    return re.sub(r'(?m)^("(.*)" = )(\d+)', smaller, text)


def main() -> int:
    """Print the numbers, or hold them against their ceilings. Returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkout", nargs="?", default=str(ROOT), type=Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--lower", action="store_true")
    parser.add_argument("--places", metavar="NAME", choices=MEASURES)
    asked = parser.parse_args()
    root = asked.checkout.resolve()
    if asked.places:
        places = MEASURES[asked.places](root, trees(root))
        print(places if isinstance(places, int) else "\n".join(places))
        return 0
    counts = measure(root)
    if asked.lower:
        CEILINGS.write_text(lower(counts, CEILINGS.read_text(encoding="utf-8")), encoding="utf-8")
    if asked.check:
        print("\n".join(broken := faults(counts, ceilings())) or "no number is above its ceiling")
        return bool(broken)
    print("\n".join(f"{count:7}  {name}" for name, count in counts.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
