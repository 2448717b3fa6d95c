"""`zconform peer`: run the reference node, or a faulty node, on a real link.

`python -m zenoh_harness.commands.peer` does the same without the rest of the command line, so that it starts faster.
"""

from __future__ import annotations

import json
import secrets
import signal
import sys
from types import FrameType

import click

from zenoh_conformance.messages import sane
from zenoh_conformance.reading.conversation import Framing
from zenoh_harness.commands import _completing as completing
from zenoh_harness.console import Shell, shell_options
from zenoh_harness.errors import UsageError, unknown
from zenoh_harness.faulty import all_faulty_nodes
from zenoh_harness.links.datagrams import MTU
from zenoh_harness.links.locators import Locator
from zenoh_harness.reference import Reference
from zenoh_harness.reference.configured import CHANGES, config_of
from zenoh_harness.reference.serve import Server
from zenoh_harness.variants import all_variants


@click.command("peer")
@click.option("--listen", "listen", metavar="LOCATOR", help="Address to listen on; with port 0 the kernel chooses one.")
@click.option(
    "--connect", "connect", metavar="LOCATOR", help="Address to connect to as a client, again after each end."
)
@click.option(
    "--fault",
    metavar="NAME",
    shell_complete=completing.faulty,
    help="Run this faulty node; `zconform faulty` lists them.",
)
@click.option(
    "--variant",
    metavar="NAME",
    shell_complete=completing.variants,
    help="Run this conforming variant; `zconform variants` lists them.",
)
@click.option("--faults", is_flag=True, help="List the faulty nodes, as `zconform faulty` does.")
@click.option(
    "--profile", default="default", shell_complete=completing.profiles, show_default=True, help="Profile to start in."
)
@click.option("--multicast", metavar="LOCATOR", default="", help="Multicast group to join: udp/224.0.0.224:PORT.")
@click.option("--scouting", metavar="LOCATOR", default="", help="Group in which to answer SCOUT.")
@click.option("--zid", metavar="HEX", help="ZenohID in hexadecimal, most significant byte first.")
@shell_options()
def command(
    shell: Shell,
    listen: str | None,
    connect: str | None,
    fault: str | None,
    variant: str | None,
    faults: bool,
    profile: str,
    zid: str | None,
    multicast: str,
    scouting: str,
) -> None:
    """Run the reference node, a faulty node or a variant.

    The node runs until it gets SIGINT or SIGTERM.

    \b
    Example:
      zconform peer --listen tcp/127.0.0.1:7447
      zconform peer --listen tcp/127.0.0.1:0 --fault believes-any-cookie
    """
    if faults:
        from zenoh_harness.commands.faulty import (
            list_nodes,
        )  # imports every check: not for a node that is to start fast

        list_nodes(shell, [*all_faulty_nodes().values()])
        return
    if (listen is None) == (connect is None):
        raise UsageError(
            "give either --listen or --connect", step="options", hint="zconform peer --listen tcp/127.0.0.1:7447"
        )
    if fault is not None and variant is not None:
        raise UsageError("--fault and --variant exclude each other", step="options")
    locator = Locator.parse(listen or connect or "")
    largest = MTU if locator.framing is Framing.DATAGRAM else sane.DEFAULT_BATCH
    server = Server(node_of(kind_of(fault, variant), profile, zid, initiator=connect is not None, largest=largest))
    _stop_on_signals(server)
    server.join_groups(
        {name: Locator.parse(at) for name, at in (("multicast", multicast), ("scouting", scouting)) if at}
    )
    if listen is not None:
        where = str(server.listen_at(locator))
        click.echo(json.dumps({"listening": where}) if shell.as_json else f"listening at {where}")
        server.serve()
    else:
        server.serve(locator)
    sys.exit(server.exit_code)


def kind_of(fault: str | None, variant: str | None) -> type[Reference]:
    """Return the class of the node that the options name. Raises UsageError with the nearest names."""
    faulty = all_faulty_nodes()
    if fault is not None and fault not in faulty:
        raise unknown("faulty node", fault, faulty, step="--fault")
    if fault is not None:
        return faulty[fault].node
    conforming = all_variants()
    if variant is not None and variant not in conforming:
        raise unknown("variant", variant, conforming, step="--variant")
    return conforming[variant].node if variant is not None else Reference


def node_of(
    kind: type[Reference], profile: str, zid: str | None, *, initiator: bool, largest: int = sane.DEFAULT_BATCH
) -> Reference:
    """Return a node of that class in a profile; `largest` is the largest batch of its link.

    Raises UsageError if the reference does not have the profile.
    """
    if profile not in CHANGES:
        raise unknown("profile of the reference", profile, CHANGES, step="--profile")
    changes: dict[str, object] = {
        "batch_size": largest,
        **({"whatami": sane.CLIENT} if initiator else {}),
        **kind.settings,
    }
    if kind.habits.new_zid:
        changes["zid"] = secrets.token_bytes(8)
    elif zid is not None and "zid" not in changes:
        try:
            changes["zid"] = bytes.fromhex(zid.zfill(len(zid) + len(zid) % 2))[::-1]
        except ValueError as why:
            raise UsageError(
                f"{zid!r} is not a ZenohID", step="--zid", hint="write 1 to 16 bytes in hexadecimal"
            ) from why
    return kind(config_of(profile, **changes))


def _stop_on_signals(server: Server) -> None:
    def stop(signum: int, frame: FrameType | None) -> None:
        server.goes_on = False

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)


if __name__ == "__main__":
    command()
