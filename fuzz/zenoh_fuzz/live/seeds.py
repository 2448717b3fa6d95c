"""Seeds: scripts, recorded conversations, captures and vectors as live inputs; and the corpus of a campaign."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Final

from zenoh_conformance.reading.conversation import Conversation
from zenoh_harness.errors import UsageError
from zenoh_harness.files import captures, conversations, scripts
from zenoh_harness.files.content_types import ContentType, content_type
from zenoh_harness.scripting.recorder import record
from zenoh_harness.scripting.shipped import shipped_scripts

from . import small
from .acts import Act, Input, is_lawful
from .input_scripts import input_of, script_of

MOST: Final = 2000
"""Inputs of a corpus, at most; later ones replace random earlier ones."""
HEAD: Final = 1 << 20
"""Bytes by which the kind of a file is told."""
ACTS: Final = 12
"""Acts of a seed, at most: a longer conversation becomes several seeds."""


def base_seeds() -> Iterator[Input]:
    """Yield the seeds that every campaign has: the messages of the vectors, and correct talk of one application."""
    words = tuple(Act(segments=one) for one in small.words())
    yield from ((act,) for act in words)
    yield words
    yield from (small.in_state("live", segments) for segments in small.messages())


def shipped_seeds() -> Iterator[Input]:
    """Yield what the shipped scripts do: only where they are asked for, since each of them shows a fault."""
    for path in shipped_scripts().values():
        yield from input_of(scripts.read(path))


def seeds_from(place: Path) -> Iterator[Input]:
    """Yield the seeds in a file or below a folder: scripts, conversations, captures. Raises FileFault, UsageError."""
    files = sorted(one for one in place.rglob("*") if one.is_file()) if place.is_dir() else [place]
    found = [each for path in files for each in _of_file(path, alone=path == place)]
    if not found:
        raise UsageError(
            f"{place} holds no seeds", step="fuzz seeds", hint="scripts, conversations, captures, results with evidence"
        )
    yield from (part for made in found for part in _parts(made))


def _of_file(path: Path, *, alone: bool) -> Iterator[Input]:
    """Yield what one file does; of a folder, files of other kinds are passed over."""
    if path.suffix == scripts.SUFFIX:
        yield from input_of(scripts.read(path))
        return
    with path.open("rb") as source:
        kind = content_type(source.read(HEAD).partition(b"\n")[0] + b"\n")
    if kind is ContentType.CAPTURE or (alone and path.suffix in (".pcap", ".pcapng")):
        yield from _of_conversation(captures.read(path).conversation)
    elif kind is ContentType.CONVERSATION or alone:
        yield from _of_conversation(conversations.read(path))


def _of_conversation(conversation: Conversation) -> Iterator[Input]:
    for name, connection in conversation.connections.items():
        one = Conversation(
            connections={name: connection}, events=[event for event in conversation if event.connection == name]
        )
        yield from input_of(record(one))


def _parts(made: Input) -> Iterator[Input]:
    for begin in range(0, len(made), ACTS):
        yield made[begin : begin + ACTS]


class Corpus:
    """The inputs that showed something new, beside the seeds; kept as scripts."""

    def __init__(self, folder: Path, others: Iterable[Path] = ()) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.inputs: list[Input] = [*base_seeds(), *(one for place in others for one in seeds_from(place))]
        self.sane = [made for made in self.inputs if is_lawful(made)]
        """Those that hold correct messages only."""
        self.features: set[str] = set()
        if any(folder.iterdir()):
            self.inputs += seeds_from(folder)

    def choose(self, random: Random) -> Input:
        """Return one input; the later half more often."""
        half = len(self.inputs) // 2 if random.random() < 0.5 else 0
        return random.choice(self.inputs[half:])

    def learn(self, made: Input, features: frozenset[str]) -> bool:
        """Keep an input on which the target did something that it never did before; return whether it did."""
        new = features - self.features
        self.features |= new
        if not new or len(self.inputs) >= MOST:
            return bool(new)
        self.inputs.append(made)
        if is_lawful(made):
            self.sane.append(made)
        keep(self.folder, made)
        return True


def keep(folder: Path, made: Input) -> Path:
    """Write an input as a script into a folder, named by its content. Returns the path."""
    content = scripts.text(script_of([made], {"about": "an input of a live campaign"}))
    path = folder / f"{sha256(content.encode()).hexdigest()[:16]}{scripts.SUFFIX}"
    new = path.with_suffix(f".new-{os.getpid()}")  # a kill in the middle leaves no half of a script
    new.write_text(content, encoding="utf-8")
    new.replace(path)
    return path
