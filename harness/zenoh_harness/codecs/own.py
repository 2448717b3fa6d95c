"""Our codec as a codec target: what `zconform codec` serves, and what `reference` is as a codec."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from zenoh_conformance.primitives import keyexpr
from zenoh_conformance.reading import batch, codec
from zenoh_conformance.wire import DecodeError, EncodeError, Layer, vle
from zenoh_harness.codecs.codec import Answer, AnswerKind, Codec, Request
from zenoh_harness.identity import Identity
from zenoh_harness.version import harness_version

Meaning = Mapping[str, Any]
Read = tuple[Meaning, int, bytes]
"""Meaning, bytes used, what it encodes to again."""


class OwnCodec(Codec):
    """Our codec."""

    layers = frozenset({"transport", "network", "scouting", "batch", "stream", "lowlatency", "vle", "keyexpr"})
    capabilities = frozenset({"decode", "encode", "batch", "relate"})

    def __init__(self, name: str = "zenoh-conformance") -> None:
        self.identity = Identity(name=name, version=harness_version(""), kind="reference", language="python")

    def ask(self, requests: Iterable[Request]) -> Iterator[Answer]:
        """One answer a request; a fault of ours is an answer too."""
        return map(self._answer, requests)

    def _answer(self, request: Request) -> Answer:
        try:
            if request.command == "relate":
                return _relate(*request.pair)
            if request.layer not in self.layers:
                return Answer(kind=AnswerKind.UNIMPLEMENTED, why=f"no layer is called {request.layer}")
            if request.command == "encode":
                return Answer(kind=AnswerKind.ENCODED, data=_WRITERS[request.layer](request.means))
            means, size, encoded = _READERS[request.layer](request.data)
            return Answer(kind=AnswerKind.DECODED, means=means, size=size, data=encoded)
        except DecodeError as refusal:
            return Answer(kind=AnswerKind.REFUSED, why=f"{refusal.path}: {refusal.why}", at=refusal.at)
        except (EncodeError, keyexpr.KeyExprError) as refusal:
            return Answer(kind=AnswerKind.REFUSED, why=str(refusal))
        except Exception as fault:  # noqa: BLE001  whatever it is, it is an answer, and the next request is served
            return Answer(kind=AnswerKind.CRASH, why=f"{type(fault).__name__}: {fault}")


def _relate(left: str, right: str) -> Answer:
    for key in (left, right):
        keyexpr.check(key)
    means = {"intersects": keyexpr.intersects(left, right), "includes": keyexpr.includes(left, right)}
    return Answer(kind=AnswerKind.RELATED, means=means)


# --- a layer each -------------------------------------------------------------------------------------------------


def _reader(layer: Layer) -> Callable[[bytes], Read]:
    def read(data: bytes) -> Read:
        message, _, size, *_ = codec.decode(data, layer)
        return codec.to_json(message), size, codec.encode(message)

    return read


def _writer(layer: Layer) -> Callable[[Meaning], bytes]:
    return lambda means: codec.encode(codec.from_json(means, layer))


def _messages(data: bytes, layer: Layer) -> tuple[dict[str, Any], bytes]:
    means, encoded = [], b""
    for decoded in batch.decode_batch(data, layer):
        if isinstance(decoded, DecodeError):
            raise decoded
        means.append(codec.to_json(decoded.message))
        encoded += codec.encode(decoded.message)
    return {"messages": means}, encoded


def _batch_reader(layer: Layer) -> Callable[[bytes], Read]:
    def read(data: bytes) -> Read:
        if not data:
            raise DecodeError(0, layer, "an empty batch holds no message")
        means, encoded = _messages(data, layer)
        return {"Batch": means}, len(data), encoded

    return read


def _batch_writer(layer: Layer) -> Callable[[Meaning], bytes]:
    inner = Layer.NETWORK if layer is Layer.LOWLATENCY else layer
    return lambda means: b"".join(codec.encode(codec.from_json(one, inner)) for one in _field(means, "messages"))


def _read_stream(data: bytes) -> Read:
    batches, rest = batch.split(data)
    if rest:
        raise DecodeError(len(data), "stream", "the last batch is cut")
    every, encoded, at = [], b"", batch.STREAM_PREFIX
    for one in batches:
        try:
            means, again = _messages(one, Layer.TRANSPORT)
        except DecodeError as refusal:
            raise DecodeError(at + refusal.at, refusal.path, refusal.why) from refusal
        every.append(means)
        encoded += batch.frame_batch(again)
        at += len(one) + batch.STREAM_PREFIX
    return {"Stream": {"batches": every}}, len(data), encoded


def _write_stream(means: Meaning) -> bytes:
    write = _batch_writer(Layer.TRANSPORT)
    return b"".join(batch.frame_batch(write({"Batch": one})) for one in _field(means, "batches"))


def _read_vle(data: bytes) -> Read:
    value, size = vle.decode(data)
    return {"Vle": {"value": value if value < 1 << 53 else str(value)}}, size, vle.encode(value)


def _write_vle(means: Meaning) -> bytes:
    return vle.encode(int(_field(means, "value")))


def _read_key(data: bytes) -> Read:
    try:
        text = data.decode()
        canonical = keyexpr.canonize(text)
    except UnicodeDecodeError as why:
        raise DecodeError(why.start, "keyexpr", "it is no UTF-8") from why
    except keyexpr.KeyExprError as why:
        raise DecodeError(len(text[: why.at].encode()), "keyexpr", why.why) from why
    means = {"text": text, "valid": keyexpr.is_canonical(text), "canonical": canonical}
    return {"KeyExpr": means}, len(data), canonical.encode()


def _write_key(means: Meaning) -> bytes:
    text = str(_field(means, "canonical"))
    keyexpr.check(text)
    return text.encode()


def _field(means: Meaning, name: str) -> Any:
    body = next(iter(means.values()), None)
    if not isinstance(body, Mapping) or name not in body:
        raise EncodeError("means", f'expected {{"Kind": {{"{name}": ...}}}}')
    return body[name]


_MESSAGES: Final = (Layer.TRANSPORT, Layer.NETWORK, Layer.SCOUTING)
_READERS: Final[Mapping[str, Callable[[bytes], Read]]] = {
    **{layer.value: _reader(layer) for layer in _MESSAGES},
    "batch": _batch_reader(Layer.TRANSPORT), "lowlatency": _batch_reader(Layer.LOWLATENCY), "stream": _read_stream,
    "vle": _read_vle, "keyexpr": _read_key,
}  # fmt: skip
_WRITERS: Final[Mapping[str, Callable[[Meaning], bytes]]] = {
    **{layer.value: _writer(layer) for layer in _MESSAGES},
    "batch": _batch_writer(Layer.TRANSPORT), "lowlatency": _batch_writer(Layer.LOWLATENCY), "stream": _write_stream,
    "vle": _write_vle, "keyexpr": _write_key,
}  # fmt: skip
