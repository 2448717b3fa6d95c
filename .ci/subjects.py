"""The subjects of commits: `area: what`, at most 72 characters, and a body that says why.

python .ci/subjects.py [RANGE]          the commits of a range of git; origin/main.. or main.. unless told
python .ci/subjects.py --message FILE   one message, before it is a commit (.pre-commit-config.yaml)
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

LONGEST = 72
SUBJECT = re.compile(r"[a-z0-9][\w./ ,+-]*: \S.*")
MADE_BY_GIT = ("Merge ", "Revert ", "fixup! ", "squash! ")


def faults(message: str) -> Iterator[str]:
    """What is wrong with a commit's message, a line each."""
    lines = [line for line in message.splitlines() if not line.startswith("#")]
    subject = lines[0] if lines else ""
    if subject.startswith(MADE_BY_GIT):
        return
    if len(subject) > LONGEST:
        yield f"{subject!r} has {len(subject)} characters, at most {LONGEST}"
    if not SUBJECT.fullmatch(subject):
        yield f"{subject!r} is not `area: what`"
    if not any(line.strip() for line in lines[1:]):
        yield f"{subject!r} has no body that says why"


def git(*arguments: str) -> str | None:
    """What git says; None where it refuses."""
    done = subprocess.run(["git", *arguments], text=True, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def new() -> str:
    """The commits that the main branch has not, as a range; just the last one where there is no main branch."""
    bases = ("origin/main", "main")
    found = next((base for base in bases if git("rev-parse", "--verify", "--quiet", base)), None)
    return f"{found}..HEAD" if found else "HEAD^!"


def messages(revisions: str) -> list[str]:
    """The messages of the commits of a range. Ends the program where git knows no such range."""
    said = git("log", "--no-merges", "--format=%B%x00", revisions)
    if said is None:
        sys.exit(f"subjects: git knows no {revisions}")
    return [text.strip() for text in said.split("\0") if text.strip()]


def main() -> int:
    """Exit code 1 when a message is not as it should be."""
    parser = argparse.ArgumentParser()
    parser.add_argument("range", nargs="?")
    parser.add_argument("--message", type=Path)
    asked = parser.parse_args()
    every = [asked.message.read_text(encoding="utf-8")] if asked.message else messages(asked.range or new())
    found = [fault for message in every for fault in faults(message)]
    print(*found, sep="\n") if found else print(f"subjects: {len(every)} commits, each as it should be")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
