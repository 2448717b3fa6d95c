"""`zconform peer`: the reference node, or a faulty node, on a real link.

`python -m zenoh_harness.commands.peer` is the same without the rest of the command line, so that it starts fast.
"""

from __future__ import annotations

import signal
from types import FrameType

import click

from zenoh_harness.errors import CannotGoOn, UsageError, unknown
from zenoh_harness.faulty import all_faulty_nodes
from zenoh_harness.links.locators import Locator
from zenoh_harness.reference import Reference
from zenoh_harness.reference.configured import CHANGES, config_of
from zenoh_harness.reference.serve import Server


@click.command("peer")
@click.option("--listen", "listen", metavar="LOCATOR", help="Listen there; port 0 lets the kernel choose.")
@click.option("--connect", "connect", metavar="LOCATOR", help="Connect there, again and again, as a client.")
@click.option("--fault", metavar="NAME", help="Be the faulty node of that name (`zconform peer --faults` lists them).")
@click.option("--faults", is_flag=True, help="List the faulty nodes, and what catches each.")
@click.option("--profile", default="default", show_default=True, help="Start in this profile.")
@click.option("--zid", metavar="HEX", help="ZenohID as printed, most significant byte first.")
def command(
    listen: str | None, connect: str | None, fault: str | None, faults: bool, profile: str, zid: str | None
) -> None:
    """Run the reference node until it is told to stop.

    \b
    Example:
      zconform peer --listen tcp/127.0.0.1:7447
      zconform peer --listen tcp/127.0.0.1:0 --fault believes-any-cookie
    """
    if faults:
        for faulty_node in all_faulty_nodes().values():
            click.echo(f"{faulty_node.name:38} {', '.join(faulty_node.caught_by)}")
        return
    if (listen is None) == (connect is None):
        raise UsageError(
            "say either --listen or --connect", step="options", hint="zconform peer --listen tcp/127.0.0.1:7447"
        )
    server = Server(node_of(fault, profile, zid, initiator=connect is not None))
    _stop_on_signals(server)
    locator = tcp(listen or connect or "")
    if listen is not None:
        try:
            port = server.listen(locator.host, locator.port)
        except OSError as why:
            hint = "--listen tcp/127.0.0.1:0 takes a free port"
            raise CannotGoOn(f"cannot listen at {locator}", step="listen", seen=str(why), hint=hint) from why
        click.echo(f"listening at tcp/{locator.host}:{port}")
        server.serve()
    else:
        server.serve((locator.host, locator.port))


def node_of(fault: str | None, profile: str, zid: str | None, *, initiator: bool) -> Reference:
    """The node that the options name. Raises UsageError with the nearest names."""
    known = all_faulty_nodes()
    if fault is not None and fault not in known:
        raise unknown("faulty node", fault, known, step="--fault")
    if profile not in CHANGES:
        raise unknown("profile of the reference", profile, CHANGES, step="--profile")
    changes: dict[str, object] = {"whatami": 2} if initiator else {}
    if zid is not None:
        try:
            changes["zid"] = bytes.fromhex(zid.zfill(len(zid) + len(zid) % 2))[::-1]
        except ValueError as why:
            raise UsageError(f"{zid!r} is no ZenohID", step="--zid", hint="1 to 16 bytes in hex") from why
    node = known[fault].node if fault else Reference
    return node(config_of(profile, **changes))


def tcp(text: str) -> Locator:
    """A TCP locator. Raises UsageError for any other."""
    locator = Locator.parse(text)
    if locator.protocol != "tcp":
        raise UsageError(f"the reference speaks over tcp, not {locator.protocol}", step="locator")
    return locator


def _stop_on_signals(server: Server) -> None:
    def stop(signum: int, frame: FrameType | None) -> None:
        server.goes_on = False

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)


if __name__ == "__main__":
    command()
