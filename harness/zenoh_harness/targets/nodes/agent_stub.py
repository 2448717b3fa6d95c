"""The smallest agent, to be written again in another language: replace `Node` by calls of your implementation.

One JSON object a line comes on standard input and is answered on standard output; events may come at any time in
between. Logs go to standard error. Commands that are not here are answered `unimplemented`: that is no failure.
"""

# ruff: noqa: ANN001, ANN003, ANN201, ANN204, BLE001, INP001
# mypy: ignore-errors

import json
import sys


class StubNode:
    """Stands for a real node: what is put here is received here."""

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
