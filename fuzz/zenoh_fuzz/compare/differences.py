"""Find where two codecs differ on one input."""

from __future__ import annotations

import re
from functools import cache, cached_property
from typing import Any

from zenoh_conformance.reading.codec import Decoded, DecodeError, to_json
from zenoh_conformance.wire import Blob, Diagnostic, registry
from zenoh_fuzz import inputs
from zenoh_fuzz.finding import without_numbers
from zenoh_harness.codecs.leeway import reduce_to
from zenoh_harness.codecs.meaning import comparable as told
from zenoh_vectors.judge import parts

from .targets import CodecReading, FuzzTarget
from .tolerances import REWRITES, VERDICTS

Place = tuple[str, Any, Any]
"""A path in a meaning, with our value and the other codec's."""


class Difference:
    """One input on which two codecs differ."""

    def __init__(
        self,
        target: FuzzTarget,
        number: int,
        message: bytes,
        read: list[Decoded],
        theirs: CodecReading,
        refusal: DecodeError | None = None,
    ) -> None:
        self.target, self.number, self.message = target, number, message
        self.read, self.theirs, self.refusal = read, theirs, refusal

    @cached_property
    def release(self) -> tuple[int, ...]:
        """The version of zenoh-codec as numbers; empty for other codecs."""
        who = self.target.identity
        return tuple(map(int, re.findall(r"\d+", who.version))) if who.name == "zenoh-codec" else ()

    @cached_property
    def remarks(self) -> list[Diagnostic]:
        """Our remarks, including those before a refusal."""
        return (
            inputs.remarks(self.number, self.message)
            if self.refusal
            else [d for one in self.read for d in one.diagnostics]
        )

    @cached_property
    def theirs_told(self) -> Any:
        """Their meaning in comparable form; None if the codec reports none."""
        means = self.target.means(self.number, self.message)
        return None if means is None else told(means)

    def ours_told(self, messages: list[Any]) -> Any:
        """Return our meaning in the same form."""
        return told(_meaning(self.number, messages))

    @property
    def means(self) -> dict[str, Any]:
        """Our meaning, as a codec is asked to encode it."""
        return _meaning(self.number, [one.message for one in self.read])

    def place_in(self, wanted: Any) -> tuple[Place | None, list[str]]:
        """Return the first place where a meaning in comparable form differs from ours, with both values, and the rules needed.

        The rules of `tolerances` rewrite our messages until the meanings agree; the place is then None, as it is for no meaning.
        """
        messages = [one.message for one in self.read]
        needed: list[str] = []
        if wanted is None or self._agrees(messages, wanted):
            return None, needed
        for rule in REWRITES.values():
            changed = messages if self.number == inputs.VLE else [rule.rewrite(each, self) for each in messages]
            if changed != messages:
                messages = changed
                needed.append(rule.id)
                if self._agrees(messages, wanted):
                    return None, needed
        return next(parts(reduce_to(self.ours_told(messages), wanted), wanted, ""), ("meaning", "ours", "theirs")), []

    def _agrees(self, messages: list[Any], wanted: Any) -> bool:
        return bool(reduce_to(self.ours_told(messages), wanted) == wanted)

    def alone(self, at: int) -> Difference:
        """Return the difference on the network message at `at` alone."""
        message = self.message[at:]
        try:
            read, size = inputs.messages(1, message)
        except DecodeError as refusal:
            return Difference(self.target, 1, message, [], self.target.ask(1, message), refusal)
        return Difference(self.target, 1, message[:size], read, self.target.ask(1, message[:size]))

    def explaining_rule(self, rule: str) -> str:
        """Return the rule of `tolerances` that explains a difference in the property `rule`, or an empty string."""
        return next((each.id for each in VERDICTS.values() if rule in each.promises and each.explains(self)), "")


def _meaning(number: int, messages: list[Any]) -> dict[str, Any]:
    if number == inputs.VLE:
        return {"Vle": {"value": messages[0] if messages[0] < 1 << 53 else str(messages[0])}}
    means = [to_json(message) for message in messages]
    return means[0] if number < inputs.BATCH else {"Batch": {"messages": means}}


def refusal_kind(refusal: DecodeError) -> str:
    """Return the identity of a refusal: its path and its reason, without numbers."""
    return f"{without_numbers(refusal.path)}: {without_numbers(refusal.why)}"


@cache
def text_fields() -> frozenset[str]:
    """Return the names of fields that hold text."""
    declared = [registry.of(cls) for cls in (*registry.MESSAGES, *registry.EXTENSIONS)]
    named = {field.name for one in declared for field in one.fields if isinstance(field.wire, Blob) and field.wire.text}
    return frozenset(named | {"suffix"})


def length_kind(refusal: DecodeError | None, plain: bool) -> str:
    """Return the kind of length that a codec trusted: of text, bytes or a list; and the kind of reader."""
    if refusal is None:  # it reads on in another place than we do
        return f"the length of bytes{', read from a plain run of bytes' if plain else ''}"
    steps = refusal.path.split(".")
    if (
        "[" in steps[-1]
        or (len(steps) > 1 and "[" in steps[-2] and steps[-2].startswith("locators"))
        or steps[-1] == "count"
    ):
        return "the count of a list"
    name = steps[-2] if steps[-1] in ("length", "bytes") and len(steps) > 1 else steps[-1]
    if name in text_fields():
        return "the length of a text"
    return f"the length of bytes{', read from a plain run of bytes' if plain else ''}"
