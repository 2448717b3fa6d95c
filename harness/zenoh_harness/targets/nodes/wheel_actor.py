"""The agent of `wheel_node.py` with further commands, for the recorder of live sessions between real nodes.

    python wheel_actor.py '{"mode": "client", "connect/endpoints": [...], ...}'

The line protocol is that of `wheel_node.py`; this file adds options and commands that only recent releases have.
"""

# As in wheel_node.py: the releases of the zenoh package have different types.
# ruff: noqa: ANN001, ANN201, INP001
# mypy: ignore-errors

import importlib.util
import threading
from pathlib import Path

import zenoh

SPEC = importlib.util.spec_from_file_location("wheel_node", Path(__file__).with_name("wheel_node.py"))
node = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(node)

POINTS = ("send", "route", "receive")
"""The points at which a node may add a time stamp to a message (`zenoh.TimestampInstrumentationBuilder`)."""


def source_told(info):
    """Return a source info as text: ZenohID/entity id/sequence number."""
    return f"{info.source_id.zid}/{info.source_id.eid}/{info.source_sn}"


def stack_told(stack):
    """Return the names of the points at which the stamps of a stack were made."""
    return [str(record.point).rpartition(".")[2].lower() for record in stack.records]


class WheelActor(node.WheelNode):
    """A node that supports more options, and reports more fields of what it receives."""

    def options(self, line):
        found = super().options(line)
        if line.get("timestamp"):
            found["timestamp"] = self.session.new_timestamp()
        if "source_sn" in line:
            entity = self.held.get(line.get("source")) or next(iter(self.held.values()))
            found["source_info"] = zenoh.SourceInfo(entity.id, line["source_sn"])
        if "stamped" in line:
            builder = zenoh.TimestampInstrumentationBuilder()
            for point in POINTS:
                builder = getattr(builder, f"set_{point}")(point in line["stamped"])
            found["timestamp_instrumentation"] = builder.build()
        return found

    def asked(self, line):
        """Return the arguments of a query that a command describes."""
        return {**self.options(line), **node.arguments_of(line, node.QUERY)}

    def get(self, line):
        replies = self.session.get(line["key"], **self.asked(line))
        threading.Thread(target=self.collect, args=(line["id"], replies), daemon=True).start()

    def answer(self, name, plan, query):
        """Report the encoding, attachment and source of a query as the event `queried`, then answer as the base class."""
        text = {"encoding": str(query.encoding) if query.encoding else None, "attachment": node.raw(query.attachment)}
        text["source"] = source_told(query.source_info) if query.source_info else None
        text["stack"] = stack_told(query.timestamp_stack) if query.timestamp_stack else None
        node.say({"event": "queried", "id": name, **{what: value for what, value in text.items() if value is not None}})
        super().answer(name, plan, query)

    def play(self, plan, query):
        """Do the steps as the base class does; a step with `error` may have an encoding."""
        for step in plan:
            if "error" in step and "encoding" in step:
                query.reply_err(bytes.fromhex(step["error"]), encoding=zenoh.Encoding(step["encoding"]))
            elif super().play([step], query):
                return True
        return False

    def declare_querier(self, line):
        options = self.asked({name: value for name, value in line.items() if name not in ("payload", "attachment")})
        self.held[line["id"]] = self.session.declare_querier(line["key"], **options)

    def ask(self, line):
        """Send a query through a declared querier."""
        options = {name: self.asked(line)[name] for name in ("payload", "attachment", "encoding") if name in line}
        replies = self.held[line["id"]].get(parameters=line.get("parameters"), **options)
        threading.Thread(target=self.collect, args=(line["id"], replies), daemon=True).start()

    def declare_liveliness_subscriber(self, line):
        name = line["id"]
        self.held[name] = self.session.liveliness().declare_subscriber(
            line["key"],
            lambda sample: node.say({"event": "sample", "id": name, **node.sample_fields(sample)}),
            history=line.get("history", False),
        )

    def liveliness_get(self, line):
        replies = self.session.liveliness().get(line["key"])
        threading.Thread(target=self.collect, args=(line["id"], replies), daemon=True).start()

    def declare_keyexpr(self, line):
        self.held[line["id"]] = self.session.declare_keyexpr(line["key"])

    def undeclare(self, line):
        held = self.held.pop(line["id"])
        if isinstance(held, zenoh.KeyExpr):
            self.session.undeclare(held)
        else:
            held.undeclare()


def sample_fields(sample, plain=node.sample_fields):
    """Return the fields of a sample as `wheel_node.py` does, with congestion control, source and stamps."""
    more = {"express": sample.express, "congestion": str(sample.congestion_control).rpartition(".")[2].lower()}
    if sample.source_info:
        more["source"] = source_told(sample.source_info)
    if sample.timestamp_stack:
        more["stack"] = stack_told(sample.timestamp_stack)
    return plain(sample) | more


node.WheelNode = WheelActor
node.sample_fields = sample_fields
node.COMMANDS += (
    "declare_querier",
    "ask",
    "declare_liveliness_subscriber",
    "liveliness_get",
    "declare_keyexpr",
)

if __name__ == "__main__":
    node.main()
