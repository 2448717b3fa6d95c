# ruff: noqa: ANN001, ANN201, BLE001, INP001
# mypy: ignore-errors
"""Run the vectors against a decoder:  python consumer.py MODULE:FUNCTION [LAYER...]
FUNCTION(data) or FUNCTION(data, layer) returns the meaning as a dict, and raises for bytes that are no message
(NotImplementedError: not asked for). Only the standard library is needed; copy this file and change it."""

import importlib
import inspect
import json
import pathlib
import sys


def complaint(piece, vector, decode, wide):
    """None when the decoder did what the vector says, else what it did."""
    try:
        means = decode(bytes.fromhex(piece["bytes"]), *([piece["layer"]] if wide else []))
    except NotImplementedError:
        return None
    except Exception as refusal:
        return None if "refuses" in piece or vector.get("needs") else f"refused: {refusal!r}"
    if "refuses" in piece:
        return f"accepted as {means}, must be refused at byte {piece['refuses']['at']}: {piece['refuses']['why']}"
    return None if means in [piece["means"], *piece.get("also", [])] else f"{means}, expected {piece['means']}"


module, function = sys.argv[1].split(":")
decode, layers, counts = getattr(importlib.import_module(module), function), sys.argv[2:], {"pass": 0, "open": 0, "FAIL": 0}
wide = len(inspect.signature(decode).parameters) > 1
for file in sorted((pathlib.Path(__file__).parent / "data").glob("*.json")):
    for vector in json.loads(file.read_text("utf-8"))["vectors"]:
        free = any(erratum["stance"] in ("GAP", "BOTH") for erratum in vector.get("errata", []))
        for piece in vector.get("steps", [vector]):  # a conversation is several pieces of bytes, anything else is one
            if not layers or piece["layer"] in layers:
                said = complaint(piece, vector, decode, wide)
                counts[verdict := "pass" if said is None else "open" if free else "FAIL"] += 1
                if verdict == "FAIL":
                    print(f"FAIL {vector['id']}: {said}")
sys.exit(print(counts) or counts["FAIL"] > 0)
