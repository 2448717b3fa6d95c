"""Scripts: the steps of a case, a counterexample or a fuzz input as text, one step a line, to replay against any target.

    script 1
    about       establishment-cookie/a-changed-cookie-is-refused[at=0]
    requirement session-establishment/cookie-must-match
    target      responder
    profile     default
    cause       stage open: OpenAck where a refusal is required

    us open
    us send
        prefix               auto
        init.header          41                      # INIT, S
        init.packed          72
        init.zid             $zid(us)                # random in each run
        ...
    us expect InitAck
    us send
        prefix               auto
        open.header          02
        open.cookie.length   length                  # of what follows
        open.cookie.bytes    $us:init.cookie.bytes ^ 0:01
    us expect refusal
    us fence
    wait 0.5
    us deviates OpenAck

A value is bytes in hex, or an expression that is evaluated when the script runs:

    $zid(NAME)     the ZenohID of our connection NAME
    $NAME:PATH     the bytes at PATH in the last such message that the target sent on NAME
    $NAME:PATH[a:b]    a slice of them
    VALUE ^ AT:HEX     VALUE with the bytes HEX XORed in at the offset AT
    auto           the length of the batch
    length         the length of the next path

`#` begins a note.

`deviates WHAT` is the last step of a recorded script: the target deviated by WHAT; the replay passes if it does not now.
`check NAME` in the header names the check that judged. A law judges the conversation after the steps. A case is executed
and judges instead of the steps, a varied one in the circumstances that the header names (`lane=7; cut=byte by byte`).
With `target/stays-up` the replay tests whether the target survives the steps.
`us needs batch_size 65000` is the condition under which the next step is valid: if the negotiated value is smaller, the
verdict is `not-observed`. Scripts also exist as JSON documents: `schemas/script.schema.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from zenoh_harness.errors import current_name, nearest
from zenoh_harness.files.faults import FileFault, regular, unreadable

FORMAT: Final = 1
SUFFIX: Final = ".script"
STAYS_UP: Final = "target/stays-up"
"""The check that the target survives, and the id of its requirement; scripts of crashes, panics and hangs name it."""

ACTS: Final = ("open", "finish", "reset", "shut", "fence")
"""Steps without an argument; `open` opens a link, or waits for the link of a target that is an initiator."""

WORDED: Final = ("expect", "deviates", "needs")
"""Steps with an argument: the expected answer, the deviation of the target, the condition of the next step."""

RENAMED: Final = {"departs": "deviates"}
"""Former names of steps, which are still read, to their present names."""
HEADER: Final = (
    "about", "requirement", "check", "circumstances", "target", "profile", "ability", "cause", "expected", "got",
)  # fmt: skip
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_PATH: Final = re.compile(r"[a-z][A-Za-z0-9_]*(?:\[\d+\])?(?:\.[a-zA-Z0-9_]+(?:\[\d+\])?)*")
_ZID: Final = re.compile(r"\$zid\(([A-Za-z][A-Za-z0-9_-]*)\)(?:\[(-?\d*):(-?\d*)\])?")
_HEARD: Final = re.compile(r"\$([A-Za-z][A-Za-z0-9_-]*):([a-z0-9_.\[\]]*?[a-z0-9_])(?:\[(-?\d*):(-?\d*)\])?")
_XOR: Final = re.compile(r"(.*?)\s*\^\s*(-?\d+):((?:[0-9a-fA-F]{2})+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """The value of a segment."""

    data: bytes = b""
    """The bytes, if `bound` is empty."""
    bound: str = ""
    """The kind of the expression: `auto`, `length`, `zid`, `heard` (for `$NAME:PATH`); empty for bytes."""
    name: str = ""
    """The connection of `$zid(NAME)` or `$NAME:PATH`."""
    path: str = ""
    """The path of `$NAME:PATH` in the target's message."""
    first: int | None = None
    last: int | None = None
    """The limits of the slice, as in Python: `last` is not included."""
    xor: tuple[int, bytes] | None = None
    """Offset and bytes that are XORed in."""

    def __str__(self) -> str:
        if not self.bound:
            return self.data.hex(" ") or '""'
        text = {"zid": f"$zid({self.name})", "heard": f"${self.name}:{self.path}"}.get(self.bound, self.bound)
        if self.first is not None or self.last is not None:
            text += f"[{'' if self.first is None else self.first}:{'' if self.last is None else self.last}]"
        return f"{text} ^ {self.xor[0]}:{self.xor[1].hex()}" if self.xor else text


