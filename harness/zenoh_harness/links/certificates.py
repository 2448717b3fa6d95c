"""Certificates made for a run, as files, and the configuration of locators that names them."""

from __future__ import annotations

import datetime as dt
import tempfile
from pathlib import Path
from typing import Final

from zenoh_harness.errors import UsageError

NAMES: Final = ("localhost", "127.0.0.1")
"""The names in a certificate unless others are given."""


class Authority:
    """A certificate authority; its certificates are files in one folder."""

    def __init__(self, folder: Path) -> None:
        """Raises UsageError without the package trustme."""
        try:
            import trustme
        except ImportError as why:
            hint = "pip install 'zenoh-conformance[tls]'"
            raise UsageError("links over TLS need the package trustme", step="link", hint=hint) from why
        self.folder = folder
        self._authority = trustme.CA()
        self._authority.cert_pem.write_to_path(str(folder / "authority.pem"))

    @property
    def trust(self) -> str:
        """The metadata of a locator whose user accepts the certificates of this authority only."""
        return f"#root_ca_certificate_file={self.folder / 'authority.pem'}"

    def listens(self, *names: str, ends: dt.datetime | None = None) -> str:
        """Return the metadata of a locator at which a node listens with a new certificate; `ends`: when that expires."""
        return "#" + self._issue("listen", names or NAMES, ends)

    def connects(self) -> str:
        """Return the metadata of a locator to which a client connects with a new certificate of its own."""
        return f"{self.trust};{self._issue('connect', NAMES, None)}"

    def demands(self) -> str:
        """Return the metadata of a locator at which a node listens, and wants a certificate of this authority from clients."""
        return f"{self.listens()};enable_mtls=true;{self.trust[1:]}"

    def _issue(self, side: str, names: tuple[str, ...], ends: dt.datetime | None) -> str:
        # Without a common name, clients of zenoh-rust up to 1.7 panic.
        certificate = self._authority.issue_cert(*names, common_name=names[0], not_after=ends)
        own = Path(tempfile.mkdtemp(dir=self.folder))
        chain, key = own / "node.pem", own / "node.key"
        certificate.private_key_pem.write_to_path(str(key))
        for number, part in enumerate(certificate.cert_chain_pems):
            part.write_to_path(str(chain), append=number > 0)
        return f"{side}_certificate_file={chain};{side}_private_key_file={key}"
