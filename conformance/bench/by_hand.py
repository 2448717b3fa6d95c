"""The same messages as somebody would write them by hand, into the same objects, with refusals and diagnostics."""

from zenoh_conformance.messages import Frame, Init, Push, Put, init, network
from zenoh_conformance.messages.data import SourceInfo
from zenoh_conformance.messages.put import PutAttachment
from zenoh_conformance.primitives import Encoding, Timestamp, WhatAmI, WireExpr, ZenohID
from zenoh_conformance.wire.errors import DecodeError, Diagnostic
from zenoh_conformance.wire.extensions import NO_EXTS, Exts


def need(data, at, size, end, path):
    if at + size > end:
        raise DecodeError(end, path, f"{size} bytes are expected")


def read_vle(data, at, end, path, found):
    begin, value, shift = at, 0, 0
    while True:
        if at >= end:
            raise DecodeError(end, path, "the integer is cut")
        byte = data[at]
        at += 1
        if shift == 56:
            value |= byte << 56
            break
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    if not byte and shift:
        found.append(Diagnostic(begin, path, "more bytes than needed", "overlong-vle"))
    return value, at


def read_bounded(data, at, end, path, found, most):
    value, after = read_vle(data, at, end, path, found)
    if value > most:
        raise DecodeError(at, path, f"{value} is beyond {most}")
    return value, after


def read_cut(data, at, end, path, found, most):
    value, after = read_vle(data, at, end, path, found)
    if value > most:
        found.append(Diagnostic(at, path, f"{value} is beyond {most}", "truncated-value"))
    return value, after


def read_blob(data, at, end, path, found, most):
    size, begin = read_bounded(data, at, end, path + ".length", found, most)
    if size > end - begin:
        raise DecodeError(at, path + ".length", "more bytes than there are")
    return data[begin : begin + size], begin + size


def read_text(data, at, end, path, found, most):
    blob, after = read_blob(data, at, end, path, found, most)
    try:
        return blob.decode(), after
    except UnicodeDecodeError as bad:
        raise DecodeError(after - len(blob) + bad.start, path, "not UTF-8") from None


def read_zid(data, at, size, end, path, found):
    need(data, at, size, end, path)
    raw = data[at : at + size]
    if not raw[-1]:
        if not any(raw):
            raise DecodeError(at, path, "zero")
        found.append(Diagnostic(at, path, "zeros at its end", "non-canonical"))
    return ZenohID(raw), at + size


def read_timestamp(data, at, end, path, found):
    time, at = read_vle(data, at, end, path + ".time", found)
    size, begin = read_vle(data, at, end, path + ".zid.length", found)
    if not 1 <= size <= 16:
        raise DecodeError(at, path + ".zid.length", "no ZenohID")
    zid, at = read_zid(data, begin, size, end, path + ".zid.bytes", found)
    return Timestamp(time=time, zid=zid), at


def read_chain(data, at, end, path, found, known):
    chain, seen = [], set()
    while True:
        need(data, at, 1, end, path)
        header, begin = data[at], at
        key = header & 0x7F
        if key in seen:
            found.append(Diagnostic(at, path, "repeated", "duplicate-extension"))
        seen.add(key)
        reader = known.get(key)
        if reader is None:
            raise DecodeError(begin, path, "the samples have no unknown extension")
        extension, at = reader(data, at + 1, end, path, found)
        chain.append(extension)
        if not header & 0x80:
            return Exts(chain), at


def of_unit(value):
    return lambda data, at, end, path, found: (value, at)


def of_z64(cls, most):
    def read(data, at, end, path, found):
        value, at = read_cut(data, at, end, path, found, most)
        return cls(value=value), at

    return read


def of_zbuf(content):
    def read(data, at, end, path, found):
        size, begin = read_bounded(data, at, end, path, found, 0xFFFFFFFF)
        if size > end - begin:
            raise DecodeError(at, path, "more bytes than there are")
        extension, at = content(data, begin, begin + size, path, found)
        if at < begin + size:
            found.append(Diagnostic(at, path, "bytes beyond the content", "non-canonical"))
        return extension, begin + size

    return read


