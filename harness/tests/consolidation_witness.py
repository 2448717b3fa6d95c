"""Runs in the wheel's own environment: what a get hears of drawn answers, by its consolidation mode, as JSON.

python consolidation_witness.py < EXAMPLES
An example is [mode, [[key, kind, payload, stamp or null], ..]]; of each is heard [[key, kind, payload], ..]. A stamp is the place
in a row of stamps that rise.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import zenoh

ROOT = "witness"
STAMPS = 8


def opened(**said: object) -> zenoh.Session:
    config = zenoh.Config()
    config.insert_json5("scouting/multicast/enabled", "false")
    for name, value in said.items():
        config.insert_json5(name.replace("__", "/"), json.dumps(value))
    return zenoh.open(config)


def answer(query: zenoh.Query, answers: list[list[Any]], stamps: list[Any]) -> None:
    for key, kind, payload, stamp in answers:
        about = {} if stamp is None else {"timestamp": stamps[stamp]}
        if kind == "err":
            query.reply_err(payload)
        elif kind == "del":
            query.reply_del(f"{ROOT}/{key}", **about)
        else:
            query.reply(f"{ROOT}/{key}", payload, **about)


def heard(reply: zenoh.Reply) -> list[str]:
    if reply.ok is None:
        return ["", "err", reply.err.payload.to_string()]
    kind = "del" if reply.ok.kind == zenoh.SampleKind.DELETE else "put"
    return [str(reply.ok.key_expr).removeprefix(f"{ROOT}/"), kind, reply.ok.payload.to_string()]


def main(examples: list[Any]) -> list[Any]:
    modes = {name: getattr(zenoh.ConsolidationMode, name.upper()) for name in ("auto", "none", "monotonic", "latest")}
    with tempfile.TemporaryDirectory() as folder:
        door = [f"unixsock-stream/{Path(folder) / 'door'}"]
        near = opened(mode="peer", listen__endpoints=door)
        far = opened(mode="client", connect__endpoints=door)
        stamps, now = [near.new_timestamp() for _ in range(STAMPS)], [[["a", "put", "", None]]]
        queryable = near.declare_queryable(f"{ROOT}/**", lambda query: answer(query, now[0], stamps))
        while not list(far.get(f"{ROOT}/a")):  # until the one knows what the other serves
            pass
        said = []
        for mode, answers in examples:
            now[0] = answers
            said.append([heard(reply) for reply in far.get(f"{ROOT}/**", consolidation=modes[mode])])
        queryable.undeclare()
        far.close()
        near.close()
    return said


if __name__ == "__main__":
    print(json.dumps(main(json.load(sys.stdin))))
