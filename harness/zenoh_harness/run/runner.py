"""One target from its target string to its results file and exit code."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event as Flag
from typing import Final, Protocol, cast

from zenoh_conformance.cases.case import Case, all_cases
from zenoh_conformance.judging.law import Law, all_laws
from zenoh_conformance.judging.verdict import Exit, Judgement, Key, Verdict, exit_code
from zenoh_conformance.loading import without_collection
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.codecs.codec import Codec
from zenoh_harness.codecs.own import OwnCodec
from zenoh_harness.errors import CannotGoOn, Enough, HarnessError, OtherVersion
from zenoh_harness.files import judged, known, run_ids
from zenoh_harness.files.known import Known
from zenoh_harness.files.results import Footer, Header, Results, ResultsWriter, check_label, now
from zenoh_harness.identity import Identity
from zenoh_harness.run import known_deviations
from zenoh_harness.run.attempt.model_cases import model_cases
from zenoh_harness.run.attempt.options import Options
from zenoh_harness.run.attempt.threads import Beside
from zenoh_harness.run.forks import Forked, InFork, can_fork
from zenoh_harness.run.nodes import NodeRun
from zenoh_harness.run.store import embargo
from zenoh_harness.run.store.journal import JOURNAL, Journal
from zenoh_harness.run.vectors.codec_run import Shipped, VectorRun, golden, shipped_for
from zenoh_harness.run.write import resume
from zenoh_harness.run.write.register import Register
from zenoh_harness.run.write.resume import EarlierRun
from zenoh_harness.scripting.shipped import script_cases
from zenoh_harness.targets.reach import Face, Reach
from zenoh_harness.targets.target import open_codec, open_target
from zenoh_harness.version import harness_version

RESULTS: Final = "results.jsonl"
_BOTH_ROLES: Final = frozenset({"wheel", "docker", "reference", "faulty", "variant"})
"""Kinds that can be made to connect to us too, when the target string leaves it open."""


_OF_NODES: Final = frozenset({"role", "as", "profile", "zid"})
"""Options that mean the node and not the codec."""


class RunPart(Protocol):
    """What is run against one face and role of a target."""

    reach: Reach
    options: Options
    role: str
    """responder, initiator or codec."""
    guarded: bool
    """Whether what is grave on it is kept back until it is public."""
    withheld: frozenset[str]
    """The checks that are left out because they are under embargo."""
    stop: Flag
    """Set to end it."""

    @property
    def can_run_beside(self) -> bool:
        """Whether another part may run beside it."""

    @property
    def identity(self) -> Identity: ...

    @property
    def profiles(self) -> tuple[str, ...]: ...

    @property
    def size(self) -> int:
        """How many steps the progress has."""

    def planned(self) -> Iterable[str]:
        """Every judgement that is due."""

    def take_up(self, earlier: EarlierRun) -> None:
        """Leave out what was judged before the run was resumed."""

    def run(self, register: Register) -> None:
        """Judge it all. Raises CannotGoOn."""

    def close(self) -> None:
        """End what it began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What came of one target."""

    header: Header
    judgements: tuple[Judgement, ...]
    """All of them, embargoed ones too: to be counted, not to be shown."""
    footer: Footer
    out: Path
    stopped: HarnessError | None = None
    """Why it ended early, when it could not go on."""

    @property
    def exit(self) -> Exit:
        """What it says to the shell."""
        return Exit(self.footer.exit)


def reaches(reach: Reach) -> Iterator[Reach]:
    """The target in each role that its target string leaves open: listening first, then coming to us."""
    yield reach
    if reach.kind in _BOTH_ROLES and not reach.options.keys() & {"role", "as"} and Face.NODE in reach.faces:
        yield reach.with_options(role="client")


@without_collection()
def parts_of(
    reach: Reach, options: Options, cases: Iterable[Case] | None = None, laws: Iterable[type[Law]] | None = None
) -> list[RunPart]:
    """What there is to run against a target. Codecs are started here.

    Parts without anything to do are left out; a shard without anything to do keeps one, since its results, which are empty, are
    merged with those of the other shards.
    """
    parts: list[RunPart] = []
    if Face.NODE in reach.faces:
        every = list(every_case(options) if cases is None else cases)
        all_of_them = list(all_laws().values() if laws is None else laws)
        is_made = reach.kind in ("faulty", "variant") and not options.own_vectors.usable
        vectors = Shipped() if cases is None and not is_made else ()
        parts += [
            NodeRun(open_target(one), options, cases=every, laws=all_of_them, vectors=vectors) for one in reaches(reach)
        ]
    if Face.CODEC in reach.faces and reach.kind != "faulty" and not reach.options.keys() & _OF_NODES:
        fresh: Callable[[], Codec] = OwnCodec if reach.kind == "reference" else lambda: cast(Codec, open_codec(reach))
        asked = (*shipped_for(options.selection), *options.own_vectors.usable)
        parts.append(VectorRun(fresh(), reach, options, asked, fresh))
    wanted = [part for part in parts if any(True for _ in part.planned())]
    if not wanted and options.selection.shard is not None:
        wanted = parts[:1]
    for part in parts:
        if part not in wanted:
            part.close()
    return wanted


def every_case(options: Options) -> Iterator[Case]:
    """Cases, scripts that ship, and models where one can be among what is selected: they import Hypothesis."""
    selection = options.selection
    yield from all_cases().values()
    yield from script_cases()
    if selection.may_take("models/") or selection.may_take("law/") or selection.takes(*requirements()):
        yield from model_cases(options.depth, options.seed)


def run_target(reach: Reach, options: Options, parts: Sequence[RunPart], command: str = "") -> Ran:
    """Run all parts of one target and write its results; never raises for what stops it midway.

    Ctrl-C or SIGTERM ends it in order: what was judged is kept, what was not is named, the exit code is 3.
    """
    header = _header(reach, parts[0].identity, parts, options, command)
    planned = tuple(label for part in parts for label in part.planned())
    journal, earlier = _take_up(options, header, planned, parts)
    if earlier is not None:
        header, planned = earlier.header, earlier.planned
    if earlier is not None and earlier.complete is not None:
        return _ran_before(options, earlier.complete, parts)
    writer = ResultsWriter(options.out / RESULTS, header, planned, earlier.kept if earlier else ())
    if earlier is not None:
        for part in parts:
            part.take_up(earlier)
        secret = (check_label(one.key.check, one.key.parameters) for one in earlier.secret)
        writer.withhold(sum(label not in _withheld(parts) for label in secret))
    register = Register(writer, options, reach=str(reach), journal=journal, earlier=earlier)
    stopped: HarnessError | None = None
    share_memory()
    with writer, seldom_collected():
        try:
            _run_all(parts, register)
        except KeyboardInterrupt:
            for part in parts:
                part.stop.set()
            stopped = CannotGoOn("interrupted")
        except CannotGoOn as why:
            stopped = why
        finally:
            for part in parts:
                part.close()
        if stopped is None and options.selection.shard is None:  # a part says nothing of what is listed for the whole
            register.go_on()
            _strict_checks(register, options, parts)
        early = stopped is not None and not isinstance(stopped, OtherVersion | Enough)
        code = exit_code((one.verdict for one in register.judgements), strict=options.strict, interrupted=early)
        footer = writer.footer(code, why=stopped.what if stopped else "")
    journal.close(delete=not footer.pending)
    return Ran(header=header, judgements=tuple(register.judgements), footer=footer, out=options.out, stopped=stopped)


def _take_up(
    options: Options, header: Header, planned: Sequence[str], parts: Sequence[RunPart]
) -> tuple[Journal, EarlierRun | None]:
    """The journal, and what stands of the run that is resumed. Raises UsageError where that is another run."""
    secret = embargo.version_folder(parts[0].identity.name, header.version, options.data_folder)
    kept = embargo.kept_judgements(parts[0].identity.name, header.version, options.data_folder)
    before = resume.before(options.out) if options.resume else None
    run = before.header.run if before else header.run
    journal = Journal(options.out / JOURNAL, secret / f"resume-{run}.jsonl")
    earlier = resume.earlier(options, header, planned, _withheld(parts), journal.secret) if before else None
    if earlier is None:
        (options.out / RESULTS).unlink(missing_ok=True)  # a journal never stands beside the results of another run
        journal.begin(resume.terms_of(options), len(kept))
    else:
        journal.go_on()
    return journal, earlier


def _withheld(parts: Iterable[RunPart]) -> frozenset[str]:
    return frozenset[str]().union(*(part.withheld for part in parts))


def _ran_before(options: Options, complete: Results, parts: Sequence[RunPart]) -> Ran:
    """A run of which nothing is left."""
    for part in parts:
        part.close()
    assert complete.footer is not None
    (options.out / JOURNAL).unlink(missing_ok=True)
    judgements = tuple(complete.judgements)
    return Ran(header=complete.header, judgements=judgements, footer=complete.footer, out=options.out)


def _run_all(parts: Sequence[RunPart], register: Register) -> None:
    """One part after the other; side by side where none is in another's way."""
    registers = [register.of(str(part.reach), guarded=part.guarded, changed=_is_changed(part)) for part in parts]
    nodes = [part for part in parts if isinstance(part, NodeRun)]
    if len(nodes) == len(parts) and can_be_shared(nodes) and can_fork():
        _run_forked(nodes, registers)
        return
    _run_here(parts, registers)