def timestamp_content(data, at, end, path, found):
    timestamp, at = read_timestamp(data, at, end, path, found)
    return network.TimestampExt(timestamp=timestamp), at


def source_content(data, at, end, path, found):
    need(data, at, 1, end, path)
    packed = data[at]
    if packed & 0x0F:
        found.append(Diagnostic(at, path, "reserved", "reserved-bit"))
    zid, at = read_zid(data, at + 1, (packed >> 4) + 1, end, path, found)
    eid, at = read_cut(data, at, end, path, found, 0xFFFFFFFF)
    sn, at = read_cut(data, at, end, path, found, 0xFFFFFFFF)
    return SourceInfo(zid=zid, eid=eid, sn=sn), at


def attachment_content(data, at, end, path, found):
    return PutAttachment(payload=data[at:end]), end


INIT_EXTS = {0x01: of_unit(init.QoS()), 0x27: of_z64(init.Patch, 0xFF)}
PUSH_EXTS = {0x21: of_z64(network.QoS, 0xFF), 0x42: of_zbuf(timestamp_content)}
PUT_EXTS = {0x41: of_zbuf(source_content), 0x43: of_zbuf(attachment_content)}
ROLES = list(WhatAmI)


def read_init(data, at, end, path, found):
    header = data[at]
    need(data, at, 3, end, path)
    version, packed = data[at + 1], data[at + 2]
    if packed & 3 == 3:
        raise DecodeError(at + 2, path + ".packed", "no role")
    if packed & 0x0C:
        found.append(Diagnostic(at + 2, path + ".packed", "reserved", "reserved-bit"))
    zid, at = read_zid(data, at + 3, (packed >> 4) + 1, end, path + ".zid", found)
    resolution = batch_size = cookie = None
    if header & 0x40:
        need(data, at, 3, end, path + ".resolution")
        resolution, batch_size = data[at], data[at + 1] | data[at + 2] << 8
        if resolution & 0xF0:
            found.append(Diagnostic(at, path + ".resolution", "reserved", "reserved-bit"))
        at += 3
    if header & 0x20:
        cookie, at = read_blob(data, at, end, path + ".cookie", found, 0xFFFF)
    exts, at = read_chain(data, at, end, path, found, INIT_EXTS) if header & 0x80 else (NO_EXTS, at)
    return Init(
        ack=header & 0x20 != 0,
        version=version,
        whatami=ROLES[packed & 3],
        zid=zid,
        resolution=resolution,
        batch_size=batch_size,
        cookie=cookie,
        exts=exts,
    ), at


def read_put(data, at, end, path, found):
    header = data[at]
    at += 1
    timestamp = encoding = None
    if header & 0x20:
        timestamp, at = read_timestamp(data, at, end, path + ".timestamp", found)
    if header & 0x40:
        begin = at
        number, at = read_bounded(data, at, end, path + ".encoding.id", found, 0xFFFFFFFF)
        if number > 0x1FFFF:
            found.append(Diagnostic(begin, path + ".encoding.id", "too large", "truncated-value"))
        schema = None
        if number & 1:
            schema, at = read_blob(data, at, end, path + ".encoding.schema", found, 0xFF)
        encoding = Encoding(number >> 1, schema)
    exts, at = read_chain(data, at, end, path, found, PUT_EXTS) if header & 0x80 else (NO_EXTS, at)
    payload, at = read_blob(data, at, end, path + ".payload", found, 0xFFFFFFFF)
    return Put(timestamp=timestamp, encoding=encoding, exts=exts, payload=payload), at


def read_push(data, at, end, path, found):
    header = data[at]
    scope, at = read_bounded(data, at + 1, end, path + ".key.scope", found, 0xFFFF)
    suffix = None
    if header & 0x20:
        suffix, at = read_text(data, at, end, path + ".key.suffix", found, 0xFFFF)
    exts, at = read_chain(data, at, end, path, found, PUSH_EXTS) if header & 0x80 else (NO_EXTS, at)
    need(data, at, 1, end, path + ".body")
    if data[at] & 0x1F != 1:
        raise DecodeError(at, path + ".body", "the samples have PUT alone")
    body, at = read_put(data, at, end, path + ".put", found)
    return Push(key=WireExpr(scope, suffix, header & 0x40 != 0), exts=exts, body=body), at


