"""A node of the `eclipse-zenoh` package with an agent on its standard input and output.

It runs in the environment of the package (0.11 and later), where the harness is not installed, so it imports nothing of it:

    python wheel_node.py '{"mode": "router", "listen/endpoints": ["tcp/127.0.0.1:0"], ...}'

The argument is a configuration: an object of path to value. Standard input has one command a line as JSON; standard output
gets answers and events (the page about targets describes the agent's protocol). The node ends at the end of its input.
"""

# The releases of the zenoh package have different types, and each exception of the package is reported as an answer.
# Each import counts: a run starts thirty of these.
# ruff: noqa: ANN001, ANN201, ANN204, BLE001, INP001, PTH118, PTH120, PTH123, PTH208
# mypy: ignore-errors

import json
import os
import sys
import threading

import zenoh

LOCK = threading.Lock()
ANSWERS = os.dup(1)
os.dup2(2, 1)  # the package logs to standard output, which must contain nothing but answers and events
OPENING = 8.0
"""Seconds that a command waits until the session is open."""
PRIORITIES = (
    "CONTROL",
    "REAL_TIME",
    "INTERACTIVE_HIGH",
    "INTERACTIVE_LOW",
    "DATA_HIGH",
    "DATA",
    "DATA_LOW",
    "BACKGROUND",
)
UNIMPLEMENTED = {"ok": False, "unimplemented": True}


def say(line):
    """Write one object as a line; the lock is needed since the package calls the callbacks on its own threads."""
    data = (json.dumps(line) + "\n").encode()
    with LOCK:
        while data:
            data = data[os.write(ANSWERS, data) :]


def raw(value):
    """Return a payload in hexadecimal, whichever type the release has for payloads; None for None."""
    if value is None:
        return None
    return (
        value if isinstance(value, bytes) else value.to_bytes() if hasattr(value, "to_bytes") else bytes(value)
    ).hex()


def named(kind, name):
    """Return the member of an enumeration of the package with this name, such as `BEST_MATCHING`.

    Raises NotImplementedError if the release has no such member.
    """
    if not hasattr(kind, str(name).upper()):
        raise NotImplementedError(f"this release has no {kind.__name__}.{str(name).upper()}")
    return getattr(kind, str(name).upper())


def sample_fields(sample):
    """Return the fields of the event about a sample."""
    fields = {
        "key": str(sample.key_expr),
        "kind": "delete" if sample.kind == zenoh.SampleKind.DELETE else "put",
        "payload": raw(sample.payload),
        "encoding": str(sample.encoding),
        "attachment": raw(sample.attachment),
        "timestamp": str(sample.timestamp) if sample.timestamp else None,
        "priority": number_of(sample.priority),
        "congestion": str(sample.congestion_control).rpartition(".")[2].lower(),
        "express": getattr(sample, "express", None),
    }
    return {name: value for name, value in fields.items() if value is not None}


def number_of(priority):
    """Return the number of a priority on the wire, 0 to 7; 5 (DATA) for an unknown one."""
    return next(
        (number for number, name in enumerate(PRIORITIES) if priority == getattr(zenoh.Priority, name, None)), 5
    )


OPTIONS = {
    "encoding": ("encoding", lambda name: zenoh.Encoding(name)),
    "attachment": ("attachment", bytes.fromhex),
    "express": ("express", bool),
    "priority": ("priority", lambda number: getattr(zenoh.Priority, PRIORITIES[number])),
    "congestion": ("congestion_control", lambda name: named(zenoh.CongestionControl, name)),
}
"""Fields of put, delete and publishers: the argument, and what makes its value."""

QUERY = {
    "target": ("target", lambda name: named(zenoh.QueryTarget, name)),
    "consolidation": ("consolidation", lambda name: named(zenoh.ConsolidationMode, name)),
    "timeout_ms": ("timeout", lambda time: time / 1000),
    "payload": ("payload", bytes.fromhex),
}
"""The same of queries."""


def arguments_of(line, fields):
    """Return the arguments that a command gives, by a table of its fields."""
    return {name: make(line[field]) for field, (name, make) in fields.items() if field in line}


