"""The faults, planted in a whole node in a process of its own: which judgements of a run over a socket are red.

`python -m mutation.on_socket FAULT KIND LOCATOR ZID PROFILE` serves the node; FAULT is the name of a fault in hexadecimal,
empty (`-`) for a node without one.
"""

from __future__ import annotations

import shlex
import sys
from itertools import chain
from pathlib import Path

from mutation import by_hand, facts, in_nodes
from mutation.engine import Mutant, compiled
from zenoh_conformance.cases.controls import BASIC
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.commands.peer import node_of
from zenoh_harness.links.locators import Locator
from zenoh_harness.reference.serve import Server
from zenoh_harness.run.attempt.options import Options
from zenoh_harness.run.plan.plan import Selection
from zenoh_harness.run.runner import parts_of, run_target
from zenoh_harness.run.vectors.rows import ROUTER
from zenoh_harness.targets.reach import parse

NONE = "-"


def serve(name: str, kind: str, locator: str, zid: str, profile: str) -> None:
    """Serve a node with the fault until the process is ended."""
    every = chain(by_hand.mutants(), facts.mutants())
    fault = Mutant("none", ()) if name == NONE else next(one for one in every if one.name.encode().hex() == name)
    is_initiator = in_nodes.KINDS[kind] is Side.INITIATOR
    server = Server(
        node_of(in_nodes.with_fault(in_nodes.BASES[kind], compiled(fault)), profile, zid, initiator=is_initiator)
    )
    where = Locator.parse(locator)
    if is_initiator:
        server.serve(where)
    else:
        server.listen_at(where)
        server.serve()


def target_of(name: str, kind: str) -> str:
    """The target string of a node with the fault."""
    here = Path(__file__).parents[1]
    words = [sys.executable, "-m", "mutation.on_socket", name.encode().hex() or NONE, kind]
    command = shlex.join(["env", f"PYTHONPATH={here}", *words])
    role = "router" if kind == ROUTER else "peer"
    return f"exec:{command} {{locator}} {{zid}} {{profile}}?role={role}&as={in_nodes.KINDS[kind].value}&profile=default"


def reds_on_socket(name: str, kind: str, out: Path, *only: str, depth: str = "full") -> set[str]:
    """The requirements that are red in a run of a node with the fault, and those of the checks that are.

    `only`: the checks or requirements that are judged; where empty the vectors, and whether a session works at all.
    """
    options = Options(out=out, depth=depth, selection=Selection(only or ("vectors/*", *BASIC[in_nodes.KINDS[kind]])))
    reach = parse(target_of(name, kind))
    ran = run_target(reach, options, parts_of(reach, options))
    red = [one.key for one in ran.judgements if one.verdict.is_wrong]
    return {one.requirement for one in red} | {one.check.removeprefix("vectors/") for one in red}


if __name__ == "__main__":
    serve(*sys.argv[1:])
