"""A finding: which promise was broken, by which input, and what each side said of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from types import TracebackType
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What one codec said of the input."""

    name: str
    """As in `zenoh-codec 1.10.2`, `ours`."""
    verdict: str
    """accepts, refuses, crashes, ..."""
    told: str = ""
    """The meaning, the reason, the place of a crash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One input that breaks one promise."""

    oracle: str
    rule: str
    """The promise, as a phrase: `only-decode-error`."""
    about: str
    """What makes two inputs the same finding: a path, a place, a kind of error."""
    why: str
    """One sentence for a person."""
    data: bytes = b""
    """The input, its first byte included."""
    sides: tuple[Side, ...] = ()
    grave: bool = False
    """The target crashed, hung, or asked for memory that an attacker names."""
    subject: str = ""
    """Whose fault it is as far as can be told: a target's name, or `ours`."""
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def signature(self) -> str:
        """Two findings of one signature are one finding."""
        return f"{self.oracle}/{self.rule}: {self.about}"

    @property
    def id(self) -> str:
        """A short name, made of the signature."""
        return sha256(self.signature.encode()).hexdigest()[:12]


def place_of(traceback: TracebackType | None) -> str:
    """The innermost function of ours that an exception went through, as `wire.vle read`."""
    place = "?"
    while traceback is not None:
        code = traceback.tb_frame.f_code
        name = str(traceback.tb_frame.f_globals.get("__name__", ""))
        if "zenoh_conformance" in name or code.co_filename.startswith("<wire"):
            place = f"{name.removeprefix('zenoh_conformance.')} {code.co_name}".strip()
        elif name.startswith(("zenoh_harness", "zenoh_vectors")) or (name.startswith("zenoh_fuzz.") and place == "?"):
            place = f"{name} {code.co_name}"
        traceback = traceback.tb_next
    return place


def without_numbers(text: str) -> str:
    """A path or a reason with its list places and numbers left out: what differs from input to input."""
    return re.sub(r"0x[0-9a-f]+|\d+", "N", re.sub(r"\[\d+\]", "[]", text))


def of_exception(oracle: str, fault: BaseException, data: bytes) -> Finding:
    """The finding that something of ours raised what it does not document."""
    name, place = type(fault).__name__, place_of(fault.__traceback__)
    return Finding(
        oracle=oracle, rule="nothing-undocumented-is-raised", about=f"{name} in {place}", data=data, subject="ours",
        why=f"{place} raises {name}: {str(fault)[:200]}",
    )  # fmt: skip
