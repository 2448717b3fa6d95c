"""The node in C that the documentation gives as a template: compiled, judged whole, right; and red with a fault planted in it."""

import subprocess
from pathlib import Path

import pytest

from zenoh_conformance.judging.verdict import Verdict
from zenoh_harness.cli import invoke
from zenoh_harness.files import results

SOURCE = Path(__file__).resolve().parents[3] / "docs/pages/adapters/node.c"
RED = {
    Verdict.FAIL,
    Verdict.WARN,
    Verdict.FLAKY,
    Verdict.CRASH,
    Verdict.ZOMBIE,
    Verdict.HANG,
    Verdict.PANIC,
    Verdict.ERROR,
}


def judged(tmp_path, text, *only):
    """The verdicts on the node of that source, by check."""
    (tmp_path / "node.c").write_text(text)
    compiled = ["gcc", "-Wall", "-Wextra", "-Werror", "-O1", "-o", tmp_path / "node", tmp_path / "node.c"]
    subprocess.run(compiled, check=True)
    node = f"exec:{tmp_path}/node {{port}}?role=peer&as=responder&name=tiny-c"
    words = [word for check in only for word in ("--only", check)]
    code = invoke(["run", node, "--depth", "quick", "--out", f"{tmp_path}/r", "-q", *words])
    return code, {one.key.check: one for one in results.read(tmp_path / "r").judgements}


def test_the_template_is_right_in_all_that_it_does(tmp_path):
    code, said = judged(tmp_path, SOURCE.read_text())
    assert {check: one.cause for check, one in said.items() if one.verdict in RED} == {}
    assert code == 0
    assert sum(one.verdict is Verdict.PASS for one in said.values()) > 70
    # nobody says of a peer that passes nothing on that it should
    routed = said["routing-plain/a-publication-reaches-a-subscriber"]
    assert (routed.verdict, routed.cause) == (Verdict.NOT_APPLICABLE, "the target does not do routing")
    assert said["scripts/two-frames-in-one-batch"].verdict is Verdict.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("right", "wrong", "red"),
    [
        ("memcmp(cookie, s->cookie, size)", "!cookie", "establishment-cookie/a-changed-cookie-is-refused"),
        ("version != 9", "version > 999", "establishment-init/an-unknown-version-is-closed"),
        ("ext & MANDATORY && ", "0 && ", "establishment-extensions/an-unknown-mandatory-extension-of-open-is-refused"),
        ("!s->mask || sn > s->mask", "(!s->mask && sn)", "establishment-open/an-initial-number-past-the-edge-is-refused"),
    ],
    ids=["cookie", "version", "mandatory", "initial-number"],
)  # fmt: skip
def test_a_fault_planted_in_it_is_found(tmp_path, right, wrong, red):
    text = SOURCE.read_text()
    assert right in text
    assert judged(tmp_path, text.replace(right, wrong, 1), red)[1][red].verdict is Verdict.FAIL
