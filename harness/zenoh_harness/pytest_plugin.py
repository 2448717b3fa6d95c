"""pytest plugin: `pytest --target wheel:1.10.2` makes each judgement of a run a test item.

The target runs once, with its first item, and only with the selected cases (`-k` works). Each item then reports its judgement: a
deviation fails, a known deviation is an expected failure, and an item without a judgement is skipped with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from zenoh_conformance.judging.verdict import Judgement
    from zenoh_conformance.spec.requirement import Requirement
    from zenoh_harness.run.plan.own_vectors import OwnVectors
    from zenoh_harness.run.runner import Ran, RunPart

EMBARGOED = pytest.StashKey[int]()
NAMED = pytest.StashKey[frozenset[str]]()
OWN = pytest.StashKey["OwnVectors"]()
MOST = 80
"""Lines of a conversation in a failure: the last ones."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--target` and its related options."""
    group = parser.getgroup("zenoh-conformance", "conformance of Zenoh nodes and codecs")
    group.addoption(
        "--target", action="append", default=[], metavar="REACH", help="judge this target, as in wheel:1.10.2"
    )
    group.addoption(
        "--target-only", action="append", default=[], metavar="GLOB", help="only these checks or requirements"
    )
    group.addoption("--target-known", action="append", default=[], metavar="FILE", help="further known deviations")
    group.addoption(
        "--target-cases", action="append", default=[], metavar="FILE", help="further cases of yours, in a Python file"
    )
    group.addoption("--target-vectors", metavar="DIR", help="also play the vectors of yours in this folder")
    group.addoption("--target-results", metavar="DIR", help="keep results and evidence here")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, remember items named on the command line, and load the user's cases."""
    config.addinivalue_line("markers", "requirement(id, level, page): what an item of --target judges")
    targets: list[str] = config.getoption("--target")
    named = [word for word in config.args if any(word.startswith(f"{target}::") for target in targets)]
    if named:
        config.stash[NAMED] = frozenset(named)
        config.args[:] = [word for word in config.args if word not in named]
    for path in config.getoption("--target-cases"):
        _load(config, path)


def _load(config: pytest.Config, path: str) -> None:
    """Import a file of cases; each registers itself under the file's name."""
    from zenoh_harness.errors import UsageError
    from zenoh_harness.run.plan.own_cases import load

    try:
        load(Path(path) if Path(path).is_absolute() else config.invocation_params.dir / path)
    except UsageError as why:
        raise pytest.UsageError(str(why)) from why


def own_vectors(config: pytest.Config) -> OwnVectors:
    """Return the user's own vectors, once a session. Raises UsageError for a folder without files."""
    from zenoh_harness.run.plan.own_vectors import OwnVectors

    if OWN not in config.stash:
        folder = config.getoption("--target-vectors")
        config.stash[OWN] = OwnVectors.read(config.invocation_params.dir / folder if folder else None)
    return config.stash[OWN]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give all items of a target to one pytest-xdist worker, since a target runs once."""
    targets: list[str] = config.getoption("--target")
    if not targets or config.getoption("dist") not in ("load", "loadgroup", "worksteal"):
        return None
    from xdist.scheduler import LoadScopeScheduling

    class ByTarget(LoadScopeScheduling):  # type: ignore[misc]  # it ships no types
        def _split_scope(self, nodeid: str) -> str:
            return next((target for target in targets if nodeid.startswith(f"{target}::")), nodeid)

    return ByTarget(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the items of the targets; without a file argument they are the only items."""
    targets: list[str] = config.getoption("--target")
    if not targets:
        return
    named = config.stash.get(NAMED, None)
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        items.clear()
    fresh = [
        item
        for target in targets
        for item in TargetCollector.from_parent(session, name=target, nodeid=target).collect()
    ]
    if named is not None:
        missing = named - {item.nodeid for item in fresh}
        for word in sorted(missing):
            raise pytest.UsageError(f"no item {word!r}; {nearest_to(word, [item.nodeid for item in fresh])}")
        fresh = [item for item in fresh if item.nodeid in named]
    items.extend(fresh)


