"""Corpora made small: of inputs that reach the same, the smallest stays."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from zenoh_harness.errors import CannotGoOn

from .crew import corpus_files, worker
from .launcher import environment
from .plan import Plan

PATIENCE: Final = 600.0
"""Seconds that a merge may take."""


def merged(plan: Plan, corpus: Path, beside: Path, others: Sequence[Path] = ()) -> int:
    """Merge the corpus with others in place; how many inputs are left.

    The old corpus stays until the new one is whole. CannotGoOn when the engine cannot merge; an empty result of a
    corpus that is not empty is such a failure, and never taken for one.
    """
    before = corpus_files(corpus)
    if not before and not any(corpus_files(other) for other in others):
        return 0
    new = beside / "corpus.merged"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    one = worker(0, plan)
    try:
        links = [one.launcher.link(f"from{n}", folder) for n, folder in enumerate((corpus, *others))]
        command = [str(one.launcher.program), "-merge=1", f"-max_len={plan.largest}", "-timeout=10",
                   f"-artifact_prefix={one.launcher.folder}/", str(one.launcher.link("into", new)), *map(str, links)]  # fmt: skip
        try:
            done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False, env=environment(),
                                  stdin=subprocess.DEVNULL, start_new_session=True)  # fmt: skip
        except subprocess.TimeoutExpired as why:
            raise CannotGoOn(
                "merging the corpus takes too long", step="fuzz merge", hint="--no-merge leaves it as it is"
            ) from why
    finally:
        one.launcher.close()
    after = corpus_files(new)
    if done.returncode or not after:
        shutil.rmtree(new, ignore_errors=True)
        raise CannotGoOn("the engine could not merge the corpus", step="fuzz merge",
                         seen=done.stderr.decode(errors="replace").splitlines()[-5:], hint="the corpus is as it was")  # fmt: skip
    old = beside / "corpus.old"
    shutil.rmtree(old, ignore_errors=True)
    corpus.rename(old)
    new.rename(corpus)
    shutil.rmtree(old)
    return len(after)
