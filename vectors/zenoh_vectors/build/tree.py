"""All data files, assembled: families of vectors, what they cover, and the implementations that confirmed them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from zenoh_vectors import confirmed
from zenoh_vectors.build import (
    batches,
    conversations,
    declare,
    everyday,
    init,
    interest,
    join,
    primitives,
    push,
    query,
    reply,
    scouting,
    transport,
)
from zenoh_vectors.build.covers import covers, errata_ids
from zenoh_vectors.build.open import open_vectors
from zenoh_vectors.build.remarks import remarked
from zenoh_vectors.build.vector import Vector
from zenoh_vectors.build.write import entry_of, file_text

FAMILIES: dict[str, Callable[[], Iterable[Vector]]] = {
    "close": transport.close_vectors,
    "del": push.del_vectors,
    "fragment": transport.fragment_vectors,
    "frame": transport.frame_vectors,
    "init": init.init_vectors,
    "keep-alive": transport.keep_alive_vectors,
    "network-oam": lambda: transport.oam_vectors(network=True),
    "oam": transport.oam_vectors,
    "open": open_vectors,
    "push": push.push_vectors,
    "put": push.put_vectors,
    "err": reply.err_vectors,
    "query": query.query_vectors,
    "reply": reply.reply_vectors,
    "request": query.request_vectors,
    "response": reply.response_vectors,
    "response-final": reply.final_vectors,
    "declaration": declare.declaration_vectors,
    "declare": declare.declare_vectors,
    "hello": scouting.hello_vectors,
    "interest": interest.interest_vectors,
    "join": join.join_vectors,
    "scout": scouting.scout_vectors,
    "scouting-ids": scouting.ids_vectors,
    "batch": batches.batch_vectors,
    "conversation": conversations.query_vectors,
    "everyday": everyday.everyday_vectors,
    "encoding": primitives.encoding_vectors,
    "handshake": conversations.handshake_vectors,
    "keyexpr": primitives.keyexpr_vectors,
    "layout": conversations.layout_vectors,
    "lowlatency": batches.lowlatency_vectors,
    "publication": conversations.push_vectors,
    "stranger": conversations.stranger_vectors,
    "stream": batches.stream_vectors,
    "timestamp": primitives.timestamp_vectors,
    "vle": primitives.vle_vectors,
    "zid": primitives.zid_vectors,
    "transport-ids": transport.ids_vectors,
}
"""File name to the vectors in it."""


class Clash(Exception):  # noqa: N818 - reads as what it says
    """Two vectors of one id: an id is a name for ever, so the builder must be mended."""


def unique(vectors: Iterable[Vector]) -> Iterator[Vector]:
    """Each id once; bytes that an earlier vector of the file has already (edges that coincide) are left out."""
    ids: set[str] = set()
    seen: set[tuple[str, bytes]] = set()
    for vector in vectors:
        if vector.id in ids:
            raise Clash(vector.id)
        ids.add(vector.id)
        key = (vector.layer, vector.data)
        if vector.steps or key not in seen:
            seen.add(key)
            yield vector


def digest(vector: Vector) -> str:
    """What a confirmation of this vector stands on."""
    if vector.steps:
        return confirmed.join_digests(digest(step) for _, step in vector.steps)
    return confirmed.digest_of(vector.layer, vector.data, vector.means, vector.refuses)


def all_vectors() -> dict[str, list[Vector]]:
    """Every vector by file, sorted by id."""
    return {name: sorted(map(remarked, unique(family())), key=lambda vector: vector.id) for name, family in sorted(FAMILIES.items())}


def texts() -> dict[str, str]:
    """File name to text: the whole of `data/`."""
    vectors, said, errata = all_vectors(), confirmed.read(), errata_ids()
    covered = covers(vector for group in vectors.values() for vector in group)
    out = {}
    for name, group in vectors.items():
        entries = [
            entry_of(vector, covered.get(vector.id, []), said.get(vector.id, {}).get(digest(vector), []), errata)
            for vector in group
        ]
        out[f"{name}.json"] = file_text(name, entries)
    return out
