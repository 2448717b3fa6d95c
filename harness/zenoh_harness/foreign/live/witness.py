"""A live router with an application on it and sessions of ours around: who notices what we send, and how."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.messages import Request, ResponseFinal
from zenoh_conformance.reading import codec
from zenoh_conformance.talking import Dialogue
from zenoh_conformance.wire import Layer
from zenoh_harness.foreign.live.company import Actor, Company
from zenoh_harness.foreign.live.variants import MessagePair, message
from zenoh_harness.profiles import PROFILES
from zenoh_harness.run.attempt.scenes import Stage
from zenoh_harness.targets.adapters.launched import LaunchedNode
from zenoh_vectors.judge import parts

LONGEST: Final = 90
"""Characters of a value in the table."""

VOLATILE: Final = frozenset({"time", "stamp", "timestamp", "cookie", "initial_sn"})
"""What a node makes anew each time, unless it is what we sent."""

SERVED: Final = "the session goes on"

Observed = dict[str, Any]
"""What was seen, by who saw it."""


class LiveWitness:
    """A router with an application on it, and sessions of ours."""

    def __init__(self, company: Company) -> None:
        self._app: Actor = company.hub("router", "a1")
        assert company.locator is not None
        node = LaunchedNode(self._app.program, PROFILES["default"], "router", locator=company.locator, zid="a1")
        self._stage = Stage(node, requirement="", label="effects")
        self._count = 0
        self._app.do("declare_subscriber", id="sub", key="effect/*")
        self._app.do("declare_queryable", id="q", key="effect/*", plan=[{"reply": "01"}])
        self._app.do("declare_liveliness_subscriber", id="life", key="effect/*")
        self._other = self._stage.session("other")
        self._other.subscribe("effect/*")

    def difference(self, row: MessagePair) -> str:
        """Return how the effects of a row's two messages differ; empty if they do not."""
        watch = self._watches().get(next(iter(row.one)))
        if watch is None:
            return ""
        one, other = (self._effects_of(watch, means) for means in (row.one, row.other))
        for who in one if one.keys() == other.keys() else ("we",):
            for path, before, after in parts(one.get(who, SERVED), other.get(who, SERVED), ""):
                if not set(re.split(r"[.\[\]]", path)) & VOLATILE or _is_of_messages(row, before, after):
                    return f"{who}: {f'{path} ' if path else ''}{_plain(before)} -> {_plain(after)}"
        return ""

    def _effects_of(self, watch: Callable[[dict[str, Any]], Observed], means: dict[str, Any]) -> Observed:
        self._other.fence()
        self._app.forget()
        try:
            return watch(copy.deepcopy(means))
        except Deviation as refused:
            return {"we": refused.finding.got}

    def _watches(self) -> Mapping[str, Callable[[dict[str, Any]], Observed]]:
        return {"Push": self._push, "Request": self._request, "Response": self._response, "Declare": self._declare,
                "Interest": self._interest, "Init": self._init, "Open": self._open}  # fmt: skip

    def _session(self) -> Dialogue:
        return self._stage.session("us")

    def _push(self, means: dict[str, Any]) -> Observed:
        us = self._session()
        us.say(message(Layer.NETWORK, means))
        us.fence()
        sample = dict(self._app.events("sample", "sub"))
        forwarded = [codec.to_json(seen.message) for seen in self._other.fence() if seen.kind == "push"]
        us.leave()
        return {"the subscriber": sample, "another session": forwarded}

    def _request(self, means: dict[str, Any]) -> Observed:
        us = self._session()
        self._other.declare(codec.from_json({"DQueryable": {"id": 900, "key": _key("effect/*")}}, Layer.DECLARATION))
        self._other.fence()
        us.say(message(Layer.NETWORK, means))
        us.say(_ask("effect/nobody/else"))
        us.expect(ResponseFinal, where=lambda final: final.id == 901)
        events = {event: dict(self._app.events(event, "q")) for event in ("query", "queried")}
        forwarded = [seen.message for seen in self._other.fence() if seen.kind == "request"]
        for each in forwarded:
            self._other.say(ResponseFinal(id=each.id))
        us.fence()
        answers = [codec.to_json(seen.message) for seen in us.heard if seen.kind == "response"]
        self._other.declare(codec.from_json({"UQueryable": {"id": 900}}, Layer.DECLARATION))
        us.leave()
        passed = [{"Request": codec.to_json(each)["Request"] | {"id": 0}} for each in forwarded]
        return {"the queryable": events, "another session": passed, "we": answers}

    def _response(self, means: dict[str, Any]) -> Observed:
        us = self._session()
        us.declare(codec.from_json({"DQueryable": {"id": 7, "key": _key("effect/*/asked")}}, Layer.DECLARATION))
        us.fence()
        self._count += 1
        name = f"get-{self._count}"
        self._app.do("get", id=name, key="effect/x/asked", consolidation="none")
        asked = us.expect(Request)
        fields = means["Response"]
        fields["id"] = asked.id + (fields["id"] - 7) * 1000
        fields["key"] = _key(fields["key"]["suffix"] + "/asked")
        us.say(codec.from_json(means, Layer.NETWORK), ResponseFinal(id=asked.id))
        self._app.hears("end", name)
        replies = [{k: v for k, v in each.items() if k != "id"} for each in self._app.all_told(name)]
        us.leave()
        return {"who asked": replies}

    def _declare(self, means: dict[str, Any]) -> Observed:
        us = self._session()
        [kind] = means["Declare"]["body"]
        if kind[0] == "U":
            us.declare(codec.from_json({f"D{kind[1:]}": _declaration_of(kind)}, Layer.DECLARATION))
        us.say(codec.from_json(means, Layer.NETWORK))
        us.say(
            codec.from_json(
                {"Push": {"key": {"scope": 7, "mapping": True}, "body": {"Put": {"payload": "07"}}}}, Layer.NETWORK
            )
        )
        us.fence()
        tokens = [dict(each) for each in self._app.all_told("life")]
        named = [dict(each) for each in self._app.all_told("sub")]
        self._app.do("put", key="effect/x", payload="70")
        self._app.gets("effect/x", timeout_ms=150)
        got = [codec.to_json(seen.message) for seen in us.fence() if seen.kind in ("push", "request")]
        us.leave()
        self._app.forget()
        return {"the subscriber": named, "the liveliness subscriber": tokens, "we": [_kind_of(each) for each in got]}

    def _interest(self, means: dict[str, Any]) -> Observed:
        us = self._session()
        us.say(codec.from_json(means, Layer.NETWORK))
        answers = [codec.to_json(seen.message) for seen in us.fence() if seen.kind == "declare"]
        us.leave()
        return {"we": answers}

    def _init(self, means: dict[str, Any]) -> Observed:
        us = self._stage.dialogue("us")
        us.send(codec.from_json(means))
        return {"we": _answer_to_handshake(us)}

    def _open(self, means: dict[str, Any]) -> Observed:
        us = self._stage.dialogue("us")
        us.send(us.init_syn())
        cookie = next(seen.message.cookie for seen in us.stream() if seen.kind == "init")
        if means["Open"].get("cookie") == "c00c1e":
            means["Open"]["cookie"] = cookie.hex()
        us.send(codec.from_json(means))
        return {"we": _answer_to_handshake(us)}


