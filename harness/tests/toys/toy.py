"""A codec of PUSH, RESPONSE_FINAL and key expressions over the stdio protocol that tells no meaning; `toy.py N` plants a fault."""

import json
import re
import sys

FAULT = int(sys.argv[1]) if len(sys.argv) > 1 else 0
QOS, TIMESTAMP, NODE_ID, STACK = 0x21, 0x42, 0x33, 0x47
TABLES = {
    "push": (QOS, TIMESTAMP, NODE_ID, STACK),
    "final": (QOS, TIMESTAMP),
    "put": (0x41, 0x12, 0x43),
    "del": (0x41, 0x42),
}


class RefusedError(Exception):
    pass


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        if size > len(self.data) - self.at:
            raise RefusedError("truncated")
        self.at += size
        return self.data[self.at - size : self.at]

    def byte(self):
        return self.take(1)[0]

    def vle(self, most=(1 << 64) - 1):
        value = 0
        for step in range(9):
            byte = self.byte()
            value |= (byte if step == 8 else byte & 0x7F) << 7 * step
            if step < 8 and byte < 0x80:
                break
        if value > most:
            raise RefusedError("out of range")
        return value


def vle(value):
    out = bytearray()
    while value > 0x7F and len(out) < 8:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def sized(data):
    return vle(len(data) % 256 if FAULT == 7 else len(data)) + data


def read_timestamp(reader):
    time, size = reader.vle(), reader.vle()
    zid = reader.take(size)
    if FAULT != 4 and (not 1 <= size <= 16 or not any(zid)):
        raise RefusedError("no id of a clock")
    return vle(time) + vle(size) + zid


def read_exts(reader, more, table):
    """The known ones by header, and the unknown ones of data messages, which are kept."""
    known, unknown = {}, []
    while more:
        header = reader.byte()
        more, kind = header & 0x80, header >> 5 & 3
        if kind == 3:
            raise RefusedError("extension encoding 3")
        header &= 0x7F
        body = b"" if kind == 0 else vle(reader.vle()) if kind == 1 else reader.take(reader.vle((1 << 32) - 1))
        if header not in table and header & 0x10:
            raise RefusedError("unknown mandatory extension")
        if header == TIMESTAMP and QOS in table:
            inner = Reader(body)
            body = read_timestamp(inner)
            if inner.at < len(inner.data):
                raise RefusedError("more than a timestamp")
        if header in table:
            check(header, body, table)
            known[header] = body
        else:
            unknown.append((header, body))
    if known.get(QOS) == b"\x05" and QOS in table:
        del known[QOS]
    if known.get(NODE_ID) == b"\x00" and NODE_ID in table:
        del known[NODE_ID]
    ordered = [(header, known[header]) for header in table if header in known]
    return (ordered[::-1] if FAULT == 3 else ordered) + (unknown if QOS not in table else [])


def check(header, body, table):
    if header == STACK and STACK in table:
        inner = Reader(body)
        if inner.byte() == 0:
            raise RefusedError("a stack without flags")
        for _ in range(inner.vle(255)):
            inner.byte()
            inner.take(inner.vle())
        if inner.at < len(body):
            raise RefusedError("more than a stack")
    if header == 0x41 and QOS not in table:
        inner = Reader(body)
        zid = inner.take((inner.byte() >> 4) + 1)
        if not any(zid):
            raise RefusedError("a ZenohID of zeros")
        inner.vle(), inner.vle()
        if inner.at < len(body):
            raise RefusedError("more than a source")


def write_exts(exts):
    out = b""
    for left, (header, body) in zip(range(len(exts) - 1, -1, -1), exts, strict=True):
        out += bytes([header | (0x80 if left else 0)]) + (vle(len(body)) + body if header >> 5 & 3 == 2 else body)
    return out