def read_frame(data, at, end, path, found):
    header = data[at]
    if header & 0x40:
        found.append(Diagnostic(at, path, "reserved", "reserved-bit"))
    sn, at = read_cut(data, at + 1, end, path + ".sn", found, 0xFFFFFFFF)
    exts, at = read_chain(data, at, end, path, found, {}) if header & 0x80 else (NO_EXTS, at)
    messages = []
    while at < end and data[at] & 0x1F == 0x1D:
        message, at = read_push(data, at, end, f"{path}.messages[{len(messages)}].push", found)
        messages.append(message)
    return Frame(reliable=header & 0x20 != 0, sn=sn, exts=exts, messages=tuple(messages)), at


READERS = {"INIT": read_init, "PUSH": read_push, "FRAME": read_frame}


def read(name, data):
    """The message of this name that `data` is."""
    found = []
    message, _ = READERS[name](data, 0, len(data), name.lower(), found)
    return message, tuple(found)


def put_vle(out, value):
    if not 0 <= value < 1 << 64:
        raise ValueError(value)
    count = 0
    while value >= 0x80 and count < 8:
        out.append(value & 0x7F | 0x80)
        value >>= 7
        count += 1
    out.append(value)


def put_blob(out, data):
    put_vle(out, len(data))
    out += data


def put_timestamp(out, timestamp):
    put_vle(out, timestamp.time)
    put_blob(out, timestamp.zid.raw)


def write_init(out, message):
    given = message.resolution is not None
    out.append(0x01 | message.ack << 5 | given << 6 | bool(message.exts) << 7)
    raw = message.zid.raw
    out += bytes([message.version, len(raw) - 1 << 4 | message.whatami])
    out += raw
    if given:
        out.append(message.resolution)
        out += message.batch_size.to_bytes(2, "little")
    if message.ack:
        put_blob(out, message.cookie)
    write_chain(out, message.exts)


def write_chain(out, exts):
    for index, extension in enumerate(exts, 1):
        more = 0x80 if index < len(exts) else 0
        match extension:
            case init.QoS():
                out.append(0x01 | more)
            case init.Patch():
                out.append(0x27 | more)
                put_vle(out, extension.value)
            case network.QoS():
                out.append(0x21 | more)
                put_vle(out, extension.value)
            case network.TimestampExt():
                out.append(0x42 | more)
                content = bytearray()
                put_timestamp(content, extension.timestamp)
                put_blob(out, content)
            case SourceInfo():
                out.append(0x41 | more)
                raw = extension.zid.raw
                content = bytearray([len(raw) - 1 << 4]) + raw
                put_vle(content, extension.eid)
                put_vle(content, extension.sn)
                put_blob(out, content)
            case PutAttachment():
                out.append(0x43 | more)
                put_blob(out, extension.payload)
            case _:
                raise ValueError(extension)


def write_push(out, message):
    key = message.key
    out.append(0x1D | (key.suffix is not None) << 5 | key.mapping << 6 | bool(message.exts) << 7)
    put_vle(out, key.scope)
    if key.suffix is not None:
        put_blob(out, key.suffix.encode())
    write_chain(out, message.exts)
    put = message.body
    timed, encoding = put.timestamp is not None, put.encoding
    out.append(0x01 | timed << 5 | (encoding is not None) << 6 | bool(put.exts) << 7)
    if timed:
        put_timestamp(out, put.timestamp)
    if encoding is not None:
        put_vle(out, encoding.id << 1 | (encoding.schema is not None))
        if encoding.schema is not None:
            put_blob(out, encoding.schema)
    write_chain(out, put.exts)
    put_blob(out, put.payload)


def write_frame(out, message):
    out.append(0x05 | message.reliable << 5 | bool(message.exts) << 7)
    put_vle(out, message.sn)
    write_chain(out, message.exts)
    for each in message.messages:
        write_push(out, each)


WRITERS = {"INIT": write_init, "PUSH": write_push, "FRAME": write_frame}


def write(name, message):
    """The bytes of the message."""
    out = bytearray()
    WRITERS[name](out, message)
    return bytes(out)