def _is_of_messages(row: MessagePair, *values: Any) -> bool:
    """Whether one of the values stands in one of the two messages."""
    ours = set(re.findall(r"\w+", f"{row.one} {row.other}"))
    return any(len(word) > 4 and word in ours for value in values for word in re.findall(r"\w+", str(value)))


def _key(suffix: str) -> dict[str, Any]:
    return {"scope": 0, "suffix": suffix, "mapping": True}


def _ask(suffix: str) -> Request:
    found: Request = codec.from_json(
        {"Request": {"id": 901, "key": _key(suffix), "body": {"Query": {}}}}, Layer.NETWORK
    )
    return found


def _declaration_of(kind: str) -> dict[str, Any]:
    return {"expr_id" if kind == "UKeyExpr" else "id": 7, "key": _key("effect/x")}


def _kind_of(means: dict[str, Any]) -> str:
    """Return the kind of a message alone."""
    return next(iter(means))


def _answer_to_handshake(us: Dialogue) -> Any:
    """Return the node's answer to a message of the handshake, or how it ended the link."""
    for seen in us.stream(1.0):
        if seen.kind in ("init", "open", "close"):
            us.wire.shut()
            events = codec.to_json(seen.message)
            return events if seen.kind != "close" else f"Close({seen.message.reason})"
    return us.end()


def _plain(value: Any) -> str:
    if isinstance(value, list):
        value = ", ".join(map(_plain, value))
    if isinstance(value, dict):
        named = [str(value[name]) for name in ("event", "kind", "key", "payload") if name in value]
        value = " ".join(named) or " ".join(value)
    text = str(value) or "nothing"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
