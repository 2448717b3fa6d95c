"""The same layouts, written wrongly by a whole node in memory: which checks show it.

The node is right; what it sends is changed on its way out, in the segment that a row is about.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from zenoh_conformance.cases.case import Case, Parameters, all_cases
from zenoh_conformance.judging import shown_rows as rows
from zenoh_conformance.judging.engine import judge
from zenoh_conformance.reading.batch import tracers_of
from zenoh_conformance.reading.codec import Layer
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.spec.requirement import Fact, Requirement, requirements
from zenoh_conformance.wire import registry
from zenoh_conformance.wire.declare import snake
from zenoh_conformance.wire.errors import DecodeError
from zenoh_conformance.wire.segment import Segment, Segments, Tracer
from zenoh_harness.faulty.table import provoke, runs_in_memory
from zenoh_harness.profiles import DEFAULT
from zenoh_harness.reference import Reference

Edit = Callable[[Segments, str], Segments | None]
"""The segments of what is sent, and the path of a message in them, to other segments; None where the row is not in it."""

NOBODYS: Final = 0x0F
"""An id that no message has."""

MOST_TRIED: Final = 48
"""The most checks that are tried on one fault."""

ENOUGH: Final = 6
"""Checks that show a fault, after which no other is tried."""

MOST_KEPT: Final = 4
"""The most checks that are kept of those that show the faults of one row."""

SAMPLES: Final = 3
"""Parameter sets of a case that are run."""


@dataclass(frozen=True, slots=True)
class MisWriting:
    """One fault of a writer."""

    requirement: str
    name: str
    kind: str
    """The message's name in paths."""
    edit: Edit


def every_fault() -> Iterator[MisWriting]:
    """One or more for each row that a sender can write wrongly."""
    for requirement in requirements().values():
        if requirement.fact is not None and requirement.binds != "receiver":
            yield from _of(requirement, requirement.fact)
    yield from of_primitives()


def _of(requirement: Requirement, fact: Fact) -> Iterator[MisWriting]:
    if fact.fact == "layout":
        yield MisWriting(
            requirement.id, "another id", rows.drawn_in(requirement)[-1], header(lambda byte: byte & 0xE0 | NOBODYS)
        )
        return
    for cls in registry.MESSAGES:
        declaration = registry.of(cls)
        if rows.is_of(fact, declaration):
            for name, edit in RULES.get(fact.fact, _none)(fact):
                yield MisWriting(requirement.id, name, snake(cls.__name__), edit)


def of_primitives() -> Iterator[MisWriting]:
    """Rows of no message in particular, each in the messages where most of it is seen."""
    for row, kinds, edit in PRIMITIVES:
        yield from (MisWriting(f"primitives/{row}", f"in {kind}", kind, edit) for kind in kinds)


def _none(_fact: Fact) -> Iterator[tuple[str, Edit]]:
    return iter(())


# --- edits ---------------------------------------------------------------------------------------------------------------


def at(path: str, change: Callable[[int], int], place: int = 0) -> Edit:
    """Another byte in the segment at a path below the message."""

    def edit(segments: Segments, prefix: str) -> Segments | None:
        paths = segments.paths()
        whole = f"{prefix}.{path}"
        whole = f"{whole}.bytes" if f"{whole}.bytes" in paths else whole
        if whole not in paths or not (data := segments.get(whole).data):
            return None
        changed = bytearray(data)
        changed[place] = change(changed[place]) & 0xFF
        return segments.replace(whole, bytes(changed), recompute=False)

    return edit


def header(change: Callable[[int], int]) -> Edit:
    """Another header."""
    return at("header", change)


def flip(mask: int) -> Callable[[int], int]:
    """The byte with these bits the other way round."""
    return lambda byte: byte ^ mask


def exchange_fields(fact: Fact) -> Edit:
    """The first two fields of a message changed over; of one that has fewer, a byte too many."""

    def edit(segments: Segments, prefix: str) -> Segments | None:
        own = [path for path in segments.paths() if path.startswith(f"{prefix}.") and not path.endswith(".header")]
        tops = list(dict.fromkeys(path[len(prefix) + 1 :].partition(".")[0] for path in own))
        first, second = [*(top for top in tops if top in fact.order and top != "exts"), "", ""][:2]
        if second and segments.get(f"{prefix}.{first}").data != segments.get(f"{prefix}.{second}").data:
            return segments.swap(f"{prefix}.{first}", f"{prefix}.{second}", recompute=False)
        return segments.insert_after(f"{prefix}.header", Segment(f"{prefix}.more", b"\0"), recompute=False)

    return edit


