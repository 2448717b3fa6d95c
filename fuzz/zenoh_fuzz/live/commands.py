"""`zconform fuzz live` and `zconform fuzz seeds`."""

from __future__ import annotations

import multiprocessing
import os
import re
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from zenoh_conformance.judging.verdict import Exit
from zenoh_harness.commands import _completing as completing
from zenoh_harness.console import Shell, out_option, shell_options
from zenoh_harness.errors import CannotGoOn, UsageError
from zenoh_harness.files import campaigns
from zenoh_harness.files.writable import check_folders

if TYPE_CHECKING:
    from zenoh_fuzz.campaign.record import Outcome

    from .campaign import LiveOrder

OUT: Final = Path("fuzz-out")
UNITS: Final = {"s": 1, "m": 60, "h": 3600}


def seconds_of(text: str) -> float:
    """`20s`, `5m`, `1h` in seconds. Raises UsageError for anything else."""
    found = re.fullmatch(r"(\d+)([smh]?)", text)
    if not found or not int(found[1]):
        raise UsageError(f"{text!r} is not a duration", step="--time", hint="write 20s, 5m or 1h")
    return float(int(found[1]) * UNITS[found[2] or "s"])


@click.command("live")
@click.argument("target", shell_complete=completing.targets)
@click.option("--time", "duration", default="60s", show_default=True, help="Duration of the campaign: 20s, 5m or 1h.")
@click.option("--cpu", is_flag=True, help="Count --time in CPU seconds of each worker and its target.")
@click.option("--inputs", default=0, type=click.IntRange(min=0), help="End each worker after so many inputs.")
@click.option(
    "--jobs", default=1, show_default=True, type=click.IntRange(1, 64), help="Workers, each with a target of its own."
)
@click.option("--seed", default=1, show_default=True, help="Seed of everything random.")
@click.option(
    "--as",
    "role",
    type=click.Choice(("client", "peer", "router")),
    help="What our sessions say they are.  [default: client; router, to a target that connects]",
)
@click.option(
    "--engine",
    type=click.Choice(("guided", "plain")),
    default="guided",
    show_default=True,
    help="Small spaces and a corpus guided by the target's behaviour, or only mutated seeds.",
)
@click.option("--fresh", is_flag=True, help="Give each input sessions of its own, instead of sessions that go on.")
@click.option("--until-found", default=0, type=click.IntRange(min=0), help="End a worker after so many findings.")
@click.option("--resume", is_flag=True, help="Go on with the campaign in the folder, after its end or a kill.")
@click.option(
    "--corpus",
    "corpora",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="Scripts, conversations, captures or folders of them as further seeds; repeatable.",
)
@out_option(OUT, "Folder for the campaigns; this one is in its subfolder live.")
@shell_options()
def live(shell: Shell, target: str, duration: str, out: Path, **options: Any) -> int:
    """Fuzz a whole node in sessions; continue after findings.

    TARGET is started, and started anew after each finding. Inputs are scripts; health, bystanders and the target's output judge it.
    A target that connects to us (`as=initiator`, clients) gets one session after the other.

    \b
    Example:
      zconform fuzz live wheel:1.10.2 --time 10m
    Exit codes: 0 no findings, 1 findings, 2 usage, 3 harness or target failed, 4 no input was run.
    """
    from zenoh_fuzz.campaign.record import lock_folder
    from zenoh_harness.targets.lookup import open_checked

    from . import campaign
    from .triage import ORACLE

    order = campaign.LiveOrder(target=target, folder=out, seconds=seconds_of(duration), **options)
    check_folders(out)
    campaign.check(order)
    identity = open_checked(target).identity
    with lock_folder(out / ORACLE):
        campaign.begin(order, {identity.name: identity.version})
        try:
            outcome = _work(order)
        except (KeyboardInterrupt, CannotGoOn):
            _show(shell, out / ORACLE, _collect(out / ORACLE))
            raise
    _show(shell, out / ORACLE, outcome)
    return int(Exit.NOT_CONFORMING if outcome.findings else Exit.CONFORMING if outcome.inputs else Exit.NOTHING_JUDGED)


