"""What interop says to people: one table a pair, what went wrong with the command that repeats it, and any to any."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from zenoh_conformance.judging.verdict import Judgement, Verdict, worst
from zenoh_harness.console import plain
from zenoh_harness.interop.scenario import all_scenarios
from zenoh_harness.interop.talk import KEYS
from zenoh_harness.run.report.summary import deviations, idle, public, tell_exit, tell_known
from zenoh_harness.run.runner import Ran

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

LAWS: Final = "laws"
_NUMBERED: Final = re.compile(rf"{KEYS}/\d+")
"""A key of one scenario."""


def by_topic(judgements: Iterable[Judgement]) -> dict[str, Counter[Verdict]]:
    """Verdicts of each topic of scenarios, and of the laws, in the order of the record."""
    topics: dict[str, Counter[Verdict]] = {}
    for one in judgements:
        found = all_scenarios().get(one.key.check)
        topics.setdefault(found.topic if found else LAWS, Counter())[one.verdict] += 1
    return topics


def show(ran: Ran, out: Console, *, seconds: float, verbose: bool = False) -> None:
    """One pair's summary."""
    shown = public(ran.judgements)
    listens, _, connects = ran.header.reach.partition(" <- ")
    out.print(f"\n{plain(listens)} listens, {plain(connects)} connects", soft_wrap=True)
    out.print(f"{plain(ran.header.name)}: {len(shown)} judgements in {seconds:.0f} s", soft_wrap=True)
    if shown:
        out.print(_topics(by_topic(shown)))
    for each in deviations(shown, _kind):
        one, values = each.first, ", ".join(each.values[:6])
        who = "begun by the" if one.key.check in all_scenarios() else "broken by the"
        out.print(f"{one.verdict.value.upper():<7}{one.key.check}  ({who} {one.key.role})", style="bold red")
        out.print(f"       seen     {plain(one.cause)}", soft_wrap=True)
        if values:
            out.print(f"       with     {plain(values)}  ({each.count} of its values)", soft_wrap=True)
        if one.evidence:
            out.print(f"       evidence {one.evidence}", soft_wrap=True)
        out.print(f"       repeat   {plain(one.repeat)}", soft_wrap=True)
    tell_known(shown, out, verbose=verbose)
    for (verdict, why), checks in list(idle(shown).items()) if verbose else []:
        out.print(f"{len(checks):>6}  {verdict}: {plain(why or 'met nothing to judge')}", soft_wrap=True)
    if ran.footer.embargoed:
        out.print(f"{ran.footer.embargoed} embargoed: kept in your data folder, counted here and told nowhere")
    if ran.footer.pending:
        out.print(f"{len(ran.footer.pending)} steps were pending: {plain(ran.footer.why)}")
    out.print(f"Results and the recorded conversation in {ran.out}", soft_wrap=True)
    tell_exit(ran, out)


def _kind(one: Judgement) -> str:
    """The cause without the values of this one step: sixty encodings that are lost are lost for one reason."""
    cause = _NUMBERED.sub(KEYS, one.cause)
    for name, value in one.key.parameters:
        cause = cause.replace(f" {value} ", f" {name} ")
    return cause


def _topics(topics: Mapping[str, Counter[Verdict]]) -> Table:
    from rich.table import Table

    columns = [verdict for verdict in Verdict if any(counts[verdict] for counts in topics.values())]
    table = Table("topic", "judged", *(verdict.value for verdict in columns), box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for topic, counts in topics.items():
        table.add_row(topic, str(counts.total()), *(str(counts[verdict] or "-") for verdict in columns))
    return table


def cell(ran: Ran) -> str:
    """One pair in a word: what is red, else what passed; the rest after it."""
    counts = Counter(one.verdict for one in ran.judgements)
    red = sum(count for verdict, count in counts.items() if verdict.severity > Verdict.KNOWN.severity)
    word = f"{red} {worst(counts).value}" if red else f"{counts[Verdict.PASS]} ok"
    known = f", {counts[Verdict.KNOWN]} known" if counts[Verdict.KNOWN] else ""
    lacking = f", {counts[Verdict.UNIMPLEMENTED]} n/a" if counts[Verdict.UNIMPLEMENTED] else ""
    return word + known + lacking + (" (incomplete)" if ran.stopped else "")


def any_to_any(targets: Sequence[str], cells: Mapping[tuple[str, str], str]) -> Table:
    """Rows listen, columns connect."""
    from rich.table import Table

    table = Table("listens \\ connects", *(plain(target) for target in targets), box=None, pad_edge=False)
    for column in table.columns:
        column.overflow = "fold"
    for responder in targets:
        row = [cells.get((responder, initiator), "") for initiator in targets]
        table.add_row(plain(responder), *(plain(each) for each in row))
    return table
