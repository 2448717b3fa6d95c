"""The options that write results for CI and code hosts: `--junit`, `--sarif` and those that belong to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import click

from zenoh_harness.console import Shell
from zenoh_harness.errors import UsageError
from zenoh_harness.files import code_scanning, junit, known, results, sarif
from zenoh_harness.files.code_scanning import Alert, Scan, place_in_repository
from zenoh_harness.files.results import Results
from zenoh_harness.files.writable import check_files
from zenoh_harness.run.runner import RESULTS, Ran
from zenoh_harness.targets.catalogue import PROJECT

Command = TypeVar("Command", bound=Callable[..., Any])

_FILE: Final = click.Path(path_type=Path, dir_okay=False)
_OPTIONS: Final = {
    "junit": click.option("--junit", type=_FILE, help="Write a JUnit XML report to this file."),
    "sarif": click.option("--sarif", type=_FILE, help="Write new failures as SARIF for code hosts to this file."),
    "sarif_complete": click.option(
        "--sarif-complete", type=_FILE, help="Write every judgement but `pass` as SARIF to this file."
    ),
    "sarif_location": click.option(
        "--sarif-location",
        type=_FILE,
        metavar="FILE",
        help="File of your repository at which --sarif shows new failures.",
    ),
}


@dataclass(frozen=True, slots=True)
class Exports:
    """The files that a command writes for CI and code hosts."""

    junit: Path | None = None
    sarif: Path | None = None
    sarif_complete: Path | None = None
    sarif_location: Path | None = None

    def check(self, *others: Path | None) -> None:
        """Raise UsageError if one of the files, or of `others`, cannot be written, or the location does not exist."""
        check_files(*others, self.junit, self.sarif, self.sarif_complete)
        if self.sarif_location is not None and not self.sarif_location.is_file():
            raise UsageError(
                f"there is no file {self.sarif_location}",
                step="--sarif-location",
                hint="name a file of your repository, such as README.md",
            )

    def read(self, ran: Iterable[Ran | None]) -> list[tuple[Results, Path]]:
        """Read the results of runs back, each with its file, if one of the files is to be written."""
        wanted = any((self.junit, self.sarif, self.sarif_complete))
        return [(results.read(run.out), run.out / RESULTS) for run in ran if run is not None and wanted]

    def write(
        self,
        shell: Shell,
        read: Sequence[tuple[Results, Path]],
        *,
        strict: bool = False,
        lists: Sequence[Path] = (),
        alerts: Callable[[], tuple[Alert, ...]] | None = None,
    ) -> None:
        """Write the files; `alerts` replaces the failures of the one run for a gate, and `lists` may be their location."""
        every = [one for one, _ in read]
        if self.junit is not None:
            junit.write(every, self.junit, strict=strict)
        if self.sarif_complete is not None:
            sarif.write(every, self.sarif_complete)
        if self.sarif is None:
            return
        scans = [Scan(one, alerts() if alerts else self._alerts(one, file, strict, lists)) for one, file in read]
        self._note_location(shell, scans, lists, gate=alerts is not None)
        for more in code_scanning.write(scans, self.sarif)[1:]:
            shell.note(f"wrote {more}: a code host takes {code_scanning.MOST_RUNS} runs a file")

    def _alerts(self, one: Results, file: Path, strict: bool, lists: Sequence[Path]) -> tuple[Alert, ...]:
        place = place_in_repository(self._location(lists) or file)
        return code_scanning.alerts_of(one.judgements, place, strict=strict)

    def _location(self, lists: Sequence[Path]) -> Path | None:
        """Return the file of the repository at which failures are shown: as named, a list, or the project's file."""
        own = (file for file in lists if file not in known.shipped_lists())
        found = (file for file in (*own, Path(PROJECT)) if file.is_file())
        return self.sarif_location or next(found, None)

    def _note_location(self, shell: Shell, scans: Sequence[Scan], lists: Sequence[Path], *, gate: bool) -> None:
        if any(scan.alerts for scan in scans) and not gate and self._location(lists) is None:
            shell.note(
                f"{self.sarif} shows failures at the results: --sarif-location FILE names a file of your repository"
            )


def _add_options(function: Command, *names: str) -> Command:
    """Add the options of these names; the command gets them as one parameter, `exports`."""

    @wraps(function)
    def with_exports(*args: Any, **options: Any) -> Any:
        return function(*args, exports=Exports(**{name: options.pop(name) for name in names}), **options)

    for name in reversed(names):
        with_exports = _OPTIONS[name](with_exports)
    return cast("Command", with_exports)


def export_options(function: Command) -> Command:
    """Add all options, as the parameter `exports`."""
    return _add_options(function, *_OPTIONS)


def sarif_options(function: Command) -> Command:
    """Add `--sarif` and `--sarif-location` alone, as the parameter `exports`."""
    return _add_options(function, "sarif", "sarif_location")
