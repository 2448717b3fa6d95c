"""What an oracle is: it judges one input, and yields a finding for each promise that the input breaks."""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from zenoh_harness.errors import UsageError, unknown

from .finding import Finding, Side, of_exception
from .systematic import message_inputs

if TYPE_CHECKING:
    from .targets import FuzzTarget

LARGEST = 4096
"""Bytes of an input, unless an oracle says otherwise."""


class Oracle:
    """Judges inputs one by one; a module of `zenoh_fuzz.oracles` holds one, under the name `ORACLE`."""

    name: ClassVar[str]
    promise: ClassVar[str]
    """One sentence: what must hold of every input."""
    wants_targets: ClassVar[bool] = False
    """Whether it compares our codec with others, and needs at least one."""
    structured: ClassVar[bool] = True
    """Whether inputs are messages behind the byte that chooses their layer."""
    largest: ClassVar[int] = LARGEST

    def __init__(self, targets: Sequence[FuzzTarget] = ()) -> None:
        self.targets = tuple(targets)
        self.tolerated: Counter[str] = Counter()
        """How often each rule has explained a difference."""
        self.behaviour: object = None
        """What the last input did, in few words: fed to the engine as if it were coverage."""
        self.thorough = False
        """Look at everything in every input, as a replay does; otherwise slow checks see a sample."""

    def judge(self, data: bytes) -> Iterable[Finding]:
        """The promises that this input breaks."""
        raise NotImplementedError

    def rest(self) -> Iterable[Finding]:
        """What is still to be said of earlier inputs, where answers come later."""
        return ()

    def first(self) -> Iterable[bytes]:
        """Small spaces, looked at whole before anything is drawn."""
        return message_inputs() if self.structured else ()

    def seeds(self) -> Iterable[bytes]:
        """Inputs to begin with."""
        raise NotImplementedError

    def words(self) -> Iterable[bytes]:
        """Strings that the engine may put into inputs."""
        return ()

    def found(self, rule: str, about: str, why: str, data: bytes, **more: Any) -> Finding:
        """A finding of this oracle."""
        return Finding(oracle=self.name, rule=rule, about=about, why=why, data=data, **{"subject": "ours", **more})


def judged(oracle: Oracle, data: bytes) -> Sequence[Finding]:
    """What an oracle says of an input; what it lets escape is a finding as well."""
    try:
        return tuple(oracle.judge(data))
    except Exception as fault:  # noqa: BLE001  whatever it is, it is what is looked for
        return (of_exception(oracle.name, fault, data),)


def names() -> list[str]:
    """The names of all oracles."""
    from . import oracles

    return sorted(module.name for module in pkgutil.iter_modules(oracles.__path__))


def kind_of(name: str) -> type[Oracle]:
    """The class of the oracle of that name, or in the module of that full name.  UsageError when there is none."""
    if "." not in name and name not in names():
        raise unknown("oracle", name, names(), step="fuzz codec")
    module = importlib.import_module(name if "." in name else f"zenoh_fuzz.oracles.{name}")
    kind: type[Oracle] = module.ORACLE
    return kind


def made(name: str, targets: Sequence[FuzzTarget] = ()) -> Oracle:
    """The oracle of that name.  UsageError when there is none, or no target for it."""
    kind = kind_of(name)
    if kind.wants_targets and not targets:
        raise UsageError(f"the oracle {name} compares codecs, and there is only ours", step="fuzz codec",
                         hint="--target lib:zenoh-codec@1.10.2, or lib: and stdio: with a codec of yours")  # fmt: skip
    return kind(targets)


def made_for_seeds(name: str) -> Oracle:
    """The oracle without its targets: for its seeds, its words and its limits."""
    return kind_of(name)(())


__all__ = ["Finding", "Oracle", "Side", "judged", "kind_of", "made", "made_for_seeds", "names"]
