"""The negotiation that initiator and responder share: version, role, resolution, batch size, initial sequence number."""

from __future__ import annotations

from hashlib import shake_128
from typing import Any

from zenoh_conformance.messages import sane

from .link import Link
from .traffic import Traffic


class Negotiating(Traffic):
    """The hooks that responder and initiator share."""

    def accepts_version(self, version: int) -> bool:
        return version == sane.VERSION

    def accepts_whatami(self, whatami: int) -> bool:
        return whatami in (sane.ROUTER, sane.PEER, sane.CLIENT)

    def patch_of(self, offers: dict[str, Any]) -> int:
        return int(offers["Patch"].value) if "Patch" in offers else 0

    def choose_resolution(self, proposed: int) -> int:
        """Return the lower of the proposed and our resolution, field by field, with reserved bits cleared."""
        return min(proposed & 3, self.config.resolution & 3) | min(proposed & 12, self.config.resolution & 12)

    def choose_batch(self, proposed: int) -> int:
        return min(proposed, self.config.batch_size)

    def accepts_initial_sn(self, link: Link, sn: int) -> bool:
        return sn <= self.sn_mask(link)

    def lease_fields(self) -> dict[str, Any]:
        seconds, rest = divmod(self.config.lease_ms, 1000)
        return {"lease_in_seconds": not rest, "lease": self.config.lease_ms if rest else seconds}

    def make_initial_sn(self, link: Link) -> int:
        """Return an initial sequence number that differs between sessions, within the negotiated resolution."""
        seed = self.config.zid + (link.zid or b"") + link.name.encode() + self.config.secret
        return int.from_bytes(shake_128(seed).digest(8), "little") & self.sn_mask(link)
