"""A minimal agent, as a model for one in another language: replace `StubNode` by calls of your implementation.

The agent reads one JSON object a line from standard input and writes one answer to each on standard output; it may write
events between the answers. It logs to standard error. The answer to an unknown command is `unimplemented`, which fails no
check.
"""

# ruff: noqa: ANN001, ANN003, ANN201, ANN204, BLE001, INP001
# mypy: ignore-errors

import json
import sys


class StubNode:
    """A substitute for a real node: its own subscribers receive what it puts."""

    def __init__(self):
        self.subscribers = {}
        self.queryables = {}

    def declare_subscriber(self, line):
        self.subscribers[line["id"]] = line["key"]

    def declare_queryable(self, line):
        self.queryables[line["id"]] = (line["key"], line.get("plan", []))

    def undeclare(self, line):
        self.subscribers.pop(line["id"], None)
        self.queryables.pop(line["id"], None)

    def put(self, line):
        for name, key in self.subscribers.items():
            if key == line["key"]:
                say(event="sample", id=name, key=key, kind="put", payload=line.get("payload", ""))

    def get(self, line):
        for name, (key, plan) in self.queryables.items():
            if key == line["key"]:
                say(event="query", id=name, key=key, parameters="")
                for step in plan:
                    if "reply" in step:
                        say(event="reply", id=line["id"], key=key, kind="put", payload=step["reply"])
        say(event="end", id=line["id"])


COMMANDS = ["declare_subscriber", "declare_queryable", "undeclare", "put", "get"]


def say(**line):
    print(json.dumps(line), flush=True)


def answer(node, line):
    if line["cmd"] == "start":
        identity = {"name": "stub", "version": "1", "language": "Python"}
        return {"ok": True, "identity": identity, "zid": None, "capabilities": COMMANDS}
    if line["cmd"] == "capability" and line["name"] in COMMANDS:
        return {"ok": True}
    if line["cmd"] not in COMMANDS:
        return {"ok": True} if line["cmd"] == "close" else {"ok": False, "unimplemented": True}
    try:
        getattr(node, line["cmd"])(line)
    except Exception as why:
        return {"ok": False, "why": repr(why)}
    return {"ok": True}


def main():
    node = StubNode()
    for text in sys.stdin:
        line = json.loads(text)
        say(seq=line["seq"], **answer(node, line))
        if line["cmd"] == "close":
            break


if __name__ == "__main__":
    main()
