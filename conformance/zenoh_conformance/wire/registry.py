"""Every declaration, by class and by layer; and values as JSON, which needs nothing but the declarations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .errors import EncodeError
from .extensions import Exts, Unknown
from .layer import Enc, Layer
from .types import SAFE

if TYPE_CHECKING:
    from .declare import Declaration

MESSAGES: list[type] = []
"""Every message class, in the order of declaration."""

EXTENSIONS: list[type] = []
"""Every extension class, in the order of declaration."""

LAYERS = (Layer.TRANSPORT, Layer.NETWORK, Layer.DATA, Layer.DECLARATION, Layer.SCOUTING)
READERS: dict[str, list[Callable[..., Any] | None]] = {layer: [None] * 32 for layer in LAYERS}
"""By layer and message id: the plain readers."""
TRACERS: dict[str, list[Callable[..., Any] | None]] = {layer: [None] * 32 for layer in LAYERS}
"""By layer and message id: the readers that mark segments."""
WRITERS: dict[str, dict[type, Callable[..., None]]] = {layer: {} for layer in LAYERS}
"""By layer and class."""

_declared: dict[type, Declaration] = {}


def add(declaration: Declaration) -> None:
    """Make a declaration known.  Raises ValueError when its id is taken."""
    _declared[declaration.cls] = declaration
    if declaration.layer is None:
        if declaration.kind == "extension":
            EXTENSIONS.append(declaration.cls)
        return
    readers = READERS[declaration.layer]
    if readers[declaration.id] is not None:
        raise ValueError(f"{declaration.name}: id {declaration.id:#04x} is taken in layer {declaration.layer}")
    readers[declaration.id] = declaration.read
    TRACERS[declaration.layer][declaration.id] = declaration.trace
    WRITERS[declaration.layer][declaration.cls] = declaration.write
    MESSAGES.append(declaration.cls)


def of(cls: type) -> Declaration:
    """What was declared for `cls`.  Raises KeyError for a class that is no message, extension or composite."""
    return _declared[cls]


def kind_of(message: object) -> str:
    """What a message is called in paths: `init`, `d_subscriber`.  Raises KeyError for no message."""
    return of(type(message)).path


def known(cls: object) -> bool:
    """Whether anything was declared for `cls`."""
    return cls in _declared


def kinds(layer: str) -> dict[str, type]:
    """The message classes of one layer, by name."""
    return {cls.__name__: cls for cls in WRITERS[layer]}


def to_json(message: Any) -> dict[str, Any]:
    """`{"Kind": {field: value}}`; see `Declaration.fields_to_json`."""
    if isinstance(message, Unknown):
        return {"Unknown": _unknown_to_json(message)}
    declaration = of(type(message))
    return {declaration.name: declaration.fields_to_json(message)}


def from_json(text: Mapping[str, Any], among: Mapping[str, type]) -> Any:
    """The value that `told` describes, one of the kinds `among`.  Raises EncodeError when it describes none."""
    if len(text) != 1:
        raise EncodeError("json", "an object with one key, the kind, is expected")
    [(name, fields)] = text.items()
    if name == "Unknown":
        return _unknown_from_json(fields)
    if name not in among:
        raise EncodeError("json", f"{name} where one of {', '.join(among)} is expected")
    return of(among[name]).from_json(fields)


def chain_to_json(chain: Exts[Any]) -> list[dict[str, Any]]:
    """An extension chain, in wire order."""
    return [to_json(each) for each in chain]


def chain_from_json(text: Any, among: Mapping[str, type]) -> Exts[Any]:
    """The chain that `told` describes."""
    return Exts(from_json(each, among) for each in text)


def _unknown_to_json(unknown: Unknown) -> dict[str, Any]:
    text: dict[str, Any] = {"id": unknown.id, "mandatory": unknown.mandatory, "enc": unknown.enc.word}
    match unknown.value:
        case bytes(value):
            text["value"] = value.hex()
        case int(value):
            text["value"] = value if value <= SAFE else str(value)
    return text


def _unknown_from_json(text: Mapping[str, Any]) -> Unknown:
    enc, value = Enc.of(text["enc"]), text.get("value")
    if value is not None:
        value = bytes.fromhex(value) if enc is Enc.ZBUF else int(value)
    return Unknown(id=text["id"], mandatory=text["mandatory"], enc=enc, value=value)
