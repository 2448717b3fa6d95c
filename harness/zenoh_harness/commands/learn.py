"""`zconform learn`: the automaton of a target's handshake, or of a query at a router, drawn and compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import click

from zenoh_conformance.conversation import Side
from zenoh_conformance.verdict import Exit
from zenoh_harness.commands import _completing as completing
from zenoh_harness.console import Shell, shell_options
from zenoh_harness.errors import UsageError
from zenoh_harness.files import scripts
from zenoh_harness.files.evidence import slug
from zenoh_harness.files.places import check_folders
from zenoh_harness.links.timing import Deadline
from zenoh_harness.probing.learning import drawing, queries
from zenoh_harness.probing.learning.automaton import Difference, Mealy, deviations, difference, differences, names
from zenoh_harness.probing.learning.learner import MEANING, learn, learn_of, said
from zenoh_harness.run.scenes import Stage
from zenoh_harness.scripting.recorder import record
from zenoh_harness.targets import named
from zenoh_harness.targets.target import NodeInstance, NodeTarget

PATIENCE = 300.0
"""Seconds that the learning of one target may take, before scaling."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is learned: how a target is asked, what it should be, and how a word is said once more for a script."""

    name: str
    requirement: str
    learn: Callable[[Callable[[], Stage]], tuple[Mealy, int]]
    deviations: Callable[[Mealy], list[Difference]]
    names: Callable[[Mealy], dict[int, str]]
    say: Callable[[Stage, tuple[str, ...]], None]


def _say_handshake(stage: Stage, word: tuple[str, ...]) -> None:
    us = stage.dialogue()
    for symbol in word:
        said(us, symbol)


def _say_query(stage: Stage, word: tuple[str, ...]) -> None:
    between = queries.Between(stage)
    for symbol in word:
        between.say(symbol)


SUBJECTS: Mapping[str, Subject] = {
    "handshake": Subject(
        "handshakes", "session-establishment/handshake-messages-in-order", learn,
        lambda machine: deviations(machine, MEANING), lambda machine: names(machine, MEANING), _say_handshake,
    ),
    "query": Subject(
        "queries", "query/query-complete-on-finals",
        lambda stage: learn_of(queries.AskedBetween(stage), queries.SYMBOLS), queries.deviations, queries.names, _say_query,
    ),
}  # fmt: skip
"""By the name that `--of` takes."""


@dataclass(frozen=True, slots=True)
class Learned:
    """What was learned of one target."""

    title: str
    machine: Mealy
    words: int
    deviates: list[Difference]


@click.command()
@click.argument("target", default="wheel", shell_complete=completing.targets)
@click.argument("other", required=False, shell_complete=completing.targets)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default="zconform-learned", show_default=True)
@click.option(
    "--of", "of", type=click.Choice(list(SUBJECTS)), default="handshake", show_default=True, help="What is learned."
)
@click.option("--seed", type=int, default=0, show_default=True, help="What is drawn, is drawn from this.")
@shell_options()
def command(shell: Shell, target: str, other: str | None, out: Path, of: str, seed: int) -> int:
    """Learn the automaton of TARGET's handshake, compare it with our table and with that of OTHER, and draw it.

    With --of query: that of a query which TARGET routes between two sessions of ours.

    \b
    Example:  zconform learn wheel:1.10.2 wheel:1.0.4
              zconform learn --of query wheel:1.10.2
    Pictures (Mermaid, dot, SVG) go to --out, and so do one of where two targets differ, and the shortest conversation that
    tells them apart, as a script. Exit code 1 when a target does what the table does not list.
    """
    for each in filter(None, (target, other)):
        _responder(each)
    check_folders(out)
    out.mkdir(parents=True, exist_ok=True)
    subject = SUBJECTS[of]
    found = [_one(shell, each, out, seed, subject) for each in (target, other) if each]
    apart = difference(found[0].machine, found[1].machine) if len(found) > 1 else None
    if apart is not None:
        name = f"{slug(target)}-or-{slug(str(other))}"
        _script(target, apart, out / f"{name}.script", seed, subject)
        (out / f"{name}.svg").write_text(side_by_side(found[0], found[1], subject), encoding="utf-8")
    if shell.as_json:
        shell.print_json({"targets": [_as_json(each) for each in found], "difference": _shown(apart)})
    elif len(found) > 1:
        _tell_difference(shell, found, apart, subject)
    return int(Exit.NOT_CONFORMING if any(each.deviates for each in found) else Exit.CONFORMING)


