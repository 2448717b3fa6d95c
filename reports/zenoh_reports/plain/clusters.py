"""What is the same fault, said many times: first the exact signature, then signatures that share most of their words.

MinHash: of each signature's words the smallest value under each of HASHES hash functions; two signatures agree in a share of
them that is the share of words they have in common. Those that agree in a whole band of ROWS are compared, and joined from
LIKE on. The hash is SHAKE: the same words, the same cluster, on any machine.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import shake_128
from operator import attrgetter
from typing import Final

from zenoh_conformance.judging.verdict import Verdict

from .judgements import JudgementRow, content_id, grouped

HASHES: Final = 32
ROWS: Final = 4
LIKE: Final = 0.5
BAD: Final = tuple(
    verdict.value for verdict in Verdict if verdict.is_ours or (verdict.is_wrong and verdict is not Verdict.KNOWN)
)
"""Verdicts that say a fault."""
_VALUE: Final = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{8,}\b|\d+", re.IGNORECASE)
_WORD: Final = re.compile(r"[\w#./-]+")


@dataclass(frozen=True, slots=True)
class SaidRow:
    """A finding, as it is clustered."""

    id: str
    group: str
    """Findings of two groups are never one cluster: the verdict, or the law."""
    cause: str
    where: str
    """Target and version, or node."""


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """Signatures that are taken for one fault."""

    cluster: str
    """The least of its signatures."""
    signature: str
    group: str
    shape: str
    """The cause without its values."""
    findings: int
    places: int
    """Targets and versions, or nodes."""
    example: str
    """The least id of its findings."""


@dataclass(frozen=True, slots=True)
class SignatureRow:
    """How often one place showed one signature."""

    signature: str
    group: str
    shape: str
    findings: int
    where: str
    """As in the findings."""
    example: str
    """The least id of its findings."""


def shape(cause: str) -> str:
    """A cause without its values: numbers, and bytes in hex, are `#`."""
    return _VALUE.sub("#", cause)


def signature(group: str, cause: str) -> str:
    """The name of an exact signature."""
    return content_id(group, shape(cause))


def of_judgements(rows: Iterable[JudgementRow]) -> list[ClusterRow]:
    """The bad judgements, clustered."""
    said = [
        SaidRow(row.id, row.verdict, row.cause, f"{row.kind} {row.target} {row.version}")
        for row in rows
        if row.verdict in BAD
    ]
    return clusters(said)


def clusters(rows: Iterable[SaidRow]) -> list[ClusterRow]:
    """One row a signature, with the cluster that it belongs to, by cluster and signature."""
    exact = []
    for (name,), found in grouped(
        (_Signed(signature(row.group, row.cause), row.group, shape(row.cause), row.id, row.where) for row in rows),
        ["signature"],
    ).items():
        first = min(found, key=attrgetter("shape"))
        exact.append(
            ClusterRow(
                "", name, first.group, first.shape, len(found), len({each.where for each in found}),
                min(each.id for each in found),
            )
        )  # fmt: skip
    return joined(exact)


@dataclass(frozen=True, slots=True)
class _Signed:
    signature: str
    group: str
    shape: str
    id: str
    where: str


def joined(exact: Sequence[ClusterRow]) -> list[ClusterRow]:
    """Signatures with their cluster filled in: those alike, and those alike to these, are one."""
    leader = {row.signature: row.signature for row in exact}

    def find(name: str) -> str:
        while leader[name] != name:
            leader[name] = name = leader[leader[name]]
        return name

    hashes = {row.signature: minhash(row.shape) for row in exact}
    for alike in _bands(exact, hashes):
        first = alike[0]
        for other in alike[1:]:
            if agreement(hashes[first], hashes[other]) >= LIKE:
                low, high = sorted((find(first), find(other)))
                leader[high] = low
    made = [
        ClusterRow(find(row.signature), row.signature, row.group, row.shape, row.findings, row.places, row.example)
        for row in exact
    ]
    return sorted(made, key=attrgetter("cluster", "signature"))


def _bands(exact: Sequence[ClusterRow], hashes: dict[str, tuple[int, ...]]) -> list[list[str]]:
    """The signatures of a group that agree in a whole band."""
    found: defaultdict[tuple[object, ...], list[str]] = defaultdict(list)
    for row in exact:
        for band in range(0, HASHES, ROWS):
            found[row.group, band, hashes[row.signature][band : band + ROWS]].append(row.signature)
    return [sorted(names) for names in found.values() if len(names) > 1]


def minhash(text: str) -> tuple[int, ...]:
    """The smallest value of its words under each hash function; a text without words is one empty word."""
    words = sorted(set(_WORD.findall(text.lower()))) or [""]
    digests = [shake_128(word.encode("utf-8", "replace")).digest(4 * HASHES) for word in words]
    return tuple(
        min(int.from_bytes(digest[at : at + 4], "big") for digest in digests) for at in range(0, 4 * HASHES, 4)
    )


def agreement(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """The share of hash functions in which two agree."""
    return sum(a == b for a, b in zip(one, other, strict=True)) / HASHES
