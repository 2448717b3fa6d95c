"""`zconform codec`: our codec as a stdio target."""

from __future__ import annotations

import sys

import click

from zenoh_harness.codecs.own import OwnCodec
from zenoh_harness.codecs.server import serve
from zenoh_harness.errors import CannotGoOn


@click.command()
def command() -> None:
    """Serve our codec over the stdio codec protocol: one JSON object a line, requests in, answers out.

    \b
    Example:  echo '{"cmd":"decode","seq":1,"layer":"transport","bytes":"0300"}' | zconform codec
    The protocol's schemas: zenoh_harness/files/schemas/codec-request.json and codec-answer.json
    """
    try:
        serve(OwnCodec(), sys.stdin.buffer, sys.stdout.buffer)
    except ValueError as why:
        raise CannotGoOn("the conversation cannot go on", step="codec", seen=str(why)) from why
