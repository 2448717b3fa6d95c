"""The terms of a session: the INIT and OPEN of both sides, and the values that they negotiate."""

from __future__ import annotations

from zenoh_conformance.messages import Init, Open, Patch, sane

from .pieces import SN_MASK


class SessionTerms:
    """Both INITs and OPENs of a link, as far as they were sent; a missing value counts as its default."""

    def __init__(self) -> None:
        self.theirs: Init | None = None
        """The target's INIT."""
        self.their_open: Open | None = None
        self.mine: Init | None = None
        self.my_open: Open | None = None

    @property
    def batch(self) -> int:
        """The size in bytes of the largest batch that both sides accept (session-establishment#batch-size)."""
        inits = (self.mine, self.theirs)
        return min(sane.DEFAULT_BATCH if init is None or init.batch_size is None else init.batch_size for init in inits)

    @property
    def patch(self) -> int:
        """The patch that both sides support; 0 when one side stated none."""
        stated = (init.exts.get(Patch) if init is not None else None for init in (self.mine, self.theirs))
        return min(0 if patch is None else patch.value for patch in stated)

    @property
    def sn_mask(self) -> int:
        """The largest sequence number."""
        return SN_MASK[self._resolution(0)]

    @property
    def request_mask(self) -> int:
        """The largest request id (session-establishment#resolution-byte)."""
        return int((1 << (8 << self._resolution(2))) - 1)

    def _resolution(self, at: int) -> int:
        inits = (self.mine, self.theirs)
        return min(init.resolution >> at & 3 if init and init.resolution is not None else 2 for init in inits)

    @property
    def lease(self) -> float:
        """The effective lease in seconds, the smaller of both (erratum effective-lease); infinite before the first OPEN."""
        return min(sane.lease_of(self.my_open), sane.lease_of(self.their_open))
