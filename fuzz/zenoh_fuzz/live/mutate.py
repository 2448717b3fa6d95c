"""Mutations of live inputs: edits of sequences, of time and repetition, and those of segments that codec campaigns have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Final

from zenoh_conformance.wire import Layer
from zenoh_fuzz.mutators import EDITS, splice
from zenoh_fuzz.mutators.edits import DoesNotFitError
from zenoh_fuzz.mutators.generate import a_message

from . import small
from .acts import LIVE, STAGES, Act, Input, is_lawful, join_batches, trace_batch

LINKS: Final = ("a", "b", "c")
"""The links of an input."""
TIMES: Final = (2, 3, 10, 100)
"""How often an act may be repeated."""
PAUSES: Final = (0.01, 0.1)
"""The seconds of a wait."""
LARGEST: Final = 60_000
"""Most bytes of a batch."""
MOST: Final = 24
"""Most acts of an input."""

LiveEdit = Callable[[Input, Random, Sequence[Input]], Input]
"""An edit; it gets the other inputs of the corpus, too. Raises DoesNotFitError."""


def _at(made: Input, random: Random) -> int:
    """Return the place of an act that sends something."""
    found = [at for at, act in enumerate(made) if act.segments]
    if not found:
        raise DoesNotFitError
    return random.choice(found)


def _with(made: Input, at: int, *acts: Act) -> Input:
    return (*made[:at], *acts, *made[at + 1 :])


def drop(made: Input, random: Random, _others: Sequence[Input]) -> Input:
    """Leave out one act."""
    if len(made) < 2:
        raise DoesNotFitError
    return _with(made, random.randrange(len(made)))


def repeat(made: Input, random: Random, _others: Sequence[Input]) -> Input:
    """Send one act several times."""
    at = _at(made, random)
    return _with(made, at, replace(made[at], times=random.choice(TIMES)))


def swap(made: Input, random: Random, _others: Sequence[Input]) -> Input:
    """Exchange two acts."""
    if len(made) < 2:
        raise DoesNotFitError
    first, second = random.sample(range(len(made)), 2)
    acts = list(made)
    acts[first], acts[second] = acts[second], acts[first]
    return tuple(acts)


def add(made: Input, random: Random, _others: Sequence[Input]) -> Input:
    """Insert a correct message."""
    at = random.randint(0, len(made))
    return (*made[:at], Act(link=_link(made, random), segments=random.choice(small.words())), *made[at:])


def generate(made: Input, random: Random, _others: Sequence[Input]) -> Input:
    """Insert a message that is made from the declarations."""
    layer = random.choice((Layer.NETWORK, Layer.NETWORK, Layer.TRANSPORT))
    batch = a_message(layer, random)
    segments = trace_batch(batch) if layer is Layer.TRANSPORT else trace_batch(b"\x25\x00" + batch)
    at = random.randint(0, len(made))
    return (*made[:at], Act(link=_link(made, random), segments=segments), *made[at:])


def cross(made: Input, random: Random, others: Sequence[Input]) -> Input:
    """Put a part of another input behind, into, or in turn with this one, on the same or on other links."""
    if not others:
        raise DoesNotFitError
    other = random.choice(others)
    if random.random() < 0.5:
        shift = {link: LINKS[(at + 1) % len(LINKS)] for at, link in enumerate(LINKS)}
        other = tuple(replace(act, link=shift.get(act.link, act.link)) for act in other)
    if random.random() < 0.5:
        at = random.randint(0, len(made))
        return (*made[:at], *other, *made[at:])
    pairs = zip(made, other, strict=False)
    both = tuple(act for pair in pairs for act in pair)
    return both + made[len(both) // 2 :] + other[len(both) // 2 :]


def move(made: Input, random: Random, _others: Sequence[Input]) -> Input:
    """Send one act on another link."""
    at = _at(made, random)
    return _with(made, at, replace(made[at], link=random.choice(LINKS)))


def early(made: Input, random: Random, _others: Sequence[Input]) -> Input:
    """Send one act at another stage of a session."""
    at = _at(made, random)
    return _with(made, at, replace(made[at], stage=random.choice(STAGES)))


def pack(made: Input, random: Random, _others: Sequence[Input]) -> Input:
    """Send two neighbours in one batch."""
    at = _at(made, random)
    if at + 1 >= len(made) or not made[at + 1].segments or made[at].stage != LIVE:
        raise DoesNotFitError
    both = replace(made[at], segments=join_batches(made[at].segments, made[at + 1].segments))
    return (*made[:at], both, *made[at + 2 :])


def wait(made: Input, random: Random, _others: Sequence[Input]) -> Input:
    """Wait between two acts."""
    at = random.randint(0, len(made))
    return (*made[:at], Act(seconds=random.choice(PAUSES)), *made[at:])


def deepen(made: Input, random: Random, _others: Sequence[Input]) -> Input:
    """Repeat the chunk of a key, or a text."""
    at = _at(made, random)
    texts = [one.path for one in made[at].segments if one.path.endswith(small.TEXT)]
    if not texts:
        raise DoesNotFitError
    depth = random.choice(small.DEPTHS)
    data = b"/".join([b"a"] * depth) if random.random() < 0.7 else b"a" * depth
    return _with(made, at, replace(made[at], segments=made[at].segments.replace(random.choice(texts), data)))


def field(made: Input, random: Random, others: Sequence[Input]) -> Input:
    """Edit the segments of one act, as codec campaigns do, or take a part of another input's."""
    at = _at(made, random)
    segments = made[at].segments
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        if others and random.random() < 0.1:
            other = [act for act in random.choice(others) if act.segments]
            segments = splice(segments, other[0].segments, random) if other else segments
        else:
            segments = EDITS[random.choice(_FIELDS)](segments, random)
    return _with(made, at, replace(made[at], segments=segments))


