"""The reference node as initiator: its InitSyn and OpenSyn, and the checks of the answers.

Page: session-establishment.
"""

from __future__ import annotations

from zenoh_conformance.messages import Init, Open, Patch, sane

from .config import INVALID, TO_SELF, UNSUPPORTED, need
from .link import Link, LinkTerms
from .terms import Negotiating


class Initiator(Negotiating):
    """The hooks of the node that opens a link."""

    def propose(self, link: Link) -> Init:
        """Return the InitSyn."""
        offers = {"QoS": self.config.qos, "LowLatency": self.config.lowlatency, "Compression": self.config.compression}
        exts = sane.offers(*(name for name, wanted in offers.items() if wanted), patch=self.config.patch)
        return sane.init_syn(
            self.config.zid, exts=exts, whatami=self.config.whatami,
            resolution=self.config.resolution, batch_size=self.config.batch_size,
        )  # fmt: skip

    def check_init_ack(self, link: Link, ack: Init) -> None:
        """Check an InitAck. Raises Refused if it cannot be accepted."""
        assert link.mine is not None
        need(self.accepts_version(ack.version), UNSUPPORTED)
        need(self.accepts_whatami(ack.whatami), INVALID)
        need(ack.zid.raw.rstrip(b"\0") != self.config.zid.rstrip(b"\0"), TO_SELF)
        need(self.accepts_resolution(link.mine, ack), INVALID, "resolution raised")
        need(self.accepts_exts(link.mine, ack), INVALID, "extension that was not offered")

    def accepts_resolution(self, syn: Init, ack: Init) -> bool:
        """Return whether both fields of the answered resolution are at most those of the proposal."""
        proposed = sane.DEFAULT_RESOLUTION if syn.resolution is None else syn.resolution
        got = sane.DEFAULT_RESOLUTION if ack.resolution is None else ack.resolution
        return got & 3 <= proposed & 3 and got & 12 <= proposed & 12

    def accepts_exts(self, syn: Init, ack: Init) -> bool:
        """Return whether the answer has only modes that were offered, and a patch not above ours."""
        offered = {type(ext).__name__: ext for ext in syn.exts}
        modes = [
            ext for ext in ack.exts if type(ext).__name__ in ("QoS", "QoSLink", "LowLatency", "Compression", "Patch")
        ]
        if any(type(ext).__name__ not in offered for ext in modes):
            return False
        return all(ext.value <= self.patch_of(offered) for ext in modes if isinstance(ext, Patch))

    def settle_ack(self, link: Link, ack: Init) -> LinkTerms:
        """Return the terms that the InitAck states."""
        agreed = {type(ext).__name__: ext for ext in ack.exts}
        return LinkTerms(
            resolution=sane.DEFAULT_RESOLUTION if ack.resolution is None else ack.resolution,
            batch_size=self.choose_batch(sane.DEFAULT_BATCH if ack.batch_size is None else ack.batch_size),
            qos="QoS" in agreed,
            lowlatency="LowLatency" in agreed,
            compression="Compression" in agreed,
            patch=self.patch_of(agreed),
        )

    def confirm(self, link: Link, ack: Init) -> Open:
        """Return the OpenSyn."""
        link.initial_sn = self.make_initial_sn(link)
        return sane.open_syn(ack, initial_sn=link.initial_sn, **self.lease_fields())

    def check_open_ack(self, link: Link, ack: Open) -> None:
        need(self.accepts_initial_sn(link, ack.initial_sn), INVALID, "initial_sn")
