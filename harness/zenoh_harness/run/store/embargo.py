"""Findings under embargo: grave ones on a node that is not the user's own, and not public.

Who may hold back decides what is held back: a target file says `embargo = "upstream"` (what is found belongs to its
maintainers first) or `"own"` (a node of one's own: nothing is kept back). Without a word, each target that names itself as a
public implementation is upstream, however it is reached, and everything else one's own. Public is what a shipped script does,
and what a known deviation or an erratum gives an address for; and a node that never worked keeps no secret.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from platformdirs import user_data_path

from zenoh_conformance.judging.verdict import Judgement, Verdict
from zenoh_conformance.reading.conversation import Conversation
from zenoh_conformance.spec.errata import errata
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.files import results
from zenoh_harness.files.evidence import MARK
from zenoh_harness.files.known import Known, ListedDeviation
from zenoh_harness.files.results import check_label
from zenoh_harness.targets.target import NodeTarget

KEPT: Final = "judgements.jsonl"
UPSTREAM: Final = "upstream"
OWN: Final = "own"
PUBLIC: Final = ("zenoh-rust", "zenohd", "zenoh-pico", "zenoh-go", "zenoh-nostd", "zenoh-java", "zenoh-ts")
"""Names of implementations that others maintain; a name that begins with one and a hyphen is a part of it."""

FROM_START: Final = "from the start: "
"""How the cause of what was wrong before anything odd was done begins."""

SHIPPED: Final = "scripts/"
"""Checks that are scripts: what ships is public."""


def count_line(count: int) -> str:
    """Say how many findings are kept back, and nothing else of them."""
    are = "finding is" if count == 1 else "findings are"
    return f"{count} {are} embargoed: kept in your data folder, counted here and told nowhere"


def guarded(target: NodeTarget) -> bool:
    """Whether what is grave on that target is kept back until it is public."""
    word = str(getattr(target, "embargo", ""))
    return word == UPSTREAM if word else is_public(_name(target))


def is_public(name: str) -> bool:
    """Whether that is the name of an implementation that others maintain."""
    return any(f"{name.lower()}-".startswith(f"{one}-") for one in PUBLIC)


def _name(target: NodeTarget) -> str:
    return target.reach.options.get("name") or target.identity.name


def public(judgement: Judgement, listed: ListedDeviation | None) -> bool:
    """Whether everybody can read of it already."""
    known = requirements().get(judgement.key.requirement)
    text = known is not None and any(errata()[name].public for name in known.erratum if name in errata())
    return text or judgement.key.check.startswith(SHIPPED) or bool(listed and listed.public)


def under_embargo(judgement: Judgement, *, guarded: bool, public: bool, changed: bool = False) -> bool:
    """Return whether the judgement may only be counted; a known deviation counts with its original verdict.

    `changed`: a tap changes what the node says, and a node that is stuck may be the tap's doing.
    """
    was = dict(judgement.details.get("known", {})).get("expected")
    verdict = Verdict(was) if was else judgement.verdict
    open_to_see = changed or judgement.cause.startswith(FROM_START)
    return guarded and not public and verdict.is_grave and not (open_to_see and verdict.is_stuck)


def kept_back(path: Path, conversation: Conversation, base: Path | None = None) -> bool:
    """Whether what is read from there is under embargo: it says so, or lies where such findings are kept."""
    return MARK in conversation.about or path.resolve().is_relative_to(_place(base).resolve())


def _place(base: Path | None) -> Path:
    return (base or user_data_path("zenoh-conformance")) / "embargo"


def folder(base: Path | None = None) -> Path:
    """Where embargoed findings are kept; readable by the user alone."""
    path = _place(base)
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path


def withheld(target: str, version: str, link: str, known: Known, base: Path | None = None) -> frozenset[str]:
    """The checks, with their parameters, that are kept back for this version over this link: they are not done again.

    What a list of known deviations gives an address for is public by now. Raises FileFault for a file that was damaged.
    """
    kept = (one for one in kept_judgements(target, version, base) if one.key.link == link)
    secret = (one.key for one in kept if not public(one, known.entry(one.key, one.verdict, one.cause)))
    return frozenset(check_label(key.check, key.parameters) for key in secret)


def kept_judgements(target: str, version: str, base: Path | None = None) -> list[Judgement]:
    """Return the judgements that are kept of this version, in the order in which they fell. Raises FileFault for damage."""
    path = version_folder(target, version, base) / KEPT
    return list(results.judgements(path)) if path.exists() else []


def version_folder(target: str, version: str, base: Path | None = None) -> Path:
    """Return where the findings of this version are kept; it need not exist."""
    return _place(base) / f"{target}-{version or 'unknown'}"


def keep(judgement: Judgement, base: Path | None = None) -> Path:
    """Add the judgement to the file of its target's version; the folder for its evidence."""
    key = judgement.key
    folder(base)
    place = version_folder(key.target, key.version, base)
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (place / KEPT).open("a", encoding="utf-8") as out:
        out.write(results.line(results.judgement_row(judgement)))
    return place
