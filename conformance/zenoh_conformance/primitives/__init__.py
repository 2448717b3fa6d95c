"""The values that messages are made of."""

from zenoh_conformance.wire import vle

from .encoding import Encoding, EncodingField, EncodingType
from .timestamp import Timestamp
from .wire_expr import Key, KeyByOptions, KeyExpr, WireExpr
from .zid import Resolution, Role, RoleMask, WhatAmI, ZenohID, ZidAfterMask, ZidAfterRole, ZidAlone

__all__ = [
    "Encoding",
    "EncodingField",
    "EncodingType",
    "Key",
    "KeyByOptions",
    "KeyExpr",
    "Resolution",
    "Role",
    "RoleMask",
    "Timestamp",
    "WhatAmI",
    "WireExpr",
    "ZenohID",
    "ZidAfterMask",
    "ZidAfterRole",
    "ZidAlone",
    "vle",
]
