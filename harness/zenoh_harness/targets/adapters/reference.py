"""`reference`, `faulty:NAME`, `variant:NAME`: our own node, a faulty node or a conforming variant, in its own process."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Final

from zenoh_conformance.messages import sane
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.errors import UsageError, unknown
from zenoh_harness.faulty import all_faulty_nodes
from zenoh_harness.identity import Identity
from zenoh_harness.profiles import PROFILES
from zenoh_harness.reference.configured import CHANGES
from zenoh_harness.targets.adapters.command import CommandTarget
from zenoh_harness.targets.reach import Reach
from zenoh_harness.targets.target import Role
from zenoh_harness.variants import Variant, all_variants
from zenoh_harness.version import harness_version

NONE: Final = -1
"""No role."""

ROLES: Final[dict[int, Role]] = {sane.ROUTER: "router", sane.PEER: "peer", sane.CLIENT: "client"}


def open_target(reach: Reach) -> ReferenceTarget:
    """Return the target of a target string. Raises UsageError for a name that does not exist."""
    return ReferenceTarget(reach)


class ReferenceTarget(CommandTarget):
    """The reference node as a program that we start, like any other target."""

    can_run_beside = True

    def __init__(self, reach: Reach) -> None:
        known = {"faulty": all_faulty_nodes, "variant": all_variants}.get(reach.kind, dict)()
        if known and reach.rest not in known:
            raise unknown("faulty node" if reach.kind == "faulty" else "variant", reach.rest, known)
        own = _own_role(all_variants()[reach.rest]) if reach.kind == "variant" else None
        listens = reach.options.get("role", "router") == "router"
        side = Side(reach.options.get("as", "responder" if listens else "initiator"))
        if own is not None and own != "router" and reach.options.get("role") == "router":
            hint = f"leave role= out, or write role={own}&as={side.value}"
            raise UsageError(f"variant:{reach.rest} is a {own}", step="target string", hint=hint)
        where = "--listen" if side is Side.RESPONDER else "--connect"
        fault = {"faulty": f" --fault {reach.rest}", "variant": f" --variant {reach.rest}"}.get(reach.kind, "")
        command = f"{sys.executable} -m zenoh_harness.commands.peer {where} {{locator}} --zid {{zid}} --profile {{profile}}{fault}"
        command += " --multicast {multicast} --scouting {scouting}"
        super().__init__(replace(reach, kind="exec", rest=command))
        self.role, self.side = own or self.role, side
        self.reach = reach
        name = f"{reach.kind}:{reach.rest}" if reach.rest else "reference"
        self.identity = Identity(name=name, version=harness_version(), kind=reach.kind, language="Python")
        self.profiles = {name: profile for name, profile in PROFILES.items() if name in CHANGES}


def _own_role(variant: Variant) -> Role | None:
    """The role that a variant states whatever it is started as; None if it states that of its side."""
    return ROLES.get(variant.node.settings.get("whatami", NONE))