def can_be_shared(parts: Sequence[NodeRun]) -> bool:
    """Whether the run may be judged in two processes, and there is work for both."""
    if not all(part.can_run_beside and part.options.forks for part in parts):
        return False
    return len(parts) > 1 or len(parts[0].profiles) > 1 or parts[0].has_some_alone


def _is_changed(part: RunPart) -> bool:
    return "through" in part.reach.options


def _run_here(parts: Sequence[RunPart], registers: Sequence[Register]) -> None:
    """In this process."""
    first, *others = parts
    if others and all(part.can_run_beside for part in parts):
        with Beside(lambda: _run_here(others, registers[1:]), others[0].stop):
            first.run(registers[0])
        return
    first.run(registers[0])
    if others:
        _run_here(others, registers[1:])


def _run_forked(parts: Sequence[NodeRun], registers: Sequence[Register]) -> None:
    """The first profile of the first part here, all else in a copy of this process: they are about as much work."""
    first, *others = parts

    def stop() -> None:
        for part in parts:
            part.stop.set()

    def later(inside: InFork) -> None:
        habits = inside.habits()
        if habits is not None:
            first.run_later(inside.registers[0], habits)

    def beside(inside: InFork) -> None:
        if any(vectors.size for vectors in first.vectors.values()):
            golden()  # read while the first instance starts
        if (look := inside.first_look()) is not None:
            first.run_beside(inside, look)

    def work(inside: InFork) -> None:
        for part in parts:
            part.options = inside.options(part.options)
        with Beside(lambda: later(inside), first.stop), Beside(lambda: beside(inside), first.stop):
            if others:
                _run_here(others, inside.registers[1:])

    with Forked(work, registers, first.options, cases=first.cases, stop=stop, cut=first.of_alone.cut) as copy:
        first.run(registers[0], copy)


