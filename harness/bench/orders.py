"""All cases in drawn orders, on one node in memory for each role and profile: nothing may be red that is not red alone.

python harness/bench/orders.py [--runs 100] [--first 0] [--most N] [VARIANT...]      the reference unless named; `every` for all
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from zenoh_harness.reference import Reference
from zenoh_harness.variants import all_variants

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from drawn_orders import depends


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=[])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--most", type=int, help="values of each case, drawn anew in each order; all unless told")
    options = parser.parse_args()
    variants = all_variants()
    names = list(variants) if options.names == ["every"] else options.names
    for name, node in [(name, variants[name].node) for name in names] or [("reference", Reference)]:
        began, bad = time.process_time(), 0
        for seed in range(options.first, options.first + options.runs):
            red = depends(seed, node, options.most)
            bad += bool(red)
            if red:
                print(f"{name}, order {seed}: {len(red)} red: {red[:3]}", flush=True)
        seconds = time.process_time() - began
        print(f"{name}: {options.runs} orders, {bad} with something red, {seconds:.0f} s of the processor", flush=True)


if __name__ == "__main__":
    main()
