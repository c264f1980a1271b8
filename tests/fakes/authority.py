"""A certificate authority of the tests: programs trust it that are given its file."""

from __future__ import annotations

import base64
import hashlib
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True)
class Issued:
    file: Path
    key: Path
    spki: str
    """Digest of the public key, as Chromium takes it."""

    def server(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.file, self.key)
        return context


class Authority:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named("An authority of the tests")
        now = datetime.now(UTC)
        certificate = (
            _begun(self._name, self._name, self._key)
            .not_valid_before(now - timedelta(days=1000))
            .not_valid_after(now + timedelta(days=1000))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_identifier(self._key), critical=False)
            .sign(self._key, SHA256())
        )
        self.file = folder / "authority.pem"
        self.file.write_bytes(certificate.public_bytes(Encoding.PEM))

    def issue(self, name: str, *, days: float = 90, of: float = 90, file: str = "inbox") -> Issued:
        """A certificate for this name or IP address that ends in `days` and was made for `of`."""
        key = ec.generate_private_key(ec.SECP256R1())
        ends = datetime.now(UTC) + timedelta(days=days)
        certificate = (
            _begun(_named(name), self._name, key)
            .not_valid_before(ends - timedelta(days=of + 1))
            .not_valid_after(ends)
            .add_extension(x509.SubjectAlternativeName([_general(name)]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
            .sign(self._key, SHA256())
        )
        issued = self._folder / f"{file}.pem", self._folder / f"{file}.key"
        issued[0].write_bytes(certificate.public_bytes(Encoding.PEM))
        issued[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        issued[1].chmod(0o600)
        public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return Issued(*issued, spki=base64.b64encode(hashlib.sha256(public).digest()).decode())

    def client(self) -> ssl.SSLContext:
        """Trusts this authority alone."""
        return ssl.create_default_context(cafile=str(self.file))


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _begun(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    serial = x509.random_serial_number()
    return x509.CertificateBuilder(issuer, subject, key.public_key(), serial)


def _identifier(key: ec.EllipticCurvePrivateKey) -> x509.SubjectKeyIdentifier:
    return x509.SubjectKeyIdentifier.from_public_key(key.public_key())


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
