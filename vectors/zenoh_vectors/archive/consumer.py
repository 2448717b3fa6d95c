# ruff: noqa: ANN001, ANN201, BLE001, INP001
# mypy: ignore-errors
"""Run the vectors against a codec:  python consumer.py MODULE:DECODE[:ENCODE] [LAYER...]
DECODE(data) or DECODE(data, layer) returns the meaning as a dict, and raises for bytes that are no message; ENCODE(means) or
ENCODE(means, layer) returns bytes. NotImplementedError: not asked for. Only the standard library is needed; copy and change it."""

import importlib
import inspect
import json
import pathlib
import sys


def complaint(piece, vector, decode, encode):
    """None when the codec did what the vector says, else what it did."""
    try:
        means = decode(bytes.fromhex(piece["bytes"]), piece["layer"])
        if "refuses" in piece:
            return f"accepted as {means}, must be refused at byte {piece['refuses']['at']}: {piece['refuses']['why']}"
        if means not in [piece["means"], *piece.get("also", [])]:
            return f"{means}, expected {piece['means']}"
        wrote = encode(piece["means"], piece["layer"]).hex() if encode and piece["canonical"] else piece["bytes"]
        return None if wrote == piece["bytes"] else f"written as {wrote}, expected {piece['bytes']}"
    except NotImplementedError:
        return None
    except Exception as refusal:
        return None if "refuses" in piece or vector.get("needs") else f"refused: {refusal!r}"


def load_function(module, name):
    """The function; one without a parameter for the layer is called without it."""
    function = getattr(importlib.import_module(module), name)
    return function if len(inspect.signature(function).parameters) > 1 else lambda value, layer: function(value)


try:
    module, *names = sys.argv[1].split(":")
    decode, encode = (*(load_function(module, name) for name in names), None)[:2]
except (IndexError, ValueError, ImportError, AttributeError) as error:
    print(f"Name your codec: python consumer.py MODULE:DECODE[:ENCODE] [LAYER...] ({error})", file=sys.stderr)
    sys.exit(2)
layers, counts = sys.argv[2:], {"pass": 0, "open": 0, "FAIL": 0}
for file in sorted((pathlib.Path(__file__).parent / "data").glob("*.json")):
    for vector in json.loads(file.read_text("utf-8"))["vectors"]:
        free = any(erratum["stance"] in ("GAP", "BOTH") for erratum in vector.get("errata", []))
        for piece in vector.get("steps", [vector]):  # a conversation is several pieces of bytes, anything else is one
            if not layers or piece["layer"] in layers:
                said = complaint(piece, vector, decode, encode)
                counts[verdict := "pass" if said is None else "open" if free else "FAIL"] += 1
                if verdict == "FAIL":
                    print(f"FAIL {vector['id']}: {said}")
sys.exit(print(counts) or counts["FAIL"] > 0)
