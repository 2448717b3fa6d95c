"""The values that messages are made of."""

from zenoh_conformance.wire import vle

from .encoding import Encoding
from .timestamp import Timestamp
from .wire_expr import WireExpr
from .zid import WhatAmI, ZenohID

__all__ = ["Encoding", "Timestamp", "WhatAmI", "WireExpr", "ZenohID", "vle"]
