"""What a run says to the person who started it: pages, deviations with their commands, what was not judged and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from zenoh_conformance.cases.case import roles_by_requirement
from zenoh_conformance.cases.causes import found
from zenoh_conformance.cases.faults import TargetFault, faults, is_told, order
from zenoh_conformance.judging.finding import STATED_ROLE
from zenoh_conformance.judging.shares import Shares, shares
from zenoh_conformance.judging.verdict import Exit, Judgement, Verdict, worst
from zenoh_conformance.spec.errata import Stance, by_name
from zenoh_conformance.spec.requirement import requirements
from zenoh_conformance.talking.budget import UNASKED
from zenoh_harness.console import plain
from zenoh_harness.files.labels import is_shard
from zenoh_harness.files.results import check_label
from zenoh_harness.files.scripts import STAYS_UP
from zenoh_harness.run.judge.decide import level_of
from zenoh_harness.run.overload import describe_prevented, prevented_judgements
from zenoh_harness.run.records import LEFT
from zenoh_harness.run.runner import Ran
from zenoh_harness.run.store.embargo import count_line

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console
    from rich.table import Table

_SAYS: Final = {
    Exit.CONFORMING: "conforms in everything that was judged",
    Exit.NOT_CONFORMING: "deviates from the specification",
    Exit.USAGE: "usage",
    Exit.CANNOT_GO_ON: "the harness or the target failed before the run was complete",
    Exit.NOTHING_JUDGED: "nothing was judged",
}


_BUT: Final = {Verdict.KNOWN: "what is listed", Verdict.WARN: "warnings"}
"""What is no failure, and not as required either."""

_ASKED: Final = {STAYS_UP: "Whatever is sent to it, it goes on working for everybody else."}
"""What no page says and everybody expects."""

MOST_OTHERS: Final = 3
"""Further causes of one fault that are told."""

_SHORT: Final = {
    Exit.CONFORMING: "0 conforms",
    Exit.NOT_CONFORMING: "1 not conforming",
    Exit.USAGE: "2 usage",
    Exit.CANNOT_GO_ON: "3 could not go on",
    Exit.NOTHING_JUDGED: "4 nothing judged",
}


@dataclass(slots=True)
class DeviationBlock:
    """Judgements of one check that share verdict and cause."""

    first: Judgement
    count: int = 1
    values: list[str] = field(default_factory=list)


def public(judgements: Iterable[Judgement]) -> list[Judgement]:
    """All but what is under embargo."""
    return [one for one in judgements if not one.embargo]


def by_page(judgements: Iterable[Judgement]) -> Iterator[tuple[str, Counter[Verdict]]]:
    """For each page, sorted: how many of its requirements have which verdict, the worst of each counting."""
    of: dict[str, list[Verdict]] = {}
    for one in judgements:
        of.setdefault(one.key.requirement, []).append(one.verdict)
    pages: dict[str, Counter[Verdict]] = {}
    for requirement, verdicts in of.items():
        pages.setdefault(requirement.partition("/")[0], Counter())[worst(verdicts)] += 1
    yield from sorted(pages.items())


def deviations(
    judgements: Iterable[Judgement], cause: Callable[[Judgement], str] = attrgetter("cause")
) -> list[DeviationBlock]:
    """What is to be told, the gravest first; parameters of one check that share verdict and `cause` are one."""
    found: dict[tuple[str, ...], DeviationBlock] = {}
    for one in judgements:
        if not is_told(one.verdict):
            continue
        key = (one.verdict.value, one.key.role, one.key.profile, one.key.requirement, one.key.check, cause(one))
        shown = check_label("", one.key.parameters).strip("[]")
        if key in found:
            found[key].count += 1
            found[key].values.append(shown)
        else:
            found[key] = DeviationBlock(one, 1, [shown] if shown else [])
    return sorted(found.values(), key=lambda each: order(each.first.verdict))


def idle(judgements: Iterable[Judgement]) -> dict[tuple[str, str], list[str]]:
    """What was not judged: (verdict, why, without the byte where it showed) and the checks, the most frequent first.

    A target that sends without end comes before all others: that is why much else was not judged.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for one in judgements:
        if one.verdict.says_nothing:
            found.setdefault((one.verdict.value, _without_moment(one.cause)), []).append(one.key.check)
    return dict(sorted(found.items(), key=lambda row: (UNASKED not in row[0][1], -len(row[1]), row[0])))