def nearest_to(word: str, names: list[str]) -> str:
    """Return a hint with the nearest names."""
    from zenoh_harness.errors import nearest

    return nearest(word, names) or "--collect-only -q lists them"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Count an item under embargo instead of reporting it."""
    if not isinstance(item, JudgementItem) or not item.secret():
        return None
    item.config.stash[EMBARGOED] = item.config.stash.get(EMBARGOED, 0) + 1
    return True


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the session if an item under embargo was counted, or a vector of the user's could not be used."""
    own = session.config.stash.get(OWN, None)
    if (
        session.config.stash.get(EMBARGOED, 0) or (own is not None and own.broken)
    ) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the user's vectors that cannot be used, and the number of embargoed findings."""
    own = config.stash.get(OWN, None)
    for line in own.remarks if own is not None else ():
        terminalreporter.write_line(line)
    if count := config.stash.get(EMBARGOED, 0):
        terminalreporter.write_line(f"findings under embargo, kept only in your data folder: {count}")


class TargetCollector(pytest.Collector):
    """A target: collects the planned checks, and runs them once."""

    _ran: Ran | None = None
    _by_label: dict[str, list[Judgement]] | None = None

    def collect(self) -> Iterator[pytest.Item]:
        """Yield one item for each check with its parameters."""
        for label in dict.fromkeys(label for part in self.parts() for label in part.planned()):
            # the id as text, as it is read back by --lf and its like: what stands in brackets is told apart there
            item = JudgementItem.from_parent(self, name=label, nodeid=f"{self.nodeid}::{label}")
            for known in item_requirements(label):
                item.add_marker(
                    pytest.mark.requirement(id=known.id, level=known.level.value, page=known.id.partition("/")[0])
                )
            yield item

    def parts(self, only: tuple[str, ...] = ()) -> list[RunPart]:
        """Return the parts of the run, for these labels or for the selection of the command line."""
        from zenoh_harness.errors import HarnessError
        from zenoh_harness.files.known import find as find_list
        from zenoh_harness.run.attempt.options import Options
        from zenoh_harness.run.plan.plan import Selection
        from zenoh_harness.run.runner import known_for, nodes_of, parts_of
        from zenoh_harness.targets.catalogue import find

        selection = Selection(only or tuple(self.config.getoption("--target-only")))
        try:
            reach = find(self.name)
            own = own_vectors(self.config)
            parts = parts_of(reach, Options(out=self.folder(), selection=selection, own_vectors=own))
            for part in parts:
                lists, identity = map(find_list, self.config.getoption("--target-known")), parts[0].identity
                known = known_for(identity.name, lists, kind=identity.kind, nodes=nodes_of(parts))
                part.options = replace(part.options, known=known)
        except HarnessError as why:
            raise pytest.UsageError(str(why)) from why
        return parts

    def folder(self) -> Path:
        """Return the folder for results."""
        from zenoh_harness.files.evidence import slug

        given = self.config.getoption("--target-results")
        base = Path(given) if given else self.config.rootpath / ".pytest_cache" / "zenoh-conformance"
        return base / slug(self.name)

    def judgements(self, label: str) -> list[Judgement]:
        """Return the judgements of one item; run the target if it has not run."""
        if self._by_label is None:
            self._by_label = {}
            self._run()
        return self._by_label.get(label, [])

    def _run(self) -> None:
        from zenoh_harness.files.results import label
        from zenoh_harness.run.runner import run_target
        from zenoh_harness.run.store.run_folder import claimed
        from zenoh_harness.targets.catalogue import find

        assert self._by_label is not None
        wanted = [item.name for item in self.session.items if isinstance(item, JudgementItem) and item.parent is self]
        parts = self.parts(tuple(dict.fromkeys(name.split(" ", 2)[2] for name in wanted)))
        with claimed(self.folder()) as out:
            self._ran = run_target(find(self.name), replace(parts[0].options, out=out), parts)
        for judgement in self._ran.judgements:
            self._by_label.setdefault(label(judgement.key), []).append(judgement)

    missing: str | None = None
    """Why the target cannot be judged: empty if it can, None before it was tried."""

    def had(self) -> None:
        """Fail the first item of a target that cannot be judged, and skip the others."""
        first = self.missing is None
        if first:
            self.missing = self._problem()
        if self.missing and first:
            raise ItemFailed(self.missing)
        if self.missing:
            pytest.skip("the target cannot be judged: its first item says why")

    def _problem(self) -> str:
        from zenoh_harness.errors import HarnessError

        try:
            self.judgements("")
        except HarnessError as why:
            return str(why)
        judged = self._ran is None or any(one.verdict.is_judged for one in self._ran.judgements)
        return "" if judged else self.stopped

    @property
    def stopped(self) -> str:
        """Why the run ended early, or an empty string."""
        return str(self._ran.stopped) if self._ran is not None and self._ran.stopped else ""


