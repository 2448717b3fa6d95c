"""`zconform replay`: replay one script against one target and explain the conversation."""

from __future__ import annotations

from pathlib import Path
from threading import Event, Lock

import click

from zenoh_conformance.cases.case import Case
from zenoh_conformance.judging.verdict import Exit, Judgement, Key, Verdict, exit_code
from zenoh_conformance.reading.conversation import Conversation
from zenoh_harness.commands import _completing as completing
from zenoh_harness.commands._options import FILE, seed_option
from zenoh_harness.commands.explain import print_explained
from zenoh_harness.console import Shell, plain, shell_options
from zenoh_harness.errors import UsageError, nearest
from zenoh_harness.files import conversations, scripts
from zenoh_harness.files.evidence import slug, with_embargo_mark
from zenoh_harness.files.explained import explain_conversation
from zenoh_harness.files.known import ListedDeviation
from zenoh_harness.files.writable import check_files
from zenoh_harness.run.attempt.attempt import Conditions
from zenoh_harness.run.group import Group
from zenoh_harness.run.judge.decide import Decision, level_of
from zenoh_harness.run.judge.law_results import LawResults
from zenoh_harness.run.node.facts import ability
from zenoh_harness.run.node.lifecycle import Lifecycle
from zenoh_harness.run.plan.plan import Item
from zenoh_harness.run.records import link_of
from zenoh_harness.run.runner import known_for, reaches
from zenoh_harness.run.store import embargo
from zenoh_harness.scripting.binder import case_of, is_here
from zenoh_harness.scripting.free import differences
from zenoh_harness.scripting.shipped import shipped_scripts
from zenoh_harness.targets.catalogue import find
from zenoh_harness.targets.target import NodeTarget, open_target


@click.command()
@click.argument("script", shell_complete=completing.scripts)
@click.argument("target", default="wheel", shell_complete=completing.targets)
@seed_option
@click.option(
    "--against",
    metavar="TARGET",
    shell_complete=completing.targets,
    help="Replay against this target too, and print where the two differ.",
)
@click.option("--save", type=FILE, help="Write the conversation to this file.")
@shell_options()
def command(shell: Shell, script: str, target: str, seed: int, against: str | None, save: Path | None) -> int:
    """Replay a script against a target.

    Prints the explained conversation and a verdict, and checks the target's health afterwards.

    \b
    Example:  zconform replay zconform-results/evidence/x.script wheel:1.10.2
              zconform replay link-state-that-cannot-be-read wheel:1.0.4     (a shipped script)
    Exit codes: 0 the target behaves as required, 1 it deviates, ends or is a zombie, 2 usage, 3 it cannot be reached.
    """
    check_files(save)
    case = load(script, shell)
    node, other = node_for(case, target), node_for(case, against) if against is not None else None
    decision = perform(case, node, seed, shell)
    if save is not None and decision.conversation is not None:
        secret = embargo.kept_back(Path(script), decision.conversation)
        conversations.write(with_embargo_mark(decision.conversation) if secret else decision.conversation, save)
    listed = known_for(node.identity.name, kind=node.identity.kind, nodes=[node.role]).excuse(
        _judgement(decision, node, case)
    )
    if other is not None:
        return _compare(shell, decision, perform(case, other, seed, shell))
    shell.answer(lambda: _as_json(decision, node), lambda: _show(shell, decision, node, listed))
    return int(exit_code([Verdict.KNOWN if listed else decision.verdict]))


def _compare(shell: Shell, one: Decision, other: Decision) -> int:
    """Print where two conversations differ, apart from values that each node may choose; exit code 1 if they do."""
    parted = differences(one.conversation or Conversation(), other.conversation or Conversation())
    same = ["no difference, apart from values that each node may choose"]
    shell.show({"same": not parted, "differences": parted}, parted or same)
    return int(Exit.NOT_CONFORMING if parted else Exit.CONFORMING)


def load(script: str, shell: Shell | None = None) -> Case:
    """Read a script from a file, or a shipped script by its name. Raises UsageError."""
    path = Path(script)
    if not path.exists() and script.removeprefix("scripts/") in shipped_scripts():
        path = shipped_scripts()[script.removeprefix("scripts/")]
    if not path.exists():
        raise UsageError(
            f"no script {script!r}: neither a file nor a shipped script", hint=nearest(script, shipped_scripts())
        )
    found = scripts.read(path)
    check = found.header.get("check", "")
    if shell is not None and not is_here(check):
        shell.note(f"this version has no check {check}: the steps are replayed without it")
    return case_of(found, f"scripts/{slug(path.stem)}")


def node_for(case: Case, target: str) -> NodeTarget:
    """Return the target in the script's role. Raises UsageError if the target does not have that role."""
    for reach in reaches(find(target)):
        node = open_target(reach)
        if node.side is case.role:
            return node
    raise UsageError(f"the script is for a target in the role {case.role.value}, which {target} does not have")


def perform(case: Case, node: NodeTarget, seed: int = 0, shell: Shell | None = None) -> Decision:
    """Run the script as a case: again if it is red, and charge it if the target ends twice."""
    lifecycle = Lifecycle(node, case.profile, told=shell.detail if shell else lambda _text: None)
    stop, agent = Event(), Lock()

    def conditions() -> Conditions:
        facts = ability(node, lifecycle.node, None).facts
        return Conditions(node=lifecycle.node, facts=facts, seed=seed, stop=stop, agent=agent)

    try:
        lifecycle.begin()
        return next(Group(lifecycle, conditions, 1, LawResults()).run([Item(case, {})]))
    finally:
        stop.set()
        lifecycle.stop()


def _judgement(decision: Decision, node: NodeTarget, case: Case) -> Judgement:
    key = Key(
        target=node.reach.reported_name(node.identity.name),
        version=node.identity.version,
        role=node.side.value,
        profile=case.profile,
        link=link_of(node),
        requirement=case.requirement,
        check=case.id,
    )
    return Judgement(key=key, level=level_of(case.requirement), verdict=decision.verdict, cause=decision.cause)


def _as_json(decision: Decision, node: NodeTarget) -> dict[str, object]:
    explained = (
        [part.as_json() for part in explain_conversation(decision.conversation)] if decision.conversation else []
    )
    return {
        "target": {"name": node.reach.reported_name(node.identity.name), "version": node.identity.version},
        "verdict": decision.verdict.value,
        "cause": decision.cause,
        "end": decision.end,
        "attempts": decision.attempts,
        "conversation": explained,
    }


def _show(shell: Shell, decision: Decision, node: NodeTarget, listed: ListedDeviation | None) -> None:
    if decision.conversation is not None:
        for one in explain_conversation(decision.conversation):
            print_explained(shell, one)
    style = "bold green" if decision.verdict.value == "pass" else "bold red"
    who = f"{node.reach.reported_name(node.identity.name)} {node.identity.version}".strip()
    shell.out.print(f"\n{who}: {decision.verdict.value}", style=style)
    if decision.cause:
        shell.out.print(f"  {plain(decision.cause)}", soft_wrap=True)
    if listed is not None:
        shell.out.print(f"  known deviation: {plain(listed.reason)}", soft_wrap=True)
    if decision.attempts > 1:
        shell.out.print(f"  {decision.attempts} attempts; the last ran alone, on a healthy target")