def _without_moment(cause: str) -> str:
    """A cause without the byte, or the milliseconds, of this one time."""
    for begins in (": refused at ", ": we answered "):
        cause = cause.partition(begins)[0]
    return cause


def shares_of(judgements: Iterable[Judgement], role: str) -> Shares:
    """Return what of the specification applies to the target, and what of it was judged; `role` is the header's."""
    return shares(public(judgements), role, roles_by_requirement())


def tell_shares(ran: Ran, out: Console) -> None:
    """Print the shares, and what would make more judgeable."""
    stated = shares_of(ran.judgements, ran.header.role)
    out.print(f"\nJudged: {stated.sentence}", soft_wrap=True)
    if stated.more:
        out.print(f"More can be judged with {stated.more_sentence}", soft_wrap=True)
    unstated = {one.key.check for one in public(ran.judgements) if STATED_ROLE in one.cause}
    if unstated:
        checks = f"{len(unstated)} check{'s need' if len(unstated) > 1 else ' needs'} it"
        out.print(f"Add ?role=router, peer or client to the target string: {checks}", soft_wrap=True)


def as_json(ran: Ran) -> dict[str, Any]:
    """The summary for programs."""
    shown = public(ran.judgements)
    listed = [_deviation_json(each) for each in deviations(shown)]
    return {
        "target": {"reach": ran.header.reach, "name": ran.header.name, "version": ran.header.version},
        "exit": int(ran.exit),
        "verdicts": dict(ran.footer.verdicts),
        "embargoed": ran.footer.embargoed,
        "shares": shares_of(shown, ran.header.role).as_json(),
        "pages": {page: {verdict.value: n for verdict, n in counts.items()} for page, counts in by_page(shown)},
        "findings": [finding_json(each) for each in faults(shown)],
        "deviations": listed,
        "departures": listed,  # the name of 0.1; goes with the next minor version
        "not_judged": [
            {"verdict": verdict, "why": why, "count": len(checks), "checks": sorted(set(checks))}
            for (verdict, why), checks in idle(shown).items()
        ],
        "pending": list(ran.footer.pending),
        "met_busy_machine": len(prevented_judgements(shown)),
        "stopped": str(ran.stopped) if ran.stopped else None,
        "results": str(ran.out),
    }


def finding_json(fault: TargetFault) -> dict[str, Any]:
    """A finding for programs."""
    one = fault.first
    return {
        "verdict": one.verdict.value,
        "requirement": fault.requirement,
        "check": one.key.check,
        "cause": one.cause,
        "roles": fault.roles,
        "profiles": fault.profiles,
        "checks": fault.checks,
        "elsewhere": fault.elsewhere,
        "rate": fault.rate,
        "places": len(fault.judgements),
        "target_wrote": fault.wrote,
        "repeat": one.repeat,
        "evidence": one.evidence,
    }


def _deviation_json(each: DeviationBlock) -> dict[str, Any]:
    one = each.first
    return {
        "verdict": one.verdict.value, "requirement": one.key.requirement, "check": one.key.check, "role": one.key.role,
        "profile": one.key.profile, "cause": one.cause, "count": each.count, "values": each.values, "repeat": one.repeat,
        "evidence": one.evidence,
    }  # fmt: skip


def show(ran: Ran, out: Console, *, verbose: bool = False) -> None:
    """Print the summary."""
    shown = public(ran.judgements)
    title = f"{ran.header.name} {ran.header.version}".strip()
    out.print(f"\n{plain(title)} as {ran.header.role.replace('+', ' and ')}: {len(shown)} judgements")
    told = faults(shown)
    _tell_count(told, out)
    for fault in told:
        _tell(fault, out, ran.out)
    if not never_began(ran):
        out.print()
        out.print(_table(list(by_page(shown))))
        tell_shares(ran, out)
        tell_known(shown, out, verbose=verbose)
        _tell_idle(idle(shown), out, verbose=verbose)
    _tell_end(ran, out)


def never_began(ran: Ran) -> bool:
    """Whether there is nothing to tell but why: it stopped, and all that was said before is what this kind of target has not."""
    return not ran.judgements or (ran.stopped is not None and all(one.verdict.says_nothing for one in ran.judgements))