# --- a rule for each kind of fact ------------------------------------------------------------------------------------------

Made = Iterator[tuple[str, Edit]]


def of_id(_fact: Fact) -> Made:
    """An id that nobody has."""
    yield "another id", header(lambda byte: byte & 0xE0 | NOBODYS)


def of_flag(fact: Fact) -> Made:
    """The flag the other way round."""
    yield "the other way round", header(flip(1 << (fact.bit or 0)))


def of_order(fact: Fact) -> Made:
    """Fields changed over."""
    yield "changed over", exchange_fields(fact)


def of_reserved(fact: Fact) -> Made:
    """The bits set."""
    yield "set", header(flip(rows.mask_of(fact.bits)))


def of_field(fact: Fact) -> Made:
    """Another value."""
    ext, name = rows.ext_and_field(fact)
    yield (
        "another value",
        at(".".join(filter(None, (f"exts.{snake(ext)}" if ext else "", name))).replace("[]", "[0]"), flip(1)),
    )


def of_extension(fact: Fact) -> Made:
    """The extension under another id, with the other M, with another encoding."""
    path = f"exts.{snake(fact.ext)}.header"
    yield "another id", at(path, lambda byte: byte & 0xF0 | 0x0C)
    yield "the other M", at(path, flip(0x10))
    yield "another encoding", at(path, flip(0x20))


def of_bits(fact: Fact) -> Made:
    """One of the bits the other way round."""
    mask = rows.mask_of(fact.bits)
    yield "the other way round", _in_field(fact, flip(mask & -mask))


def of_value(fact: Fact) -> Made:
    """The value taken for its neighbour."""
    if fact.field in ("enc", "mode"):
        yield "another one", header(flip(0x20))
        return
    yield "another one", _in_field(fact, flip(1))


def _in_field(fact: Fact, change: Callable[[int], int]) -> Edit:
    ext, name = rows.ext_and_field(fact)
    name = "packed" if name in ("zid", "whatami", "what") else name.partition(".")[0]
    return at(f"exts.{snake(ext)}.{name}" if ext else name, change)


RULES: Final[dict[str, Callable[[Fact], Made]]] = {
    "id": of_id, "carrier": of_id, "flag": of_flag, "order": of_order, "reserved": of_reserved, "field": of_field, "meaning": of_flag,
    "extension": of_extension, "bits": of_bits, "value": of_value, "presence": of_flag,
}  # fmt: skip


def reverse_bytes(path: str) -> Edit:
    """The bytes of a segment, last first."""

    def edit(segments: Segments, prefix: str) -> Segments | None:
        whole = f"{prefix}.{path}"
        return segments.replace(whole, segments.get(whole).data[::-1]) if whole in segments.paths() else None

    return edit


def any_extension(change: Callable[[int], int]) -> Edit:
    """Another header of the first extension."""

    def edit(segments: Segments, prefix: str) -> Segments | None:
        paths = (path for path in segments.paths() if path.startswith(f"{prefix}.exts.") and path.endswith(".header"))
        first = next(paths, None)
        return None if first is None else at(first.removeprefix(f"{prefix}."), change)(segments, prefix)

    return edit


OF_KEYS: Final = ("push", "request", "response", "d_subscriber", "d_token")
"""Messages with a key."""

PRIMITIVES: Final[tuple[tuple[str, tuple[str, ...], Edit], ...]] = (
    ("header-id", ("init", "frame"), header(lambda byte: byte & 0xE0 | NOBODYS)),
    ("header-flags", ("init", "frame", "push"), header(flip(0x60))),
    ("header-z", ("init", "push"), header(flip(0x80))),
    ("zid-length", ("init",), at("packed", flip(0x10))),
    ("zid-byte-order", ("init",), reverse_bytes("zid")),
    ("wire-expr-scope", OF_KEYS, at("key.scope", flip(1))),
    ("wire-expr-suffix", OF_KEYS, at("key.suffix", flip(1))),
    ("extension-id", ("init", "push"), any_extension(lambda byte: byte & 0xF0 | 0x0C)),
    ("extension-mandatory-bit", ("init", "push"), any_extension(flip(0x10))),
    ("vle-seven-bits", ("frame",), reverse_bytes("sn")),
)
"""Row, messages, and how it is written wrongly there."""


# --- the node --------------------------------------------------------------------------------------------------------------


def with_fault(fault: MisWriting) -> type[MisWriter]:
    """A node that writes one row wrongly, wherever it says it."""
    return type("MisWriterOfOne", (MisWriter,), {"fault": fault, "wrong": 0})


