"""The inbox with a certificate of its own: https at its port, renewal, and strangers."""

from __future__ import annotations

import asyncio
import json
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
from chatbridge.channels.web.channel import build
from chatbridge.channels.web.settings import Web as Table
from chatbridge.core.errors import SettingsError
from chatbridge.core.model import Question
from tests.fakes.authority import Authority, Issued
from tests.fakes.channel_context import channel_context
from tests.fakes.clock import StillClock
from tests.fakes.core_env import PATIENCE
from tests.fakes.machine import House, house
from tests.fakes.network import free_port
from tests.fakes.web import TOKEN, Web, running_web
from tests.fakes.web_stream import stream

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


async def test_questions_come_over_the_event_stream(web: Web, authority: Authority) -> None:
    async with stream(web, tls=authority.client()) as events:
        ask = await web.desk.ask(Question(id="long", text="word " * 2_000))
        assert (await events.next())["id"] == ask.id


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
    assert not web.channel.remarks


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


def test_a_key_alone_and_a_path_that_is_not_whole_are_refused() -> None:
    with pytest.raises(ValueError, match="a whole path"):
        Table.model_validate({"tls_cert": "inbox.pem"})
    table = Table.model_validate({"token": "x" * 32, "tls_key": "/inbox.key"})
    with pytest.raises(SettingsError, match=r"Set web\.tls_cert, too"):
        build(table, channel_context(StillClock()))


def test_one_file_may_hold_both(issued: Issued) -> None:
    issued.file.write_bytes(issued.key.read_bytes() + issued.file.read_bytes())
    table = Table.model_validate({"token": "x" * 32, "tls_cert": str(issued.file)})
    certificate = build(table, channel_context(StillClock())).certificate
    assert certificate is not None
    assert certificate.problem is None


def test_a_hub_with_a_certificate_gives_a_link_for_the_phone_and_doctor_looks_at_it(
    authority: Authority,
) -> None:
    port = free_port()
    issued = authority.issue("localhost", days=5)
    issued.key.chmod(0o644)
    url = f"https://localhost:{port}"
    settings = {
        "CHATBRIDGE_WEB__PORT": str(port),
        "CHATBRIDGE_WEB__URL": url,
        "CHATBRIDGE_WEB__TLS_CERT": str(issued.file),
        "CHATBRIDGE_WEB__TLS_KEY": str(issued.key),
        "SSL_CERT_FILE": str(authority.file),
    }

    def told(home: House) -> list[tuple[str, str, str]]:
        checks = json.loads(home.run("doctor", "--json").stdout)["checks"]
        ours = [it for it in checks if it["name"] in ("web inbox", "inbox address")]
        return [(it["name"], it["result"], it["what"]) for it in ours]

    with house(**settings) as home:
        done = home.run("inbox", "--phone", "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["link"].startswith(f"{url}/login/")
        about, key, elsewhere = told(home)
        assert about == ("web inbox", "ok", f"https://127.0.0.1:{port}")
        assert key[1:] == (
            "remark",
            f"others on this computer may read the key of its certificate, {issued.key}",
        )
        assert elsewhere == ("inbox address", "remark", f"{url}: its certificate ends in 4 days")
        issued.key.chmod(0o600)
        home.environment["CHATBRIDGE_WEB__URL"] = f"https://127.0.0.1:{port}"
        _, elsewhere = told(home)
        assert elsewhere[1:] == (
            "problem",
            "The certificate at 127.0.0.1 was made for another name",
        )
        home.environment["CHATBRIDGE_WEB__URL"] = "https://box.invalid"
        _, elsewhere = told(home)
        assert elsewhere[1:] == ("remark", "box.invalid is not known to this computer's DNS")
