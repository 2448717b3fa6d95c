"""`zconform requirements`: what the specification asks for, what judges it, and what a newer text changed."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click

from zenoh_conformance.coverage import Row, Standing, placed, table, unmarked
from zenoh_conformance.errata import errata
from zenoh_conformance.lock import lock, write_lock
from zenoh_conformance.requirement import OWED, Level, requirements
from zenoh_conformance.specification import Drift, SpecificationError, digests, drift
from zenoh_conformance.verdict import Exit
from zenoh_harness.commands import _completing as completing
from zenoh_harness.console import Shell, shell_options
from zenoh_harness.errors import UsageError, renamed
from zenoh_harness.files import results
from zenoh_harness.requirements import verdict_table
from zenoh_harness.requirements.witnesses import coverage, vectors


@click.group()
def command() -> None:
    """What the specification asks for, and what judges it.

    \b
    Example:  zconform requirements list --uncovered 'session-establishment/*'
    """


@command.command("list")
@click.argument("pattern", metavar="[GLOB]", default="*", shell_complete=completing.requirements)
@click.option("--uncovered", is_flag=True, help="Only those that nothing judges: owed, excused or forgotten.")
@click.option("--level", type=click.Choice([*Level]), multiple=True, help="Only these levels.")
@shell_options()
def list_requirements(shell: Shell, pattern: str, uncovered: bool, level: tuple[str, ...]) -> None:
    """The requirements whose id matches, with their level and how they stand.

    \b
    Example:  zconform requirements list --level MUST 'query/*'
    """
    rows = [row for ident, row in coverage().rows.items() if fnmatchcase(ident, pattern)]
    if not rows:
        raise _unknown(pattern)
    rows = [row for row in rows if not (uncovered and row.covered) and (not level or row.requirement.level in level)]
    if shell.as_json:
        shell.print_json([_as_json(row) for row in rows])
        return
    for row in rows:
        text = f"{row.requirement.level:<8}  {row.requirement.id:<56}  {_standing(row):<12}  {row.requirement.says}"
        shell.out.print(text, soft_wrap=True)
    shell.note(_summary(rows))


@command.command("show")
@click.argument("ids", metavar="ID...", nargs=-1, required=True, shell_complete=completing.requirements)
@shell_options()
def show(shell: Shell, ids: tuple[str, ...]) -> None:
    """All that is known about a requirement: its words, its place, its errata, and what judges it.

    \b
    Example:  zconform requirements show session-establishment/cookie-echo
    """
    known = requirements()
    for ident in ids:
        if ident not in known and ident not in known.aliases():
            raise _unknown(ident)
    rows = coverage().rows
    found = [rows[known[ident].id] for ident in ids]
    if shell.as_json:
        shell.print_json([_as_json(row) for row in found])
        return
    for row in found:
        shell.out.print(_in_full(row), soft_wrap=True)


@command.command("drift")
@click.argument("folder", metavar="PAGES", type=click.Path(path_type=Path, file_okay=False))
@shell_options()
def show_drift(shell: Shell, folder: Path) -> int:
    """The requirements whose section changed in a newer text: PAGES holds one `<page>.txt` for each of the five pages.

    Exit code 1 when anything changed.

    \b
    Example:  zconform requirements drift ./spec-1.1.0
    """
    changed = drift(lock().sections, _digests(folder))
    touched = {ref: [each.id for each in requirements().citing(ref)] for ref in changed}
    if shell.as_json:
        rows = [{"section": ref, "is": how.value, "requirements": touched[ref]} for ref, how in changed.items()]
        shell.print_json(rows)
    else:
        _print_drift(shell, changed, touched)
    return int(bool(changed))


@command.command("table")
@click.argument("files", metavar="[RESULTS...]", nargs=-1, type=click.Path(path_type=Path, exists=True))
@click.option(
    "--of",
    "pattern",
    metavar="GLOB",
    default="*",
    shell_complete=completing.requirements,
    help="Only these requirements.",
)
@shell_options()
def print_table(shell: Shell, files: tuple[Path, ...], pattern: str) -> int:
    """Without RESULTS the coverage table of the documentation, as Markdown. With them one row a requirement: the laws, cases,
    models and vectors that judge it, and what they said of each target, or why there is no verdict.

    \b
    Example:  zconform requirements table out/conform/results.jsonl --of 'close/*'
    Exit code 1 when a requirement has neither.
    """
    if not files:
        if shell.as_json:
            shell.print_json([_as_json(row) for row in coverage().rows.values()])
        else:
            shell.out.print(table(coverage()), end="", soft_wrap=True)
        return int(Exit.CONFORMING)
    targets = verdict_table.columns(results.read(file) for file in files)
    found = list(verdict_table.lines(coverage(), vectors(), targets, pattern))
    if not found:
        raise _unknown(pattern)
    empty = verdict_table.empty(found)
    if shell.as_json:
        shell.print_json([_as_json(one.row) | {"verdicts": _verdicts(one, targets)} for one in found])
    else:
        shell.out.print(verdict_table.markdown(found, targets), end="", soft_wrap=True, markup=False)
        shell.note(f"{len(found)} requirements, {len(empty)} of them with neither verdict nor reason")
    return int(Exit.NOT_CONFORMING if empty else Exit.CONFORMING)


@command.command("lock")
@click.argument("folder", metavar="[PAGES]", required=False, type=click.Path(path_type=Path, file_okay=False))
@click.option("--final", is_flag=True, help="The lock is no draft: from now on it takes no new requirement.")
@shell_options()
def print_lock(shell: Shell, folder: Path | None, final: bool) -> None:
    """The lock of the revision, made anew from the requirements and from the text in PAGES.

    \b
    Example:  zconform requirements lock ./spec-1.0.0 > new.lock
    Without PAGES the digests of the sections stay as they are locked. `requirements update` takes new requirements into the lock.
    """
    sections = lock().sections if folder is None else _digests(folder)
    text = write_lock(requirements(), sections, draft=not final)
    if shell.as_json:
        shell.print_json({"revision": lock().revision, "draft": not final, "lock": text})
    else:
        shell.out.print(text, end="", soft_wrap=True)


@command.command("update", short_help="Write what follows from requirements and checks (in a checkout).")
@click.argument("folder", metavar="CHECKOUT", type=click.Path(path_type=Path, file_okay=False), default=Path())
@shell_options()
def update(shell: Shell, folder: Path) -> None:
    """Take new requirements into the lock, remove the marks of what is covered by now, set the ceiling, and write the
    documentation's table anew.

    \b
    Example:  zconform requirements update .
    Needs no pages of the specification: the digests of the sections stay as they are locked.
    """
    if broken := lock().faults(requirements()):
        raise UsageError("the lock does not hold:\n  " + "\n  ".join(broken), step="update")
    found = coverage()
    files = folder / "conformance/zenoh_conformance/requirements"
    by_page: dict[str, list[str]] = {}
    for each in found.settled:
        by_page.setdefault(each.page, []).append(each.id.partition("/")[2])
    try:
        for page, phrases in by_page.items():
            file = files / f"{page}.toml"
            _write(file, unmarked(_read(file), phrases))
        _write(files / f"{lock().revision}.lock", write_lock(requirements(), lock().sections, draft=lock().draft))
        _write(files / "owed.ceiling", f"{sum(each.standing is Standing.OWED for each in found.rows.values())}\n")
        document = folder / "docs/pages/coverage.md"
        _write(document, placed(_read(document), table(found)))
    except (OSError, ValueError) as bad:
        raise UsageError(
            str(bad), step="update", hint="CHECKOUT is the folder that holds conformance/ and docs/"
        ) from bad
    marks = [each.id for each in found.settled]
    shell.tell({"settled": marks}, f"{len(marks)} marks removed")


@command.command("settle", hidden=True)
@click.argument("folder", metavar="CHECKOUT", type=click.Path(path_type=Path, file_okay=False), default=Path())
@click.pass_context
def settle(context: click.Context, folder: Path) -> None:
    """The former name of `update`."""
    renamed("settle", {"settle": "update"})
    context.invoke(update, folder=folder)


def _verdicts(one: verdict_table.Line, targets: Sequence[verdict_table.Column]) -> dict[str, str]:
    return {target.title: cell for target, cell in zip(targets, one.cells, strict=True)}


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")


def _digests(folder: Path) -> dict[str, str]:
    try:
        return digests(folder)
    except SpecificationError as bad:
        raise UsageError(str(bad), step="read the pages", hint="one <page>.txt for each of the five pages") from None


def _print_drift(shell: Shell, changed: dict[str, Drift], touched: dict[str, list[str]]) -> None:
    for ref, how in changed.items():
        shell.out.print(f"{ref}: {how.value}", soft_wrap=True)
        for ident in touched[ref]:
            shell.out.print(f"    {ident}", soft_wrap=True)
    shell.note(
        f"{len(changed)} sections differ, {len({i for ids in touched.values() for i in ids})} requirements stand there"
    )


def _unknown(ident: str) -> UsageError:
    near = requirements().nearest(ident)
    hint = f"did you mean {' or '.join(near)}?" if near else "zconform requirements list shows them all"
    return UsageError(f"no requirement is called {ident!r}", hint=hint)


def _standing(row: Row) -> str:
    return f"uncovered, a {row.requirement.owed} is due" if row.standing is Standing.OWED else row.standing.value


def _summary(rows: list[Row]) -> str:
    counts = {standing: sum(row.standing is standing for row in rows) for standing in Standing}
    return f"{len(rows)} requirements: " + ", ".join(
        f"{count} {standing}" for standing, count in counts.items() if count
    )


def _as_json(row: Row) -> dict[str, Any]:
    each = row.requirement
    text: dict[str, Any] = {"id": each.id, "level": each.level.value, "binds": each.binds, "ref": list(each.ref)}
    text |= {"says": each.says, "keyword": each.keyword, "needs": list(each.needs), "erratum": list(each.erratum)}
    text |= {"standing": row.standing.value, "owed": each.owed or None, "unobservable": each.unobservable or None}
    return text | {"by": {kind: names for kind, names in row.by.items() if names}}


def _in_full(row: Row) -> str:
    each = row.requirement
    lines = [each.id, f"    {each.level}, binds {each.binds}: {each.says}", f"    stands in  {', '.join(each.ref)}"]
    if each.needs:
        lines.append(f"    needs      {', '.join(each.needs)}")
    for name in each.erratum:
        erratum = errata()[name]
        lines += [f"    erratum    {name} ({erratum.alias}, {erratum.stance})"]
        lines += [f"        text      {erratum.text}", f"        baseline  {erratum.baseline}"]
    lines.append(f"    standing   {_standing(row)}{': ' + each.unobservable if each.unobservable else ''}")
    for kind in OWED:
        names = row.by[kind]
        if names:
            more = f" and {len(names) - 8} more" if len(names) > 8 else ""
            lines.append(f"    {kind:<10} {', '.join(names[:8])}{more}")
    return "\n".join(lines)
