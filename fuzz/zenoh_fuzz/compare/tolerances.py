"""Named rules that allow two codecs to differ; each has a reason and an erratum, and is counted.

A *rewrite* turns our message into the other codec's, and allows only that reading. A *verdict* rule allows that only one codec
accepts, or stops elsewhere. A difference without a rule is a finding.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass
from types import UnionType
from typing import TYPE_CHECKING, Any, Final

from zenoh_conformance import messages as m
from zenoh_conformance.messages import QueryableInfo, WireExprExt, data
from zenoh_conformance.messages import open as open_
from zenoh_conformance.messages.query import BodyShm
from zenoh_conformance.primitives import Encoding
from zenoh_conformance.wire import Exts, Many, Messages, Vle, WireType, registry
from zenoh_harness.foreign.confirm.codec import SINCE

if TYPE_CHECKING:
    from .differences import Difference

Rewriting = Callable[[Any, "Difference"], Any]


@dataclass(frozen=True, slots=True)
class RewriteRule:
    """Another valid reading of the same bytes."""

    id: str
    reason: str
    erratum: str
    """Its id in `errata.toml`; empty if the other codec's own form is the reason."""
    rewrite: Rewriting


@dataclass(frozen=True, slots=True)
class VerdictRule:
    """A case in which one of two codecs may refuse, or use fewer bytes."""

    id: str
    reason: str
    erratum: str
    promises: frozenset[str]
    explains: Callable[[Difference], bool]


@dataclass(frozen=True, slots=True)
class KeyRule:
    """A key expression that another codec does not make canonical."""

    id: str
    reason: str
    erratum: str
    keys: re.Pattern[bytes]
    """Matches the bytes of such keys."""


REWRITES: Final[dict[str, RewriteRule]] = {}
VERDICTS: Final[dict[str, VerdictRule]] = {}

REFUSE, ACCEPT, USE, READERS, WRITES = (
    "refuse-alike",
    "accept-alike",
    "use-as-many-bytes",
    "all-readers-of-one-codec-agree",
    "what-it-writes-it-reads",
)


def rewrite(name: str, reason: str, erratum: str = "") -> Callable[[Rewriting], Rewriting]:
    """Declare a rewrite."""

    def declare(function: Rewriting) -> Rewriting:
        REWRITES[name] = RewriteRule(name, reason, erratum, function)
        return function

    return declare


def verdict(
    name: str, reason: str, *promises: str, erratum: str = ""
) -> Callable[[Callable[[Difference], bool]], Callable[[Difference], bool]]:
    """Declare a verdict rule."""

    def declare(function: Callable[[Difference], bool]) -> Callable[[Difference], bool]:
        VERDICTS[name] = VerdictRule(name, reason, erratum, frozenset(promises), function)
        return function

    return declare


def change_values(
    value: Any,
    change: Callable[[Any, WireType | None], Any],
    wire: WireType | None = None,
    *,
    but: tuple[type, ...] = (),
) -> Any:
    """Apply `change` to each value in a message, from the inside out; instances of `but` stay as they are."""
    if isinstance(value, but):
        return value
    if isinstance(value, tuple) and isinstance(wire, Many | Messages):
        inner = wire.item if isinstance(wire, Many) else None
        value = tuple(change_values(each, change, inner, but=but) for each in value)
    elif registry.is_declared(type(value)):
        declared = registry.of(type(value))
        text = {
            field.name: change_values(getattr(value, field.name), change, field.wire, but=but)
            for field in declared.fields
            if field.wire and getattr(value, field.name) is not None
        }
        if declared.extensions is not None:
            text["exts"] = Exts(
                changed for each in value.exts if (changed := change_values(each, change, but=but)) is not None
            )
        value = dataclasses.replace(value, **text) if text else value
    return change(value, wire)


def rewrite_each(
    name: str, reason: str, erratum: str, *, kind: type[Any] | UnionType, change: Callable[[Any], Any]
) -> None:
    """Declare a rewrite of each value of a class, wherever it is in a message."""
    rewrite(name, reason, erratum)(
        lambda message, _: change_values(message, lambda value, _: change(value) if isinstance(value, kind) else value)
    )


# --- other readings ---------------------------------------------------------------------------------------------------


@rewrite(
    "integers-cut-to-their-width",
    "an integer beyond its type is kept whole by ours, and loses its high bits elsewhere",
    "value-beyond-type-range",
)
def _cut(message: Any, _: Difference) -> Any:
    def change(value: Any, wire: WireType | None) -> Any:
        return value & (1 << wire.bits) - 1 if isinstance(wire, Vle) and wire.cut and isinstance(value, int) else value

    # the codec keeps this one whole; only the transport behind it takes eight bits of it
    return change_values(message, change, but=(open_.RemoteBound,))


rewrite_each(
    "encoding-cut-to-16-bits",
    "an encoding's id beyond 16 bits loses its high bits",
    "encoding-registry",
    kind=Encoding,
    change=lambda value: Encoding(value.id & 0xFFFF, value.schema),
)


@rewrite(
    "resolution-of-six-bits", "a reader drops the two highest bits of the resolution", "resolution-reserved-ignored"
)
def _resolution(message: Any, _: Difference) -> Any:
    states = isinstance(message, m.Init | m.Join) and message.resolution is not None
    return dataclasses.replace(message, resolution=message.resolution & 0x3F) if states else message


