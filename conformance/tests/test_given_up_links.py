"""A link that its responder gives up is no refusal, unless its end can only be the answer (law/refusal-is-close)."""

from __future__ import annotations

import pytest

from zenoh_conformance.judging.engine import judge
from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.messages import sane
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.conversation import Connection, Conversation, Event, Happened, Side

US, THEY = Side.INITIATOR, Side.RESPONDER


def ended(*, version: int = 9, opens: bool = False, after: float = 0.01) -> bool:
    """Whether an end without CLOSE is red: of a link on which we proposed, and perhaps opened, after some seconds."""
    said = Conversation(connections={"a": Connection("a")})
    syn = sane.init_syn(b"\x01\x02", version=version)
    ack = sane.init_ack(syn, b"\x03\x04", b"cookie")
    batches = [(US, syn), *([(THEY, ack), (US, sane.open_syn(ack))] if opens else [])]
    said.events.append(Event(5.0, "a", US, Happened.OPEN))
    for side, message in batches:
        data = encode(message)
        said.events.append(Event(5.0 + after, "a", side, Happened.BYTES, len(data).to_bytes(2, "little") + data))
    said.events.append(Event(5.001 + after, "a", THEY, Happened.EOF))
    return any(one.findings for one in judge(said, [all_laws()["law/refusal-is-close"]]))


@pytest.mark.parametrize(
    ("how", "red"),
    [
        ({}, False),
        ({"version": 7}, True),
        ({"opens": True}, True),
        ({"opens": True, "after": 0.5}, False),
    ],
    ids=["a sane proposal", "another version", "an OpenSyn at once", "an OpenSyn after a pause"],
)
def test_only_an_end_that_answers_is_a_refusal(how: dict[str, int], red: bool) -> None:
    assert ended(**how) is red  # type: ignore[arg-type]
