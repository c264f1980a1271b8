"""The bot's token is part of every address, so nobody may hear one who only claims the name."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from chatbridge.channels.telegram.api import Api
from chatbridge.core.errors import RetryLater

TOKEN = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"


def self_signed(folder: Path) -> Path:
    """A certificate for localhost that nobody vouches for, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = folder / "certificate.pem"
    file.write_bytes(private + certificate.public_bytes(pem))
    return file


@asynccontextmanager
async def impostor(certificate: Path) -> AsyncIterator[tuple[int, list[bytes]]]:
    """Its port, and the lines that it gets to read."""
    heard: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readline())
        writer.close()

    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    async with await asyncio.start_server(listen, "127.0.0.1", 0, ssl=tls) as server:
        yield server.sockets[0].getsockname()[1], heard


async def test_a_server_whose_certificate_nobody_vouches_for_never_hears_the_token(
    tmp_path: Path,
) -> None:
    certificate = self_signed(tmp_path)
    async with impostor(certificate) as (port, heard):
        api = Api(TOKEN, base=f"https://localhost:{port}", hint="config.toml")
        try:
            with pytest.raises(RetryLater, match="cannot be reached"):
                await api.open()
        finally:
            await api.close()
        assert heard == []

        trusting = ssl.create_default_context(cafile=certificate)
        reader, writer = await asyncio.open_connection("localhost", port, ssl=trusting)
        writer.write(b"it listens\n")
        assert await reader.read() == b""
        assert heard == [b"it listens\n"]
        writer.close()
