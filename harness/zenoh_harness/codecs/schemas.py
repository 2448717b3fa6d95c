"""The JSON schemas of the stdio codec protocol, applied: what `-V` adds."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

Check = Callable[[str, Mapping[str, Any]], None]
"""Takes "request" or "answer" and the object; raises ValueError with the first fault."""


@functools.cache
def checker() -> Check:
    """A function that holds one object against one schema and raises ValueError with the first fault."""
    import jsonschema

    def load(side: str) -> Any:
        return json.loads(
            (files("zenoh_harness") / "files" / "schemas" / f"codec-{side}.json").read_text(encoding="utf-8")
        )

    whole = load("request")
    one = {rule["properties"]["cmd"]["const"]: rule | {"$defs": whole["$defs"]} for rule in whole["oneOf"]}
    checkers = {command: jsonschema.Draft202012Validator(rule) for command, rule in one.items()}
    checkers["answer"] = jsonschema.Draft202012Validator(load("answer"))

    def check(side: str, value: Mapping[str, Any]) -> None:
        fault = next(checkers[value["cmd"] if side == "request" else side].iter_errors(value), None)
        if fault is not None:
            raise ValueError(f"against the schema of {side}s: {fault.message[:160]}")

    return check
