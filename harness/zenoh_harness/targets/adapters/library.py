"""`lib:PATH`: a codec in a shared library, behind the C interface `codecs/zcodec.h`.

It runs in a process of its own, so that what ends the library costs one answer; fuzzers load it into theirs
(`zenoh_harness.codecs.library.load`). `lib:zenoh-codec@1.10.2` is zenoh-rust's own codec, built when it is first asked for.
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
    """The adapter's door: the library, served by a child; CannotStart says why it cannot be had."""
    path = path_of(reach.rest)
    load_name = reach.options.get("name", "")
    load(path, name=load_name)
    command = [sys.executable, "-m", "zenoh_harness.codecs.library", str(path)]
    return StdioCodec(command, name=load_name, validate=validate)


def path_of(rest: str, *, coverage: bool = False, tell: Callable[[str], None] = lambda line: None) -> Path:
    """The library that the rest of a target string names; `coverage`: of a release, the build that counts edges.

    Raises UsageError for a release that does not exist, CannotGoOn when it cannot be built.
    """
    release = _RELEASE.fullmatch(rest)
    if release is None:
        return Path(rest)
    return Path(codec_build.make(release.group(1), "coverage" if coverage else "library", tell).what)
