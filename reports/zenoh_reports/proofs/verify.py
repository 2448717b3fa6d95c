"""Verify proofs with Python alone, without a network:  python verify.pyz FILE...

Exit codes: 0 every verdict follows from its bytes, 1 one does not, 2 a file is no proof, 3 a verdict does not follow from
bytes alone (a process that died, a reply of an application).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from zenoh_conformance.reading.explain import Layer, explain
from zenoh_harness.errors import HarnessError
from zenoh_reports.proofs.derive import Byte, Derived, derive
from zenoh_reports.proofs.replay import ReplayMismatch

FORMAT: Final = 1


def main(arguments: Sequence[str]) -> int:
    """Verify each file; return the highest exit code."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments else 2
    order = (2, 1, 3, 0)
    return min([verify_file(Path(name)) for name in arguments], key=order.index)


def verify_file(file: Path) -> int:
    """Verify one file and print the result; return the exit code."""
    try:
        proof = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(proof, dict) or proof.get("proof") != FORMAT:
            print(f"{plain(file.name)}: is no proof of format {FORMAT}", file=sys.stderr)
            return 2
        derived = derive(proof)
    except (OSError, ValueError, HarnessError) as why:
        print(f"{plain(file.name)}: {plain(str(why))}", file=sys.stderr)
        return 2
    except ReplayMismatch as apart:
        print(
            f"{plain(file.name)}: the verdict does not follow from the bytes alone: {plain(str(apart))}",
            file=sys.stderr,
        )
        return 3
    same, lines = compare(proof, derived)
    print("\n".join([f"{plain(file.name)}: {'verified' if same else 'NOT verified'}", *lines]))
    return 0 if same else 1


def compare(proof: Mapping[str, Any], derived: Derived) -> tuple[bool, list[str]]:
    """Return whether the derived verdict is the stated one, and the lines to print."""
    judgement, requirement, target = proof["judgement"], proof["requirement"], proof.get("target", {})
    known = dict(judgement.get("details") or {}).get("known")
    shown = known["expected"] if judgement["verdict"] == "known" and isinstance(known, dict) else judgement["verdict"]
    same = derived.verdict == shown and derived.cause == judgement["cause"]
    listed = f"; listed as known: {known.get('reason')}" if isinstance(known, dict) else ""
    rows = [
        ("target", f"{target.get('name', '')} {target.get('version', '')} ({target.get('reach', '')})"),
        ("clause", f"{requirement.get('id')} {requirement.get('level')}: {requirement.get('says')}"),
        ("section", f"{requirement.get('section')}, text digest {requirement.get('digest') or 'not shown'}"),
        ("verdict", f"{derived.verdict}, by {derived.how}{listed}"),
        ("cause", derived.cause or "nothing is wrong"),
    ]
    if not same:
        rows.append(("told", f"{shown}: {judgement['cause']}"))
    return same, [f"  {name:<9}{plain(text)}" for name, text in rows] + place(derived.byte)


def place(byte: Byte | None) -> list[str]:
    """Yield the place of the deviation, with the bytes explained."""
    if byte is None:
        return ["  byte     none: the conversation holds no event"]
    if not byte.data:
        return [f"  byte     none came after event {byte.event} on {plain(byte.connection)}: {plain(byte.what)}"]
    where = f"event {byte.event}, {byte.time * 1000:.3f} ms"
    head = f"  byte     {byte.offset} of what the target sent on {plain(byte.connection)}, {where}"
    return [head, *(f"    {plain(line)}" for line in explain(byte.data, Layer.STREAM).text())]


def plain(text: str) -> str:
    """Return text that is safe for a terminal."""
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
