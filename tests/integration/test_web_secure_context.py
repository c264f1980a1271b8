"""Whether an address of the inbox can be used by a phone: through real proxies with TLS."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from chatbridge.channels.web.secure_context import DAY, Found, Proof, look
from chatbridge.core.errors import ChatbridgeError
from tests.fakes.authority import Authority, Issued
from tests.fakes.network import free_port
from tests.fakes.reverse_proxy import reverse_proxy
from tests.fakes.web import Web, running_web

NAME = "inbox.example.org"
HERE = "127.0.0.1"


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    made = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(made.file))
    return made


class Proxied:
    """An inbox, and a proxy before it."""

    def __init__(self, web: Web, port: int, stack: AsyncExitStack) -> None:
        self.web, self.port, self._stack = web, port, stack
        self.url = f"https://{NAME}:{port}"

    async def serve(self, issued: Issued, to: int | None = None, **more: Any) -> None:
        await self._stack.enter_async_context(
            reverse_proxy(to or self.web.port, tls=issued.server(), at=(HERE, self.port), **more)
        )

    async def look(self, proof: Proof | None = None) -> Found:
        asked = proof or Proof(*self.web.codes.new_proof())
        return await asyncio.to_thread(
            look, self.url, asked, behind=self.web.address, at=HERE, seconds=10.0
        )

    async def refused(self, proof: Proof | None = None) -> str:
        with pytest.raises(ChatbridgeError) as error:
            await self.look(proof)
        return str(error.value)


@pytest_asyncio.fixture
async def proxied(tmp_path: Path, authority: Authority) -> AsyncIterator[Proxied]:
    port = free_port()
    async with AsyncExitStack() as stack:
        url = f"https://{NAME}:{port}"
        web = await stack.enter_async_context(running_web(tmp_path, url=url))
        yield Proxied(web, port, stack)


async def test_a_trusted_name_that_leads_here_is_fine(
    proxied: Proxied, authority: Authority
) -> None:
    await proxied.serve(authority.issue(NAME, days=60))
    found = await proxied.look()
    assert found.days_left(found.ends - 60 * DAY) is None
    assert found.days_left(found.ends - 13.5 * DAY) == 13
    assert found.days_left(found.ends + DAY) == 0


def test_a_certificate_for_a_few_days_is_not_always_about_to_end() -> None:
    short = Found(begins=0.0, ends=6 * DAY)
    assert short.days_left(4 * DAY) is None
    assert short.days_left(5 * DAY) == 1


@pytest.mark.parametrize(
    ("name", "days", "says"),
    [
        (NAME, -1, f"The certificate of {NAME} has expired. Renew it"),
        (NAME, 500, f"The certificate of {NAME} is not valid yet. Check this computer's clock"),
        ("other.example.org", 60, f"The certificate at {NAME} was made for another name."),
    ],
)
async def test_a_certificate_that_phones_refuse_is_refused_and_told_apart(
    proxied: Proxied, authority: Authority, name: str, days: int, says: str
) -> None:
    await proxied.serve(authority.issue(name, days=days))
    assert (await proxied.refused()).startswith(says)


async def test_a_certificate_that_nobody_vouches_for_is_refused(
    proxied: Proxied, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    await proxied.serve(Authority(tmp_path / "other").issue(NAME))
    said = await proxied.refused()
    assert said.startswith(f"The certificate of {NAME} is not trusted on this computer (")


async def test_plain_http_nobody_and_an_unknown_name_are_told_apart(proxied: Proxied) -> None:
    assert (await proxied.refused()).startswith(f"{proxied.url} cannot be reached from this")
    proof = Proof(*proxied.web.codes.new_proof())
    proxied.url = f"https://{NAME}:{proxied.web.port}"  # where the inbox speaks http
    assert (await proxied.refused()).startswith(f"{proxied.url} does not answer with https")
    with pytest.raises(ChatbridgeError, match="is not known to this computer's DNS"):
        look("https://inbox.invalid", proof, behind="")
    with pytest.raises(ChatbridgeError, match="is plain http"):
        look(proxied.web.address, proof, behind="")


async def test_a_proxy_that_does_not_reach_the_inbox_is_told_where_it_is(
    proxied: Proxied, authority: Authority
) -> None:
    await proxied.serve(authority.issue(NAME), to=free_port())
    said = await proxied.refused()
    assert "does not reach the inbox (502)" in said
    assert said.endswith(proxied.web.address)


async def test_a_proxy_that_changes_the_host_is_told_apart(
    proxied: Proxied, authority: Authority
) -> None:
    await proxied.serve(authority.issue(NAME), host="backend.internal")
    assert "Have the proxy pass the Host header on" in await proxied.refused()


async def test_another_hub_behind_the_name_is_not_taken_for_this_one(
    proxied: Proxied, authority: Authority, tmp_path: Path
) -> None:
    await proxied.serve(authority.issue(NAME))
    (tmp_path / "another").mkdir()
    async with running_web(tmp_path / "another") as another:
        of_another = Proof(*another.codes.new_proof())
    said = await proxied.refused(of_another)
    assert said.startswith(f"Something else than this hub's inbox answers at {proxied.url}")


async def test_a_proof_is_given_once_and_only_to_who_has_the_question(proxied: Proxied) -> None:
    web = proxied.web
    question, answer = web.codes.new_proof()
    header = {"X-Chatbridge-Proof": question}
    assert (await web.stranger.get("/healthz")).content == b""
    assert (await web.stranger.get("/healthz", headers=header)).text == answer
    assert (await web.stranger.get("/healthz", headers=header)).content == b""
