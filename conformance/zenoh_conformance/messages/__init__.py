"""Every message of the protocol, one module each."""

from .close import Close, CloseReason
from .declarations import DFinal, DKeyExpr, DQueryable, DSubscriber, DToken, UKeyExpr, UQueryable, USubscriber, UToken
from .declare import Declare
from .delete import Del
from .err import Err
from .fragment import Fragment
from .frame import Frame
from .init import Init
from .interest import Interest, InterestMode, InterestOptions
from .join import Join, NextSn
from .keep_alive import KeepAlive
from .oam import NetworkOam, Oam
from .open import Open
from .push import Push
from .put import Put
from .query import ConsolidationMode, Query
from .reply import Reply
from .request import Request, Target
from .response import Response
from .response_final import ResponseFinal
from .scouting import Hello, Scout

Transport = Init | Open | Close | KeepAlive | Frame | Fragment | Join | Oam
Network = Push | Request | Response | ResponseFinal | Declare | Interest | NetworkOam
Data = Put | Del | Query | Reply | Err
Declaration = DKeyExpr | UKeyExpr | DSubscriber | USubscriber | DQueryable | UQueryable | DToken | UToken | DFinal
Scouting = Scout | Hello

__all__ = [
    "Close",
    "CloseReason",
    "ConsolidationMode",
    "DFinal",
    "DKeyExpr",
    "DQueryable",
    "DSubscriber",
    "DToken",
    "Data",
    "Declaration",
    "Declare",
    "Del",
    "Err",
    "Fragment",
    "Frame",
    "Hello",
    "Init",
    "Interest",
    "InterestMode",
    "InterestOptions",
    "Join",
    "KeepAlive",
    "Network",
    "NetworkOam",
    "NextSn",
    "Oam",
    "Open",
    "Push",
    "Put",
    "Query",
    "Reply",
    "Request",
    "Response",
    "ResponseFinal",
    "Scout",
    "Scouting",
    "Target",
    "Transport",
    "UKeyExpr",
    "UQueryable",
    "USubscriber",
    "UToken",
]
