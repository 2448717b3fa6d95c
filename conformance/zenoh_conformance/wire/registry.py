"""Every declaration by class and by layer, and the JSON form of values, which follows from the declarations."""

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
"""The plain readers, by layer and message id."""
TRACERS: dict[str, list[Callable[..., Any] | None]] = {layer: [None] * 32 for layer in LAYERS}
"""The readers that mark segments, by layer and message id."""
WRITERS: dict[str, dict[type, Callable[..., None]]] = {layer: {} for layer in LAYERS}
"""By layer and class."""

_declared: dict[type, Declaration] = {}


def add(declaration: Declaration) -> None:
    """Register a declaration.  Raises ValueError when its id is taken."""
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
    """The declaration of `cls`.  Raises KeyError for a class that is no message, extension or composite."""
    return _declared[cls]


def kind_of(message: object) -> str:
    """The name of a message's kind in paths: `init`, `d_subscriber`.  Raises KeyError for no message."""
    return of(type(message)).path


def is_declared(cls: object) -> bool:
    """Whether `cls` has a declaration."""
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


def from_json(json: Mapping[str, Any], among: Mapping[str, type]) -> Any:
    """The value that `json` describes, of one of the kinds `among`.  Raises EncodeError when it describes none."""
    if len(json) != 1:
        raise EncodeError("json", "an object with one key, the kind, is expected")
    [(name, fields)] = json.items()
    if name == "Unknown":
        return _unknown_from_json(fields)
    if name not in among:
        raise EncodeError("json", f"{name} where one of {', '.join(among)} is expected")
    return of(among[name]).from_json(fields)


def chain_to_json(chain: Exts[Any]) -> list[dict[str, Any]]:
    """An extension chain as a list, in wire order."""
    return [to_json(extension) for extension in chain]


def chain_from_json(json: Any, among: Mapping[str, type]) -> Exts[Any]:
    """The chain that a list describes.  Raises EncodeError."""
    return Exts(from_json(extension, among) for extension in json)


def _unknown_to_json(unknown: Unknown) -> dict[str, Any]:
    json: dict[str, Any] = {"id": unknown.id, "mandatory": unknown.mandatory, "enc": unknown.enc.word}
    match unknown.value:
        case bytes(value):
            json["value"] = value.hex()
        case int(value):
            json["value"] = value if value <= SAFE else str(value)
    return json


def _unknown_from_json(json: Mapping[str, Any]) -> Unknown:
    enc, value = Enc.of(json["enc"]), json.get("value")
    if value is not None:
        value = bytes.fromhex(value) if enc is Enc.ZBUF else int(value)
    return Unknown(id=json["id"], mandatory=json["mandatory"], enc=enc, value=value)
