"""A finding: the property that failed, the input, and the answer of each codec."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from types import TracebackType
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class CodecAnswer:
    """The answer of one codec to the input."""

    name: str
    """As in `zenoh-codec 1.10.2`, `ours`."""
    verdict: str
    """accepts, refuses, crashes, ..."""
    told: str = ""
    """The meaning, the reason of a refusal, or the place of a crash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzFinding:
    """An input for which a property fails."""

    oracle: str
    rule: str
    """The property, as a phrase: `only-decode-error`."""
    about: str
    """Identifies the finding among those of a rule: a path, a place, a kind of error."""
    why: str
    """A description in one sentence."""
    data: bytes = b""
    """The input, including its first byte."""
    sides: tuple[CodecAnswer, ...] = ()
    grave: bool = False
    """Whether the target crashed, hung, or requested memory of a size that an attacker chooses."""
    subject: str = ""
    """The codec at fault, if known: a target's name, or `ours`."""
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def signature(self) -> str:
        """The identity of the finding: inputs with equal signatures show the same finding."""
        return f"{self.oracle}/{self.rule}: {self.about}"

    @property
    def id(self) -> str:
        """A short id, derived from the signature."""
        return sha256(self.signature.encode()).hexdigest()[:12]

    def to_json(self) -> dict[str, Any]:
        """Return the finding as JSON, for another process."""
        return {
            "id": self.id,
            "oracle": self.oracle,
            "rule": self.rule,
            "signature": self.signature,
            "why": self.why,
            "input": self.data.hex(),
            "grave": self.grave,
            "subject": self.subject,
            "sides": [{"name": side.name, "verdict": side.verdict, "told": side.told} for side in self.sides],
        }


def place_of(traceback: TracebackType | None) -> str:
    """Return the innermost function of ours in a traceback, as `wire.vle read`."""
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
    """Return a path or a reason without numbers, which differ from input to input."""
    return re.sub(r"0x[0-9a-f]+|\d+", "N", re.sub(r"\[\d+\]", "[]", text))


def of_exception(oracle: str, fault: BaseException, data: bytes) -> FuzzFinding:
    """Return the finding that our code raised an undocumented exception."""
    name, place = type(fault).__name__, place_of(fault.__traceback__)
    return FuzzFinding(
        oracle=oracle,
        rule="nothing-undocumented-is-raised",
        about=f"{name} in {place}",
        data=data,
        subject="ours",
        why=f"{place} raises {name}: {str(fault)[:200]}",
    )