def _work(order: LiveOrder) -> Outcome:
    """Run the workers: one in this process, several in processes of their own. Raises CannotGoOn if one of several fails."""
    from . import campaign
    from .triage import ORACLE

    if order.jobs == 1:
        outcome = campaign.LiveWorker(order).run()
    else:
        context = multiprocessing.get_context("spawn")
        workers = [context.Process(target=_worker, args=(order, number)) for number in range(order.jobs)]
        for worker in workers:
            worker.start()
        try:
            for worker in workers:
                worker.join()
        finally:
            for worker in workers:
                worker.terminate()
                worker.join()
        outcome = _collect(order.folder / ORACLE)
        if failed := [worker.name for worker in workers if worker.exitcode]:
            raise CannotGoOn(
                f"{len(failed)} of {order.jobs} workers failed",
                step="fuzz live",
                seen=", ".join(failed),
                hint="what each of them wrote says why; --resume goes on",
            )
    campaigns.add_event(
        order.folder / ORACLE, "end", outcome.seconds, {"inputs": outcome.inputs, "findings": len(outcome.findings)}
    )
    return outcome


def _worker(order: LiveOrder, number: int) -> None:
    from . import campaign

    threading.Thread(target=_end_with_parent, daemon=True).start()
    campaign.LiveWorker(replace(order, jobs=order.jobs), number).run()


def _end_with_parent() -> None:
    """End this worker once the campaign is gone: one that was killed ends nobody, and another may go on in its folder."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(int(Exit.CANNOT_GO_ON))


def _collect(folder: Path) -> Outcome:
    """Return what the workers of a folder have written down."""
    import json

    from zenoh_fuzz.campaign.record import Outcome

    states = [json.loads(path.read_text()) for path in sorted(folder.glob("state-*.json"))]
    outcome = Outcome(
        inputs=sum(one["inputs"] for one in states), seconds=max((one["seconds"] for one in states), default=0.0)
    )
    outcome.findings = campaigns.read_ledger(folder)
    return outcome


def _show(shell: Shell, folder: Path, outcome: Outcome) -> None:
    from zenoh_fuzz.triage.report import lines_of

    from .findings import coverage

    if shell.as_json:
        shell.print_json(outcome.to_json() | {"folder": str(folder)})
        return
    shell.out.print(
        f"{outcome.inputs} inputs in {outcome.seconds:.0f} s ({outcome.rate:.0f} per second), {len(outcome.findings)} findings"
    )
    for name, row in sorted(outcome.findings.items()):
        repeat = f"zconform fuzz replay {folder / campaigns.FINDINGS / name}"
        for line in lines_of(row if row.embargo else replace(row, repeat=repeat)):
            shell.out.print(line)
    for line in coverage(folder) if shell.verbose else ():
        shell.out.print(line)


@click.command("seeds")
@click.argument("places", metavar="FROM...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@out_option(Path("fuzz-seeds"), "Folder for the seeds.")
@shell_options()
def seeds(shell: Shell, places: tuple[Path, ...], out: Path) -> None:
    """Turn recorded conversations into seeds of live campaigns.

    FROM is a script, a conversation, a capture, or a folder of them, such as the results of a run with their evidence. The seeds are
    scripts, for `fuzz live --corpus`.

    \b
    Example:
      zconform fuzz seeds zconform-results/evidence --out seeds
    """
    from .seeds import keep, seeds_from

    check_folders(out)
    out.mkdir(parents=True, exist_ok=True)
    made = {keep(out, one) for place in places for one in seeds_from(place)}
    shell.show({"seeds": len(made), "folder": str(out)}, [f"{len(made)} seeds in {out}"])
