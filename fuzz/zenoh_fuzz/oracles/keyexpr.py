"""Key expressions: validity, canonical form, intersection and inclusion keep their own laws, and are those of other codecs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from zenoh_conformance.primitives import keyexpr
from zenoh_fuzz.compare.targets import FuzzTarget
from zenoh_fuzz.compare.tolerances import key_refused
from zenoh_fuzz.finding import CodecAnswer, FuzzFinding, without_numbers
from zenoh_fuzz.inputs.seeds import key_seeds, key_words
from zenoh_fuzz.mutators.systematic import key_inputs
from zenoh_fuzz.oracle import Oracle

KEYEXPR = 6
"""The layer's number."""


class KeyExpressions(Oracle):
    name = "keyexpr"
    promise = "keys are canonical, meet and include one another as their grammar says, for every codec alike"
    structured = False
    largest = 200

    def judge(self, data: bytes) -> Iterable[FuzzFinding]:
        left, _, right = data.partition(b"\n")
        for each in (left, right):
            for target in self.targets:
                if target.does(KEYEXPR):
                    yield from self._canonical_alike(target, each, data)
        try:
            a, b = left.decode(), right.decode()
        except UnicodeDecodeError:
            self.behaviour = "no text"
            return
        yield from self._laws_of_one(a, data)
        if not (keyexpr.is_canonical(a) and keyexpr.is_canonical(b)):
            self.behaviour = "not canonical", keyexpr.is_canonical(a), keyexpr.is_canonical(b)
            return
        ours = keyexpr.intersects(a, b), keyexpr.includes(a, b)
        self.behaviour = ours, "*" in a, "*" in b, "@" in data.decode(), "$*" in a, "$*" in b
        yield from self._laws_of_two(a, b, ours, data)
        for target in self.targets:
            yield from self._related_alike(target, a, b, ours, data)

    def _laws_of_one(self, text: str, data: bytes) -> Iterator[FuzzFinding]:
        try:
            canonical = keyexpr.canonize(text)
        except keyexpr.KeyExprError as refusal:
            if not 0 <= refusal.at <= len(text) or not refusal.why:
                yield self.finding("a-refusal-points-at-a-character", refusal.why, f"{refusal}", data)
            if keyexpr.is_canonical(text):
                yield self.finding(
                    "what-is-canonical-can-be-made-so", "canonize", f"{text!r} cannot be made canonical", data
                )
            return
        if not keyexpr.is_canonical(canonical) or keyexpr.canonize(canonical) != canonical:
            yield self.finding(
                "canonical-is-final", "canonize", f"{text!r} becomes {canonical!r}, which is not canonical", data
            )
        if keyexpr.is_canonical(text) and canonical != text:
            yield self.finding(
                "canonical-is-final", "canonize of a canonical one", f"{text!r} becomes {canonical!r}", data
            )

    def _laws_of_two(self, a: str, b: str, ours: tuple[bool, bool], data: bytes) -> Iterator[FuzzFinding]:
        meet, holds = ours
        if keyexpr.intersects(b, a) != meet:
            yield self.finding("meeting-is-mutual", "intersects", f"{a!r} and {b!r}", data)
        if holds and not meet:
            yield self.finding("what-includes-meets", "includes", f"{a!r} includes {b!r}, and they do not meet", data)
        if not keyexpr.includes(a, a) or not keyexpr.intersects(a, a):
            yield self.finding("a-key-includes-itself", "includes", f"{a!r}", data)
        if holds and keyexpr.includes(b, a) and a != b:
            yield self.finding("canonical-is-unique", "includes", f"{a!r} and {b!r} include each other", data)

    def _canonical_alike(self, target: FuzzTarget, text: bytes, data: bytes) -> Iterator[FuzzFinding]:
        theirs = target.ask(KEYEXPR, text)
        if theirs.verdict in ("crashes", "hangs", "answers garbage"):
            about = f"{target.name} {theirs.verdict}, {without_numbers(theirs.text)[:120]}"
            yield self.finding("survives-every-input", about, theirs.text[:300], data, grave=True, subject=target.name)
            return
        try:
            ours = keyexpr.canonize(text.decode()).encode()
        except (UnicodeDecodeError, keyexpr.KeyExprError):
            ours = None
        told = theirs.encoded if theirs.verdict == "accepts" else None
        if told is None and ours is not None and theirs.verdict == "refuses" and (rule := key_refused(text)):
            self.tolerated[rule] += 1
        elif told != ours and theirs.verdict != "does not do this":
            why = f"{text!r} is {_said(ours)} for us and {_said(told)} for {target.name}"
            yield self._differs(target, "canonical-alike", "canonical form" if ours and told else "validity", why, data)
        elif told is not None:
            means = target.means(KEYEXPR, text)
            valid = means and means.get("KeyExpr", {}).get("valid")
            if valid is not None and valid != keyexpr.is_canonical(text.decode()):
                yield self._differs(
                    target, "valid-alike", "valid as it stands", f"{text!r} is {json.dumps(means)}", data
                )

    def _related_alike(
        self, target: FuzzTarget, a: str, b: str, ours: tuple[bool, bool], data: bytes
    ) -> Iterator[FuzzFinding]:
        theirs = target.relate(a, b)
        if isinstance(theirs, str) and theirs.startswith(("crashes", "hangs", "answers")):
            about = f"{target.name} {without_numbers(theirs)[:120]}, relating"
            yield self.finding("survives-every-input", about, theirs[:300], data, grave=True, subject=target.name)
        elif theirs is not None and theirs != ours:
            about = "refused" if isinstance(theirs, str) else "meet" if theirs[0] != ours[0] else "include"
            why = f"{a!r} and {b!r}: ours (meet, include) = {ours}, {target.name} {theirs}"
            yield self._differs(target, "related-alike", about, why, data)

    def _differs(self, target: FuzzTarget, rule: str, about: str, why: str, data: bytes) -> FuzzFinding:
        sides = (CodecAnswer(name=target.name, verdict="differs", told=why),)
        return self.finding(rule, f"{target.name}, {about}", why, data, subject="", sides=sides)

    def first(self) -> Iterable[bytes]:
        return key_inputs()

    def seeds(self) -> Iterable[bytes]:
        return key_seeds()

    def words(self) -> Iterable[bytes]:
        return key_words()


def _said(text: bytes | None) -> str:
    return "no key" if text is None else repr(text)


ORACLE = KeyExpressions
