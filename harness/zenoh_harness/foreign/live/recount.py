"""What a recording holds: each message read, written again, explained; what could not be, by name."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from zenoh_conformance.messages import Fragment, Frame
from zenoh_conformance.reading import codec
from zenoh_conformance.reading.connection import Decoders, Seen
from zenoh_conformance.reading.conversation import Conversation, Happened, Side
from zenoh_conformance.reading.explain import explain
from zenoh_conformance.reading.fragments import Defragmenter
from zenoh_conformance.wire import DecodeError, Layer


@dataclass(slots=True)
class Recount:
    """Of one recording, or of several."""

    kinds: Counter[str] = field(default_factory=Counter)
    """Messages by kind, those inside others included."""
    whole: Counter[str] = field(default_factory=Counter)
    """Network messages that came in fragments, by kind."""
    odd: Counter[str] = field(default_factory=Counter)
    """What a careful sender would have written otherwise: message, where, kind of diagnostic."""
    refused: list[str] = field(default_factory=list)
    """What could not be read."""
    changed: list[str] = field(default_factory=list)
    """What is other bytes when it is written again."""
    unexplained: list[str] = field(default_factory=list)
    """Streams that `explain` does not explain to the last byte."""
    explained: int = 0
    """Bytes that were explained."""

    @property
    def faults(self) -> list[str]:
        """All that speaks against the codec."""
        return [*self.refused, *self.changed, *self.unexplained]

    def add(self, conversation: Conversation) -> None:
        """Count one recording."""
        decoders = Decoders(conversation)
        lanes: dict[tuple[str, Side], Defragmenter] = {}
        for event in conversation:
            for seen in decoders.feed(event):
                self._message(seen)
                if isinstance(seen.message, Frame | Fragment):
                    mine = lanes.setdefault((seen.connection, seen.sender), Defragmenter(marks=True))
                    self._piece(mine, seen.message)
        self._explain(conversation)

    def _message(self, seen: Seen) -> None:
        if seen.kind == "undecodable":
            self.refused.append(f"{seen.message} in {seen.raw[:40].hex()}")
        elif seen.kind != "batch":
            self.kinds[seen.kind] += 1
            if not seen.around:
                self._outermost(seen)

    def _outermost(self, seen: Seen) -> None:
        self.odd.update(f"{each.kind} at {each.path}" for each in seen.diagnostics)
        again = codec.encode(seen.message)
        if not seen.diagnostics and not again == seen.raw == codec.segments(seen.message).join():
            self.changed.append(f"{seen.raw[:40].hex()} becomes {again[:40].hex()}")

    def _piece(self, lane: Defragmenter, piece: Frame | Fragment) -> None:
        if (data := lane.feed(piece)) is None:
            return
        try:
            found = codec.decode_whole(data, Layer.NETWORK)
        except DecodeError as refusal:
            self.refused.append(f"{refusal} in fragments that begin with {data[:40].hex()}")
            return
        self.whole[type(found.message).__name__] += 1
        self.odd.update(f"{each.kind} at {each.path}" for each in found.diagnostics)
        if not found.diagnostics and codec.encode(found.message) != data:
            self.changed.append(f"what came in fragments, {data[:40].hex()}")

    def _explain(self, conversation: Conversation) -> None:
        for name in conversation.connections:
            for side in Side:
                mine = [each for each in conversation if (each.connection, each.sender) == (name, side)]
                stream = b"".join(each.data for each in mine if each.kind is Happened.BYTES)
                events = explain(stream, Layer.STREAM)
                joined = b"".join(line.data for line in events.lines if not line.inside)
                self.explained += events.explained
                if (stream and not events.ok) or joined != stream or events.explained != len(stream):
                    self.unexplained.append(f"{name} {side.value}: {events.refusal}")

    def lines(self) -> list[str]:
        """For people."""
        rows = [f"{kind:16} {count:6}" for kind, count in sorted(self.kinds.items())]
        rows += [f"{kind:16} {count:6}  in fragments" for kind, count in sorted(self.whole.items())]
        rows += [f"{'odd':16} {count:6}  {what}" for what, count in sorted(self.odd.items())]
        rows += [f"{'bytes explained':16} {self.explained:6}"]
        return rows + [f"fault: {fault}" for fault in self.faults]
