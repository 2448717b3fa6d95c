"""Merge corpora: of inputs with the same coverage, the smallest stays."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from zenoh_fuzz.worker.launcher import environment
from zenoh_fuzz.worker.plan import WorkerPlan
from zenoh_harness.errors import CannotGoOn

from .workers import corpus_files, prepare_worker

PATIENCE: Final = 600.0
"""Seconds that a merge may take."""


def merge_corpus(plan: WorkerPlan, corpus: Path, beside: Path, others: Sequence[Path] = ()) -> int:
    """Merge the corpus with others in place; return the number of inputs left.

    The old corpus stays until the new worker is complete. Raises CannotGoOn if the engine cannot merge, or returns nothing for a
    corpus that is not empty.
    """
    before = corpus_files(corpus)
    if not before and not any(corpus_files(other) for other in others):
        return 0
    new = beside / "corpus.merged"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    worker = prepare_worker(0, plan)
    try:
        links = [worker.launcher.link(f"from{n}", folder) for n, folder in enumerate((corpus, *others))]
        command = [
            str(worker.launcher.program),
            "-merge=1",
            f"-max_len={plan.largest}",
            "-timeout=10",
            f"-artifact_prefix={worker.launcher.folder}/",
            str(worker.launcher.link("into", new)),
            *map(str, links),
        ]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                timeout=PATIENCE,
                check=False,
                env=environment(),
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired as why:
            raise CannotGoOn(
                f"merging the corpus takes more than {PATIENCE:.0f} s",
                step="fuzz merge",
                hint="--no-merge leaves it as it is",
            ) from why
    finally:
        worker.launcher.close()
    after = corpus_files(new)
    if done.returncode or not after:
        shutil.rmtree(new, ignore_errors=True)
        raise CannotGoOn(
            "the engine could not merge the corpus",
            step="fuzz merge",
            seen=done.stderr.decode(errors="replace").splitlines()[-5:],
            hint="the corpus is unchanged",
        )
    old = beside / "corpus.old"
    shutil.rmtree(old, ignore_errors=True)
    corpus.rename(old)
    new.rename(corpus)
    shutil.rmtree(old)
    return len(after)
