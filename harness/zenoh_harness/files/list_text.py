"""Parse the TOML of a list of known deviations, with errors that name the line and the entry."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Final

from zenoh_harness.files.faults import FileFault, regular, unreadable

HEAD: Final = re.compile(r"\s*\[\[\s*deviation\s*\]\]\s*(#.*)?")
"""The first line of an entry."""
_CONFLICT: Final = ("<<<<<<< ", ">>>>>>> ", "||||||| ")
_LINE: Final = re.compile(r"\(at line (\d+), column \d+\)")


_FORM: Final = "entries are [[deviation]] tables, as `zconform gate init` writes them"


def parse(path: Path) -> dict[str, Any]:
    """Return the tables of the file. Raises FileFault for a file that is not UTF-8, not TOML, or half merged."""
    try:
        text = regular(path).read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as why:
        raise unreadable(path, why) from why
    except UnicodeDecodeError as why:
        raise FileFault(path, *_not_utf8(why), hint=_FORM) from why
    _hold_merged(path, text)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as why:
        raise FileFault(path, *_no_toml(text, str(why)), hint=_FORM) from why


def _not_utf8(why: UnicodeDecodeError) -> tuple[int, str]:
    """Return the line of the first byte that is not UTF-8, and the error message."""
    before: bytes = why.object[: why.start]
    line = before.count(b"\n") + 1
    byte = f"byte {why.object[why.start]:#04x} is not UTF-8; save the file as UTF-8"
    return line, f"is no TOML{_entry_before(before.decode('utf-8', 'replace'), line)}: {byte}"


def _no_toml(text: str, why: str) -> tuple[int | None, str]:
    """Return the line that Python's TOML error names, and the error message with the entry that contains this line."""
    at = _LINE.search(why)
    if at is None:
        return None, f"is no TOML: {why}"
    return int(at[1]), f"is no TOML{_entry_before(text, int(at[1]))}: {why[: at.start()].rstrip(' (')}"


def _entry_before(text: str, line: int) -> str:
    """Return `, entry N` for the entry that contains the line; an empty string before the first entry."""
    heads = sum(HEAD.fullmatch(each) is not None for each in text.splitlines()[:line])
    return f", entry {heads}" if heads else ""


def _hold_merged(path: Path, text: str) -> None:
    """Raise FileFault with the line if the file contains the conflict marks of git."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(_CONFLICT) or line == "=======":
            raise FileFault(path, number, "has the conflict marks of a merge", hint="end the merge, and run it again")
