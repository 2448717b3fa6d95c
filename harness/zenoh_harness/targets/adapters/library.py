"""`lib:PATH`: a codec in a shared library with the C interface `codecs/zcodec.h`.

It runs in its own process, so that a crash of the library costs one answer; fuzzers load it into their process
(`zenoh_harness.codecs.library.load`). `lib:zenoh-codec@1.10.2` is zenoh-rust's own codec, built at its first use.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from zenoh_harness.codecs import build as codec_build
from zenoh_harness.codecs.library import load
from zenoh_harness.targets.adapters.stdio import StdioCodec
from zenoh_harness.targets.reach import Reach

_RELEASE: Final = re.compile(rf"{codec_build.NAME}@(\S+)")


def open_codec(reach: Reach, *, validate: bool = False) -> StdioCodec:
    """Return the library as a codec, served by a child process. Raises CannotStart."""
    path = path_of(reach.rest)
    name = reach.options.get("name", "")
    load(path, name=name)
    command = [sys.executable, "-m", "zenoh_harness.codecs.library", str(path)]
    return StdioCodec(command, name=name, validate=validate)


def path_of(rest: str, *, coverage: bool = False, tell: Callable[[str], None] = lambda line: None) -> Path:
    """Return the library that the rest of a target string names; `coverage`: the build of a release that counts edges.

    Raises UsageError for a release that does not exist, CannotGoOn if it cannot be built.
    """
    release = _RELEASE.fullmatch(rest)
    if release is None:
        return Path(rest)
    return Path(codec_build.make(release.group(1), "coverage" if coverage else "library", tell).what)
