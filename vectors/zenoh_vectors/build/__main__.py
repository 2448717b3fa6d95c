"""`python -m zenoh_vectors.build`: rewrite the tree; `--check`: name what would change, and fail if anything would."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from zenoh_vectors.build.tree import texts
from zenoh_vectors.build.write import changed, rewrite

DATA = Path(__file__).parent.parent / "data"


def main(arguments: list[str] | None = None) -> int:
    """0 when the tree holds what the builder writes, 1 when `--check` finds a difference."""
    parser = argparse.ArgumentParser(prog="python -m zenoh_vectors.build", description="Write the golden vectors.")
    parser.add_argument("--check", action="store_true", help="change nothing; fail when something would change")
    parser.add_argument("--into", type=Path, default=DATA, help="another folder than the package's")
    options = parser.parse_args(arguments)
    names = (changed if options.check else rewrite)(texts(), options.into)
    for name in names:
        print(f"{'differs' if options.check else 'written'}: {name}")
    if options.check and names:
        print("run `python -m zenoh_vectors.build` and read the diff", file=sys.stderr)
    return int(bool(options.check and names))


if __name__ == "__main__":
    sys.exit(main())