rewrite_each(
    "unknown-consolidation-is-auto",
    "an unknown consolidation mode is taken for Auto",
    "consolidation-vle",
    kind=m.Query | m.Reply,
    change=lambda value: dataclasses.replace(value, consolidation=0) if (value.consolidation or 0) > 3 else value,
)
rewrite_each(
    "queryable-info-has-two-fields",
    "structs hold bit 0 and bits 8 to 23 of QueryableInfo",
    "queryable-info-bits",
    kind=QueryableInfo,
    change=lambda value: QueryableInfo(value=value.value & 0xFFFF01),
)
rewrite_each(
    "wire-expr-flags-of-two-bits",
    "of the flags of an undeclaration's key two bits are read",
    "wire-expr-ext-suffix",
    kind=WireExprExt,
    change=lambda value: dataclasses.replace(value, flags=value.flags & 3),
)


@rewrite("newer-extension-skipped", "a release that is older than an extension skips it")
def _since(message: Any, difference: Difference) -> Any:
    newer = {name for name, since in SINCE.items() if difference.release and difference.release < since}
    if not newer:
        return message

    def change(value: Any, wire: WireType | None) -> Any:
        known = registry.is_declared(type(value)) and registry.of(type(value))
        return None if known and known.kind == "extension" and known.path in newer else value

    return change_values(message, change)


# --- other verdicts ---------------------------------------------------------------------------------------------------

LENGTH_IGNORED: Final = re.compile(
    r"\.exts\.(timestamp|responder_id|source_info|ts_stack)\b|^join\.exts\.qos\b|\.join\.exts\.qos\b"
)
"""Paths inside extensions that zenoh-rust reads without regard to their stated length."""


@verdict(
    "extension-read-straight-on",
    "some extensions of a struct are read on beyond the length that they state, or before it",
    REFUSE,
    ACCEPT,
    USE,
    "mean-the-same",
    erratum="extension-length-ignored",
)
def _straight_on(difference: Difference) -> bool:
    if difference.refusal is not None and LENGTH_IGNORED.search(difference.refusal.path):
        return True
    return any(each.kind == "non-canonical" and LENGTH_IGNORED.search(each.path) for each in difference.remarks)


@verdict(
    "frame-ends-where-a-message-breaks",
    "FRAME holds the messages up to the first that cannot be read; what follows is read as another transport message",
    REFUSE,
    erratum="several-messages-per-batch",
)
def _frame(difference: Difference) -> bool:
    refusal = difference.refusal
    return (
        refusal is not None
        and difference.number == 0
        and refusal.path.startswith("frame.messages[")
        and 0 < difference.theirs.size <= refusal.at
    )


@verdict(
    "frame-ends-before-a-marked-message",
    "FRAME ends before a message that is refused by another of these rules",
    USE,
    erratum="several-messages-per-batch",
)
def _frame_before(difference: Difference) -> bool:
    """Whether a known rule explains why the codec refuses, on its own, the message at which it stops."""
    if difference.number != 0 or not isinstance(difference.read[0].message, m.Frame):
        return False
    return difference.alone(difference.theirs.size).explaining_rule(ACCEPT) != ""


@verdict(
    "region-name-unchecked",
    "a region name may be of any size and of any bytes",
    REFUSE,
    erratum="region-name-unchecked",
)
def _region(difference: Difference) -> bool:
    return difference.refusal is not None and difference.refusal.path.endswith("region_name.name")


@verdict(
    "shm-marker-refused",
    "a codec built without shared memory does not know the markers of slices",
    ACCEPT,
    erratum="shm-marker-without-shm",
)
def _marker(difference: Difference) -> bool:
    return any(
        contains_value(one.message, lambda value: isinstance(value, data.Shm | BodyShm)) for one in difference.read
    )


@verdict(
    "locator-has-a-form", "a locator is a protocol, a slash and an address; ours keeps whatever text it is", ACCEPT
)
def _locator(difference: Difference) -> bool:
    shown = [text for one in difference.read if isinstance(one.message, m.Hello) for text in one.message.locators or ()]
    return any(not LOCATOR.fullmatch(text) for text in shown)


LOCATOR: Final = re.compile(r"[^/?#]+/[^?#]+", re.DOTALL)
"""Protocol and address; parameters after a question mark must be in the codec's own order."""


@verdict(
    "key-of-an-undeclaration-not-empty",
    "N with nothing behind the scope is refused",
    ACCEPT,
    erratum="empty-wire-expr-suffix",
)
def _empty(difference: Difference) -> bool:
    return any(
        contains_value(
            one.message, lambda value: isinstance(value, WireExprExt) and value.flags & 1 and not value.suffix
        )
        for one in difference.read
    )


KEYS: Final = (
    KeyRule(
        "part-wildcards-left-in-a-row",
        "of several `$*` in a row behind other characters of a chunk the codec leaves two, and then refuses them",
        "part-wildcards-in-a-row",
        re.compile(rb"[^/$*](\$\*){2}(\$\*|..\$\*)", re.DOTALL),
    ),
)
"""Keys that another codec may refuse although ours makes them canonical."""


def key_refused(text: bytes) -> str:
    """Return the rule that explains why another codec refuses a key, or an empty string."""
    return next((each.id for each in KEYS if each.keys.search(text)), "")


def contains_value(message: Any, wanted: Callable[[Any], Any]) -> bool:
    """Whether a message contains a wanted value."""
    found: list[Any] = []

    def look(value: Any, wire: WireType | None) -> Any:
        found.extend([value] if wanted(value) else [])
        return value

    change_values(message, look)
    return bool(found)
