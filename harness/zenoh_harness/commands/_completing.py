"""Shell completion of command-line words; nothing is started for it.

Each function is a parameter's `shell_complete=`. The imports are inside the functions, so that a command line without
completion does not pay for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Final

from click import Context, Parameter
from click.shell_completion import CompletionItem

MOST: Final = 100
"""If more names than this match, only their parts up to the next slash are offered."""

Completer = Callable[[Context, Parameter, str], list[str]]


def targets(_context: Context, _parameter: Parameter, incomplete: str) -> list[str]:
    """Complete a target string: known names, kinds, the values of a kind, and options after `?`."""
    from zenoh_harness.targets.catalogue import Catalogue
    from zenoh_harness.targets.reach import KINDS, reachable

    head, question, options = incomplete.rpartition("?")
    if question:
        return matching((f"{head}?{option}" for option in _options(head, options)), incomplete)
    kinds = (KINDS[name].beginning for name in reachable())
    if ":" not in incomplete:
        return matching([*(known.name for known in Catalogue.load()), *kinds], incomplete)
    kind = incomplete.partition(":")[0]
    return matching((f"{kind}:{value}" for value in _values(kind)), incomplete)


def _values(kind: str) -> Iterable[str]:
    """Return what may follow a kind's colon, if that is a closed list."""
    from zenoh_harness.faulty import all_faulty_nodes
    from zenoh_harness.targets.adapters.wheel import settings
    from zenoh_harness.variants import all_variants

    if kind == "wheel":
        return [str(version) for version in settings()["wheel"]["versions"]]
    return {"faulty": all_faulty_nodes, "variant": all_variants}.get(kind, dict)()


def _options(head: str, options: str) -> Iterator[str]:
    """Yield the options of a target string with the last one completed; the ones before it stay as they are."""
    from zenoh_harness.profiles import PROFILES
    from zenoh_harness.targets.reach import KINDS, NODE_OPTIONS, VALUES

    before, border, last = options.rpartition("&")
    name, equals, _ = last.partition("=")
    if equals:
        values = PROFILES if name == "profile" else sorted(VALUES.get(name, ()))
        yield from (f"{before}{border}{name}={value}" for value in values)
        return
    kind = KINDS.get(head.partition(":")[0].partition("/")[0])
    for option in sorted(NODE_OPTIONS | (kind.options if kind else frozenset())):
        yield f"{before}{border}{option}="


def _names_from(module: str, attribute: str) -> Completer:
    """Return a completer for the names in a module's mapping, or in what its function returns."""

    def complete(_context: Context, _parameter: Parameter, incomplete: str) -> list[str]:
        names = getattr(import_module(module), attribute)
        return matching(names() if callable(names) else names, incomplete)

    return complete


checks: Final = _names_from("zenoh_harness.run.check_names", "every_name")
cases: Final = _names_from("zenoh_conformance.cases.case", "all_cases")
laws: Final = _names_from("zenoh_conformance.judging.law", "all_laws")
requirements: Final = _names_from("zenoh_conformance.spec.requirement", "requirements")
faulty: Final = _names_from("zenoh_harness.faulty", "all_faulty_nodes")
variants: Final = _names_from("zenoh_harness.variants", "all_variants")
profiles: Final = _names_from("zenoh_harness.profiles", "PROFILES")


def revisions(_context: Context, _parameter: Parameter, incomplete: str) -> list[str]:
    """Complete the last of several revisions that are separated by commas."""
    from zenoh_conformance.spec.lock import revisions as known

    before, comma, _ = incomplete.rpartition(",")
    return matching((f"{before}{comma}{revision}" for revision in known()), incomplete)


def vectors(_context: Context, _parameter: Parameter, incomplete: str) -> list[str]:
    """Complete ids of golden vectors."""
    from zenoh_harness.run.vectors.codec_run import golden

    return matching((vector.id for vector in golden()), incomplete)


def scenarios(_context: Context, _parameter: Parameter, incomplete: str) -> list[str]:
    """Complete scenarios of `interop`, and their topics."""
    from zenoh_harness.interop.scenario import all_scenarios

    known = all_scenarios().values()
    names = {name for scenario in known for name in (scenario.topic, scenario.id.removeprefix("interop/"))}
    return matching(names, incomplete)


def scripts(_context: Context, _parameter: Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Complete names of shipped scripts, and files."""
    from zenoh_harness.scripting.shipped import shipped_scripts

    return or_files(shipped_scripts(), incomplete)


def or_files(names: Iterable[str], incomplete: str) -> list[CompletionItem[str]]:
    """Return the matching names; if there are none, ask the shell to complete files (it then offers nothing else)."""
    names = matching(names, incomplete) if incomplete else []
    return [CompletionItem(name) for name in names] or [CompletionItem(incomplete, type="file")]


def matching(names: Iterable[str], incomplete: str) -> list[str]:
    """Return the names that begin with the word, sorted; of more than `MOST`, their parts up to the next slash."""
    selected = sorted({name for name in names if name.startswith(incomplete)})
    if len(selected) <= MOST:
        return selected
    at = len(incomplete)
    return sorted({name[: name.index("/", at) + 1] if "/" in name[at:] else name for name in selected})
