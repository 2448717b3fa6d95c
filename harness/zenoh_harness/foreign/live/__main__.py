"""`python -m zenoh_harness.foreign.live`: record sessions of real nodes, hold their logs against what we read, fill the table.

python -m zenoh_harness.foreign.live record --out recordings      every scene: a conversation and the nodes' logs
python -m zenoh_harness.foreign.live compare clients peers        what the logs say of each message, and what we read
python -m zenoh_harness.foreign.live effects                      what a live node makes of all that we can send
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from zenoh_conformance.judging.verdict import Exit
from zenoh_harness.files import conversations
from zenoh_harness.foreign.live import effects
from zenoh_harness.foreign.live.agree import NOT_COMPARABLE, Agreement
from zenoh_harness.foreign.live.recount import Recount
from zenoh_harness.foreign.live.scenes import SCENES, record
from zenoh_harness.targets.adapters.wheel import settings

scenes_argument = click.argument("scenes", nargs=-1, type=click.Choice(list(SCENES)))
release_option = click.option("--release", default="", help="Of the wheel; its default else.")


@click.group()
def command() -> None:
    """Live nodes as witnesses of the codec."""


@command.command("record")
@scenes_argument
@release_option
@click.option("--out", type=click.Path(path_type=Path), help="Keep conversations and logs in this folder.")
def record_command(scenes: Sequence[str], release: str, out: Path | None) -> None:
    """Record scenes (all of them when none is named), and count what was said; exit 1 when the codec cannot tell it."""
    recount = Recount()
    for name in scenes or SCENES:
        recorded = record(name, release=release)
        recount.add(recorded.conversation)
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            conversations.write(recorded.conversation, out / f"{name}.jsonl")
            for zid, log in recorded.logs.items():
                (out / f"{name}.{zid}.log").write_text(log, encoding="utf-8")
    click.echo("\n".join(recount.lines()))
    sys.exit(Exit.NOT_CONFORMING if recount.faults else Exit.CONFORMING)


@command.command()
@scenes_argument
@release_option
def compare(scenes: Sequence[str], release: str) -> None:
    """Record scenes, and compare each message with what the nodes' trace logs say of it; exit 1 when they differ."""
    agreement = Agreement()
    for name in scenes or SCENES:
        agreement.add(record(name, release=release))
    click.echo("\n".join(agreement.lines()))
    click.echo("not comparable:")
    click.echo("\n".join(f"  {what}: {why}" for what, why in NOT_COMPARABLE.items()))
    sys.exit(Exit.NOT_CONFORMING if agreement.differ or agreement.unread else Exit.CONFORMING)


@command.command("effects")
@release_option
def effects_command(release: str) -> None:
    """Send two messages for each field and extension to live nodes, and write what they make of them beside the code.

    Exit 1 when a row has neither an effect nor a reason.
    """
    release = release or settings()["wheel"]["default"]
    rows = effects.write(Path(effects.__file__).with_name(effects.TABLE), release)
    mute = [each.row for each in rows if not (each.log or each.seen or each.why)]
    click.echo(
        f"{len(rows)} rows: {sum(bool(each.seen) for each in rows)} with an effect, "
        f"{sum(bool(each.log) for each in rows)} in the log, {sum(bool(each.why) for each in rows)} with a reason"
    )
    click.echo("\n".join(f"neither effect nor reason: {row}" for row in mute))
    sys.exit(Exit.NOT_CONFORMING if mute else Exit.CONFORMING)


if __name__ == "__main__":
    command(prog_name="python -m zenoh_harness.foreign.live")
