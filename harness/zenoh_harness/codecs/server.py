"""The other side of the stdio codec protocol: serve a codec that lives in this process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, BinaryIO

from zenoh_harness.codecs import compact as codec_batch
from zenoh_harness.codecs.codec import Answer, AnswerKind, Codec, Request


def serve(codec: Codec, source: BinaryIO, sink: BinaryIO) -> None:
    """Answer the requests of `source` on `sink` until `stop` or the end."""
    while line := source.readline():
        try:
            request = json.loads(line)
        except (ValueError, RecursionError) as why:
            request, reply = None, {"error": f"not JSON: {why}"}
        if isinstance(request, dict):
            if request.get("cmd") == "batch":
                _batch(codec, request, source, sink)
                continue
            reply = _reply(codec, request)
        elif request is not None:
            reply = {"error": "not an object"}
        sink.write(json.dumps(reply, ensure_ascii=False).encode(errors="replace") + b"\n")
        sink.flush()
        if isinstance(request, dict) and request.get("cmd") == "stop":
            return


def _reply(codec: Codec, request: Mapping[str, Any]) -> dict[str, Any]:
    match request.get("cmd"):
        case "start":
            who = codec.identity
            identity = {"name": who.name, "version": who.version, "language": who.language}
            return {"ok": True, "identity": identity, "layers": sorted(codec.layers),
                    "capabilities": sorted(codec.capabilities)}  # fmt: skip
        case "capability":
            has = request.get("name") in codec.capabilities
            return {"ok": True} if has else {"ok": False, "unimplemented": True}
        case "stop":
            return {"ok": True}
    seq = {"seq": request.get("seq")}
    try:
        asked = _request(request)
    except (ValueError, KeyError, TypeError) as why:
        return seq | {"ok": False, "why": f"no request: {why!r}", "at": None}
    if asked is None:
        return seq | {"unimplemented": True, "why": f"no such command: {request.get('cmd')}"}
    return seq | as_line(next(iter(codec.ask([asked]))))


def _request(request: Mapping[str, Any]) -> Request | None:
    match request["cmd"]:
        case "decode":
            return Request.decode(request["layer"], bytes.fromhex(request["bytes"]))
        case "encode":
            return Request.encode(request["layer"], request["means"])
        case "relate":
            return Request(command="relate", pair=(request["left"], request["right"]))
    return None


def as_line(answer: Answer) -> dict[str, Any]:
    """An answer as the protocol writes it, but for its seq."""
    encoded = None if answer.data is None else answer.data.hex()
    match answer.kind:
        case AnswerKind.DECODED:
            return {"ok": True, "means": answer.means, "size": answer.size, "encoded": encoded,
                    "debug": answer.debug or None}  # fmt: skip
        case AnswerKind.ENCODED:
            return {"ok": True, "bytes": encoded}
        case AnswerKind.RELATED:
            return {"ok": True, "means": answer.means}
        case AnswerKind.REFUSED:
            return {"ok": False, "why": answer.why, "at": answer.at}
        case AnswerKind.UNIMPLEMENTED:
            return {"unimplemented": True, "why": answer.why}
        case _:
            return {"crash": answer.why}


def _batch(codec: Codec, request: Mapping[str, Any], source: BinaryIO, sink: BinaryIO) -> None:
    size = request.get("bytes")
    if not isinstance(size, int) or not 0 <= size <= codec_batch.LARGEST:
        raise ValueError("batch: `bytes` must tell the size of what follows, 64 MiB at most")
    inputs = codec_batch.split(source.read(size))
    out = b"".join(map(codec_batch.record, codec.decode_many(str(request.get("layer")), inputs)))
    head = {"seq": request.get("seq"), "ok": True, "count": len(inputs), "bytes": len(out)}
    sink.write(json.dumps(head).encode() + b"\n" + out)
    sink.flush()
