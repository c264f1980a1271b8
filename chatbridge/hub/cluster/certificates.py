"""How hubs know one another: each makes a key and a certificate when it starts.

The certificate is published in the database; who can write there is trusted anyway. The key never
leaves the process. Nothing is valid because of a signature: a certificate counts if it is exactly
one of the published ones.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from chatbridge.digests import sha256_hex

ALWAYS = (datetime(2000, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC))
"""No clock is trusted, and the certificate ends with the process."""


@dataclass(frozen=True, slots=True)
class HubCertificate:
    """This hub's."""

    pem: str
    _key: bytes

    @classmethod
    def made(cls, name: str) -> HubCertificate:
        key = ec.generate_private_key(ec.SECP256R1())
        called = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"chatbridge {name}")])
        made = (
            x509.CertificateBuilder()
            .subject_name(called)
            .issuer_name(called)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(ALWAYS[0])
            .not_valid_after(ALWAYS[1])
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return cls(made.public_bytes(Encoding.PEM).decode(), private)

    def for_leading(self, known: Iterable[str]) -> ssl.SSLContext:
        """Lets in who has one of these certificates. Check `digest_in` against the same list."""
        context = self._context(ssl.PROTOCOL_TLS_SERVER, known)
        context.num_tickets = 0  # nobody comes back without showing the certificate
        return context

    def for_following(self, leader: str) -> ssl.SSLContext:
        """Connects to who has this certificate."""
        return self._context(ssl.PROTOCOL_TLS_CLIENT, [leader])

    def _context(self, protocol: int, known: Iterable[str]) -> ssl.SSLContext:
        context = ssl.SSLContext(protocol)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False  # hubs have addresses, and these may change
        context.verify_mode = ssl.CERT_REQUIRED
        if anchors := "".join(known):
            context.load_verify_locations(cadata=anchors)
        with _readable(self.pem.encode()) as certificate, _readable(self._key) as key:
            context.load_cert_chain(certificate, key)
        return context


@contextmanager
def _readable(text: bytes) -> Iterator[str]:
    """A path from which OpenSSL, which takes nothing else, reads this once. There is no file: a key
    does not belong on a disk, and the disk may be full."""
    reading, writing = os.pipe()
    try:
        with open(writing, "wb") as out:  # it is less than a pipe holds
            out.write(text)
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)


def digest_of(pem: str) -> str:
    """Of a certificate that was published. :raises ValueError: it is none."""
    return sha256_hex(x509.load_pem_x509_certificate(pem.encode()).public_bytes(Encoding.DER))


def digest_in(connection: ssl.SSLObject | None) -> str | None:
    """Of the certificate that the other side of a connection has shown."""
    shown = connection.getpeercert(binary_form=True) if connection is not None else None
    return sha256_hex(shown) if shown else None
