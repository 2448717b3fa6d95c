"""Other codecs agree with ours: acceptance, bytes used, meaning, re-encoding; and they stay within memory bounds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from zenoh_conformance.reading.codec import DecodeError, encode
from zenoh_conformance.wire import vle
from zenoh_fuzz import inputs
from zenoh_fuzz.compare.differences import Difference, Place, length_kind, refusal_kind
from zenoh_fuzz.compare.targets import BROKEN, CodecReading, FuzzTarget
from zenoh_fuzz.finding import CodecAnswer, FuzzFinding, without_numbers
from zenoh_fuzz.mutators.segmented import segments_of
from zenoh_fuzz.oracle import Oracle
from zenoh_vectors.judge import excerpt

LARGEST, LARGEST_A_BYTE = 16384, 512
"""What one request to an allocator may be: so many bytes, and so many more a byte of input. A list of messages of two bytes each that
doubles as it grows asks for 184 a byte in zenoh-codec 1.10.2; other codecs may keep larger ones."""

SAMPLE: Final = 64
"""One input of this many is compared by its meaning although both codecs agree on its bytes."""

STARVED: Final = re.compile(r"capacity overflow|over the cap|memory allocation of|out of memory", re.IGNORECASE)
"""The message of a codec that allocates a length before it has the bytes."""


class Differential(Oracle):
    name = "differential"
    promise = "other codecs read what ours reads, and use memory as their input does"
    wants_targets = True

    def __init__(self, targets: Sequence[FuzzTarget] = ()) -> None:
        super().__init__(targets)
        self._seen: list[object] = [None] * len(targets)

    def judge(self, data: bytes) -> Iterable[FuzzFinding]:
        number, message = inputs.split_input(data)
        ours = OwnReading(number, message)
        for index, target in enumerate(self.targets):
            if target.does(number):
                for asked, earlier, theirs in target.later(number, message):
                    same = ours if asked == number and earlier is message else OwnReading(asked, earlier)
                    yield from self._compare(target, same, theirs)
                    self._seen[index] = theirs.verdict, theirs.size == same.size
        self.behaviour = (ours.refusal.path if ours.refusal else ""), tuple(self._seen)

    def rest(self) -> Iterable[FuzzFinding]:
        for target in self.targets:
            for number, message, theirs in target.rest():
                yield from self._compare(target, OwnReading(number, message), theirs)

    def _compare(self, target: FuzzTarget, ours: OwnReading, theirs: CodecReading) -> Iterator[FuzzFinding]:
        if theirs.verdict in BROKEN or self._starves(ours, theirs):
            yield self._breakage(target, ours, theirs)
            return
        if target.plain:
            plain = target.ask(ours.number, ours.message, plain=True)
            if plain.verdict in BROKEN or self._starves(ours, plain):
                yield self._breakage(target, ours, plain)
                return
            if (plain.verdict, plain.size, plain.encoded, plain.text) != (
                theirs.verdict,
                theirs.size,
                theirs.encoded,
                theirs.text,
            ):
                yield from self._unless_tolerated(
                    target, ours, theirs, "all-readers-of-one-codec-agree", "its two kinds of reader"
                )
        if theirs.verdict == "does not do this":
            return
        yield from self._agree(target, ours, theirs)

    def _agree(self, target: FuzzTarget, ours: OwnReading, theirs: CodecReading) -> Iterator[FuzzFinding]:
        if ours.refusal is not None:
            if theirs.verdict == "accepts":
                yield from self._unless_tolerated(target, ours, theirs, "refuse-alike", refusal_kind(ours.refusal))
            return
        if theirs.verdict == "refuses":
            yield from self._unless_tolerated(target, ours, theirs, "accept-alike", ours.stop(theirs.size))
            return
        if theirs.size != ours.size:
            yield from self._unless_tolerated(target, ours, theirs, "use-as-many-bytes", ours.stop(theirs.size))
            return
        if theirs.encoded == ours.encoded and not (self.thorough or inputs.is_sampled(ours.message, SAMPLE)):
            return
        yield from self._same_meaning(target, ours, theirs)

    def _same_meaning(self, target: FuzzTarget, ours: OwnReading, theirs: CodecReading) -> Iterator[FuzzFinding]:
        difference = Difference(target, ours.number, ours.message, ours.read, theirs)
        if where := self._place(difference, difference.theirs_told):
            yield from self._other_meaning(target, ours, theirs, "mean-the-same", where)
            return
        if theirs.encoded is None:
            if target.writes(ours.number):
                yield from self._unless_tolerated(
                    target, ours, theirs, "write-what-was-read", "does not write it again"
                )
        elif theirs.encoded != ours.encoded:
            yield from self._read_back(target, ours, theirs, theirs.encoded, difference)
        yield from self._encodes(target, ours, theirs, difference)

    def _read_back(
        self, target: FuzzTarget, ours: OwnReading, theirs: CodecReading, data: bytes, difference: Difference
    ) -> Iterator[FuzzFinding]:
        """Compare what a codec wrote again by what our decoder and its own read there."""
        written = OwnReading(ours.number, data)
        if why := written.why_unread(data):
            yield from self._unless_tolerated(target, ours, theirs, "what-it-writes-we-read", ours.kinds(), why)
        elif where := self._place(difference, difference.ours_told([one.message for one in written.read])):
            yield from self._other_meaning(target, ours, theirs, "write-what-it-means", where)
        elif bits := written.reserved_bits() - ours.reserved_bits():
            path = min(bits)
            why = f"writes {data.hex():.100}: {path}: bits are set that have no meaning"
            yield from self._unless_tolerated(target, ours, theirs, "write-no-reserved-bits", path, why)
        elif not self._reads(target, ours.number, data, difference):
            yield from self._unless_tolerated(target, ours, theirs, "what-it-writes-it-reads", ours.kinds())

    def _reads(self, target: FuzzTarget, number: int, data: bytes, difference: Difference) -> bool:
        """Whether a codec reads what it wrote, but for what it reads otherwise in any case."""
        again = target.ask(number, data)
        if again.verdict != "accepts" or again.encoded in (None, data):
            return again.encoded == data
        read = OwnReading(number, again.encoded or b"")
        return not read.why_unread(read.message) and not self._place(
            difference, difference.ours_told([one.message for one in read.read])
        )

    def _encodes(
        self, target: FuzzTarget, ours: OwnReading, theirs: CodecReading, difference: Difference
    ) -> Iterator[FuzzFinding]:
        """Ask a codec to encode our meaning, and compare what it writes; a sample, since meanings are slow."""
        if not (self.thorough or inputs.is_sampled(ours.message, SAMPLE)):
            return
        answer = target.encode(ours.number, difference.means)
        if answer.verdict in BROKEN:
            yield self._breakage(target, ours, answer)
        if answer.encoded is not None and answer.encoded not in (ours.encoded, theirs.encoded):
            yield from self._read_back(target, ours, theirs, answer.encoded, difference)

    def _place(self, difference: Difference, wanted: Any) -> Place | None:
        where, rewritten = difference.place_in(wanted)
        self.tolerated.update(rewritten)
        return where

    def _other_meaning(
        self, target: FuzzTarget, ours: OwnReading, theirs: CodecReading, rule: str, where: Place
    ) -> Iterator[FuzzFinding]:
        path, mine, other = where
        why = f"{path}: ours {excerpt(mine, other)}, {target.name} {excerpt(other, mine)}"
        yield from self._unless_tolerated(target, ours, theirs, rule, without_numbers(path), why)

    # --- findings -----------------------------------------------------------------------------------------------------

    def _starves(self, ours: OwnReading, theirs: CodecReading) -> bool:
        return theirs.largest > LARGEST + LARGEST_A_BYTE * len(ours.message)

    def _breakage(self, target: FuzzTarget, ours: OwnReading, theirs: CodecReading) -> FuzzFinding:
        if self._starves(ours, theirs) or STARVED.search(theirs.text):
            about = f"{target.name}, {length_kind(ours.refusal, theirs.plain)}"
            asked = f"a request for {theirs.largest} bytes" if theirs.largest >= 0 else theirs.text[:200]
            return self._finding(
                target,
                ours,
                theirs,
                "memory-follows-the-input",
                about,
                f"{asked}, for {len(ours.message)} bytes of input",
            )
        about = f"{target.name} {theirs.verdict}, {crash(theirs.text)}"
        return self._finding(target, ours, theirs, "survives-every-input", about, theirs.text[:300])

    def _unless_tolerated(
        self, target: FuzzTarget, ours: OwnReading, theirs: CodecReading, rule: str, about: str, why: str = ""
    ) -> Iterator[FuzzFinding]:
        """Yield the finding, unless a rule of tolerance explains it."""
        difference = Difference(target, ours.number, ours.message, ours.read, theirs, ours.refusal)
        if tolerance := difference.explaining_rule(rule):
            self.tolerated[tolerance] += 1
            return
        text = why or f"ours {ours.verdict} {ours.told()}; {target.name} {theirs.verdict} {_details(theirs)}"
        yield self._finding(target, ours, theirs, rule, f"{target.name}, {about}", text)

    def _finding(
        self, target: FuzzTarget, ours: OwnReading, theirs: CodecReading, rule: str, about: str, why: str
    ) -> FuzzFinding:
        sides = (
            CodecAnswer(name="ours", verdict=ours.verdict, told=ours.told()),
            CodecAnswer(name=target.name, verdict=theirs.verdict, told=_details(theirs)),
        )
        grave = rule in ("memory-follows-the-input", "survives-every-input")
        return self.finding(
            rule,
            about,
            why,
            bytes([ours.number]) + ours.message,
            sides=sides,
            grave=grave,
            subject=target.name if grave else "",
        )


class OwnReading:
    """The result of our codec for one input, with costly parts computed on demand."""

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

    def why_unread(self, data: bytes) -> str:
        """Return why it is no reading of all of `data`, or an empty string."""
        if self.refusal is not None:
            return f"writes {data.hex():.100}: {self.refusal}"
        return "" if self.size == len(data) else f"writes {len(data)} bytes, of which {self.size} are read"

    def reserved_bits(self) -> set[str]:
        """Return the paths at which reserved bits are set."""
        remarks = (remark for one in self.read for remark in one.diagnostics)
        return {without_numbers(remark.path) for remark in remarks if remark.kind == "reserved-bit"}

    @property
    def encoded(self) -> bytes:
        """The bytes that its messages encode to."""
        if self._encoded is None:
            write = vle.encode if self.number == inputs.VLE else encode
            self._encoded = b"".join(write(one.message) for one in self.read)
        return self._encoded

    def kinds(self) -> str:
        """Return the kinds of its messages, in order."""
        return "+".join(dict.fromkeys(type(one.message).__name__ for one in self.read))

    def stop(self, at: int) -> str:
        """Return the path of the segment at which another codec stops."""
        found = segments_of(bytes([self.number]) + self.message)
        for segment in found[0] if found else ():
            at -= len(segment.data)
            if at < 0:
                return without_numbers(segment.path)
        return f"the end of {self.kinds()}"

    def told(self) -> str:
        """Return details of the verdict."""
        return str(self.refusal) if self.refusal else f"{self.size} bytes: {self.kinds()}"


def _details(theirs: CodecReading) -> str:
    """Return details of another codec's verdict."""
    if theirs.verdict == "accepts":
        return f"{theirs.size} bytes"
    return f"{f'at byte {theirs.size}' if theirs.size >= 0 else ''} {theirs.text[:200]}".strip()


def crash(text: str) -> str:
    """Return the identity of a crash: the operation, the kind of panic, the folder of the source.

    The file and line of a panic are left out: one mistake that was copied to five files is one finding.
    """
    doing, _, said = text.partition(": ") if text.startswith("while ") else ("", "", text)
    place = re.match(r"panicked at ([\w-]+?)-\d[^/]*/(src/(?:\w+/)*)\S+ (.*)", said)
    said = re.sub(r"attempt to \w+ with overflow", "arithmetic overflow", place[3] if place else said)
    return ", ".join(filter(None, (doing, without_numbers(said[:120]), f"{place[1]}/{place[2]}" if place else "")))


ORACLE = Differential