def show_together(ran: Sequence[Ran | None], out: Console) -> None:
    """One line a target, after the summaries of several; the target last, for a command may be long."""
    out.print(f"\n{'All targets':<18}{'judged':>8}{'deviations':>12}{'known':>8}  target", style="bold")
    for one in filter(None, ran):
        shown = public(one.judgements)
        deviation = len(deviations(shown)) + one.footer.embargoed
        known = len({_known(each) for each in shown if each.verdict is Verdict.KNOWN})
        text = f"{_SHORT[one.exit]:<18}{len(shown):>8}{deviation or '-':>12}{known or '-':>8}  {one.header.reach}"
        out.print(plain(text), soft_wrap=True)


def _table(pages: Sequence[tuple[str, Counter[Verdict]]]) -> Table:
    from rich.table import Table

    columns = [verdict for verdict in Verdict if any(counts[verdict] for _, counts in pages)]
    table = Table(
        "page", "requirements", *(verdict.value for verdict in columns), box=None, pad_edge=False, header_style="bold"
    )
    for column in table.columns:
        column.overflow = "fold"  # narrow as a terminal may be, no name is cut
    for column in table.columns[1:]:
        column.justify = "right"
    for page, counts in pages:
        table.add_row(page, str(counts.total()), *(str(counts[verdict] or "-") for verdict in columns))
    return table


def _tell_count(told: Sequence[TargetFault], out: Console) -> None:
    """Print how many findings there are, and in how many places they show, where these are more."""
    places = sum(len(fault.judgements) for fault in told)
    if places > len(told):
        out.print(f"{len(told)} finding{'s' * (len(told) > 1)}, in {places} places")


def _tell(fault: TargetFault, out: Console, folder: Path) -> None:
    one = fault.first
    style = "yellow" if one.verdict.is_minor else "bold red"
    profiles, roles = ", ".join(fault.profiles), " and ".join(fault.roles)
    where = "" if profiles == "default" else f", profile{'s' * (len(fault.profiles) > 1)} {profiles}"
    out.print()
    level = one.level if fault.requirement == one.key.requirement else level_of(fault.requirement)
    head = f"{one.verdict.value.upper():<7}{fault.requirement}  ({level}, {roles}{where})"
    out.print(head, style=style, soft_wrap=True)
    for name, text in _rows(fault, folder):
        if text:
            out.print(f"       {name:<9}{plain(text)}", soft_wrap=True)


def _rows(fault: TargetFault, folder: Path) -> Iterator[tuple[str, str]]:
    """What is said of one fault, by name; what is empty is left out."""
    one, was = fault.first, found(fault.first)
    known = requirements().get(fault.requirement)
    yield "asked", known.says if known is not None else _ASKED.get(one.key.requirement, "")
    yield "page", known.ref[0].replace("#", ", section ") if known is not None and known.ref else ""
    yield from (("erratum", text) for text in _errata(one))
    yield "seen", _seen(one, was)
    yield "expected", was.get("expected", "") if _is_plain(one, was) else ""
    yield "at", f"byte {was['byte']} of the batch: {was['bytes']}" if "byte" in was else ""
    yield "check", one.key.check if one.key.check != one.key.requirement else ""
    yield "with", _values(fault)
    yield from places_rows(fault)
    yield "log", fault.said
    yield "script", str(one.details.get("script") or "")
    also = (
        "" if one.key.profile.startswith("multicast") else " (and .script, for zconform replay)"
    )  # a group has no script
    yield "evidence", f"{folder / one.evidence}{also}" if one.evidence else ""
    yield "repeat", one.repeat


PLACES: Final = ("rate", "also", "seen by", "touches")
"""The names of what is said of the places of a finding."""


def places_rows(fault: TargetFault) -> Iterator[tuple[str, str]]:
    """How often and where else a finding shows, by name; empty where there is nothing to say."""
    told = (fault.first, *fault.others[:MOST_OTHERS])
    also = "; ".join(f"{other.cause} ({other.key.check})" for other in told[1:])
    seen_by = ", ".join(check for check in fault.checks if check not in {one.key.check for one in told})
    yield from zip(PLACES, (fault.rate, also, seen_by, ", ".join(fault.elsewhere)), strict=True)


def _errata(one: Judgement) -> Iterator[str]:
    """Where text and baseline differ in this requirement, which of them is asked for, and what that means in practice."""
    known = requirements().get(one.key.requirement)
    for erratum in map(by_name, known.erratum if known is not None else ()):
        about = {
            Stance.PIN: f"the baseline's reading is required, so that nodes interoperate: {erratum.baseline}",
            Stance.DEV: f"the text is required, of every implementation: {erratum.text}",
            Stance.GAP: f"neither is required: text: {erratum.text} baseline: {erratum.baseline}",
            Stance.BOTH: f"either is right: text: {erratum.text} baseline: {erratum.baseline}",
        }
        yield f"{erratum.id} ({erratum.stance}): {about[erratum.stance]}"


