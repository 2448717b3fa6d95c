"""Every message of the protocol, one module each."""

from .close import Close, CloseReason
from .data import SourceInfo
from .declarations import (
    DFinal,
    DKeyExpr,
    DQueryable,
    DSubscriber,
    DToken,
    QueryableInfo,
    UKeyExpr,
    UQueryable,
    USubscriber,
    UToken,
    WireExprExt,
    WireExprFlags,
)
from .declare import Declare
from .delete import Del, DelAttachment
from .err import Err
from .fragment import Drop, First, Fragment
from .frame import Frame
from .init import Auth, Compression, Init, LowLatency, MultiLink, Patch, QoSLink, RegionName
from .interest import Interest, InterestMode, InterestOptions
from .join import Join, NextSn
from .keep_alive import KeepAlive
from .network import NodeId, TimestampExt
from .oam import NetworkOam, Oam
from .open import MultiLinkAck, MultiLinkSyn, Open
from .push import Push
from .put import Put, PutAttachment
from .query import ConsolidationMode, Query, QueryAttachment, QueryBody
from .reply import Reply
from .request import Budget, QueryTarget, Request, Target, Timeout
from .response import ResponderId, Response
from .response_final import ResponseFinal
from .scouting import Hello, Scout

Transport = Init | Open | Close | KeepAlive | Frame | Fragment | Join | Oam
Network = Push | Request | Response | ResponseFinal | Declare | Interest | NetworkOam
Data = Put | Del | Query | Reply | Err
Declaration = DKeyExpr | UKeyExpr | DSubscriber | USubscriber | DQueryable | UQueryable | DToken | UToken | DFinal
Scouting = Scout | Hello

__all__ = [
    "Auth",
    "Budget",
    "Close",
    "CloseReason",
    "Compression",
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
    "DelAttachment",
    "Drop",
    "Err",
    "First",
    "Fragment",
    "Frame",
    "Hello",
    "Init",
    "Interest",
    "InterestMode",
    "InterestOptions",
    "Join",
    "KeepAlive",
    "LowLatency",
    "MultiLink",
    "MultiLinkAck",
    "MultiLinkSyn",
    "Network",
    "NetworkOam",
    "NextSn",
    "NodeId",
    "Oam",
    "Open",
    "Patch",
    "Push",
    "Put",
    "PutAttachment",
    "QoSLink",
    "Query",
    "QueryAttachment",
    "QueryBody",
    "QueryTarget",
    "QueryableInfo",
    "RegionName",
    "Reply",
    "Request",
    "ResponderId",
    "Response",
    "ResponseFinal",
    "Scout",
    "Scouting",
    "SourceInfo",
    "Target",
    "Timeout",
    "TimestampExt",
    "Transport",
    "UKeyExpr",
    "UQueryable",
    "USubscriber",
    "UToken",
    "WireExprExt",
    "WireExprFlags",
]
