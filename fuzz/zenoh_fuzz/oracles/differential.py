"""Other codecs read what ours reads: accept or refuse, bytes used, meaning, bytes written again; and stay within bounds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from zenoh_conformance.codec import DecodeError, encode
from zenoh_conformance.wire import vle
from zenoh_fuzz import inputs
from zenoh_fuzz.differences import Difference, claimed, named
from zenoh_fuzz.finding import Finding, Side, without_numbers
from zenoh_fuzz.mutators.segmented import segments_of
from zenoh_fuzz.oracle import Oracle
from zenoh_fuzz.seeds import message_seeds, message_words
from zenoh_fuzz.targets import BROKEN, FuzzTarget, Theirs

LARGEST, LARGEST_A_BYTE = 16384, 512
"""What one request to an allocator may be: so many bytes, and so many more a byte of input. A list of messages of two bytes each that
doubles as it grows asks for 184 a byte in zenoh-codec 1.10.2; other codecs may keep larger ones."""

SAMPLE: Final = 64
"""Of inputs that nobody disagrees about, one in so many is asked for its meaning as well."""

STARVED: Final = re.compile(r"capacity overflow|over the cap|memory allocation of|out of memory", re.IGNORECASE)
"""What a codec says that allocates a length before it has seen that the bytes are there."""


class Differential(Oracle):
    name = "differential"
    promise = "other codecs read what ours reads, and use memory as their input does"
    wants_targets = True

    def __init__(self, targets: Sequence[FuzzTarget] = ()) -> None:
        super().__init__(targets)
        self._seen: list[object] = [None] * len(targets)

    def judge(self, data: bytes) -> Iterable[Finding]:
        number, message = inputs.taken_apart(data)
        ours = Ours(number, message)
        for index, target in enumerate(self.targets):
            if target.does(number):
                for asked, earlier, theirs in target.later(number, message):
                    same = ours if asked == number and earlier is message else Ours(asked, earlier)
                    yield from self._compared(target, same, theirs)
                    self._seen[index] = theirs.verdict, theirs.size == same.size
        self.behaviour = ours.at_path, tuple(self._seen)

    def rest(self) -> Iterable[Finding]:
        for target in self.targets:
            for number, message, theirs in target.rest():
                yield from self._compared(target, Ours(number, message), theirs)

    def _compared(self, target: FuzzTarget, ours: Ours, theirs: Theirs) -> Iterator[Finding]:
        if theirs.verdict in BROKEN or self._starves(ours, theirs):
            yield self._broken(target, ours, theirs)
            return
        if target.plain:
            plain = target.ask(ours.number, ours.message, plain=True)
            if plain.verdict in BROKEN or self._starves(ours, plain):
                yield self._broken(target, ours, plain)
                return
            if (plain.verdict, plain.size, plain.encoded, plain.text) != (
                theirs.verdict, theirs.size, theirs.encoded, theirs.text,
            ):  # fmt: skip
                yield from self._told(target, ours, theirs, "all-readers-of-one-codec-agree", "its two kinds of reader")
        if theirs.verdict == "does not do this":
            return
        yield from self._agree(target, ours, theirs)

    def _agree(self, target: FuzzTarget, ours: Ours, theirs: Theirs) -> Iterator[Finding]:
        if ours.refusal is not None:
            if theirs.verdict == "accepts":
                yield from self._told(target, ours, theirs, "refuse-alike", named(ours.refusal))
            return
        if theirs.verdict == "refuses":
            yield from self._told(target, ours, theirs, "accept-alike", ours.stop(theirs.size))
            return
        if theirs.size != ours.size:
            yield from self._told(target, ours, theirs, "use-as-many-bytes", ours.stop(theirs.size))
            return
        if theirs.encoded == ours.encoded and not (self.thorough or inputs.sampled(ours.message, SAMPLE)):
            return
        yield from self._same_meaning(target, ours, theirs)

    def _same_meaning(self, target: FuzzTarget, ours: Ours, theirs: Theirs) -> Iterator[Finding]:
        difference = Difference(target, ours.number, ours.message, ours.read, theirs)
        where = difference.where
        self.tolerated.update(difference.rewritten)
        if where:
            about = without_numbers(where[0])
            why = f"{where[0]}: ours {where[1]!r:.100}, {target.name} {where[2]!r:.100}"
            yield from self._told(target, ours, theirs, "mean-the-same", about, why)
        elif theirs.encoded is None:
            yield from self._told(target, ours, theirs, "write-what-was-read", "does not write it again")
        elif theirs.encoded != ours.encoded:
            again = target.ask(ours.number, theirs.encoded)
            if (again.verdict, again.encoded) != ("accepts", theirs.encoded):
                yield from self._told(target, ours, theirs, "what-it-writes-it-reads", ours.kinds())

    # --- findings -----------------------------------------------------------------------------------------------------

    def _starves(self, ours: Ours, theirs: Theirs) -> bool:
        return theirs.largest > LARGEST + LARGEST_A_BYTE * len(ours.message)

    def _broken(self, target: FuzzTarget, ours: Ours, theirs: Theirs) -> Finding:
        if self._starves(ours, theirs) or STARVED.search(theirs.text):
            about = f"{target.name}, {claimed(ours.refusal, theirs.plain)}"
            asked = f"a request for {theirs.largest} bytes" if theirs.largest >= 0 else theirs.text[:200]
            return self._finding(target, ours, theirs, "memory-follows-the-input", about,
                                 f"{asked}, for {len(ours.message)} bytes of input")  # fmt: skip
        about = f"{target.name} {theirs.verdict}, {crash(theirs.text)}"
        return self._finding(target, ours, theirs, "survives-every-input", about, theirs.text[:300])

    def _told(
        self, target: FuzzTarget, ours: Ours, theirs: Theirs, rule: str, about: str, why: str = ""
    ) -> Iterator[Finding]:
        """The finding, unless a rule explains it."""
        difference = Difference(target, ours.number, ours.message, ours.read, theirs, ours.refusal)
        if explained := difference.explained(rule):
            self.tolerated[explained] += 1
            return
        text = why or f"ours {ours.verdict} {ours.told()}; {target.name} {theirs.verdict} {_said(theirs)}"
        yield self._finding(target, ours, theirs, rule, f"{target.name}, {about}", text)

    def _finding(self, target: FuzzTarget, ours: Ours, theirs: Theirs, rule: str, about: str, why: str) -> Finding:
        sides = (Side(name="ours", verdict=ours.verdict, told=ours.told()),
                 Side(name=target.name, verdict=theirs.verdict, told=_said(theirs)))  # fmt: skip
        grave = rule in ("memory-follows-the-input", "survives-every-input")
        return self.found(rule, about, why, bytes([ours.number]) + ours.message, sides=sides, grave=grave,
                          subject=target.name if grave else "")  # fmt: skip

    def seeds(self) -> Iterable[bytes]:
        return message_seeds()

    def words(self) -> Iterable[bytes]:
        return message_words()


class Ours:
    """What our codec makes of one input; what costs time is made when it is asked for."""

    __slots__ = ("_encoded", "message", "number", "read", "refusal", "size")

    def __init__(self, number: int, message: bytes) -> None:
        self.number, self.message = number, message
        self._encoded: bytes | None = None
        self.refusal: DecodeError | None = None
        self.read: list[inputs.Decoded] = []
        self.size = -1
        try:
            self.read, self.size = inputs.messages(number, message)
        except DecodeError as refusal:
            self.refusal = refusal

    @property
    def verdict(self) -> str:
        return "refuses" if self.refusal else "accepts"

    @property
    def at_path(self) -> str:
        return self.refusal.path if self.refusal else ""

    @property
    def encoded(self) -> bytes:
        """What it encodes to again."""
        if self._encoded is None:
            write = vle.encode if self.number == inputs.VLE else encode
            self._encoded = b"".join(write(one.message) for one in self.read)
        return self._encoded

    def kinds(self) -> str:
        """The kinds of its messages, in order."""
        return "+".join(dict.fromkeys(type(one.message).__name__ for one in self.read))

    def stop(self, at: int) -> str:
        """The path of the segment in which another codec stops."""
        found = segments_of(bytes([self.number]) + self.message)
        for segment in found[0] if found else ():
            at -= len(segment.data)
            if at < 0:
                return without_numbers(segment.path)
        return f"the end of {self.kinds()}"

    def told(self) -> str:
        """What there is to say beside the verdict."""
        return str(self.refusal) if self.refusal else f"{self.size} bytes: {self.kinds()}"


def _said(theirs: Theirs) -> str:
    """What a codec told beside its verdict."""
    if theirs.verdict == "accepts":
        return f"{theirs.size} bytes"
    return f"{f'at byte {theirs.size}' if theirs.size >= 0 else ''} {theirs.text[:200]}".strip()


def crash(text: str) -> str:
    """What makes two crashes the same: what the codec was doing, the kind of panic, the folder of the source.

    Of a panic the file and line are left out: one mistake that was copied to five files is one finding.
    """
    doing, _, said = text.partition(": ") if text.startswith("while ") else ("", "", text)
    place = re.match(r"panicked at ([\w-]+?)-\d[^/]*/(src/(?:\w+/)*)\S+ (.*)", said)
    said = re.sub(r"attempt to \w+ with overflow", "arithmetic overflow", place[3] if place else said)
    return ", ".join(filter(None, (doing, without_numbers(said[:120]), f"{place[1]}/{place[2]}" if place else "")))


ORACLE = Differential
