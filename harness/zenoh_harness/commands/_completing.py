"""What may stand in a place of the command line, for a shell that completes it; nothing is started for it.

Each function is a parameter's `shell_complete=`. Its imports are inside: a command line that nobody completes need not pay for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from click import Context, Parameter
from click.shell_completion import CompletionItem

MOST: Final = 100
"""More names than these are offered as their first words, up to the slash: the next key brings the rest."""


def targets(_context: Context, _parameter: Parameter, incomplete: str) -> list[str]:
    """Known names, kinds, and behind a kind what it is known to take; after `?` its options and their values."""
    from zenoh_harness.links.locators import PROTOCOLS
    from zenoh_harness.targets.catalogue import Catalogue
    from zenoh_harness.targets.reach import KINDS

    head, question, options = incomplete.rpartition("?")
    if question:
        return begun((f"{head}?{each}" for each in _options(head, options)), incomplete)
    kinds = (
        name if not kind.required else f"{name}{'/' if name in PROTOCOLS else ':'}" for name, kind in KINDS.items()
    )
    if ":" not in incomplete:
        return begun([*(known.name for known in Catalogue.load()), *kinds], incomplete)
    kind = incomplete.partition(":")[0]
    return begun((f"{kind}:{rest}" for rest in _rests(kind)), incomplete)


def _rests(kind: str) -> Iterable[str]:
    """What may follow a kind's colon, where that is a closed list."""
    from zenoh_harness.faulty import all_faulty_nodes
    from zenoh_harness.targets.adapters.wheel import settings
    from zenoh_harness.variants import all_variants

    if kind == "wheel":
        return [str(version) for version in settings()["wheel"]["versions"]]
    return {"faulty": all_faulty_nodes, "variant": all_variants}.get(kind, dict)()


def _options(head: str, options: str) -> Iterator[str]:
    """The options of a target string with the one that is being written; those before it stay as they are."""
    from zenoh_harness.profiles import PROFILES
    from zenoh_harness.targets.reach import KINDS, NODE_OPTIONS, VALUES

    before, border, now = options.rpartition("&")
    name, equals, _ = now.partition("=")
    if equals:
        values = PROFILES if name == "profile" else sorted(VALUES.get(name, ()))
        yield from (f"{before}{border}{name}={value}" for value in values)
        return
    kind = KINDS.get(head.partition(":")[0].partition("/")[0])
    for each in sorted(NODE_OPTIONS | (kind.options if kind else frozenset())):
        yield f"{before}{border}{each}="


def checks(_context: Context, _parameter: Parameter, incomplete: str) -> list[str]:
    """Whatever `--only` takes: cases, laws, vectors, models, scripts and requirements."""
    from zenoh_harness.run.checks import every_name

    return begun(every_name(), incomplete)


def cases(_context: Context, _parameter: Parameter, incomplete: str) -> list[str]:
    """Ids of cases."""
    from zenoh_conformance.case import all_cases

    return begun(all_cases(), incomplete)


def laws(_context: Context, _parameter: Parameter, incomplete: str) -> list[str]:
    """Ids of laws."""
    from zenoh_conformance.law import all_laws

    return begun(all_laws(), incomplete)


def requirements(_context: Context, _parameter: Parameter, incomplete: str) -> list[str]:
    """Ids of requirements."""
    from zenoh_conformance.requirement import requirements as every

    return begun(every(), incomplete)


def revisions(_context: Context, _parameter: Parameter, incomplete: str) -> list[str]:
    """Revisions, also behind a comma."""
    from zenoh_conformance.lock import revisions as every

    before, comma, _ = incomplete.rpartition(",")
    return begun((f"{before}{comma}{each}" for each in every()), incomplete)


def vectors(_context: Context, _parameter: Parameter, incomplete: str) -> list[str]:
    """Ids of golden vectors."""
    from zenoh_harness.run.vectors import golden

    return begun((vector.id for vector in golden()), incomplete)


def scenarios(_context: Context, _parameter: Parameter, incomplete: str) -> list[str]:
    """Scenarios of `interop`, and their topics."""
    from zenoh_harness.interop.scenario import all_scenarios

    every = all_scenarios().values()
    return begun({name for one in every for name in (one.topic, one.id.removeprefix("interop/"))}, incomplete)


def faulty(_context: Context, _parameter: Parameter, incomplete: str) -> list[str]:
    """Faulty nodes."""
    from zenoh_harness.faulty import all_faulty_nodes

    return begun(all_faulty_nodes(), incomplete)


def variants(_context: Context, _parameter: Parameter, incomplete: str) -> list[str]:
    """Conforming variants."""
    from zenoh_harness.variants import all_variants

    return begun(all_variants(), incomplete)


def profiles(_context: Context, _parameter: Parameter, incomplete: str) -> list[str]:
    """Profiles."""
    from zenoh_harness.profiles import PROFILES

    return begun(PROFILES, incomplete)


def scripts(_context: Context, _parameter: Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Scripts that ship, and files."""
    from zenoh_harness.scripting.shipped import shipped

    return or_files(shipped(), incomplete)


def or_files(names: Iterable[str], incomplete: str) -> list[CompletionItem[str]]:
    """The names that begin so; files where none does, for a shell that is told of files offers nothing else."""
    found = begun(names, incomplete) if incomplete else []
    return [CompletionItem(name) for name in found] or [CompletionItem(incomplete, type="file")]


def begun(names: Iterable[str], incomplete: str) -> list[str]:
    """The names that begin so, sorted; of very many their beginnings up to the next slash."""
    found = sorted({name for name in names if name.startswith(incomplete)})
    if len(found) <= MOST:
        return found
    at = len(incomplete)
    return sorted({name[: name.index("/", at) + 1] if "/" in name[at:] else name for name in found})