def read_body(reader):
    header = reader.byte()
    if header & 0x1F not in (1, 2):
        raise RefusedError("neither PUT nor DEL")
    put = header & 0x1F == 1
    fields = read_timestamp(reader) if header & 0x20 else b""
    if put and header & 0x40:
        value = reader.vle((1 << 32) - 1)
        fields += vle(value % 256 if FAULT == 10 else value)
        if value & 1:
            schema = reader.take(reader.vle(255))
            fields += vle(len(schema)) + schema
    exts = read_exts(reader, header & 0x80, TABLES["put" if put else "del"])
    if put and any(header == 0x12 for header, _ in exts):
        raise NotImplementedError
    payload = reader.take(reader.vle((1 << 32) - 1)) if put else b""
    if FAULT == 6 and put and not payload:
        raise RefusedError("no payload")
    head = header & (0x61 if put else 0x22) | (0x80 if exts else 0)
    return bytes([head]) + fields + write_exts(exts) + (sized(payload) if put else b"")


def read_network(reader):
    header = reader.byte()
    if header & 0x1F == 0x1A:
        number = reader.vle((1 << 32) - 1)
        exts = read_exts(reader, header & 0x80, TABLES["final"])
        written = bytes([number & 0x7F | 0x80, number >> 7]) if FAULT == 8 and number < 1 << 14 else vle(number)
        return bytes([0x1A | (0x80 if exts else 0)]) + written + write_exts(exts)
    if header & 0x1F != 0x1D:
        if header & 0x1F in range(0x19, 0x20):
            raise NotImplementedError
        raise RefusedError("no network message")
    scope = reader.vle(65535)
    suffix = reader.take(reader.vle(65535)) if header & 0x20 else b""
    suffix.decode()
    exts = read_exts(reader, header & 0x80, TABLES["push"])
    body = read_body(reader)
    head = header & (0x3D if FAULT == 1 else 0x5D if FAULT == 2 else 0x7D) | (0x80 if exts else 0)
    key = vle(scope) + (vle(len(suffix)) + suffix if header & 0x20 else b"")
    return bytes([head]) + key + write_exts(exts) + body


def read_key(reader):
    chunks = []
    for raw in reader.take(len(reader.data)).decode().split("/"):
        chunk = re.sub(r"(\$\*)+", "$*", raw)
        chunk = "*" if chunk == "$*" else chunk
        if (
            not chunk
            or re.search(r"[#?]|\$(?!\*)", chunk)
            or (chunk not in ("*", "**") and re.search(r"(?<!\$)\*", chunk))
        ):
            raise RefusedError("no key expression")
        if chunk == "**" and chunks[-1:] == ["**"]:
            continue
        if chunk == "*" and chunks[-1:] == ["**"] and FAULT != 9:
            chunks[-1:] = ["*", "**"]
            continue
        chunks.append(chunk)
    return "/".join(chunks).encode()


def decode(layer, data):
    reader = Reader(data)
    try:
        encoded = {"network": read_network, "keyexpr": read_key}[layer](reader)
    except (RefusedError, UnicodeDecodeError) as why:
        return {"ok": False, "why": str(why), "at": reader.at}
    except NotImplementedError:
        return {"unimplemented": True, "why": "not this message"}
    return {"ok": True, "means": None, "size": len(data) if FAULT == 5 else reader.at, "encoded": encoded.hex()}


def answer(request):
    if request["cmd"] == "start":
        identity = {"name": "toy-python", "version": "1", "language": "Python"}
        return {"ok": True, "identity": identity, "layers": ["network", "keyexpr"], "capabilities": []}
    if request["cmd"] == "decode":
        return {"seq": request["seq"]} | decode(request["layer"], bytes.fromhex(request["bytes"]))
    if request["cmd"] == "stop":
        return {"ok": True}
    seq = {"seq": request["seq"], "why": "it only decodes"} if "seq" in request else {"ok": False}
    return seq | {"unimplemented": True}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
    if '"stop"' in line:
        break
