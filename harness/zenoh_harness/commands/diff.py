"""`zconform diff`: what changed from one results file to another."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from zenoh_conformance.verdict import SEVERITY, Exit, Judgement, Key, Verdict
from zenoh_harness.console import Shell, plain, shell_options
from zenoh_harness.files import results
from zenoh_harness.files.results import Results, check_label

_CALM = SEVERITY[Verdict.KNOWN]
"""What is graver than this is red."""


@dataclass(frozen=True, slots=True)
class Change:
    """One judgement that is not what it was."""

    before: Judgement | None
    after: Judgement | None

    @property
    def worse(self) -> bool:
        """Whether it is red now and was not, or was judged and is not."""
        was = SEVERITY[self.before.verdict] if self.before else 0
        now = SEVERITY[self.after.verdict] if self.after else 0
        return now > max(was, _CALM) or (self.after is None and self.before is not None)

    @property
    def key(self) -> Key:
        """Whose it is."""
        one = self.after or self.before
        assert one is not None
        return one.key

    def as_json(self) -> dict[str, Any]:
        """The same as data."""
        return {
            "role": self.key.role, "profile": self.key.profile, "requirement": self.key.requirement,
            "check": check_label(self.key.check, self.key.parameters), "worse": self.worse,
            "before": _told(self.before), "after": _told(self.after),
        }  # fmt: skip


@click.command()
@click.argument("before", type=click.Path(path_type=Path, exists=True))
@click.argument("after", type=click.Path(path_type=Path, exists=True))
@shell_options()
def command(shell: Shell, before: Path, after: Path) -> int:
    """What changed from results BEFORE to results AFTER, be it another version, another day, or another target.

    \b
    Example:  zconform diff results-1.9.0 results-1.10.2
    Exit code 1 when something turned red, or is not judged any more.
    """
    old, new = results.read(before), results.read(after)
    found = changes(old, new)
    if shell.as_json:
        shell.print_json([change.as_json() for change in found])
    else:
        _show(shell, old, new, found)
    return int(Exit.DEPARTED if any(change.worse for change in found) else Exit.CONFORMING)


def changes(old: Results, new: Results) -> list[Change]:
    """The judgements whose verdict or cause differ, the worse ones first; who and which version is not compared."""
    was = {_place(one.key): one for one in old.judgements}
    now = {_place(one.key): one for one in new.judgements}
    pairs = (Change(was.get(place), now.get(place)) for place in dict.fromkeys((*was, *now)))
    return sorted((pair for pair in pairs if _told(pair.before) != _told(pair.after)), key=lambda pair: not pair.worse)


def _place(key: Key) -> tuple[object, ...]:
    return (key.role, key.profile, key.link, key.requirement, key.check, key.parameters)


def _told(one: Judgement | None) -> str:
    if one is None:
        return "not judged"
    return f"{one.verdict.value}: {one.cause}" if one.cause else one.verdict.value


def _show(shell: Shell, old: Results, new: Results, found: list[Change]) -> None:
    out = shell.out
    names = [f"{one.header.name} {one.header.version}".strip() for one in (old, new)]
    out.print(f"{plain(names[0])} -> {plain(names[1])}")
    for one in (old, new):
        if not one.complete:
            out.print(
                f"incomplete: {plain(one.header.name)} {plain(one.header.version)}, {len(one.pending)} checks pending"
            )
    fresh = [change for change in found if change.before is None and not change.worse]
    for change in found if shell.verbose else [change for change in found if change not in fresh]:
        style = "red" if change.worse else "green" if change.after and change.after.verdict is Verdict.PASS else ""
        label = check_label(change.key.check, change.key.parameters)
        out.print(f"{plain(label)}  ({change.key.role}, {change.key.profile})", style=style, soft_wrap=True)
        out.print(f"    was  {plain(_told(change.before))}", soft_wrap=True)
        out.print(f"    is   {plain(_told(change.after))}", soft_wrap=True)
    worse = sum(change.worse for change in found)
    out.print(f"{len(found)} changed, {worse} for the worse" if found else "nothing changed")
    if fresh and not shell.verbose:
        out.print(f"{len(fresh)} of them are new and not red (-v shows them)")