def _is_plain(one: Judgement, was: Mapping[str, Any]) -> bool:
    """Whether the cause is no more than what came and what was expected."""
    return bool(was.get("expected")) and not was.get("why") and one.verdict is not Verdict.FLAKY


def _seen(one: Judgement, was: Mapping[str, Any]) -> str:
    if not _is_plain(one, was):
        return one.cause
    return ": ".join(text for text in (was.get("path", ""), was.get("got", "")) if text)


def _values(fault: TargetFault) -> str:
    """The parameters with which the first check showed it."""
    mine = [one for one in fault.judgements if one.key.check == fault.first.key.check]
    shown = list(dict.fromkeys(check_label("", one.key.parameters).strip("[]") for one in mine if one.key.parameters))
    text = ", ".join(shown[:8]) + (", ..." if len(shown) > 8 else "")
    return f"{text}  ({len(shown)} of its values)" if shown else ""


def tell_known(judgements: Iterable[Judgement], out: Console, *, verbose: bool) -> None:
    """The listed deviations that showed, each with the reason that the list gives; a death is named always."""
    found = Counter(_known(one) for one in judgements if one.verdict is Verdict.KNOWN)
    if not found:
        return
    text = sorted(entry for entry in found if verbose or Verdict(entry[0]).is_grave)
    out.print(f"\nKnown deviations: {len(found)}, as listed{'' if verbose else ' (-v shows them)'}")
    for entry in text:
        verdict, requirement, reason = entry
        out.print(f"{found[entry]:>6}  {verdict}: {requirement}: {plain(reason)}", soft_wrap=True)


def _known(one: Judgement) -> tuple[str, str, str]:
    """What it would be, were it not listed; what it is about; why it is so."""
    note = dict(one.details).get("known", {})
    about = one.key.check if one.key.requirement == STAYS_UP else one.key.requirement
    return str(note.get("expected", "")), about, str(note.get("reason", ""))


def _tell_idle(found: dict[tuple[str, str], list[str]], out: Console, *, verbose: bool) -> None:
    if not found:
        return
    out.print("\nNot judged")
    rows = list(found.items())
    for (verdict, why), checks in rows if verbose else rows[:10]:
        names = sorted(set(checks))
        text = ", ".join(names) if verbose or len(names) < 3 else f"{names[0]}, {names[1]}, .. ({len(names)} checks)"
        out.print(f"{len(checks):>6}  {verdict}: {plain(why or 'met nothing to judge')}: {text}", soft_wrap=True)
    if len(rows) > 10 and not verbose:
        out.print(f"        and {len(rows) - 10} more reasons (-v shows them)")


def _tell_end(ran: Ran, out: Console) -> None:
    out.print()
    if ran.footer.embargoed:
        out.print(count_line(ran.footer.embargoed))
    pending = [plain(label) for label in ran.footer.pending if not is_shard(label)]
    if pending and not never_began(ran):
        were = "check was" if len(pending) == 1 else "checks were"
        out.print(f"{len(pending)} {were} pending: {', '.join(pending[:3])}{', ...' if len(pending) > 3 else ''}")
    out.print(f"Results in {ran.out}", soft_wrap=True)
    if met := describe_prevented(len(prevented_judgements(ran.judgements))):
        out.print(met, style="yellow", soft_wrap=True)
    for one in ran.judgements:
        if LEFT in one.details:
            left, of = one.details[LEFT]
            out.print(f"{check_label(one.key.check)} had no time for {left} of its {of} circumstances", style="yellow")
    tell_exit(ran, out)


def tell_exit(ran: Ran, out: Console) -> None:
    """The last line: the exit code, and what it means."""
    style = "bold green" if ran.exit is Exit.CONFORMING else "bold red"
    verdicts = {one.verdict for one in ran.judgements} if ran.exit is Exit.CONFORMING else set()
    but = [text for verdict, text in _BUT.items() if verdict in verdicts]
    out.print(f"Exit {int(ran.exit)}: {_SAYS[ran.exit]}{', but for ' * bool(but)}{' and '.join(but)}", style=style)
