"""The work of `zconform learn`: learn automata, compare them, draw them and write scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from zenoh_conformance.judging.verdict import Exit
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.console import Shell
from zenoh_harness.errors import UsageError
from zenoh_harness.files import scripts
from zenoh_harness.files.evidence import slug
from zenoh_harness.files.writable import check_folders
from zenoh_harness.links.timing import Deadline
from zenoh_harness.probing.learning import drawing, queries
from zenoh_harness.probing.learning.automaton import (
    Divergence,
    Mealy,
    deviations,
    divergent_steps,
    first_divergence,
    names,
)
from zenoh_harness.probing.learning.learner import MEANING, learn, learn_system, say
from zenoh_harness.run.attempt.scenes import Stage
from zenoh_harness.scripting.recorder import record
from zenoh_harness.targets import lookup
from zenoh_harness.targets.target import NodeInstance, NodeTarget

PATIENCE = 300.0
"""Time limit for learning one target, in seconds before scaling."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A thing to learn: how to learn it, what to compare it with, and how to repeat a word for a script."""

    name: str
    requirement: str
    learn: Callable[[Callable[[], Stage]], tuple[Mealy, int]]
    deviations: Callable[[Mealy], list[Divergence]]
    names: Callable[[Mealy], dict[int, str]]
    say: Callable[[Stage, tuple[str, ...]], None]


def _say_handshake(stage: Stage, word: tuple[str, ...]) -> None:
    us = stage.dialogue()
    for symbol in word:
        say(us, symbol)


def _say_query(stage: Stage, word: tuple[str, ...]) -> None:
    between = queries.QueryRoute(stage)
    for symbol in word:
        between.say(symbol)


SUBJECTS: Mapping[str, Subject] = {
    "handshake": Subject(
        "handshakes",
        "session-establishment/handshake-messages-in-order",
        learn,
        lambda machine: deviations(machine, MEANING),
        lambda machine: names(machine, MEANING),
        _say_handshake,
    ),
    "query": Subject(
        "queries",
        "query/query-complete-on-finals",
        lambda stage: learn_system(queries.query_system(stage), queries.SYMBOLS),
        queries.deviations,
        queries.names,
        _say_query,
    ),
}
"""By the value of `--of`."""


@dataclass(frozen=True, slots=True)
class LearnedTarget:
    """The automaton of one target."""

    title: str
    machine: Mealy
    words: int
    deviates: list[Divergence]


def run(shell: Shell, target: str, other: str | None, out: Path, of: str, seed: int) -> int:
    """Learn one or two targets, write drawings and scripts, print the differences; return the exit code."""
    reached = [name for name in (target, other) if name]
    for name in reached:
        _responder(name)
    check_folders(out)
    out.mkdir(parents=True, exist_ok=True)
    subject = SUBJECTS[of]
    learned = [_learn_target(shell, name, out, seed, subject) for name in reached]
    apart = first_divergence(learned[0].machine, learned[1].machine) if other else None
    if apart is not None:
        name = f"{slug(target)}-or-{slug(str(other))}"
        _script(target, apart, out / f"{name}.script", seed, subject)
        (out / f"{name}.svg").write_text(side_by_side(learned[0], learned[1], subject), encoding="utf-8")
    shell.answer(
        lambda: {"targets": [_as_json(each) for each in learned], "difference": _difference_json(apart)},
        lambda: _print_difference(shell, learned, apart, subject) if other else None,
    )
    return int(Exit.NOT_CONFORMING if any(each.deviates for each in learned) else Exit.CONFORMING)


def _learn_target(shell: Shell, target: str, out: Path, seed: int, subject: Subject) -> LearnedTarget:
    with _stages(target, seed, subject) as (stage, title):
        machine, words = subject.learn(stage)
    found = LearnedTarget(title, machine, words, subject.deviations(machine))
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
            shell.out.print(f"  deviates  {_words(each.word)}: {each.one}; the table has {each.other}", soft_wrap=True)
        if not found.deviates:
            shell.out.print("  the same as the table")
    return found


def side_by_side(one: LearnedTarget, other: LearnedTarget, subject: Subject = SUBJECTS["handshake"]) -> str:
    """Draw the first automaton, with the differences of the second in red."""
    title = f"{one.title}; in red the differences of {other.title}"
    apart = divergent_steps(one.machine, other.machine)
    return drawing.svg(one.machine, subject.names(one.machine), title, apart, other.title)


@contextmanager
def _stages(target: str, seed: int, subject: Subject) -> Iterator[tuple[Callable[[], Stage], str]]:
    """Start the target; yield a function that makes new stages on it, and its name. The stages share one deadline."""
    opened = _responder(target)
    with opened.start() as node:
        yield _stage_factory(node, seed, subject), f"{opened.identity.name} {opened.identity.version}".strip()


def _responder(target: str) -> NodeTarget:
    """Return the target, not started. Raises UsageError if it does not exist, or is an initiator."""
    opened = lookup.open_checked(target)
    if opened.side is not Side.RESPONDER:
        raise UsageError(f"{target} is an initiator, and only responders can be learned", hint="leave role= out")
    return opened


def _stage_factory(node: Any, seed: int, subject: Subject) -> Callable[[], Stage]:
    numbers, deadline = count(), Deadline.after(PATIENCE)
    instance: NodeInstance = node

    def fresh() -> Stage:
        label = f"learn {next(numbers)}"
        return Stage(instance, requirement=subject.requirement, label=label, seed=seed, deadline=deadline)

    return fresh


def _script(target: str, apart: Divergence, path: Path, seed: int, subject: Subject) -> None:
    """Repeat the word and record the conversation as a script."""
    with _stages(target, seed, subject) as (fresh, _):
        stage = fresh()
        subject.say(stage, apart.word)
        stage.close()
    about = {"about": f"{_words(apart.word)}: {apart.one}, not {apart.other}", "requirement": subject.requirement}
    scripts.write(record(stage.conversation, header=about), path)


def _print_difference(shell: Shell, found: list[LearnedTarget], apart: Divergence | None, subject: Subject) -> None:
    if apart is None:
        shell.out.print(f"{found[0].title} and {found[1].title} have the same {subject.name}")
        return
    shell.out.print(f"they differ after  {_words(apart.word)}", soft_wrap=True)
    for each, output in zip(found, (apart.one, apart.other), strict=True):
        shell.out.print(f"    {each.title}: {output}")


def _words(word: tuple[str, ...]) -> str:
    return " . ".join(word)


def _difference_json(apart: Divergence | None) -> dict[str, Any] | None:
    return None if apart is None else {"word": list(apart.word), "one": apart.one, "other": apart.other}


def _as_json(each: LearnedTarget) -> dict[str, Any]:
    machine = each.machine
    steps = [
        {"from": state, "said": symbol, "output": output, "to": there}
        for (state, symbol), (output, there) in machine.steps.items()
    ]
    return {
        "target": each.title,
        "states": len(machine.states),
        "words": each.words,
        "steps": steps,
        "deviations": [_difference_json(one) for one in each.deviates],
        "departures": [_difference_json(one) for one in each.deviates],  # the name of 0.1
    }
