"""Leaves local paths out of what is published: `exec:/home/me/node` becomes `exec:.../node`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from zenoh_conformance.judging.verdict import Judgement
from zenoh_harness.files.results import Results

ABSOLUTE: Final = re.compile(r"(?<![\w./~-])(?:~|/(?!/)[^\s'\"/:?&,;|()\[\]{}=]+)(?:/[^\s'\"/:?&,;|()\[\]{}=]*)+")
"""An absolute POSIX path of two parts or more, or one below the home folder; no URL, no address such as `tcp/HOST:PORT`."""
SHORT: Final = "..."


def shorten(text: str) -> str:
    """Return text with each absolute path cut to its last part."""
    return ABSOLUTE.sub(_last_part, text)


def _last_part(found: re.Match[str]) -> str:
    last = found[0].rstrip("/").rpartition("/")[2]
    return f"{SHORT}/{last}"


def without_local_paths(results: Results) -> Results:
    """Return results whose commands and target strings, and all texts with the folders in them, state no local folder."""
    header = results.header
    folders = _folders(header.reach, header.command, *(one.repeat for one in results.judgements))
    header = replace(header, reach=shorten(header.reach), command=shorten(header.command))
    judgements = [_shortened_judgement(one, folders) for one in results.judgements]
    return replace(results, header=header, judgements=judgements)


def _folders(*commands: str) -> tuple[str, ...]:
    """Return the folders of all paths in the commands, the longest first."""
    paths = (found[0] for command in dict.fromkeys(commands) for found in ABSOLUTE.finditer(command))
    folders = {path.rstrip("/").rpartition("/")[0] for path in paths}
    return tuple(sorted(filter(None, folders), key=lambda folder: (-len(folder), folder)))


def _shortened_judgement(one: Judgement, folders: Iterable[str]) -> Judgement:
    """Return a judgement whose command, cause and details state no local folder; evidence and identity stay."""
    made = replace(one, repeat=shorten(one.repeat)) if one.repeat else one
    cause, end = _without(one.cause, folders), _without(one.end, folders)
    return replace(made, cause=cause, end=end, details=_without(dict(one.details), folders))


def _without(value: Any, folders: Iterable[str]) -> Any:
    """Return JSON data in which the folders are replaced in every text."""
    if isinstance(value, str):
        for folder in folders:
            value = value.replace(f"{folder}/", f"{SHORT}/") if folder in value else value
        return value
    if isinstance(value, dict):
        return {key: _without(item, folders) for key, item in value.items()}
    return [_without(item, folders) for item in value] if isinstance(value, list | tuple) else value