def opaque(made: Input, random: Random, _others: Sequence[Input]) -> Input:
    """Replace a body that another page defines."""
    at = _at(made, random)
    paths = [one.path for one in made[at].segments if small.is_opaque(one)]
    if not paths:
        raise DoesNotFitError
    data = random.choice(small.ODD_BODIES)
    return _with(made, at, replace(made[at], segments=made[at].segments.replace(random.choice(paths), data)))


def _link(made: Input, random: Random) -> str:
    """Return a link of the input in most cases, else any."""
    used = [act.link for act in made if act.segments]
    return random.choice(used) if used and random.random() < 0.8 else random.choice(LINKS)


_FIELDS: Final = tuple(name for name in EDITS if name != "another")
EDITS_OF_INPUTS: Final[Mapping[str, LiveEdit]] = {
    edit.__name__: edit
    for edit in (drop, repeat, swap, add, generate, cross, move, early, pack, wait, deepen, field, opaque)
}
"""The edits by name."""
_WEIGHTS: Final = {"field": 12, "add": 8, "cross": 4, "generate": 4, "opaque": 4, "wait": 1, "deepen": 2, "early": 1}


SANE: Final = ("drop", "repeat", "swap", "add", "cross", "move", "pack")
"""The edits of sequences, which leave each message as it is."""


def mutate(
    made: Input, random: Random, others: Sequence[Input], *, sane: bool = False
) -> tuple[Input, tuple[str, ...]]:
    """Return a changed input, and the names of the edits; equal seeds give equal inputs. `sane`: only their order changes."""
    names = list(SANE if sane else EDITS_OF_INPUTS)
    weights = [_WEIGHTS.get(name, 2) for name in names]
    used: tuple[str, ...] = ()
    for _ in range(random.choice((1, 1, 2, 3, 5))):
        (name,) = random.choices(names, weights)
        try:
            changed = EDITS_OF_INPUTS[name](made, random, others)
        except (DoesNotFitError, LookupError, ValueError):
            continue  # it does not fit this input
        if changed and all(_size(act) <= LARGEST for act in changed) and not (sane and not is_lawful(changed)):
            made, used = changed[:MOST], (*used, name)
    return made, used


def _size(act: Act) -> int:
    return sum(len(one.data) for one in act.segments)
