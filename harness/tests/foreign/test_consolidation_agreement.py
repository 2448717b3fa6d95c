"""What we take for consolidation is what the wheel's own querier does, over drawn answers."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from zenoh_conformance.messages import Del, Err, Put, Reply, Response
from zenoh_conformance.messages.query import ConsolidationMode
from zenoh_conformance.primitives import Timestamp, WireExpr, ZenohID
from zenoh_harness.programs.environments import python_with
from zenoh_harness.reference.consolidation import Consolidated

EXAMPLES = 80
MODES = ("auto", "none", "monotonic", "latest")
STAMPS = 8


def drawn() -> list[Any]:
    """Examples: a mode, and up to eight answers for three keys; those of a key have stamps, or none of them has."""
    draw, examples = random.Random(0), []
    for number in range(EXAMPLES):
        stamped = {key: draw.random() < 0.7 for key in "abc"}
        answers = []
        for count in range(draw.randrange(9)):
            key, kind = draw.choice("abc"), draw.choice(("put", "put", "put", "del", "err"))
            stamp = draw.randrange(STAMPS) if stamped[key] and kind != "err" else None
            answers.append([key, kind, "" if kind == "del" else str(count), stamp])
        examples.append([MODES[number % len(MODES)], answers])
    return examples


def response(kind: str, payload: str, stamp: int | None) -> Response:
    """An answer as it comes over the wire."""
    time = None if stamp is None else Timestamp(time=stamp + 1, zid=ZenohID(b"\x01"))
    value: Any = Del(timestamp=time) if kind == "del" else Put(timestamp=time, payload=payload.encode())
    body = Err(payload=payload.encode()) if kind == "err" else Reply(body=value)
    return Response(id=1, key=WireExpr(), body=body)


def ours(mode: str, answers: list[Any]) -> list[list[str]]:
    """What goes on of the answers."""
    thinned, came = Consolidated(int(ConsolidationMode[mode.upper()])), []
    for key, kind, payload, stamp in answers:
        came += thinned.take(key, response(kind, payload, stamp))
    came += thinned.rest()
    return [told(key, one) for key, one in came]


def told(key: str, one: Response) -> list[str]:
    """Key, kind and payload."""
    if isinstance(one.body, Err):
        return ["", "err", one.body.payload.decode()]
    body = one.body.body
    return [key, "del", ""] if isinstance(body, Del) else [key, "put", body.payload.decode()]


@pytest.mark.parametrize("version", ["1.10.2"])
def test_the_wheels_querier_thins_as_we_do(version: str) -> None:
    examples = drawn()
    python, witness = python_with("eclipse-zenoh", version), Path(__file__).parents[1] / "consolidation_witness.py"

    said = subprocess.run(
        [python, witness], input=json.dumps(examples), capture_output=True, text=True, check=True, timeout=60
    ).stdout  # fmt: skip

    for (mode, answers), theirs in zip(examples, json.loads(said), strict=True):
        mine = ours(mode, answers)
        if mode in ("auto", "latest"):  # in which order the newest of several keys come, nobody says
            mine, theirs = sorted(mine), sorted(theirs)
        assert theirs == mine, (mode, answers)
