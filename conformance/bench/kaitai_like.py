"""The same messages as Kaitai Struct's compiler writes readers: a stream, a class for each type, parse only."""

from io import BytesIO
from struct import Struct as Struct_


class Stream:
    """As its runtime's: every number is unpacked by `struct` from a read of a BytesIO, on a byte boundary."""

    unpack_u1 = Struct_("B").unpack
    unpack_u2le = Struct_("<H").unpack

    def __init__(self, io):
        self._io = io
        self.align_to_byte()

    def align_to_byte(self):
        self.bits_left = 0
        self.bits = 0

    def read_u1(self):
        return self.unpack_u1(self.read_bytes(1))[0]

    def read_u2le(self):
        return self.unpack_u2le(self.read_bytes(2))[0]

    def read_bytes(self, size):
        self.align_to_byte()
        return self._read_aligned(size)

    def read_bytes_full(self):
        self.align_to_byte()
        return self._io.read()

    def _read_aligned(self, size):
        if size < 0:
            raise ValueError(f"requested invalid {size} amount of bytes")
        read = self._io.read(size)
        if len(read) < size:
            raise EOFError(f"requested {size} bytes, but got only {len(read)} bytes")
        return read

    def is_eof(self):
        if self.bits_left > 0:
            return False
        here = self._io.tell()
        if self._io.read(1) == b"":
            return True
        self._io.seek(here)
        return False


class Struct:
    """As its runtime's: reads when made."""

    def __init__(self, io, parent=None, root=None):
        self._io, self._parent, self._root = io, parent, root or self
        self._read()


class Vlq(Struct):
    """As its collection's `vlq_base128_le`: groups, and the value when asked for."""

    def _read(self):
        self.groups = []
        while True:
            group = Group(self._io, self, self._root)
            self.groups.append(group)
            if not group.has_next:
                break

    @property
    def value(self):
        if not hasattr(self, "_m_value"):
            self._m_value = sum(group.value << 7 * index for index, group in enumerate(self.groups))
        return self._m_value


class Group(Struct):
    def _read(self):
        self.b = self._io.read_u1()

    @property
    def has_next(self):
        if not hasattr(self, "_m_has_next"):
            self._m_has_next = self.b & 0x80 != 0
        return self._m_has_next

    @property
    def value(self):
        if not hasattr(self, "_m_value"):
            self._m_value = self.b & 0x7F
        return self._m_value


class Blob(Struct):
    def _read(self):
        self.size = Vlq(self._io, self, self._root)
        self.data = self._io.read_bytes(self.size.value)


class Timestamp(Struct):
    def _read(self):
        self.time = Vlq(self._io, self, self._root)
        self.zid = Blob(self._io, self, self._root)


class Source(Struct):
    def _read(self):
        self.packed = self._io.read_u1()
        self.zid = self._io.read_bytes((self.packed >> 4) + 1)
        self.eid = Vlq(self._io, self, self._root)
        self.sn = Vlq(self._io, self, self._root)


KNOWN = {0x42: Timestamp, 0x41: Source}


class Extension(Struct):
    def _read(self):
        self.header = self._io.read_u1()
        enc = self.header >> 5 & 3
        if enc == 1:
            self.value = Vlq(self._io, self, self._root)
        elif enc == 2:
            self.size = Vlq(self._io, self, self._root)
            self._raw_value = self._io.read_bytes(self.size.value)
            made = KNOWN.get(self.header & 0x7F) if isinstance(self._parent, Push | Put) else None
            self.value = made(Stream(BytesIO(self._raw_value)), self, self._root) if made else self._raw_value


class Message(Struct):
    def _extensions(self):
        self.exts = []
        if self.header & 0x80:
            while True:
                extension = Extension(self._io, self, self._root)
                self.exts.append(extension)
                if not extension.header & 0x80:
                    break


class Init(Message):
    def _read(self):
        self.header = self._io.read_u1()
        self.version = self._io.read_u1()
        self.packed = self._io.read_u1()
        self.zid = self._io.read_bytes((self.packed >> 4) + 1)
        if self.header & 0x40:
            self.resolution = self._io.read_u1()
            self.batch_size = self._io.read_u2le()
        if self.header & 0x20:
            self.cookie = Blob(self._io, self, self._root)
        self._extensions()


class Put(Message):
    def _read(self):
        self.header = self._io.read_u1()
        if self.header & 0x20:
            self.timestamp = Timestamp(self._io, self, self._root)
        if self.header & 0x40:
            self.encoding = Vlq(self._io, self, self._root)
            if self.encoding.value & 1:
                self.schema = Blob(self._io, self, self._root)
        self._extensions()
        self.payload = Blob(self._io, self, self._root)


class Push(Message):
    def _read(self):
        self.header = self._io.read_u1()
        self.scope = Vlq(self._io, self, self._root)
        if self.header & 0x20:
            self.suffix = Blob(self._io, self, self._root)
            self.suffix_text = self.suffix.data.decode("UTF-8")
        self._extensions()
        self.body = Put(self._io, self, self._root)


class Frame(Message):
    def _read(self):
        self.header = self._io.read_u1()
        self.sn = Vlq(self._io, self, self._root)
        self._extensions()
        self.messages = []
        while not self._io.is_eof():
            self.messages.append(Push(self._io, self, self._root))


READERS = {"INIT": Init, "PUSH": Push, "FRAME": Frame}


def read(name, data):
    """The structure of this name that `data` is."""
    return READERS[name](Stream(BytesIO(data)))
