"""Which checks a run is asked for, and what it need not read to know."""

import subprocess
import sys
from pathlib import Path

import pytest

from zenoh_harness.run.attempt.options import Options
from zenoh_harness.run.check_names import every_name
from zenoh_harness.run.plan.plan import Selection, matches
from zenoh_harness.run.runner import every_case
from zenoh_harness.run.vectors.codec_run import golden, requirements_wanted, shipped_for

PATTERNS = (
    "establishment-cookie/a-changed-cookie-is-refused",
    "establishment-cookie/a-changed-cookie-is-refused[at=0]",
    "close/*",
    "session-establishment/cookie-must-match",
    "v*",
    "vectors/close/*",
    "[mv]*",
    "*trailing*",
    "models/establishment",
    "law/cookie-echo",
    "push-*",
)

LOOKS = """
import sys
from pathlib import Path
from zenoh_harness.commands.run import checked_selection
from zenoh_harness.run.attempt.options import Options
from zenoh_harness.run.runner import parts_of
from zenoh_harness.run.vectors.codec_run import golden
from zenoh_harness.targets.reach import parse

selection, own = checked_selection((sys.argv[1],), None, None)
for part in parts_of(parse("reference"), Options(out=Path(sys.argv[2]), selection=selection, own_vectors=own)):
    part.close()
print("hypothesis" in sys.modules, golden.cache_info().currsize)
"""


def test_a_run_of_one_case_reads_no_vector_and_no_model(tmp_path):
    """Both take longer than all else before the target starts."""
    command = [sys.executable, "-c", LOOKS, PATTERNS[0], str(tmp_path)]

    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["False", "0"]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("beginning", ["vectors/", "models/", "law/"])
def test_what_cannot_begin_as_a_pattern_asks_is_none_of_its_names(pattern, beginning):
    named = [name for name in every_name() if name.startswith(beginning) and matches(pattern, name)]

    assert Selection((pattern,)).may_take(beginning) or not named


@pytest.mark.parametrize("pattern", PATTERNS)
def test_what_is_not_read_would_not_have_been_played(pattern):
    selection = Selection((pattern,))

    read = {vector.id for vector in shipped_for(selection)}

    assert {vector.id for vector in golden() if any(True for _ in requirements_wanted(vector, selection))} <= read


@pytest.mark.parametrize(("pattern", "imported"), [("session-establishment/handshake-messages-in-order", True),
                                                    ("law/cookie-echo", True), ("push-*", False)])  # fmt: skip
def test_models_are_there_for_their_requirement_and_for_laws(pattern, imported):
    cases = {case.id for case in every_case(Options(out=Path("out"), selection=Selection((pattern,))))}

    assert ("models/establishment" in cases) is imported
    assert Selection((pattern, "push-*")).may_take("push-")
    assert not Selection((pattern,)).may_take("xyz/")
