"""What a judgement costs us, relative to a handshake over a bare socket in the same minute: no machine is too slow for that."""

import re
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parents[2] / "bench" / "bench_costs.py"

SOME = ("push-*", "routing-*", "establishment-*")

AT_MOST = 60.0
"""Handshakes' worth of CPU that a judgement may cost; it costs 38 to 58 on two cores with 8 tasks each."""


def test_a_judgement_costs_no_more_than_so_many_bare_handshakes():
    only = [word for pattern in SOME for word in ("--only", pattern)]
    command = [sys.executable, str(BENCH), "reference?role=router", *only, "--at-most", "1"]

    ended = subprocess.run(command, capture_output=True, text=True, check=False)

    found = re.search(r"([\d.]+) handshakes a judgement", ended.stdout)
    assert found, ended.stderr
    assert ended.returncode == 1, "a bound of one handshake is broken by any run"
    assert "at most 1 are allowed" in ended.stderr
    assert float(found[1]) <= AT_MOST, ended.stdout
