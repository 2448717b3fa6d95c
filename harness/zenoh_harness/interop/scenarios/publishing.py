"""Publish and subscribe: what a sample carries arrives as it was sent."""

from __future__ import annotations

from zenoh_conformance.primitives.encoding import NAMES
from zenoh_harness.interop.scenario import scenario
from zenoh_harness.interop.talk import Talk

_SCHEMAS = ("text/plain;utf-8", "application/json;a=1;b=2")
_MANY = 200


@scenario(encoding=(*NAMES, *_SCHEMAS))
def a_sample_keeps_its_encoding(talk: Talk, encoding: str) -> None:
    """Each encoding that has a number, with and without a schema."""
    ear = talk.listens()
    talk.here.put(talk.key, b"x", encoding=encoding)
    talk.expect(ear, kind="put", payload=b"x", encoding=encoding)


@scenario(encoding=("made-up/by-us", "made-up/by-us;version=2"))
def an_encoding_without_a_number_keeps_its_name(talk: Talk, encoding: str) -> None:
    """The name arrives; how an application prints the number that stands before it is its own business."""
    ear = talk.listens()
    talk.here.put(talk.key, b"x", encoding=encoding)
    heard = talk.expect(ear, payload=b"x")
    talk.tells(heard, "encoding")
    came = str(heard["encoding"])
    talk.require(f";{came}".endswith(f";{encoding}"), f"encoding: {came} where {encoding} is required")


@scenario(priority=range(1, 8))
def a_sample_keeps_its_priority(talk: Talk, priority: int) -> None:
    """From real time to background."""
    talk.carries(talk.listens(), b"x", priority=priority)


@scenario(congestion=("block", "drop", "block_first"), priority=(1, 5, 7))
def a_sample_keeps_its_congestion_control(talk: Talk, congestion: str, priority: int) -> None:
    """A link that is not busy drops nothing either; who hears it must know that control to tell it."""
    talk.there.declare("publisher", talk.key, congestion=congestion)
    talk.carries(talk.listens(), b"x", congestion=congestion, priority=priority)


@scenario(express=(True, False))
def a_sample_keeps_whether_it_is_express(talk: Talk, express: bool) -> None:
    """An express sample is not kept back for a fuller batch; its receiver is told."""
    talk.carries(talk.listens(), b"x", express=express)


@scenario(size=(1, 1_000, 70_000))
def a_sample_keeps_its_attachment(talk: Talk, size: int) -> None:
    """Also one that fits no batch."""
    attachment = bytes(range(250)) * (size // 250 + 1)
    ear = talk.listens()
    talk.here.put(talk.key, b"x", attachment=attachment[:size].hex())
    talk.expect(ear, payload=b"x", attachment=attachment[:size])


@scenario(kind=("put", "delete"))
def a_sample_keeps_its_timestamp(talk: Talk, kind: str) -> None:
    """Stamped by who puts it, it is not stamped again: two arrive in the order in which they were stamped."""
    ear = talk.listens()
    stamps = []
    for _ in range(2):
        if kind == "put":
            talk.here.put(talk.key, b"x", stamp=True)
        else:
            talk.here.delete(talk.key, stamp=True)
        stamps.append(str(talk.expect(ear, kind=kind).get("timestamp", "")))
    talk.require(all(stamps), f"no timestamp arrived: {stamps}")
    (first, _, one), (second, _, other) = (stamp.partition("/") for stamp in stamps)
    talk.same("who stamped", [(one and talk.here.agent.zid) or one] * 2, [one, other])  # some print the time alone
    talk.require(_in_order(first) < _in_order(second), f"timestamps do not rise: {first}, {second}")


def _in_order(time: str) -> tuple[int, str]:
    """A time as it is printed, so that a later one is larger: of digits alone it is a number."""
    return (int(time), "") if time.isdigit() else (0, time)


@scenario()
def a_delete_arrives_as_one(talk: Talk) -> None:
    """Between two puts, in order."""
    ear = talk.listens()
    talk.here.put(talk.key, b"1")
    talk.here.delete(talk.key)
    talk.here.put(talk.key, b"2")
    for kind, payload in (("put", b"1"), ("delete", b""), ("put", b"2")):
        talk.expect(ear, kind=kind, payload=payload, key=talk.key)


@scenario(priority=(1, 5, 7))
def samples_of_one_priority_stay_in_order(talk: Talk, priority: int) -> None:
    """Two hundred, one after the other; none is lost, none comes twice."""
    ear = talk.listens()
    for number in range(_MANY):
        talk.here.put(talk.key, number.to_bytes(2, "big"), priority=priority)
    came = [talk.expect(ear)["payload"] for _ in range(_MANY)]
    talk.same("order", [f"{number:04x}" for number in range(_MANY)], came)
    talk.quiet(ear, priority=priority)


@scenario(pattern=("*", "**", "a/*", "a$*/b", "*/b", "a/b/**"))
def a_pattern_hears_what_it_matches(talk: Talk, pattern: str) -> None:
    """One subscriber on a pattern; what does not match it is not heard."""
    ear = talk.listens(f"{talk.key}/{pattern}")
    for key in ("a", "a/b", "c/d"):
        talk.here.put(f"{talk.key}/{key}", key.encode())
    matching = {"*": ["a"], "**": ["a", "a/b", "c/d"]}.get(pattern, ["a/b"])
    for key in matching:
        talk.expect(ear, key=f"{talk.key}/{key}", payload=key.encode())
    talk.quiet(ear)


@scenario()
def a_publisher_is_heard(talk: Talk) -> None:
    """What is declared once and put often: the key travels as a number."""
    ear = talk.there.declare("subscriber", f"{talk.key}/**")
    publisher = talk.here.declare("publisher", f"{talk.key}/p", encoding="text/csv", priority=3, congestion="block")
    talk.settle()
    for number in range(3):
        talk.here.do("put", id=publisher.id, payload=f"0{number}")
        talk.expect(ear, key=f"{talk.key}/p", payload=bytes([number]), encoding="text/csv", priority=3)
    talk.here.do("delete", id=publisher.id)
    talk.expect(ear, key=f"{talk.key}/p", kind="delete", priority=3)


@scenario()
def every_subscriber_hears_once(talk: Talk) -> None:
    """Two subscribers of one application, one exact and one with a pattern: each hears each sample once."""
    exact, wide = (talk.there.declare("subscriber", key) for key in (talk.key, f"{talk.key}/**"))
    talk.settle()
    talk.here.put(talk.key, b"x")
    for ear in (exact, wide):
        talk.expect(ear, payload=b"x", key=talk.key)
    talk.quiet(exact)
    talk.quiet(wide)
