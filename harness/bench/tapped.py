"""Count how many faults that a changing tap makes of a real router are noticed: one run for each rule, drawn by a seed.

    python harness/bench/tapped.py wheel:1.10.2 --sample 25 --seed 1 --out /tmp/tapped
    python harness/bench/tapped.py wheel:1.10.2 --rule drop:declare --rule drop:close --out /tmp/tapped

The rules follow from the table of pass-through (each judged row: lost, or set to other bytes) and from the transport messages (each
numbered one lost, doubled, or numbered wrongly; each kind that ends or keeps something lost). A rule is noticed if a judgement is red
that is not red without it. A check whose control deviates says nothing, and a control that was not asked for is not reported: the run
has the controls, too.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from zenoh_conformance.cases.case import all_cases
from zenoh_conformance.tables.forwarding import KEY, KIND, ROWS, Row
from zenoh_harness import cli
from zenoh_harness.faulty.forwarding import SHOWN_IN
from zenoh_harness.files import results

TRANSPORT = (
    "session-chains/chains-*", "session-fragments/pieces-are-put-*", "session-leases/each-*", "query-ends/a-query-ends-with-*",
    "interest-changes/what-a-snapshot-*", "routing-lanes/a-value-*", "session-batch-effects/what-fills-batches-*",
    "establishment-init/an-unknown-version-is-closed",
)  # fmt: skip
"""Checks for the rules of transport; those of a row are the cases in which its faulty nodes are shown."""


def of_row(row: Row) -> Iterator[str]:
    """Yield the rules that break a row: an extension is dropped; a field is set to another value."""
    head, dot, extension = row.path.partition(".exts.")
    if row.path in (KEY, KIND) or extension.startswith("unknown"):
        return
    if dot:
        yield f"drop:{head}.exts.{extension.partition('.')[0]}"
    elif row.path.endswith(("payload", "parameters")):
        yield f"set:{row.path}=odd"
    else:
        yield f"drop:{row.path}"


def of_transport() -> Iterator[str]:
    """Yield the rules that break what carries messages."""
    for kind in ("frame", "fragment"):
        yield from (
            f"drop:{kind}@20%,seed:1",
            f"double:{kind}@20%,seed:1",
            f"set:{kind}.sn@5-=3",
            f"reorder:{kind}@6-7",
        )
    yield from ("drop:fragment.exts.first", "drop:keep_alive", "drop:response_final", "double:response_final")
    yield from ("drop:frame.exts.qos", "drop:close", "delay:3:keep_alive", "drop:declare", "double:push")


def every_rule() -> dict[str, tuple[str, ...]]:
    """Return each rule with the checks to run."""
    rows = {rule: SHOWN_IN[row.chain.partition(".")[0]] for row in ROWS if row.is_judged for rule in of_row(row)}
    every = rows | dict.fromkeys(of_transport(), TRANSPORT)
    controls = {checks: with_controls(checks) for checks in set(every.values())}
    return {rule: controls[checks] for rule, checks in every.items()}


def with_controls(patterns: Iterable[str]) -> tuple[str, ...]:
    """Return the cases that match, and the controls on which they rest."""
    cases = all_cases()
    names = [name for name in cases if any(fnmatchcase(name, pattern) for pattern in patterns)]
    for name in names:
        control = cases[name].control
        if control and control not in names:
            names.append(control)
    return tuple(names)


def reds(target: str, checks: tuple[str, ...], out: Path, budget: str) -> dict[tuple[str, str], str]:
    """Run checks on a target; return (check, requirement) to the cause of each red judgement."""
    only = [word for check in checks for word in ("--only", check)]
    cli.invoke(["run", target, *only, "--depth", "quick", "--budget", budget, "--out", str(out)])
    red = (one for one in results.read(out).judgements if one.verdict.is_wrong)
    return {(one.key.check, one.key.requirement): one.cause for one in red}


def main() -> None:
    """Draw rules, run them, and print the share that is noticed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target")
    parser.add_argument("--sample", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", default="60s", help="time of one run")
    parser.add_argument("--rule", action="append", default=[], help="this rule instead of a sample")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    rules = every_rule()
    drawn = options.rule or random.Random(options.seed).sample(sorted(rules), min(options.sample, len(rules)))
    plain: dict[tuple[str, ...], dict[tuple[str, str], str]] = {}
    noticed = 0
    for at, rule in enumerate(drawn):
        if rules[rule] not in plain:
            plain[rules[rule]] = reds(options.target, rules[rule], options.out / f"plain-{len(plain)}", options.budget)
        red = reds(f"{options.target}?through={rule}", rules[rule], options.out / str(at), options.budget)
        new = {key: cause for key, cause in red.items() if key not in plain[rules[rule]]}
        noticed += bool(new)
        first = next(iter(sorted(new.items())), (("", ""), ""))
        print(f"{rule:48} {len(new):3} red  {first[0][1]:44} {first[1][:80]}", flush=True)
    print(f"{noticed} of {len(drawn)} rules noticed")


if __name__ == "__main__":
    main()
