"""`zconform codec`: the reference codec as a stdio target."""

from __future__ import annotations

import sys

import click

from zenoh_harness.codecs.own import OwnCodec
from zenoh_harness.codecs.server import serve
from zenoh_harness.errors import CannotGoOn


@click.command()
def command() -> None:
    """Serve the reference codec on standard input and output.

    Reads one JSON request per line and writes one JSON answer per line. The schemas are
    zenoh_harness/files/schemas/codec-request.json and codec-answer.json.

    \b
    Example:  echo '{"cmd":"decode","seq":1,"layer":"transport","bytes":"0300"}' | zconform codec
    """
    try:
        serve(OwnCodec(), sys.stdin.buffer, sys.stdout.buffer)
    except ValueError as why:
        raise CannotGoOn("the session ended at a batch that cannot be read", step="codec", seen=str(why)) from why
