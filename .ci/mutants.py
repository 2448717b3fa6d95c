"""Mutate the deciders of `.ci/mutants.toml`, all or those named, and run their nearest tests: `mutants.py [NAME ..]`.

mutmut 3 takes a flat source folder. Each module gets a stage of its own, out/mutants/NAME, with the five packages under `src` and its
tests beside them. A mutant that no test kills must be explained in the table, by its name; an explanation without one is an error, too.
One that changes only the words of a sentence (a string with a space in it) is counted and needs no reason: tests pin those that decide.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
TABLE: Final = ROOT / ".ci" / "mutants.toml"
PACKAGES: Final = ("conformance", "vectors", "harness", "fuzz", "reports")
SURVIVED: Final = re.compile(r"^\s*(\S+__mutmut_\d+): (survived|no tests|suspicious|timeout)$")
TALLY: Final = {"killed": "🎉", "no tests": "🫥", "timeout": "⏰", "suspicious": "🤔", "survived": "🙁"}
"""What mutmut prints before each count of its last line."""

NICE: Final = 15


@dataclass(frozen=True, slots=True)
class Decider:
    """One module of the table."""

    name: str
    path: str
    tests: tuple[str, ...]
    explained: dict[str, str] = field(default_factory=dict)
    """Function and number of a mutant that survives, `decide_3`, to the reason why no test can tell it."""

    @property
    def module(self) -> str:
        """The path of the module in its stage."""
        return "src/" + self.path.partition("/")[2]


def deciders() -> dict[str, Decider]:
    """The modules of the table, by their short name."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return {
        name: Decider(name, row["path"], tuple(row["tests"]), row.get("explained", {})) for name, row in table.items()
    }


def stage(one: Decider) -> Path:
    """The folder in which one module is mutated, made anew."""
    place = ROOT / "out" / "mutants" / one.name
    shutil.rmtree(place, ignore_errors=True)
    no_cache = shutil.ignore_patterns("__pycache__")
    for top in PACKAGES:
        shutil.copytree(ROOT / top / f"zenoh_{top}", place / "src" / f"zenoh_{top}", ignore=no_cache)
    (place / "tests").mkdir()
    tops = sorted({"harness", *(test.partition("/")[0] for test in one.tests)})
    helpers = (
        each for top in tops for each in (ROOT / top / "tests").glob("*.py") if not each.name.startswith("test_")
    )
    for each in (*helpers, *(ROOT / test for test in one.tests)):
        if each.name != "conftest.py":
            shutil.copy(each, place / "tests" / each.name)
    module = one.module
    (place / "setup.cfg").write_text(
        f"[mutmut]\nsource_paths=src\nonly_mutate={module}\n"
        "pytest_add_cli_args_test_selection=\n" + "".join(f"    tests/{Path(test).name}\n" for test in one.tests),
        encoding="utf-8",
    )
    (place / "pytest.ini").write_text(
        "[pytest]\naddopts = -p no:cacheprovider -m 'not soak'\npythonpath = tests\n"
        "markers =\n    soak\n    spread\n    long(seconds)\n    needs(part)\n",
        encoding="utf-8",
    )
    return place


def mutate(one: Decider) -> tuple[dict[str, int], dict[str, str]]:
    """Run mutmut in the stage of a module: how many mutants came to which end, and those that were not killed, with their ends."""
    place = stage(one)
    env = {**os.environ, "PYTHONPATH": str(place / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "mutmut"]
    ran = subprocess.run(
        [*command, "run", "--max-children", "1"], cwd=place, env=env, capture_output=True, text=True, check=False,
        preexec_fn=lambda: os.nice(NICE),
    )  # fmt: skip
    (place / "log").write_text(ran.stdout + ran.stderr, encoding="utf-8")
    tallies = [line for line in ran.stdout.replace("\r", "\n").splitlines() if TALLY["killed"] in line]
    counts = {end: re.search(rf"{sign} (\d+)", tallies[-1] if tallies else "") for end, sign in TALLY.items()}
    if not counts["killed"]:
        raise SystemExit(f"mutants: {one.name}: mutmut did not come to its end; see {place / 'log'}")
    told = subprocess.run([*command, "results"], cwd=place, env=env, capture_output=True, text=True, check=False).stdout
    alive = {m[1]: m[2] for line in told.splitlines() if (m := SURVIVED.match(line))}
    return {end: int(found[1]) if found else 0 for end, found in counts.items()}, alive


class _WithoutWords(ast.NodeTransformer):
    """Takes names of functions and the words of sentences away."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = ""
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant("") if isinstance(node.value, str) and " " in node.value else node


def words_only(source: str, mutants: Iterable[str]) -> set[str]:
    """The mutants, by function and number, that change nothing in a mutated module but the words of sentences."""
    found = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and "__mutmut_" in node.name:
            name, text = node.name, ast.dump(_WithoutWords().visit(node))
            found[name] = text
    same = set()
    for mutant in mutants:
        name = mutant.rpartition(".")[2]
        original = name.rpartition("__mutmut_")[0] + "__mutmut_orig"
        if name in found and found[name] == found.get(original):
            same.add(short(mutant))
    return same


def short(mutant: str) -> str:
    """`decide_3` for `zenoh_harness.run.judge.decide.x_decide__mutmut_3`, `Register.add_2` for a method."""
    named, _, number = mutant.rpartition("__mutmut_")
    name = named.rpartition(".")[2]
    parts = name.removeprefix("xǁ").split("ǁ") if name.startswith("xǁ") else [name.removeprefix("x_")]
    return ".".join(parts) + f"_{number}"


def main(names: Sequence[str]) -> int:
    """Mutate the modules; 1 if a mutant lives that is not explained, or an explanation is of none."""
    known, red = deciders(), 0
    if unknown := set(names) - known.keys():
        raise SystemExit(f"mutants: no {', '.join(sorted(unknown))} in {TABLE.name}; it has {', '.join(known)}")
    for name in names or known:
        counts, alive = mutate(known[name])
        mutated = ROOT / "out" / "mutants" / name / "mutants" / known[name].module
        words = words_only(mutated.read_text(encoding="utf-8"), alive)
        living = {
            short(mutant): end for mutant, end in alive.items() if end != "timeout" and short(mutant) not in words
        }
        new, gone = living.keys() - known[name].explained.keys(), known[name].explained.keys() - living.keys()
        red += len(new) + len(gone)
        total = sum(counts.values())
        print(
            f"{name}: {total} mutants, {total - len(living) - len(words)} killed, {len(words)} of words only, "
            f"{len(living) - len(new)} explained, {len(new)} alive"
        )
        for mutant in sorted(new):
            print(f"  {living[mutant]}: {mutant}")
        for mutant in sorted(gone):
            print(f"  explained, and killed: {mutant}")
    return 1 if red else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