class WheelNode:
    """The session, and its declared entities by the ids that the harness assigns to them."""

    def __init__(self, config):
        self.config = config
        self.held = {}
        self.queries = {}
        self.opened = None
        self.failure = None
        self.opening = None

    def begin(self):
        """Start to open the session on a thread of its own."""
        if self.opening is None:
            self.opening = threading.Thread(target=self.open, daemon=True)
            self.opening.start()

    def open(self):
        """Open the session. For a client `zenoh.open` returns when a node has accepted it; for a router at once."""
        try:
            self.opened = zenoh.open(self.config)
        except Exception as why:  # the property `session` raises it
            self.failure = why

    @property
    def session(self):
        """The session; waits for `OPENING` seconds until it is open. Raises what `zenoh.open` raised, or RuntimeError."""
        self.begin()
        self.opening.join(OPENING)
        if self.failure is not None:
            raise self.failure
        if self.opened is None:
            raise RuntimeError("no session yet")
        return self.opened

    def options(self, line):
        """Return the arguments of a command that put, delete and publishers share."""
        stamp = {"timestamp": self.stamp()} if line.get("stamp") else {}
        return {**arguments_of(line, OPTIONS), **stamp}

    def stamp(self):
        """Return a timestamp of the session's clock. Raises NotImplementedError before 1.5, whose put takes none."""
        if "timestamp=" not in (zenoh.Session.put.__text_signature__ or ""):
            raise NotImplementedError("this release takes no timestamp")
        return self.session.new_timestamp()

    def declare_subscriber(self, line):
        name = line["id"]
        self.held[name] = self.session.declare_subscriber(
            line["key"], lambda sample: say({"event": "sample", "id": name, **sample_fields(sample)})
        )

    def declare_publisher(self, line):
        self.held[line["id"]] = self.session.declare_publisher(line["key"], **self.options(line))

    def declare_liveliness(self, line):
        name = line["id"]
        self.held[name] = self.session.liveliness().declare_subscriber(
            line["key"],
            lambda sample: say({"event": "sample", "id": name, **sample_fields(sample)}),
            history=line.get("history", False),
        )

    def get_liveliness(self, line):
        options = {"timeout": line["timeout_ms"] / 1000} if "timeout_ms" in line else {}
        replies = self.session.liveliness().get(line["key"], **options)
        threading.Thread(target=self.collect, args=(line["id"], replies), daemon=True).start()

    def declare_token(self, line):
        self.held[line["id"]] = self.session.liveliness().declare_token(line["key"])

    def declare_queryable(self, line):
        plan = line.get("plan", [])
        self.held[line["id"]] = self.session.declare_queryable(
            line["key"], lambda query: self.answer(line["id"], plan, query), complete=line.get("complete", False)
        )

    def answer(self, name, plan, query):
        """Report a query and do the steps of the plan; dropping the query sends its final, unless the plan holds it."""
        payload = raw(getattr(query, "payload", None))
        text = {"event": "query", "id": name, "key": str(query.key_expr), "parameters": str(query.parameters)}
        say({**text, "payload": payload} if payload is not None else text)
        if self.play(plan, query):
            with LOCK:
                self.queries.setdefault(name, []).append(query)
        elif hasattr(query, "drop"):
            query.drop()

    def play(self, plan, query):
        """Do the steps of a plan; return whether the plan holds the query open."""
        for step in plan:
            key = step.get("key", str(query.key_expr))
            if "reply" in step:
                query.reply(key, bytes.fromhex(step["reply"]), **self.options(step))
            elif "error" in step:
                query.reply_err(bytes.fromhex(step["error"]))
            elif "delete" in step:
                query.reply_del(step["delete"])
            elif "hold" in step:
                return True
        return False

    def answer_held(self, line):
        """Continue with the oldest query that a plan holds open."""
        with LOCK:
            waiting = self.queries.get(line["id"], [])
            if not waiting:
                raise ValueError("no query is held for " + line["id"])
            query = waiting[0]
        if not self.play(line.get("plan", []), query):
            with LOCK:
                waiting.pop(0)
            if hasattr(query, "drop"):
                query.drop()

    def undeclare(self, line):
        self.held.pop(line["id"]).undeclare()

    def put(self, line):
        payload = bytes.fromhex(line.get("payload", ""))
        if "id" in line:
            self.held[line["id"]].put(payload)
        else:
            self.session.put(line["key"], payload, **self.options(line))

    def delete(self, line):
        if "id" in line:
            self.held[line["id"]].delete()
        else:
            options = {name: value for name, value in self.options(line).items() if name != "encoding"}
            self.session.delete(line["key"], **options)

    def get(self, line):
        replies = self.session.get(line["key"], **arguments_of(line, QUERY))
        threading.Thread(target=self.collect, args=(line["id"], replies), daemon=True).start()

    def collect(self, name, replies):
        """Report each reply of a get, and then its end."""
        for reply in replies:
            told = sample_fields(reply.ok) if reply.ok is not None else {"payload": raw(reply.err.payload)}
            say({"event": "reply" if reply.ok is not None else "error", "id": name, **told})
        say({"event": "end", "id": name})


