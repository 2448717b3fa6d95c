"""What a strict reader remarks about the chains of bytes that it accepts, read off the segments: unknown and repeated extensions."""

from __future__ import annotations

import re
from dataclasses import replace

from zenoh_vectors.build.vector import Vector

UNKNOWN = re.compile(r".*\.exts\.unknown_[0-9]+\.header")
LAYERS = ("transport", "network", "scouting")


def remarked(vector: Vector) -> Vector:
    """The same vector, with these remarks beside those that it has, in the order of the bytes."""
    if vector.means is None or vector.layer not in LAYERS:
        return vector
    found, seen, at = set(vector.remarks), set(), 0
    for segment in vector.segments:
        if segment.path.endswith(".header") and ".exts." in segment.path:
            if UNKNOWN.fullmatch(segment.path):
                found.add(("unknown-extension", at, segment.path))
            same = (segment.path, segment.data[0] & 0x7F)  # of one id, another encoding is another extension
            if same in seen:
                found.add(("duplicate-extension", at, segment.path))
            seen.add(same)
        at += len(segment.data)
    return replace(vector, remarks=tuple(sorted(found, key=lambda remark: (*remark[1:], remark[0]))))
