"""WireExpr: a key expression as a declared number, a text, or both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from zenoh_conformance.wire import Blob, EncodeError, Vle, WireType
from zenoh_conformance.wire.source import FunctionSource


@dataclass(frozen=True, slots=True)
class WireExpr:
    """The key expression that `scope` was declared for, followed by `suffix`."""

    scope: int = 0
    """A declared id; 0 for none."""

    suffix: str | None = None
    """None when flag N is clear."""

    mapping: bool = False
    """M: the sender of this message declared `scope`, not its receiver; False in messages without M."""


class KeyExpr(WireType):
    """A WireExpr whose flags N and M are cells of the header, or bits `n` and `m` of an earlier field `byte`."""

    label = "WireExpr"
    scope, suffix = Vle(16), Blob(Vle(16), text=True)

    def __init__(self, byte: str = "header", n: int = 0, m: int = 0) -> None:
        self.byte, self.n, self.m = byte, n, m

    def bind(self, mask: Callable[[str], int]) -> KeyExpr:
        return self if self.n else KeyExpr("header", mask("N"), mask("M"))

    def read(self, out: FunctionSource, var: str, path: str) -> None:
        self.scope.read(out, f"{var}_scope", f"{path}.scope")
        with out.block(f"if {self.byte} & {self.n:#x}:"):
            self.suffix.read(out, f"{var}_suffix", f"{path}.suffix")
        with out.block("else:"):
            out(f"{var}_suffix = None")
        mapping = f"{self.byte} & {self.m:#x} != 0" if self.m else "False"
        out.make(var, WireExpr, ["scope", "suffix", "mapping"], [f"{var}_scope", f"{var}_suffix", mapping])

    def write_in_header(self, out: FunctionSource, var: str) -> None:
        if self.byte == "header":
            with out.block(f"if {var}.suffix is not None:"):
                out(f"header |= {self.n:#x}")
            if self.m:
                with out.block(f"if {var}.mapping:"):
                    out(f"header |= {self.m:#x}")

    def write(self, out: FunctionSource, var: str, path: str) -> None:
        if self.byte != "header":
            wanted = f"({var}.suffix is not None, {var}.mapping)"
            differs = f"({self.byte} & {self.n:#x} != 0, {self.byte} & {self.m:#x} != 0) != {wanted}"
            out.raise_if(differs, EncodeError, f"{path!r}, '{self.byte} says otherwise about suffix or mapping'")
        out(f"{var}_scope, {var}_suffix = {var}.scope, {var}.suffix")
        self.scope.write(out, f"{var}_scope", f"{path}.scope")
        with out.block(f"if {var}_suffix is not None:"):
            self.suffix.write(out, f"{var}_suffix", f"{path}.suffix")

    def to_json(self, value: WireExpr) -> dict[str, Any]:
        suffix = {} if value.suffix is None else {"suffix": value.suffix}
        return {"scope": value.scope, **suffix, "mapping": value.mapping}

    def from_json(self, json: dict[str, Any]) -> WireExpr:
        return WireExpr(json["scope"], json.get("suffix"), json.get("mapping", False))


Key = Annotated[WireExpr, KeyExpr()]
KeyByOptions = Annotated[WireExpr, KeyExpr("options", n=0x20, m=0x40)]
