"""python follow_job.py FOLDER OUT once|on: follows a folder on this machine's Spark, until it is ended."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from conftest import SMALL
from zenoh_reports.pipeline.follow import follow
from zenoh_reports.spark import session

if __name__ == "__main__":
    with session("follow", "local[2]", SMALL) as spark:
        once = sys.argv[3] == "once"
        follow(spark, Path(sys.argv[1]), Path(sys.argv[2]), once=once, say=partial(print, flush=True), settled=-1)
