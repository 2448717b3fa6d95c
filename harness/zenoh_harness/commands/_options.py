"""Options that several subcommands share, declared once: one name, one type, one help text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from zenoh_harness.commands import _completing as completing
from zenoh_harness.run.attempt.options import DEPTHS

Command = TypeVar("Command", bound=Callable[..., Any])

FILE: Final = click.Path(path_type=Path, dir_okay=False)

only_option: Final = click.option(
    "--only",
    multiple=True,
    metavar="GLOB",
    shell_complete=completing.checks,
    help="Run only the checks whose id or requirement matches; repeatable.",
)
jobs_option: Final = click.option(
    "--jobs", type=click.IntRange(1, 256), default=8, show_default=True, help="Cases that run in parallel."
)
seed_option: Final = click.option(
    "--seed", type=int, default=0, show_default=True, help="Seed of everything random in this run."
)
timeout_option: Final = click.option(
    "--timeout", metavar="TIME", help="Time limit of one case, for example 20s. Default: one minute."
)
fresh_option: Final = click.option("--fresh", is_flag=True, help="Start a new target for every judgement.")
resume_option: Final = click.option(
    "--resume", is_flag=True, help="Continue the run in --out that was killed or interrupted; judge only what is left."
)
calm_option: Final = click.option(
    "--calm",
    is_flag=True,
    help="Judge what met a busy machine once more, alone, when the machine is calm; waits 5 minutes at most.",
)
vectors_option: Final = click.option(
    "--vectors",
    "folder",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Play the vectors in this folder, too: files in the published schema.",
)
strict_option: Final = click.option("--strict", is_flag=True, help="Count `warn` and `slow` as deviations.")


def depth_option(default: str) -> Callable[[Command], Command]:
    """`--depth`, with the depth that is used without it."""
    return click.option(
        "--depth",
        type=click.Choice(DEPTHS),
        default=default,
        show_default=True,
        help="How many parameter values, vectors and model runs each check gets.",
    )
