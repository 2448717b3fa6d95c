"""Fails on a Python file of more than 500 lines and on a function of more than 70; tables and data are excepted.

python .ci/sizes.py [FOLDER]
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

FILE_LINES = 500
FUNCTION_LINES = 70
TABLES = ("vectors/zenoh_vectors/build/",)
"""Folders whose files are tables written in Python: long, and read row by row."""


def python_files(root: Path) -> list[Path]:
    """The Python files under a folder that git knows or could know; all of them where there is no git."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py", "toxw"],
        cwd=root, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listing.returncode:
        return sorted(root.rglob("*.py"))
    return sorted(root / name for name in listing.stdout.splitlines() if (root / name).exists())


def findings(file: Path, root: Path) -> Iterator[str]:
    """What is too long in one file, as lines for a person."""
    name = file.relative_to(root).as_posix()
    text = file.read_text(encoding="utf-8")
    lines = len(text.splitlines())
    if lines > FILE_LINES and not name.startswith(TABLES):
        yield f"{name}: {lines} lines, at most {FILE_LINES}: split it by the questions that it answers"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                yield f"{name}:{node.lineno}: {node.name} has {length} lines, at most {FUNCTION_LINES}: name its steps"


def main() -> int:
    """Prints what is too long; the exit code says whether anything is."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    files = python_files(root)
    found = [line for file in files for line in findings(file, root)]
    print(*found, sep="\n") if found else print(f"sizes: {len(files)} files, none too long")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
