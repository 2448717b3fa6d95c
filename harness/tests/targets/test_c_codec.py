"""The codec in C that the documentation gives as a template: compiled, judged, green; and red with a fault planted in it."""

import subprocess
from pathlib import Path

import pytest

from zenoh_conformance.judging.verdict import Verdict
from zenoh_harness.cli import invoke
from zenoh_harness.files import results

SOURCE = Path(__file__).resolve().parents[3] / "docs/pages/adapters/codec.c"


def judged(tmp_path, text):
    """The verdicts on the codec of that source, by check."""
    (tmp_path / "codec.c").write_text(text)
    compiled = ["gcc", "-Wall", "-Wextra", "-Werror", "-O1", "-o", tmp_path / "codec", tmp_path / "codec.c"]
    subprocess.run(compiled, check=True)
    invoke(
        [
            "run",
            f"stdio:{tmp_path}/codec",
            "--only",
            "vectors/vle/*",
            "--only",
            "vectors/close/*",
            "--out",
            f"{tmp_path}/r",
            "-q",
        ]
    )
    return {one.key.check: one for one in results.read(tmp_path / "r").judgements}


def test_the_template_is_right_and_honest_about_what_it_does_not_do(tmp_path):
    said = judged(tmp_path, SOURCE.read_text())
    vle = [one.verdict for check, one in said.items() if check.startswith("vectors/vle/")]
    assert len(vle) > 50
    assert set(vle) == {Verdict.PASS}
    assert {one.verdict for check, one in said.items() if "/close/" in check} == {Verdict.UNIMPLEMENTED}


@pytest.mark.parametrize(
    ("right", "wrong", "red"),
    [
        ("at == 8 || !(bytes[at]", "!(bytes[at]", "vectors/vle/value-2-to-64-minus-1"),
        ("bytes[at] & 0x7f", "bytes[at] & 0x3f", "vectors/vle/value-127"),
        ("(unsigned)(value & 0x7f) | 0x80", "(unsigned)(value & 0x7f)", "vectors/vle/value-128"),
        ("return 0;\n}\n\nstatic void", "return n;\n}\n\nstatic void", "vectors/vle/cut-after-2-bytes"),
    ],
    ids=["ninth-byte", "mask", "more", "cut"],
)
def test_a_fault_planted_in_it_is_found(tmp_path, right, wrong, red):
    text = SOURCE.read_text()
    assert right in text
    assert judged(tmp_path, text.replace(right, wrong, 1))[red].verdict is Verdict.FAIL