def _one(shell: Shell, target: str, out: Path, seed: int, subject: Subject) -> Learned:
    with _stages(target, seed, subject) as (stage, title):
        machine, words = subject.learn(stage)
    found = Learned(title, machine, words, subject.deviations(machine))
    shown = subject.names(machine)
    for suffix, text in (
        ("mmd", drawing.mermaid(machine, shown)),
        ("dot", drawing.dot(machine, shown)),
        ("svg", drawing.svg(machine, shown, title)),
    ):
        (out / f"{slug(target)}.{suffix}").write_text(text, encoding="utf-8")
    for number, each in enumerate(found.deviates[:3], 1):
        _script(target, each, out / f"{slug(target)}-deviates-{number}.script", seed, subject)
    if not shell.as_json:
        shell.out.print(f"{title}: {len(machine.states)} states, {words} conversations, drawn in {out}", soft_wrap=True)
        for each in found.deviates:
            shell.out.print(
                f"  deviates  {_words(each.word)}: {each.one}, where the table has {each.other}", soft_wrap=True
            )
        if not found.deviates:
            shell.out.print("  does what the table lists, and nothing else")
    return found


def side_by_side(one: Learned, other: Learned, subject: Subject = SUBJECTS["handshake"]) -> str:
    """The picture of the one, and in red where the other differs."""
    title = f"{one.title}, and in red where {other.title} differs"
    apart = differences(one.machine, other.machine)
    return drawing.svg(one.machine, subject.names(one.machine), title, apart, other.title)


@contextmanager
def _stages(target: str, seed: int, subject: Subject) -> Iterator[tuple[Callable[[], Stage], str]]:
    """New stages on a started target, and its name; they share one deadline."""
    opened = _responder(target)
    with opened.start() as node:
        yield _numbered(node, seed, subject), f"{opened.identity.name} {opened.identity.version}".strip()


def _responder(target: str) -> NodeTarget:
    """The target, not started. Raises UsageError for one that is not there, or connects to us."""
    opened = named.node(target)
    if opened.side is not Side.RESPONDER:
        raise UsageError(f"{target} connects to us: only who listens is learned", hint="leave role= out")
    return opened


def _numbered(node: Any, seed: int, subject: Subject) -> Callable[[], Stage]:
    numbers, deadline = count(), Deadline.after(PATIENCE)
    instance: NodeInstance = node

    def fresh() -> Stage:
        label = f"learn {next(numbers)}"
        return Stage(instance, requirement=subject.requirement, label=label, seed=seed, deadline=deadline)

    return fresh


def _script(target: str, apart: Difference, path: Path, seed: int, subject: Subject) -> None:
    """Say the word once more, and write down what is said as a script."""
    with _stages(target, seed, subject) as (fresh, _):
        stage = fresh()
        subject.say(stage, apart.word)
        stage.close()
    about = {"about": f"{_words(apart.word)}: {apart.one}, not {apart.other}", "requirement": subject.requirement}
    scripts.write(record(stage.conversation, header=about), path)


def _tell_difference(shell: Shell, found: list[Learned], apart: Difference | None, subject: Subject) -> None:
    if apart is None:
        shell.out.print(f"{found[0].title} and {found[1].title} cannot be told apart by their {subject.name}")
        return
    shell.out.print(f"told apart by  {_words(apart.word)}", soft_wrap=True)
    for each, output in zip(found, (apart.one, apart.other), strict=True):
        shell.out.print(f"    {each.title}: {output}")


def _words(word: tuple[str, ...]) -> str:
    return " . ".join(word)


def _shown(apart: Difference | None) -> dict[str, Any] | None:
    return None if apart is None else {"word": list(apart.word), "one": apart.one, "other": apart.other}


def _as_json(each: Learned) -> dict[str, Any]:
    machine = each.machine
    steps = [
        {"from": state, "said": symbol, "output": output, "to": there}
        for (state, symbol), (output, there) in machine.steps.items()
    ]
    return {
        "target": each.title, "states": len(machine.states), "words": each.words, "steps": steps,
        "deviations": [_shown(one) for one in each.deviates],
        "departures": [_shown(one) for one in each.deviates],  # the name of 0.1
    }  # fmt: skip
