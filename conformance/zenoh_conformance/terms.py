"""What both sides of a session have stated in INIT and OPEN, and what is settled by it."""

from __future__ import annotations

from . import sane
from .messages import Init, Open
from .messages.init import Patch
from .pieces import SN_MASK


class Terms:
    """Both INITs and OPENs of a link, as far as they were said; what is not stated is the default."""

    def __init__(self) -> None:
        self.theirs: Init | None = None
        """The target's INIT."""
        self.their_open: Open | None = None
        self.mine: Init | None = None
        self.my_open: Open | None = None

    @property
    def batch(self) -> int:
        """Bytes of the largest batch that both sides take (session-establishment#batch-size)."""
        inits = (self.mine, self.theirs)
        return min(sane.DEFAULT_BATCH if init is None or init.batch_size is None else init.batch_size for init in inits)

    @property
    def patch(self) -> int:
        """The patch that both sides stated; 0 where one stated none."""
        stated = (init.exts.get(Patch) if init is not None else None for init in (self.mine, self.theirs))
        return min(0 if patch is None else patch.value for patch in stated)

    @property
    def sn_mask(self) -> int:
        """What sequence numbers are taken modulo, minus one."""
        return SN_MASK[self._resolution(0)]

    @property
    def request_mask(self) -> int:
        """The largest id that a request of this session may have (session-establishment#resolution-byte)."""
        return int((1 << (8 << self._resolution(2))) - 1)

    def _resolution(self, at: int) -> int:
        inits = (self.mine, self.theirs)
        return min(init.resolution >> at & 3 if init and init.resolution is not None else 2 for init in inits)

    @property
    def lease(self) -> float:
        """The effective lease, in seconds: the smaller of both (erratum effective-lease); without end before either is stated."""
        return min(sane.lease_of(self.my_open), sane.lease_of(self.their_open))
