"""The base class of oracles, which judge one input and yield a finding for each property that fails."""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from zenoh_fuzz.inputs.seeds import message_seeds, message_words
from zenoh_fuzz.mutators.systematic import message_inputs
from zenoh_harness.errors import UsageError, unknown

from .finding import CodecAnswer, FuzzFinding, of_exception

if TYPE_CHECKING:
    from zenoh_fuzz.compare.targets import FuzzTarget

LARGEST = 4096
"""Largest input in bytes, unless an oracle sets another limit."""


class Oracle:
    """Judges inputs one by one; each module of `zenoh_fuzz.oracles` holds one as `ORACLE`."""

    name: ClassVar[str]
    promise: ClassVar[str]
    """The property that must hold for every input, in one sentence."""
    wants_targets: ClassVar[bool] = False
    """Whether it compares our codec with others, so that it needs a target."""
    structured: ClassVar[bool] = True
    """Whether inputs are messages after the byte that selects their layer."""
    largest: ClassVar[int] = LARGEST

    def __init__(self, targets: Sequence[FuzzTarget] = ()) -> None:
        self.targets = tuple(targets)
        self.tolerated: Counter[str] = Counter()
        """Number of differences that each rule of tolerance explained."""
        self.behaviour: object = None
        """A short value for the behaviour on the last input, given to the engine as coverage."""
        self.thorough = False
        """Whether to run all checks on every input, as a replay does; otherwise slow checks get a sample."""

    def judge(self, data: bytes) -> Iterable[FuzzFinding]:
        """Yield the findings of an input."""
        raise NotImplementedError

    def rest(self) -> Iterable[FuzzFinding]:
        """Yield findings of earlier inputs whose answers came late."""
        return ()

    def first(self) -> Iterable[bytes]:
        """Yield the inputs of small spaces, which are tried exhaustively before random ones."""
        return message_inputs() if self.structured else ()

    def seeds(self) -> Iterable[bytes]:
        """Yield the initial inputs: the golden vectors, for messages."""
        return message_seeds() if self.structured else ()

    def words(self) -> Iterable[bytes]:
        """Yield strings for the engine's dictionary: headers and edge integers, for messages."""
        return message_words() if self.structured else ()

    def finding(self, rule: str, about: str, why: str, data: bytes, **more: Any) -> FuzzFinding:
        """Return a finding of this oracle."""
        return FuzzFinding(oracle=self.name, rule=rule, about=about, why=why, data=data, **{"subject": "ours", **more})


def judge_input(oracle: Oracle, data: bytes) -> Sequence[FuzzFinding]:
    """Return the findings of an input; an exception of the oracle is a finding too."""
    try:
        return tuple(oracle.judge(data))
    except Exception as fault:  # noqa: BLE001  any exception is a finding
        return (of_exception(oracle.name, fault, data),)


def names() -> list[str]:
    """Return the names of all oracles."""
    from . import oracles

    return sorted(module.name for module in pkgutil.iter_modules(oracles.__path__))


def kind_of(name: str) -> type[Oracle]:
    """Return the class of an oracle by its name, or by the full name of its module. Raises UsageError."""
    if "." not in name and name not in names():
        raise unknown("oracle", name, names(), step="fuzz codec")
    module = importlib.import_module(name if "." in name else f"zenoh_fuzz.oracles.{name}")
    kind: type[Oracle] = module.ORACLE
    return kind


def make_oracle(name: str, targets: Sequence[FuzzTarget] = ()) -> Oracle:
    """Return the oracle of that name. Raises UsageError for an unknown one, or one that lacks a target."""
    kind = kind_of(name)
    if kind.wants_targets and not targets:
        raise UsageError(
            f"the oracle {name} compares codecs and needs a target besides ours",
            step="fuzz codec",
            hint="--target lib:zenoh-codec@1.10.2, or lib: and stdio: with a codec of yours",
        )
    return kind(targets)


def oracle_without_targets(name: str) -> Oracle:
    """Return an oracle without targets, for its seeds, words and limits."""
    return kind_of(name)(())


__all__ = [
    "CodecAnswer",
    "FuzzFinding",
    "Oracle",
    "judge_input",
    "kind_of",
    "make_oracle",
    "names",
    "oracle_without_targets",
]
