"""An agent around a library whose calls block: replace `Library` by calls of yours.

    zconform smoke 'exec:python3 agent_blocking.py {locator}?role=client&agent=stdio'

`start` and `capability` are answered at once, since they need no session. The library opens its session in a thread, and each command
runs in a thread of its own, in order. A command that comes before the session can be used is refused with `not_ready`; the event
`ready` tells the harness to ask again. Say `why` whenever something fails: it becomes part of the cause in the report.
"""

# ruff: noqa: ANN001, ANN003, ANN201, BLE001
# mypy: ignore-errors

import json
import queue
import socket
import sys
import threading

WRITING = threading.Lock()


def say(**line):
    """Write one line; events and answers come from several threads."""
    with WRITING:
        print(json.dumps(line), flush=True)


class Library:
    """A substitute for a real library; each method may block."""

    def open(self, locator):
        """Return when the session can be used."""
        host, _, port = locator.partition("/")[2].rpartition(":")
        self.link = socket.create_connection((host, int(port)))
        self.link.recv(1)
        self.names = {}

    def declare_subscriber(self, line):
        self.names[line["id"]] = ("sample", line["key"], [])

    def declare_queryable(self, line):
        self.names[line["id"]] = ("query", line["key"], line.get("plan", []))

    def undeclare(self, line):
        del self.names[line["id"]]

    def put(self, line):
        for name, (event, key, _) in self.names.items():
            if event == "sample" and key == line["key"]:
                say(event="sample", id=name, key=key, kind="put", payload=line.get("payload", ""))

    def get(self, line):
        for name, (event, key, plan) in self.names.items():
            if event == "query" and key == line["key"]:
                say(event="query", id=name, key=key, parameters="")
                for step in plan:
                    if "reply" in step:  # on the key of the step, or else on the query's own key
                        key = step.get("key", line["key"])
                        say(event="reply", id=line["id"], key=key, kind="put", payload=step["reply"])
        say(event="end", id=line["id"])


COMMANDS = ["declare_subscriber", "declare_queryable", "undeclare", "put", "get"]


def work(library, ready, waiting):
    """Open the session, then run the commands one after the other."""
    try:
        library.open(sys.argv[1])
    except Exception as why:
        print(f"no session: {why!r}", file=sys.stderr)
        return
    ready.set()
    say(event="ready")
    while True:
        line = waiting.get()
        try:
            getattr(library, line["cmd"])(line)
            say(seq=line["seq"], ok=True)
        except Exception as why:
            say(seq=line["seq"], ok=False, why=repr(why))


def main():
    """Answer what needs no session, and hand the rest over."""
    ready, waiting = threading.Event(), queue.Queue()
    threading.Thread(target=work, args=(Library(), ready, waiting), daemon=True).start()
    for text in sys.stdin:
        line = json.loads(text)
        if line["cmd"] == "start":
            identity = {"name": "mylibrary", "version": "1", "language": "Python"}
            say(seq=line["seq"], ok=True, identity=identity, zid=None, capabilities=COMMANDS)
        elif line["cmd"] == "close" or (line["cmd"] == "capability" and line["name"] in COMMANDS):
            say(seq=line["seq"], ok=True)
        elif line["cmd"] not in COMMANDS:
            say(seq=line["seq"], ok=False, unimplemented=True)
        elif not ready.is_set():
            say(seq=line["seq"], ok=False, why="the session is not open yet", not_ready=True)
        else:
            waiting.put(line)
        if line["cmd"] == "close":
            break


if __name__ == "__main__":
    main()
