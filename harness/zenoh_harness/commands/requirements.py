"""`zconform requirements`: list the requirements, the checks that cover them, and the changes in a newer text."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import Any

import click

from zenoh_conformance.judging.verdict import Exit
from zenoh_conformance.spec.coverage import CoverageStatus, RequirementCoverage, insert_table, remove_marks, table
from zenoh_conformance.spec.errata import errata
from zenoh_conformance.spec.lock import lock, write_lock
from zenoh_conformance.spec.requirement import OWED, Level, requirements
from zenoh_conformance.spec.specification import Drift, SpecificationError, digests, drift
from zenoh_harness.commands import _completing as completing
from zenoh_harness.console import Shell, Verbs, shell_options
from zenoh_harness.errors import UsageError, current_name
from zenoh_harness.files import results
from zenoh_harness.requirements import verdict_table
from zenoh_harness.requirements.witnesses import coverage, vectors


@click.group(cls=Verbs)
def command() -> None:
    """List the requirements and the checks that cover them.

    \b
    Example:  zconform requirements list --uncovered 'session-establishment/*'
    """


@command.command("list")
@click.argument("pattern", metavar="[GLOB]", default="*", shell_complete=completing.requirements)
@click.option(
    "--uncovered", is_flag=True, help="List only the requirements without a check: owed, excused or forgotten."
)
@click.option("--level", type=click.Choice([*Level]), multiple=True, help="List only this level; repeatable.")
@shell_options()
def list_requirements(shell: Shell, pattern: str, uncovered: bool, level: tuple[str, ...]) -> None:
    """List the requirements whose id matches.

    Prints level, id, coverage and text of each.

    \b
    Example:  zconform requirements list --level MUST 'query/*'
    """
    rows = [row for ident, row in coverage().rows.items() if fnmatchcase(ident, pattern)]
    if not rows:
        raise _unknown(pattern)
    rows = [row for row in rows if not (uncovered and row.covered) and (not level or row.requirement.level in level)]
    lines = (f"{of.level:<8}  {of.id:<56}  {_standing(row):<12}  {of.says}" for row in rows for of in [row.requirement])
    shell.show([_as_json(row) for row in rows], lines)
    if not shell.as_json:
        shell.note(_summary(rows))


@command.command("show")
@click.argument("ids", metavar="ID...", nargs=-1, required=True, shell_complete=completing.requirements)
@shell_options()
def show(shell: Shell, ids: tuple[str, ...]) -> None:
    """Show a requirement in full.

    Prints its text, its section, its errata and the checks that cover it.

    \b
    Example:  zconform requirements show session-establishment/cookie-echo
    """
    known = requirements()
    for ident in ids:
        if ident not in known and ident not in known.aliases():
            raise _unknown(ident)
    rows = coverage().rows
    found = [rows[known[ident].id] for ident in ids]
    shell.show([_as_json(row) for row in found], map(_in_full, found))


@command.command("drift")
@click.argument("folder", metavar="PAGES", type=click.Path(path_type=Path, file_okay=False))
@shell_options()
def show_drift(shell: Shell, folder: Path) -> int:
    """List the requirements whose section changed in a newer text.

    PAGES is a folder with one `<page>.txt` for each of the five pages of the specification.

    \b
    Example:  zconform requirements drift ./spec-1.1.0
    Exit codes: 0 nothing changed, 1 a section changed, 2 usage.
    """
    changed = drift(lock().sections, _digests(folder))
    touched = {ref: [each.id for each in requirements().citing(ref)] for ref in changed}
    shell.answer(
        lambda: [{"section": ref, "is": how.value, "requirements": touched[ref]} for ref, how in changed.items()],
        lambda: _print_drift(shell, changed, touched),
    )
    return int(bool(changed))


@command.command("table")
@click.argument("files", metavar="[RESULTS...]", nargs=-1, type=click.Path(path_type=Path, exists=True))
@click.option(
    "--of",
    "pattern",
    metavar="GLOB",
    default="*",
    shell_complete=completing.requirements,
    help="Include only the requirements whose id matches.",
)
@shell_options()
def print_table(shell: Shell, files: tuple[Path, ...], pattern: str) -> int:
    """Print a table of requirements and verdicts as Markdown.

    With RESULTS, each row is a requirement: the number of laws, cases, models and vectors that judge it, and for each target
    the verdict, or why there is none. Without RESULTS, prints the coverage table of the documentation.

    \b
    Example:  zconform requirements table out/conform/results.jsonl --of 'close/*'
    Exit codes: 0 done, 1 a requirement has neither a verdict nor a reason, 2 usage.
    """
    if not files:
        shell.answer(
            lambda: [_as_json(row) for row in coverage().rows.values()],
            lambda: shell.out.print(table(coverage()), end="", soft_wrap=True),
        )
        return int(Exit.CONFORMING)
    targets = verdict_table.columns(results.read(file) for file in files)
    found = list(verdict_table.table_rows(coverage(), vectors(), targets, pattern))
    if not found:
        raise _unknown(pattern)
    empty = verdict_table.unexplained_gaps(found)
    if shell.as_json:
        shell.print_json([_as_json(one.row) | {"verdicts": _verdicts(one, targets)} for one in found])
    else:
        shell.out.print(verdict_table.markdown(found, targets), end="", soft_wrap=True, markup=False)
        shell.note(f"{len(found)} requirements, {len(empty)} of them with neither a verdict nor a reason")
    return int(Exit.NOT_CONFORMING if empty else Exit.CONFORMING)


@command.command("lock")
@click.argument("folder", metavar="[PAGES]", required=False, type=click.Path(path_type=Path, file_okay=False))
@click.option("--final", is_flag=True, help="Make the lock final: it takes no new requirement from then on.")
@shell_options()
def print_lock(shell: Shell, folder: Path | None, final: bool) -> None:
    """Print a new lock for the revision.

    The lock lists the requirements with their levels, and the digests of the sections in PAGES; without PAGES the digests of
    the present lock are kept. `requirements update` adds new requirements to the lock file itself.

    \b
    Example:  zconform requirements lock ./spec-1.0.0 > new.lock
    """
    sections = lock().sections if folder is None else _digests(folder)
    text = write_lock(requirements(), sections, draft=not final)
    shell.answer(
        lambda: {"revision": lock().revision, "draft": not final, "lock": text},
        lambda: shell.out.print(text, end="", soft_wrap=True),
    )


@command.command("update")
@click.argument("folder", metavar="CHECKOUT", type=click.Path(path_type=Path, file_okay=False), default=Path())
@shell_options()
def update(shell: Shell, folder: Path) -> None:
    """Update lock, marks and tables in a checkout.

    Adds new requirements to the lock, removes the `owed` mark of requirements that are covered now, sets the ceiling of owed
    ones, and writes the documentation's table. The digests of the sections stay as they are.

    \b
    Example:  zconform requirements update .
    """
    if broken := lock().faults(requirements()):
        raise UsageError("the requirements contradict the lock:\n  " + "\n  ".join(broken), step="update")
    found = coverage()
    files = folder / "conformance/zenoh_conformance/spec/requirements"
    by_page: dict[str, list[str]] = {}
    for each in found.settled:
        by_page.setdefault(each.page, []).append(each.id.partition("/")[2])
    try:
        for page, phrases in by_page.items():
            file = files / f"{page}.toml"
            _write(file, remove_marks(_read(file), phrases))
        _write(files / f"{lock().revision}.lock", write_lock(requirements(), lock().sections, draft=lock().draft))
        _write(files / "owed.ceiling", f"{sum(each.standing is CoverageStatus.OWED for each in found.rows.values())}\n")
        document = folder / "docs/pages/coverage.md"
        _write(document, insert_table(_read(document), table(found)))
    except (OSError, ValueError) as bad:
        raise UsageError(
            str(bad), step="update", hint="CHECKOUT is the folder that contains conformance/ and docs/"
        ) from bad
    marks = [each.id for each in found.settled]
    shell.tell({"settled": marks}, f"removed {len(marks)} marks")


@command.command("settle", hidden=True)
@click.argument("folder", metavar="CHECKOUT", type=click.Path(path_type=Path, file_okay=False), default=Path())
@click.pass_context
def settle(context: click.Context, folder: Path) -> None:
    """Former name of `update`."""
    current_name("settle", {"settle": "update"})
    context.invoke(update, folder=folder)


def _verdicts(one: verdict_table.RequirementVerdicts, targets: Sequence[verdict_table.TargetColumn]) -> dict[str, str]:
    return {target.title: cell for target, cell in zip(targets, one.cells, strict=True)}


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")


def _digests(folder: Path) -> dict[str, str]:
    try:
        return digests(folder)
    except SpecificationError as bad:
        raise UsageError(
            str(bad), step="read the pages", hint="PAGES needs one <page>.txt for each of the five pages"
        ) from None


def _print_drift(shell: Shell, changed: dict[str, Drift], touched: dict[str, list[str]]) -> None:
    for ref, how in changed.items():
        shell.out.print(f"{ref}: {how.value}", soft_wrap=True)
        for ident in touched[ref]:
            shell.out.print(f"    {ident}", soft_wrap=True)
    shell.note(f"{len(changed)} sections changed, with {len({*chain.from_iterable(touched.values())})} requirements")


def _unknown(ident: str) -> UsageError:
    near = requirements().nearest(ident)
    hint = f"did you mean {' or '.join(near)}?" if near else "zconform requirements list prints all of them"
    return UsageError(f"no requirement {ident!r}", hint=hint)


def _standing(row: RequirementCoverage) -> str:
    return f"uncovered, owes a {row.requirement.owed}" if row.standing is CoverageStatus.OWED else row.standing.value


def _summary(rows: list[RequirementCoverage]) -> str:
    counts = {standing: sum(row.standing is standing for row in rows) for standing in CoverageStatus}
    return f"{len(rows)} requirements: " + ", ".join(
        f"{count} {standing}" for standing, count in counts.items() if count
    )


def _as_json(row: RequirementCoverage) -> dict[str, Any]:
    requirement = row.requirement
    return {
        "id": requirement.id,
        "level": requirement.level.value,
        "binds": requirement.binds,
        "ref": list(requirement.ref),
        "says": requirement.says,
        "keyword": requirement.keyword,
        "needs": list(requirement.needs),
        "erratum": list(requirement.erratum),
        "standing": row.standing.value,
        "owed": requirement.owed or None,
        "unobservable": requirement.unobservable or None,
        "by": {kind: names for kind, names in row.by.items() if names},
    }


def _in_full(row: RequirementCoverage) -> str:
    each = row.requirement
    lines = [each.id, f"    {each.level}, binds {each.binds}: {each.says}", f"    section    {', '.join(each.ref)}"]
    if each.needs:
        lines.append(f"    needs      {', '.join(each.needs)}")
    for name in each.erratum:
        erratum = errata()[name]
        lines += [f"    erratum    {name} ({erratum.alias}, {erratum.stance})"]
        lines += [f"        text      {erratum.text}", f"        baseline  {erratum.baseline}"]
    lines.append(f"    coverage   {_standing(row)}{': ' + each.unobservable if each.unobservable else ''}")
    for kind in OWED:
        names = row.by[kind]
        if names:
            more = f" and {len(names) - 8} more" if len(names) > 8 else ""
            lines.append(f"    {kind:<10} {', '.join(names[:8])}{more}")
    return "\n".join(lines)
