"""python report_job.py TABLES FILE...: keeps results in tables, until it is ended."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from conftest import SMALL
from zenoh_reports.pipeline import job
from zenoh_reports.spark import session

if __name__ == "__main__":
    with session("report", "local[2]", SMALL, quiet=True) as spark:
        job.report(spark, sys.argv[2:], sys.argv[1])
