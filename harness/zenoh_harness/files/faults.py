"""The error for a file that cannot be used: which file, which line, what was expected."""

from __future__ import annotations

import errno
import stat
from pathlib import Path
from typing import Any, Final

from zenoh_harness.errors import UsageError, nearest

Row = dict[str, Any]
_ENDLESS: Final = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


class NotRegular(OSError):  # noqa: N818 - a fault of the file
    """A FIFO, a device or a socket, where a file is expected."""

    def __str__(self) -> str:
        return str(self.strerror)


def regular(path: Path) -> Path:
    """Return the path of a file that has an end. Raises NotRegular for a FIFO, a device or a socket, which may have none."""
    kind = _ENDLESS.get(stat.S_IFMT(path.stat().st_mode))
    if kind is not None:
        raise NotRegular(errno.EINVAL, f"{kind}, not a file")
    return path


class FileFault(UsageError):  # noqa: N818 - a fault of the file
    """A file does not match its format, or cannot be read or written; `line` counts from 1, or is None."""

    def __init__(self, path: Path | str, line: int | None, why: str, *, hint: str = "") -> None:
        self.path, self.line, self.why = Path(path), line, why
        where = f"{path}:{line}" if line else str(path)
        super().__init__(f"{where}: {why}", step="read the file", hint=hint)


def unreadable(path: Path | str, why: OSError | UnicodeError) -> FileFault:
    """Return the fault for a file that cannot be read, with the nearest name beside it if there is none of this name."""
    if isinstance(why, UnicodeDecodeError):
        return FileFault(path, None, f"is no text: byte {why.start} is not UTF-8", hint="is it another kind of file?")
    hint = _nearest_beside(Path(path)) if isinstance(why, FileNotFoundError) else ""
    hint = "name a file in that folder" if isinstance(why, IsADirectoryError) else hint
    return FileFault(path, None, f"cannot be read: {getattr(why, 'strerror', why)}", hint=hint)


def _nearest_beside(path: Path) -> str:
    try:
        return nearest(path.name, (each.name for each in path.parent.iterdir()))
    except OSError:
        return f"there is no folder {path.parent}"


def field(
    path: Path | str, line: int | None, row: Row, name: str, kind: type | tuple[type, ...], default: Any = ...
) -> Any:
    """Return a field of a row, which must be of type `kind`; `default` if it is absent.

    Raises FileFault if the field has another type, or is absent and has no default. A bool does not count as an int.
    """
    value = row.get(name, default)
    if value is ...:
        raise FileFault(path, line, f"field {name!r} is missing")
    if name in row and (not isinstance(value, kind) or (isinstance(value, bool) and not _takes_bool(kind))):
        wanted = " or ".join(one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,)))
        raise FileFault(path, line, f"field {name!r} must be {wanted}, found {value!r:.60}")
    return value


def _takes_bool(kind: type | tuple[type, ...]) -> bool:
    return bool in (kind if isinstance(kind, tuple) else (kind,))
