"""Who declares a message as CONTRIBUTING tells, in one file of under forty lines, gets all else without a word more."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import zenoh_conformance

pytestmark = pytest.mark.long

CHECKOUT = Path(__file__).parents[2]

DECLARATION = '''"""WAVE: greets, from time to time."""

from __future__ import annotations

from zenoh_conformance.primitives.zid import ZidAlone
from zenoh_conformance.wire.declare import NO_EXTS, Exts, extension, flag, given, message
from zenoh_conformance.wire.layer import Layer
from zenoh_conformance.wire.types import BytesRest, BytesZ16, Z32


@extension(0x3, "zbuf", ref="waves#extensions")
class Echo:
    """What came back."""

    payload: BytesRest
    """Opaque."""


@message(0x08, "Z|L|B", layer=Layer.TRANSPORT, ref="waves#wave")
class Wave:
    """Says hello."""

    both: bool = flag("B")
    """B: with both hands."""

    zid: ZidAlone
    """Who waves."""

    count: Z32
    """How often."""

    words: BytesZ16 | None = given("L", default=None)
    """What is said with it."""

    exts: Exts[Echo] = NO_EXTS
'''

NEWCOMER = r"""
import importlib.util, json, sys
from hypothesis import HealthCheck, given, settings, Phase
from zenoh_conformance import codec, strategies
from zenoh_conformance.reading.codec import DecodeError, Layer
from zenoh_conformance.reading.explain import explain
from zenoh_conformance.messages.wave import Echo, Wave
from zenoh_conformance.primitives import ZenohID
from zenoh_conformance.wire.extensions import exts
from zenoh_harness.requirements.owed_vectors import missing_vectors
from zenoh_vectors.loader import load

wave = Wave(both=True, zid=ZenohID(b"\x01\x02"), count=300, words=b"hi", exts=exts(Echo(payload=b"ho")))
data = codec.encode(wave)
made = []

@settings(
    max_examples=200, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(strategies.of(Wave))
def hold(one):
    again = codec.decode_whole(codec.encode(one))
    assert again.message == one and all(each.kind == "unknown-extension" for each in again.diagnostics)
    assert codec.segments(one).join() == codec.encode(one)
    assert codec.from_json(codec.to_json(one)) == one
    made.append(one)

hold()
refused = 0
for size in range(len(data)):
    try:
        codec.decode_whole(data[:size])
    except DecodeError:
        refused += 1
spec = importlib.util.spec_from_file_location("page", sys.argv[1])
page = importlib.util.module_from_spec(spec)
spec.loader.exec_module(page)
print(json.dumps({
    "bytes": data.hex(), "json": codec.to_json(wave), "made": len({repr(one) for one in made}), "refused": refused,
    "paths": list(codec.segments(wave).paths()), "explained": list(explain(data, Layer.TRANSPORT).text()),
    "page": dict(page.pages())["generated/messages.md"], "owed": missing_vectors(load()),
}))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """A copy of the package with the declaration in it, and what it then knows."""
    folder = tmp_path_factory.mktemp("newcomer")
    package = folder / "zenoh_conformance"
    shutil.copytree(Path(zenoh_conformance.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "messages" / "wave.py").write_text(DECLARATION)
    named = package / "messages" / "__init__.py"
    named.write_text(named.read_text().replace("from .scouting", "from .wave import Wave\nfrom .scouting", 1))
    rooms = [str(folder), *(str(CHECKOUT / room) for room in ("vectors", "harness"))]
    done = subprocess.run(
        [sys.executable, "-c", NEWCOMER, str(CHECKOUT / "docs" / "gen" / "messages.py")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(rooms)}, cwd=folder, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_one_file_of_under_forty_lines():
    assert len(DECLARATION.splitlines()) < 40


def test_it_is_read_and_written(found):
    assert found["bytes"] == "e8" + "100102" + "ac02" + "026869" + "43" + "02686f"
    assert found["refused"] == len(found["bytes"]) // 2
    assert found["json"] == {
        "Wave": {"both": True, "zid": "0201", "count": 300, "words": "6869", "exts": [{"Echo": {"payload": "686f"}}]}
    }


def test_it_has_segments_and_an_explanation(found):
    assert {"wave.header", "wave.zid", "wave.count", "wave.exts.echo.payload"} <= set(found["paths"])
    text = "\n".join(found["explained"])
    assert "wave.header" in text and "300" in text and "refused" not in text


def test_it_has_a_strategy(found):
    assert found["made"] > 50


def test_it_has_a_row_in_the_documentation(found):
    section = found["page"].partition("### WAVE")[2].partition("###")[0]
    assert "Says hello." in section
    assert "| `count` | `z32` |" in section
    assert "`Echo`" in section and "with both hands" in section


def test_it_owes_its_vectors_and_nothing_else_does(found):
    assert found["owed"] == ["wave", "wave.zid", "wave.count", "wave.words", "wave.exts.echo"]


def test_nothing_that_is_declared_here_owes_vectors():
    from zenoh_harness.requirements.owed_vectors import missing_vectors
    from zenoh_vectors.loader import load

    assert missing_vectors(load()) == []
