"""pytest: `pytest --target wheel:1.10.2` makes each judgement of a run an item.

The target is run once, when its first item is, with the cases that were selected (`-k` works); each item then tells its
judgement: a deviation fails, a known deviation is an expected failure, what was not judged is skipped with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from zenoh_conformance.requirement import Requirement
    from zenoh_conformance.verdict import Judgement
    from zenoh_harness.run.runner import Part, Ran


EMBARGOED = pytest.StashKey[int]()
NAMED = pytest.StashKey[frozenset[str]]()
MOST = 80
"""Lines of a conversation that a failure shows: the last ones."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--target`, and where the results go."""
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
    group.addoption("--target-results", metavar="DIR", help="keep results and evidence here")


def pytest_configure(config: pytest.Config) -> None:
    """Name the marker, take the items that are named among the arguments, and load cases of one's own."""
    config.addinivalue_line("markers", "requirement(id, level, page): what an item of --target judges")
    targets: list[str] = config.getoption("--target")
    named = [word for word in config.args if any(word.startswith(f"{target}::") for target in targets)]
    if named:
        config.stash[NAMED] = frozenset(named)
        config.args[:] = [word for word in config.args if word not in named]
    for path in config.getoption("--target-cases"):
        _load(config, path)


def _load(config: pytest.Config, path: str) -> None:
    """Import a file of cases: each registers itself under the file's name."""
    from zenoh_harness.errors import UsageError
    from zenoh_harness.run.own import load

    try:
        load(Path(path) if Path(path).is_absolute() else config.invocation_params.dir / path)
    except UsageError as why:
        raise pytest.UsageError(str(why)) from why


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A target is run once: of several workers of pytest-xdist, one gets all of its items."""
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
    """Add the judgements; alone, where no file was asked for."""
    targets: list[str] = config.getoption("--target")
    if not targets:
        return
    named = config.stash.get(NAMED, None)
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        items.clear()
    fresh = [item for target in targets for item in Target.from_parent(session, name=target, nodeid=target).collect()]
    if named is not None:
        missing = named - {item.nodeid for item in fresh}
        for word in sorted(missing):
            raise pytest.UsageError(f"no item {word!r}; {nearest_to(word, [item.nodeid for item in fresh])}")
        fresh = [item for item in fresh if item.nodeid in named]
    items.extend(fresh)


def nearest_to(word: str, names: list[str]) -> str:
    """What somebody may have meant."""
    from zenoh_harness.errors import nearest

    return nearest(word, names) or "--collect-only -q lists them"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """An item under embargo is not told of at all: it is counted."""
    if not isinstance(item, Judged) or not item.secret():
        return None
    item.config.stash[EMBARGOED] = item.config.stash.get(EMBARGOED, 0) + 1
    return True


def pytest_sessionfinish(session: pytest.Session) -> None:
    """What is only counted is a failure too."""
    if session.config.stash.get(EMBARGOED, 0) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """The count."""
    if count := config.stash.get(EMBARGOED, 0):
        terminalreporter.write_line(f"findings under embargo, kept in your data folder and told nowhere: {count}")


class Target(pytest.Collector):
    """One target: collects what is planned, runs it once."""

    _ran: Ran | None = None
    _found: dict[str, list[Judgement]] | None = None

    def collect(self) -> Iterator[pytest.Item]:
        """One item for each check with its parameters."""
        for label in dict.fromkeys(label for part in self.parts() for label in part.planned()):
            # the id as text, as it is read back by --lf and its like: what stands in brackets is told apart there
            item = Judged.from_parent(self, name=label, nodeid=f"{self.nodeid}::{label}")
            for known in judged_by(label):
                item.add_marker(
                    pytest.mark.requirement(id=known.id, level=known.level.value, page=known.id.partition("/")[0])
                )
            yield item

    def parts(self, only: tuple[str, ...] = ()) -> list[Part]:
        """What there is to run, for these labels or for what was asked for."""
        from zenoh_harness.errors import HarnessError
        from zenoh_harness.files.known import find as find_list
        from zenoh_harness.run.options import Options
        from zenoh_harness.run.plan import Selection
        from zenoh_harness.run.runner import known_for, nodes_of, parts_of
        from zenoh_harness.targets.catalogue import find

        selection = Selection(only or tuple(self.config.getoption("--target-only")))
        try:
            reach = find(self.name)
            parts = parts_of(reach, Options(out=self.folder(), selection=selection))
            for part in parts:
                own, identity = map(find_list, self.config.getoption("--target-known")), parts[0].identity
                known = known_for(identity.name, own, kind=identity.kind, nodes=nodes_of(parts))
                part.options = replace(part.options, known=known)
        except HarnessError as why:
            raise pytest.UsageError(str(why)) from why
        return parts

    def folder(self) -> Path:
        """Where results go."""
        from zenoh_harness.files.evidence import slug

        given = self.config.getoption("--target-results")
        base = Path(given) if given else self.config.rootpath / ".pytest_cache" / "zenoh-conformance"
        return base / slug(self.name)

    def judgements(self, label: str) -> list[Judgement]:
        """What the run says of one item; runs the target when nobody did."""
        if self._found is None:
            self._found = {}
            self._run()
        return self._found.get(label, [])

    def _run(self) -> None:
        from zenoh_harness.files.results import label
        from zenoh_harness.run.folder import claimed
        from zenoh_harness.run.runner import run_target
        from zenoh_harness.targets.catalogue import find

        assert self._found is not None
        wanted = [item.name for item in self.session.items if isinstance(item, Judged) and item.parent is self]
        parts = self.parts(tuple(dict.fromkeys(name.split(" ", 2)[2] for name in wanted)))
        with claimed(self.folder()) as out:
            self._ran = run_target(find(self.name), replace(parts[0].options, out=out), parts)
        for judgement in self._ran.judgements:
            self._found.setdefault(label(judgement.key), []).append(judgement)

    missing: str | None = None
    """Why it cannot be had; empty when it can, None before anybody asked."""

    def had(self) -> None:
        """See that the target can be had. Fails once if not; whoever asks after that is skipped."""
        first = self.missing is None
        if first:
            self.missing = self._not_had()
        if self.missing and first:
            raise ItemFailed(self.missing)
        if self.missing:
            pytest.skip("the target cannot be had: its first item says why")

    def _not_had(self) -> str:
        from zenoh_conformance.verdict import Verdict
        from zenoh_harness.errors import HarnessError

        try:
            self.judgements("")
        except HarnessError as why:
            return str(why)
        idle = (Verdict.NOT_APPLICABLE, Verdict.NOT_OBSERVED, Verdict.UNIMPLEMENTED)
        judged = self._ran is None or any(one.verdict not in idle for one in self._ran.judgements)
        return "" if judged else self.stopped

    @property
    def stopped(self) -> str:
        """Why the run ended early, if it did."""
        return str(self._ran.stopped) if self._ran is not None and self._ran.stopped else ""


def judged_by(label: str) -> list[Requirement]:
    """The requirements that an item judges, by its label `role profile check[..]`."""
    from zenoh_conformance.requirement import requirements
    from zenoh_harness.run.checks import requirements_of

    check = label.split(" ", 2)[2].partition("[")[0]
    return [requirements()[name] for name in requirements_of(check) if name in requirements()]


class ItemFailed(Exception):  # noqa: N818 - shown as the failure of an item
    """A judgement that is a failure."""


class Judged(pytest.Item):
    """One judgement."""

    def secret(self) -> bool:
        """Whether it may only be counted; runs the target when nobody did."""
        from zenoh_harness.errors import HarnessError

        target = self.parent
        assert isinstance(target, Target)
        try:
            return any(one.embargo for one in target.judgements(self.name))
        except HarnessError:
            return False  # told by the item itself

    def setup(self) -> None:
        """Where the target cannot be had, that is one error and no failure."""
        target = self.parent
        assert isinstance(target, Target)
        target.had()

    def runtest(self) -> None:
        """Tell it."""
        from zenoh_conformance.verdict import Verdict, worst

        target = self.parent
        assert isinstance(target, Target)
        found = target.judgements(self.name)
        if not found:
            raise ItemFailed(target.stopped or "the run did not come to it")
        verdict = worst(one.verdict for one in found)
        one = next(one for one in found if one.verdict is verdict)
        if verdict in (Verdict.NOT_APPLICABLE, Verdict.NOT_OBSERVED, Verdict.UNIMPLEMENTED):
            pytest.skip(f"{verdict.value}: {one.cause}".removesuffix(": "))
        if verdict is Verdict.KNOWN:
            pytest.xfail(f"known deviation: {one.cause}")
        if verdict in (Verdict.WARN, Verdict.SLOW):
            self.warn(pytest.PytestWarning(f"{verdict.value}: {one.cause}"))
        elif verdict is not Verdict.PASS:
            raise ItemFailed(_told(one, target.folder()))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """A deviation is told in its own words, without a traceback."""
        if isinstance(excinfo.value, ItemFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where it stands in reports."""
        return self.config.rootpath, None, f"{self.parent.name if self.parent else ''} {self.name}"


def _told(one: Judgement, folder: Path) -> str:
    from zenoh_conformance.requirement import requirements

    known = requirements().get(one.key.requirement)
    lines = [f"{one.verdict.value}: {one.key.requirement} ({one.level})", f"  seen     {one.cause}"]
    if known is not None:
        lines.insert(1, f"  asked    {known.says}")
    lines += [f"  evidence {one.evidence}"] if one.evidence else []
    lines += [f"  repeat   {one.repeat}"] if one.repeat else []
    return "\n".join([*lines, *_conversation(folder / one.evidence if one.evidence else None)])


def _conversation(path: Path | None) -> list[str]:
    """What was said, byte by byte, to its end."""
    if path is None or not path.is_file():
        return []
    from zenoh_harness.console import plain
    from zenoh_harness.files import conversations
    from zenoh_harness.files.explained import conversation_told

    lines = []
    for event in conversation_told(conversations.read(path)):
        lines += ["", event.head, *(event.explanation.text() if event.explanation else ())]
    more = [f"  .. {len(lines) - MOST} lines more in the evidence"] if len(lines) > MOST else []
    return ["  said", *more, *(f"    {plain(line)}" for line in lines[-MOST:])]