def item_requirements(label: str) -> list[Requirement]:
    """Return the requirements that an item judges, from its label `role profile check[..]`."""
    from zenoh_conformance.spec.requirement import requirements
    from zenoh_harness.run.check_names import requirements_of

    check = label.split(" ", 2)[2].partition("[")[0]
    return [requirements()[name] for name in requirements_of(check) if name in requirements()]


class ItemFailed(Exception):  # noqa: N818 - shown as the failure of an item
    """Raised by an item whose judgement is a failure."""


class JudgementItem(pytest.Item):
    """An item that reports one judgement."""

    def secret(self) -> bool:
        """Whether it is under embargo; run the target if it has not run."""
        from zenoh_harness.errors import HarnessError

        target = self.parent
        assert isinstance(target, TargetCollector)
        try:
            return any(one.embargo for one in target.judgements(self.name))
        except HarnessError:
            return False  # told by the item itself

    def setup(self) -> None:
        """Report a target that cannot be judged as one error."""
        target = self.parent
        assert isinstance(target, TargetCollector)
        target.had()

    def runtest(self) -> None:
        """Report the judgement."""
        from zenoh_conformance.judging.verdict import Verdict, worst

        target = self.parent
        assert isinstance(target, TargetCollector)
        found = target.judgements(self.name)
        if not found:
            raise ItemFailed(target.stopped or "the run ended before this check")
        verdict = worst(one.verdict for one in found)
        one = next(one for one in found if one.verdict is verdict)
        if verdict.says_nothing:
            pytest.skip(f"{verdict.value}: {one.cause}".removesuffix(": "))
        if verdict is Verdict.KNOWN:
            pytest.xfail(f"known deviation: {one.cause}")
        if verdict.is_minor:
            self.warn(pytest.PytestWarning(f"{verdict.value}: {one.cause}"))
        elif verdict is not Verdict.PASS:
            raise ItemFailed(_failure_text(one, target.folder()))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Print a deviation without a traceback."""
        return str(excinfo.value) if isinstance(excinfo.value, ItemFailed) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the location for reports."""
        return self.config.rootpath, None, f"{self.parent.name if self.parent else ''} {self.name}"


def _failure_text(one: Judgement, folder: Path) -> str:
    from zenoh_conformance.spec.requirement import requirements

    known = requirements().get(one.key.requirement)
    lines = [f"{one.verdict.value}: {one.key.requirement} ({one.level})", f"  seen     {one.cause}"]
    if known is not None:
        lines.insert(1, f"  asked    {known.says}")
    lines += [f"  evidence {one.evidence}"] if one.evidence else []
    lines += [f"  repeat   {one.repeat}"] if one.repeat else []
    return "\n".join([*lines, *_conversation(folder / one.evidence if one.evidence else None)])


def _conversation(path: Path | None) -> list[str]:
    """Return the end of the conversation, byte by byte."""
    if path is None or not path.is_file():
        return []
    from zenoh_harness.console import plain
    from zenoh_harness.files import conversations
    from zenoh_harness.files.explained import explain_conversation

    lines = []
    for event in explain_conversation(conversations.read(path)):
        lines += ["", event.head, *(event.explanation.text() if event.explanation else ())]
    more = [f"  .. {len(lines) - MOST} lines more in the evidence"] if len(lines) > MOST else []
    return ["  said", *more, *(f"    {plain(line)}" for line in lines[-MOST:])]
