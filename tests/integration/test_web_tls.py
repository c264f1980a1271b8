"""The inbox with a certificate of its own: https at its port, renewal, and strangers."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest
import pytest_asyncio

from chatbridge.channels.web import server
from chatbridge.channels.web.certificate import Certificate
from chatbridge.channels.web.settings import Web as Table
from chatbridge.core.errors import SettingsError
from tests.fakes.authority import Authority, Issued
from tests.fakes.core_env import PATIENCE
from tests.fakes.web import TOKEN, Web, running_web

HOST = "127.0.0.1"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def issued(authority: Authority) -> Issued:
    return authority.issue(HOST)


@pytest_asyncio.fixture
async def web(tmp_path: Path, issued: Issued) -> AsyncIterator[Web]:
    certificate = Certificate(issued.file, issued.key)
    async with running_web(tmp_path, certificate=certificate) as web:
        yield web


async def serial_at(web: Web, trusted: ssl.SSLContext) -> str:
    """Of the certificate that a new connection gets to see."""
    async with asyncio.timeout(PATIENCE):
        _, writer = await asyncio.open_connection(HOST, web.port, ssl=trusted)
    serial = str(writer.get_extra_info("peercert")["serialNumber"])
    writer.close()
    await writer.wait_closed()
    return serial


async def test_a_browser_logs_in_over_https_and_its_cookie_stays_there(
    web: Web, authority: Authority
) -> None:
    assert web.address == f"https://{HOST}:{web.port}"
    headers = {"Origin": web.address}
    async with httpx2.AsyncClient(
        base_url=web.address, headers=headers, verify=authority.client(), trust_env=False
    ) as browser:
        done = await browser.post("/login", data={"code": await web.new_code()})
        assert done.status_code == 303
        assert "Secure" in done.headers["set-cookie"]
        assert (await browser.get("/")).status_code == 200
        asks = await browser.get("/api/asks", headers={"Authorization": f"Bearer {TOKEN}"})
        assert asks.status_code == 200
        refused = await browser.post(
            "/login", data={"code": "x"}, headers={"Origin": f"http://{HOST}:{web.port}"}
        )
        assert refused.status_code == 403


async def test_plain_http_at_the_port_is_closed_without_a_word(
    web: Web, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        reader, writer = await asyncio.open_connection(HOST, web.port)
        writer.write(f"GET /healthz HTTP/1.1\r\nHost: {HOST}:{web.port}\r\n\r\n".encode())
        async with asyncio.timeout(PATIENCE):
            said = await reader.read()
        writer.close()
    assert b"HTTP/" not in said
    assert [it for it in caplog.records if it.levelno > logging.DEBUG] == []


async def test_whoever_never_begins_to_encrypt_makes_way_for_the_owner(
    tmp_path: Path, authority: Authority, issued: Issued, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 4)
    monkeypatch.setattr(server, "REQUEST_SECONDS", 600)
    certificate = Certificate(issued.file, issued.key)
    async with running_web(tmp_path, certificate=certificate) as web:
        silent = [await asyncio.open_connection(HOST, web.port) for _ in range(8)]
        assert await serial_at(web, authority.client())
        async with asyncio.timeout(PATIENCE):
            for reader, _ in silent[:4]:
                with suppress(ConnectionError):
                    assert await reader.read() == b""
        for _, writer in silent:
            writer.close()


async def test_a_renewed_certificate_counts_for_the_next_connection(
    web: Web, authority: Authority
) -> None:
    trusted = authority.client()
    before = await serial_at(web, trusted)
    assert await serial_at(web, trusted) == before
    authority.issue(HOST)
    assert await serial_at(web, trusted) != before


async def test_a_renewal_that_cannot_be_used_leaves_the_last_certificate_and_is_said(
    web: Web, authority: Authority, issued: Issued
) -> None:
    trusted = authority.client()
    before = await serial_at(web, trusted)
    kept = issued.file.read_bytes()
    issued.file.write_text("half of a certifica")
    assert await serial_at(web, trusted) == before
    (said,) = web.channel.remarks
    assert said.startswith("The inbox goes on with its last certificate: web.tls_cert")
    issued.file.write_bytes(kept)
    assert await serial_at(web, trusted) == before
    assert web.channel.remarks == ()


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda it: it.file.unlink(), "web.tls_cert: .*cannot be read .No such file"),
        (lambda it: it.key.unlink(), "web.tls_key: .*cannot be read .No such file"),
        (lambda it: it.key.write_text("no key"), "not a certificate and its key in PEM form"),
    ],
)
def test_files_that_cannot_be_used_are_named(issued: Issued, spoil: object, says: str) -> None:
    assert callable(spoil)
    spoil(issued)
    with pytest.raises(SettingsError, match=says):
        Certificate(issued.file, issued.key)


def test_a_key_of_another_certificate_is_told_apart(authority: Authority, issued: Issued) -> None:
    other = authority.issue(HOST, file="other")
    with pytest.raises(SettingsError, match="does not belong to the certificate"):
        Certificate(issued.file, other.key)


def test_a_key_with_a_password_is_not_asked_for(issued: Issued) -> None:
    from cryptography.hazmat.primitives import serialization

    key = serialization.load_pem_private_key(issued.key.read_bytes(), None)
    protected = serialization.BestAvailableEncryption(b"secret")
    form = serialization.PrivateFormat.PKCS8
    issued.key.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, protected))
    with pytest.raises(SettingsError, match="protected by a password"):
        Certificate(issued.file, issued.key)


def test_a_certificate_without_its_key_and_a_path_that_is_not_whole_are_refused() -> None:
    with pytest.raises(ValueError, match="belong together"):
        Table.model_validate({"tls_cert": "/etc/inbox.pem"})
    with pytest.raises(ValueError, match="a whole path"):
        Table.model_validate({"tls_cert": "inbox.pem", "tls_key": "/etc/inbox.key"})