COMMANDS = (
    "declare_subscriber",
    "declare_publisher",
    "declare_queryable",
    "declare_token",
    "declare_liveliness",
    "undeclare",
    "put",
    "delete",
    "get",
    "get_liveliness",
    "answer_held",
)


LIVELINESS = ("declare_token", "declare_liveliness", "get_liveliness")


def offered():
    """Return the commands that this release supports: none before 1.0, no liveliness in the first releases of 1.0."""
    if version().startswith("0."):
        return ()
    lacks = () if hasattr(zenoh.Session, "liveliness") else LIVELINESS
    return tuple(command for command in COMMANDS if command not in lacks)


def introduce(node, arguments, commands):
    """Return the answer to `start`: name and version of the implementation, and the supported commands."""
    if not arguments.get("connect/endpoints"):
        node.session  # noqa: B018  waits until the node listens, or raises the reason why it cannot
    return {
        "ok": True,
        "identity": {"name": "zenoh-rust", "version": version(), "language": "Rust"},
        "zid": arguments.get("id"),
        "capabilities": [*commands, "close"] if commands else [],
    }


def version():
    """Return the version of the package, as `importlib.metadata` has it, whose import takes as long as all else here."""
    packages = os.path.dirname(os.path.dirname(zenoh.__file__))
    for folder in os.listdir(packages):
        if folder.startswith("eclipse_zenoh-") and folder.endswith(".dist-info"):
            with open(os.path.join(packages, folder, "METADATA"), encoding="utf-8") as lines:
                return next(line for line in lines if line.startswith("Version:")).split()[1]
    raise SystemExit("the package has no metadata")


def obey(node, line, arguments, commands):
    """Do one command and return its answer."""
    command = line.get("cmd")
    if command == "start":
        return introduce(node, arguments, commands)
    if command == "capability":
        return {"ok": True} if line["name"] in commands else UNIMPLEMENTED
    if command == "close":
        node.session.close()
        return {"ok": True}
    if command not in commands:
        return UNIMPLEMENTED
    getattr(node, command)(line)
    return {"ok": True}


def serve(node, arguments, commands):
    """Answer commands until `close` or the end of the input."""
    for text in sys.stdin.buffer:
        line = json.loads(text)
        answer = {"seq": line["seq"]} if "seq" in line else {}
        try:
            say({**answer, **obey(node, line, arguments, commands)})
        except NotImplementedError as why:
            say({**answer, **UNIMPLEMENTED, "why": str(why)})
        except Exception as why:  # an exception of the package becomes the answer, and the node continues
            say({**answer, "ok": False, "why": repr(why)[:400]})
        if line.get("cmd") == "close":
            return
        node.begin()  # after the answer, since 0.11 blocks the interpreter until a node accepts the session


def configured(arguments):
    """Return the package's configuration with all values of the argument. Raises SystemExit for an unknown path."""
    config = zenoh.Config()
    for path, value in arguments.items():
        try:
            config.insert_json5(path, json.dumps(value))
        except Exception as why:  # the package does not name the path
            raise SystemExit(f"this release refuses {path} = {json.dumps(value)}: {why}") from why
    return config


def main():
    log = getattr(zenoh, "try_init_log_from_env", None) or getattr(zenoh, "init_logger", None)
    if log is not None:
        log()
    arguments = json.loads(sys.argv[1])
    node = WheelNode(configured(arguments))
    try:
        serve(node, arguments, offered())
    finally:
        os._exit(0)  # without waiting for the package's threads, which may be busy


if __name__ == "__main__":
    main()
