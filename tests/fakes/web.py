"""A running web inbox with something behind it, and the three kinds of visitors it can have."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from chatbridge.channels.web.certificate import Certificate
from chatbridge.channels.web.channel import WebChannel
from chatbridge.core.login_codes import LoginCodes
from chatbridge.core.policy import Policy
from chatbridge.core.ports import Health
from tests.fakes.clock import StillClock
from tests.fakes.inbox import Desk, open_desk
from tests.fakes.sample_store import SampleStore

TOKEN = "a-token-of-the-tests-0123456789"
TROUBLE = "telegram rejected the bot token (401)."
MARK = {"X-Chatbridge": "fragment"}
PATIENCE = 20.0


@dataclass(slots=True, kw_only=True)
class Web:
    desk: Desk
    clock: StillClock
    channel: WebChannel
    codes: LoginCodes
    address: str
    script: httpx2.AsyncClient
    """Has the token."""
    browser: httpx2.AsyncClient
    """Has logged in."""
    stranger: httpx2.AsyncClient
    running: asyncio.Task[None]

    @property
    def host(self) -> str:
        return urlsplit(self.address).hostname or ""

    @property
    def port(self) -> int:
        return urlsplit(self.address).port or 0

    @property
    def cookie(self) -> str:
        return f"chatbridge-{self.port}"

    async def notices(self) -> list[str]:
        """As the list shows them."""
        page = (await self.browser.get("/?all")).text
        return re.findall(r'<li class="notice.*?</li>', page, re.DOTALL)

    async def new_code(self) -> str:
        """As `chatbridge inbox` gets one."""
        return await self.codes.new(by_token=False)

    async def new_code_of_the_token(self) -> str:
        code: str = (await self.script.post("/api/login-codes")).json()["code"]
        return code

    async def log_in(self, client: httpx2.AsyncClient) -> None:
        response = await client.post("/login", data={"code": await self.new_code()})
        assert response.status_code == 303, response.text


def visitor(address: str, headers: dict[str, str]) -> httpx2.AsyncClient:
    # Without verify=False every client would load the machine's certificates, for plain HTTP.
    return httpx2.AsyncClient(
        base_url=address, headers=headers, verify=False, trust_env=False, timeout=PATIENCE
    )


@asynccontextmanager
async def running_web(
    folder: Path,
    *,
    host: str = "127.0.0.1",
    url: str | None = None,
    body_seconds: float = 10.0,
    heartbeat: float = 15.0,
    policy: Policy | None = None,
    attachments: SampleStore | None = None,
    certificate: Certificate | None = None,
) -> AsyncIterator[Web]:
    clock = StillClock()
    announced: list[str] = []
    ready = asyncio.Event()
    codes = LoginCodes(clock=clock)
    channel = WebChannel(
        host=host,
        port=0,
        url=url,
        certificate=certificate,
        token=TOKEN,
        clock=clock,
        announce_address=announced.append,
        health=Health(
            agents=lambda: ("shop-api",),
            remarks=lambda: ("The agent in <shop> was started with other settings.",),
            troubles=lambda: {"telegram": TROUBLE, "web": None},
        ),
        codes=codes,
        body_seconds=body_seconds,
        heartbeat=heartbeat,
    )
    async with open_desk(
        folder, clock=clock, channel=channel, policy=policy, attachments=attachments
    ) as desk:
        await codes.load(desk.inbox)
        running = asyncio.create_task(channel.run(desk.inbox, ready=ready.set))
        async with asyncio.timeout(20):
            await ready.wait()
        address = announced[0]
        origin = {"Origin": address}
        async with (
            visitor(address, {"Authorization": f"Bearer {TOKEN}"}) as script,
            visitor(address, origin) as browser,
            visitor(address, origin) as stranger,
        ):
            web = Web(
                desk=desk,
                clock=clock,
                channel=channel,
                codes=codes,
                address=address,
                script=script,
                browser=browser,
                stranger=stranger,
                running=running,
            )
            await web.log_in(browser)
            try:
                yield web
            finally:
                running.cancel()
                await asyncio.wait({running}, timeout=5)