ARENAS: Final = 1
"""Heaps of the C library that all threads share: memory that one of sixty threads gave back is there for the others."""
_M_ARENA_MAX: Final = -8


def share_memory() -> None:
    """Give all threads one heap, where the C library can (GNU): else a talkative target fills one for each thread."""
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        mallopt(_M_ARENA_MAX, ARENAS)


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Collect cyclic garbage less often, and never look at what was imported.

    A run keeps its conversations until its end, and each full collection walks over all of them and all of the modules.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _header(reach: Reach, identity: Identity, parts: Sequence[RunPart], options: Options, command: str) -> Header:
    profiles = dict.fromkeys(profile for part in parts for profile in part.profiles)
    date = now()
    return Header(
        reach=str(reach),
        name=reach.reported_name(identity.name),
        version=identity.version,
        role="+".join(dict.fromkeys(part.role for part in parts)),
        kind=identity.kind,
        digest=identity.digest,
        harness=harness_version(),
        seed=options.seed,
        date=date,
        run=run_ids.of_new(date, reach, identity.digest, options.seed, command),
        command=command,
        profiles=tuple(profiles),
        shards=(str(options.selection.shard),) if options.selection.shard else (),
        facts={"quick": True} if options.depth == "quick" else {},
    )


def nodes_of(parts: Iterable[RunPart]) -> frozenset[str]:
    """What the target is in a network, of all that is run against it."""
    return frozenset(part.reach.options.get("role", "router") for part in parts)


def known_for(name: str, own: Iterable[Path] = (), *, kind: str | None = "", nodes: Collection[str] = ()) -> Known:
    """The deviations that ship for a target of that name, those of the current folder's `targets`, and the user's own.

    `kind`: the kind of target through which it is reached, None for all; `nodes`: what it is in a network; entries about another one
    are left out. Raises FileFault for an entry that names nothing, or can never match.
    """
    users = Path("targets") / f"{name}{known.SUFFIX}"
    shipped = [path for path in known.shipped_lists() if path.name == f"{name}{known.SUFFIX}"]
    every = [*shipped, *([users] if "/" not in name and users.exists() else []), *own]
    return known.of(known_deviations.read(every), kind=kind, nodes=nodes)


def _strict_checks(register: Register, options: Options, parts: Sequence[RunPart]) -> None:
    """What is red because it is not there any more: deviations that have gone, requirements that nobody judged."""
    for deviation, shown in options.known.gone():
        text = f"listed as {deviation.verdict.value} ({deviation.cause}), and it passes"
        key = replace(
            shown.key, check="known/has-gone", parameters=(("deviation", deviation.name), *shown.key.parameters)
        )
        label = check_label(shown.key.check, shown.key.parameters)
        register.add(key, Verdict.FAIL, cause=text, repeat=register.repeat(label))
    if options.judged is None or not options.selection.whole or not options.judged.exists():
        return
    now = judged.judged_lines(register.judgements) | judged.prevented_lines(register.judgements)
    for line in judged.missing(judged.read(options.judged), now):
        role, profile, requirement = line.split()
        key = Key(
            target=parts[0].identity.name,
            version=parts[0].identity.version,
            role=role,
            profile=profile,
            link="",
            requirement=requirement,
            check="judged/no-longer",
        )
        text = f"was judged before and is not now; if that is meant, take the line out of {options.judged.name}"
        register.add(key, Verdict.FAIL, cause=text, repeat=register.repeat(requirement))