class MisWriter(Reference):
    """Writes one row wrongly."""

    fault: MisWriting
    wrong = 0
    """How often it did."""

    def send_batch(self, link: Any, batch: bytes) -> None:
        lowlatency = link.terms is not None and link.terms.lowlatency and link.live
        other = miswrite(batch, self.fault, Layer.LOWLATENCY if lowlatency else Layer.TRANSPORT)
        type(self).wrong += other != batch
        super().send_batch(link, other)


def miswrite(batch: bytes, fault: MisWriting, layer: Layer = Layer.TRANSPORT) -> bytes:
    """The bytes of a batch as the faulty writer has them."""
    out, at, tracers = b"", 0, tracers_of(layer)
    while at < len(batch):
        reader, tracer = tracers[batch[at] & 0x1F], Tracer(batch, at)
        try:
            if reader is None:
                return out + batch[at:]
            _, end = reader(batch, at, len(batch), [], tracer.mark, "")
        except DecodeError:
            return out + batch[at:]
        out, at = out + _edited(tracer.segments(), fault).join(), end
    return out


def _edited(segments: Segments, fault: MisWriting) -> Segments:
    ending = f"{fault.kind}.header"
    for path in segments.paths():
        if path == ending or path.endswith(f".{ending}"):
            segments = fault.edit(segments, path.removesuffix(".header")) or segments
    return segments


# --- which checks show it ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Try:
    """A case with parameters, what the node writes in it, and how many events it has."""

    case: Case
    parameters: Parameters
    rows: Counter[str]
    told: Counter[str]
    """What the harness writes in it."""
    events: int
    red: frozenset[str]


def reds_of(case: Case, parameters: Parameters, node: type[Reference]) -> tuple[frozenset[str], Any]:
    """The checks, the case itself and laws, that are red on a node; and the conversation."""
    findings, scene = provoke(case, parameters, node)
    red = {case.id} if findings else set()
    red |= {said.law.id for said in judge(scene.conversation) if said.findings and said.sender is case.role}
    return frozenset(red), scene.conversation


@cache
def tries(role: Side, among: frozenset[str] = frozenset()) -> tuple[Try, ...]:
    """The cases of a role in the default profile, or those `among` them, on the node without a fault; the short ones first."""
    found = []
    for case in all_cases().values():
        if among and case.id not in among:
            continue
        if case.role is not role or case.profile != DEFAULT or not runs_in_memory(case):
            continue
        for parameters in case.parameters[:: -(-len(case.parameters) // SAMPLES) or 1]:
            red, conversation = reds_of(case, parameters, Reference)
            counts = [rows.RowCount(side) for side in (role, role.other)]
            for count in counts:
                judge(conversation, (), watch=count)
            found.append(Try(case, parameters, counts[0].rows, counts[1].rows, len(conversation.events), red))
    return tuple(sorted(found, key=lambda one: one.events))


def checks_that_show(fault: MisWriting, role: Side, among: frozenset[str] = frozenset()) -> list[str] | None:
    """The checks that are red on a node with the fault, of cases in which it writes the row; None if it never wrote it wrongly.

    `among`: the cases that are run; all where empty.
    """
    node, cases = with_fault(fault), set[str]()
    found: dict[str, None] = {}
    for one in tries(role, among):
        if len(cases) == MOST_TRIED or len(found) >= ENOUGH:
            break
        if fault.requirement in one.rows and one.case.id not in cases:
            cases.add(one.case.id)
            found.update(dict.fromkeys(sorted(reds_of(one.case, one.parameters, node)[0] - one.red)))
    return list(found) if node.wrong else None


def judged_on(role: Side, faults: Iterable[MisWriting]) -> dict[str, list[list[str]]]:
    """Each row with the checks that show each fault in it; without the rows of which one fault shows in none."""
    found: dict[str, list[list[str]]] = defaultdict(list)
    written = {row for one in tries(role) for row in one.rows}
    for fault in faults:
        if fault.requirement in written and (checks := checks_that_show(fault, role)) is not None:
            found[fault.requirement].append(sorted(checks[:MOST_KEPT]))
    return {
        row: [list(checks) for checks in sorted({*map(tuple, every)})]
        for row, every in sorted(found.items())
        if all(every)
    }


def write(folder: Path) -> None:
    """Write the table by which a run judges what a node writes."""
    faults = list(every_fault())
    table = {role.value: judged_on(role, faults) for role in Side}
    (folder / "written_on.json").write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