@dataclass(frozen=True, slots=True)
class Part:
    """One segment of a message that is sent: path, value and note."""

    path: str
    value: Value
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step: a line, with the segments below it."""

    do: str
    """`send`, `wait`, or one of `WORDED` and `ACTS`."""
    connection: str = ""
    parts: tuple[Part, ...] = ()
    """The segments of `send`."""
    what: str = ""
    """The argument of a step of `WORDED`."""
    seconds: float = 0.0
    """The duration of `wait`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A whole script."""

    steps: tuple[Step, ...]
    header: Mapping[str, str] = field(default_factory=dict)
    """The lines before the steps, by the names in `HEADER`."""

    @property
    def requirement(self) -> str:
        """The id of the requirement that the script shows to be violated; `STAYS_UP` if the header names none."""
        return self.header.get("requirement", STAYS_UP)

    @property
    def circumstances(self) -> Mapping[str, str]:
        """The circumstances on which the deviation depends: name of a dimension to its value as text."""
        named = self.header.get("circumstances", "")
        return dict(pair.split("=", 1) for pair in named.split("; ") if "=" in pair)


# --- text


def text(script: Script) -> str:
    """Return the script as text."""
    lines = [f"script {FORMAT}"]
    lines += [f"{name:<11} {script.header[name]}" for name in HEADER if script.header.get(name)]
    lines.append("")
    for step in script.steps:
        lines.append(_line(step))
        wide = max((len(part.path) for part in step.parts), default=0) + 2
        for part in step.parts:
            shown = f"    {part.path:<{wide}} {part.value}"
            lines.append(f"{shown:<{wide + 40}}  # {_one_line(part.note)}" if part.note else shown)
    return "\n".join(lines) + "\n"


def _line(step: Step) -> str:
    if step.do == "wait":
        return f"wait {step.seconds:g}"
    return " ".join(word for word in (step.connection, step.do, step.what) if word)


def _one_line(note: str) -> str:
    return " ".join("".join(char if char.isprintable() else " " for char in note).split())


def write(script: Script, path: Path) -> None:
    """Write the script as text. Raises OSError."""
    path.write_text(text(script), encoding="utf-8")


def read(path: Path) -> Script:
    """Read a script. Raises FileFault with the line."""
    try:
        return parse(regular(path).read_text(encoding="utf-8"), path)
    except (OSError, UnicodeDecodeError) as why:
        raise unreadable(path, why) from why


def parse(shown: str, path: Path | str = "script") -> Script:
    """Read a script from its text. Raises FileFault with the line."""
    header: dict[str, str] = {}
    steps: list[Step] = []
    lines = list(_content(shown))
    if not lines or lines[0][1].split() != ["script", str(FORMAT)]:
        first = lines[0][1].split() if lines else []
        form = first[1] if len(first) == 2 and first[0] == "script" else ""
        hint = f"it is of form {form}, and this version reads form {FORMAT}" if form.isdigit() else ""
        where = lines[0][0] if lines else None
        raise FileFault(path, where, f"a script begins with the line `script {FORMAT}`", hint=hint)
    for number, line in lines[1:]:
        if line[0].isspace():
            steps[-1:] = [_with_part(path, number, line, steps)]
        elif not steps and line.split()[0] in HEADER:
            name, _, rest = line.partition(" ")
            header[name] = rest.strip()
        else:
            steps.append(_step(path, number, line))
    _check_names(path, steps)
    return Script(steps=tuple(steps), header=header)


def _content(shown: str) -> Iterator[tuple[int, str]]:
    """Yield line number and line, without empty lines and lines that are only a note."""
    for number, line in enumerate(shown.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line.rstrip()


def _step(path: Path | str, number: int, line: str) -> Step:
    words = line.partition(" #")[0].split()
    if words[0] == "wait":
        return _wait(path, number, words)
    if len(words) < 2 or not _NAME.fullmatch(words[0]):
        raise FileFault(path, number, f"expected `CONNECTION DOES ...`, found {line!r:.60}")
    connection, do, what = words[0], current_name(words[1], RENAMED), " ".join(words[2:])
    if do in WORDED and what:
        return Step(do=do, connection=connection, what=what)
    if do in ("send", *ACTS) and not what:
        return Step(do=do, connection=connection)
    known = ("send", *WORDED, *ACTS)
    why = f"{do!r} takes no more words" if do in known and what else f"unknown step {do!r}"
    raise FileFault(path, number, why if do not in WORDED else f"{do} what?", hint=nearest(do, known))


def _wait(path: Path | str, number: int, words: list[str]) -> Step:
    try:
        (seconds,) = map(float, words[1:])
    except ValueError as why:
        raise FileFault(path, number, "expected `wait SECONDS`") from why
    return Step(do="wait", seconds=seconds)


def _with_part(path: Path | str, number: int, line: str, steps: list[Step]) -> Step:
    if not steps or steps[-1].do != "send":
        raise FileFault(path, number, "a segment stands below a line `CONNECTION send`")
    said, _, note = line.partition(" #")
    words = said.split(maxsplit=1)
    if len(words) != 2 or not _PATH.fullmatch(words[0]):
        raise FileFault(path, number, f"expected `PATH VALUE`, found {line.strip()!r:.60}")
    value = value_of(words[1])
    if value is None:
        hint = "hex, auto, length, $zid(NAME), $NAME:PATH, each bound one with [a:b] and ^ AT:HEX"
        raise FileFault(path, number, f"no value: {words[1]!r:.60}", hint=hint)
    last = steps[-1]
    part = Part(words[0], value, note.strip())
    return Step(do=last.do, connection=last.connection, parts=(*last.parts, part))


def value_of(shown: str) -> Value | None:
    """Return the value that a text describes; None if it describes none."""
    shown, xor = shown.strip(), None
    if match := _XOR.fullmatch(shown):
        shown, xor = match.group(1), (int(match.group(2)), bytes.fromhex(match.group(3)))
    if shown in ("auto", "length"):
        return Value(bound=shown, xor=xor)
    if match := _ZID.fullmatch(shown):
        return Value(bound="zid", name=match.group(1), first=_int(match.group(2)), last=_int(match.group(3)), xor=xor)
    if match := _HEARD.fullmatch(shown):
        first, last = _int(match.group(3)), _int(match.group(4))
        return Value(bound="heard", name=match.group(1), path=match.group(2), first=first, last=last, xor=xor)
    try:
        return Value(data=b"" if shown == '""' else bytes.fromhex(shown), xor=xor)
    except ValueError:
        return None


def _int(shown: str | None) -> int | None:
    return int(shown) if shown else None


def _check_names(path: Path | str, steps: Iterable[Step]) -> None:
    opened: set[str] = set()
    for step in steps:
        if step.do == "open":
            opened.add(step.connection)
        elif step.connection and step.connection not in opened:
            raise FileFault(path, None, f"connection {step.connection!r} does {step.do!r} before it is opened")
        for part in step.parts:
            if part.value.bound == "heard" and part.value.name not in opened:
                raise FileFault(path, None, f"{part.path}: nothing is heard on {part.value.name!r} before it is opened")


# --- data


def as_json(script: Script) -> dict[str, Any]:
    """Return the script as JSON data, as `schemas/script.schema.json` describes it."""
    return {"script": FORMAT, "header": dict(script.header), "steps": [_step_json(step) for step in script.steps]}


def _step_json(step: Step) -> dict[str, Any]:
    row: dict[str, Any] = {"do": step.do}
    if step.connection:
        row["connection"] = step.connection
    if step.what:
        row["what"] = step.what
    if step.do == "wait":
        row["seconds"] = step.seconds
    if step.do == "send":
        row["segments"] = [[part.path, str(part.value), part.note] for part in step.parts]
    return row


def from_json(row: Mapping[str, Any], path: Path | str = "script") -> Script:
    """Return the script that JSON data describes. Raises FileFault."""
    lines = [f"script {row.get('script')}"]
    lines += [f"{name} {value}" for name, value in dict(row.get("header", {})).items()]
    for step in row.get("steps", ()):
        do = step.get("do", "")
        words = (
            (do, f"{step.get('seconds', '')}")
            if do == "wait"
            else (step.get("connection", ""), do, step.get("what", ""))
        )
        lines.append(" ".join(word for word in words if word))
        lines += [f"    {where} {value} # {note}" for where, value, note in step.get("segments", ())]
    return parse("\n".join(lines), path)
