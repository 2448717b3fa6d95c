"""The reference node as responder: checks InitSyn and OpenSyn, negotiates the terms, and makes the answers.

Page: session-establishment.
"""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import Any

from zenoh_conformance.messages import Init, MultiLink, MultiLinkAck, Open, Patch, sane
from zenoh_conformance.primitives import WhatAmI, ZenohID
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.wire import Exts

from . import multilink, password
from .config import INVALID, MAX_LINKS, MAX_SESSIONS, TO_SELF, UNSUPPORTED, need
from .link import Link, LinkTerms
from .terms import Negotiating


class Responder(Negotiating):
    """The hooks of the node that accepts a link."""

    def check_init(self, link: Link, syn: Init) -> None:
        """Check an InitSyn. Raises Refused if it cannot be accepted."""
        need(self.accepts_version(syn.version), UNSUPPORTED)
        need(syn.zid.raw.rstrip(b"\0") != self.config.zid.rstrip(b"\0"), TO_SELF)
        need(self.accepts_whatami(syn.whatami), INVALID)
        need(not self.config.credentials or password.will_show(syn.exts), INVALID, "authentication")

    def settle(self, syn: Init) -> LinkTerms:
        """Return the terms that follow from a proposal and our configuration."""
        offers = {type(ext).__name__: ext for ext in syn.exts}
        lowlatency = self.config.lowlatency and "LowLatency" in offers
        return LinkTerms(
            resolution=self.choose_resolution(sane.DEFAULT_RESOLUTION if syn.resolution is None else syn.resolution),
            batch_size=self.choose_batch(sane.DEFAULT_BATCH if syn.batch_size is None else syn.batch_size),
            qos=self.config.qos and "QoS" in offers and not lowlatency,
            lowlatency=lowlatency,
            compression=self.config.compression and "Compression" in offers,
            patch=min(self.config.patch, self.patch_of(offers)),
            multilink=self.config.max_links > 1 and multilink.shows_key(syn.exts),
        )

    def answer_init(self, link: Link, syn: Init) -> Init:
        """Return the InitAck."""
        return Init(
            ack=True, version=sane.VERSION, whatami=WhatAmI(self.config.whatami), zid=ZenohID(self.config.zid),
            resolution=link.terms.resolution, batch_size=link.terms.batch_size, cookie=self.make_cookie(link, syn),
            exts=self.answer_exts(link, syn),
        )  # fmt: skip

    def answer_exts(self, link: Link, syn: Init) -> Exts[Any]:
        """Return the extensions of the InitAck: the offered ones that we accept, and challenges."""
        terms = link.terms
        does = {"QoS": terms.qos, "LowLatency": terms.lowlatency, "Compression": terms.compression}
        kept = [ext for ext in syn.exts if does.get(type(ext).__name__)]
        if self.config.credentials:
            kept.append(password.challenge(self.nonce(link)))
        kept += [
            multilink.challenge(ext, self.nonce(link))
            for ext in syn.exts
            if terms.multilink and isinstance(ext, MultiLink)
        ]
        return Exts((*kept, *(Patch(value=terms.patch) for ext in syn.exts if isinstance(ext, Patch))))

    def make_cookie(self, link: Link, syn: Init) -> bytes:
        """Return the cookie: a digest of link and proposal, so that it is not valid on another link."""
        return hmac.digest(self.config.secret, link.name.encode() + encode(syn), sha256)

    def check_open(self, link: Link, open_: Open) -> None:
        """Check an OpenSyn: cookie, sequence number, authentication and limits. Raises Refused."""
        need(self.cookie_matches(link, open_), INVALID, "cookie")
        need(self.accepts_initial_sn(link, open_.initial_sn), INVALID, "initial_sn")
        need(not self.config.credentials or self.accepts_proof(link, open_), INVALID, "authentication")
        need(not link.terms.multilink or multilink.proves(open_.exts, self.nonce(link)), INVALID, "multilink")
        others = [other for other in self.links.values() if other.live and other.zid and other is not link]
        need(sum(other.zid == link.zid for other in others) < self.most_links(link), MAX_LINKS)
        need(len({other.zid for other in others} | {link.zid}) <= self.config.max_sessions, MAX_SESSIONS)

    def most_links(self, link: Link) -> int:
        """Return the number of links that the session may have."""
        return self.config.max_links if link.terms.multilink else 1

    def cookie_matches(self, link: Link, open_: Open) -> bool:
        assert link.mine is not None
        return hmac.compare_digest(open_.cookie or b"", link.mine.cookie or b"")

    def nonce(self, link: Link) -> int:
        """Return the nonce of a link."""
        return password.nonce_for(link.name, self.config.secret)

    def accepts_proof(self, link: Link, open_: Open) -> bool:
        """Return whether an OpenSyn proves user and password."""
        assert self.config.credentials is not None
        return password.shows(open_.exts, self.config.credentials, self.nonce(link))

    def answer_open(self, link: Link) -> Open:
        """Return the OpenAck."""
        earlier = self.earlier_link(link)
        link.initial_sn = self.make_initial_sn(link) if earlier is None else earlier.initial_sn
        confirmed = Exts((MultiLinkAck(),) if link.terms.multilink else ())
        return sane.open_ack(initial_sn=link.initial_sn, exts=confirmed, **self.lease_fields())
