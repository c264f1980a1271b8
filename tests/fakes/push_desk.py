"""An inbox whose browsers ring, with a hub's own parts behind it and a push service before it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from chatbridge.channels.web.channel import WebChannel
from chatbridge.channels.web.push.settings import Detail, Push
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.login_codes import LoginCodes
from chatbridge.core.model import Ask, Attention
from chatbridge.core.policy import Policy
from chatbridge.core.ports import Health, Remark, Surface
from chatbridge.hub.wiring.channel_supervisor import ChannelSupervisor
from tests.fakes.clock import StillClock
from tests.fakes.inbox import Desk, open_desk
from tests.fakes.push_service import Browser, Json, PushService
from tests.fakes.web import TOKEN, visitor

PATIENCE = 20.0
ANDROID = "Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36"
WORKER = {"X-Chatbridge": "worker"}


class Nowhere:
    """A channel without surfaces, for a desk whose surfaces are served otherwise."""

    name = "nowhere"
    surfaces: Sequence[Surface] = ()
    remarks: Sequence[str] = ()
    trouble: str | None = None

    async def run(self, inbox: AskActions, *, ready: Callable[[], None]) -> None: ...

    async def tell(self, remark: Remark) -> None: ...

    async def drain(self) -> None: ...


@dataclass(slots=True, kw_only=True)
class Phone:
    """A browser that is logged in, and asked for notifications."""

    page: httpx2.AsyncClient
    browser: Browser
    id: str

    async def sees(self, words: str) -> Json:
        return await asyncio.to_thread(self.browser.sees, words)

    async def until(self, fits: Callable[[], bool]) -> None:
        await asyncio.to_thread(self.browser.until, fits)

    async def until_empty(self) -> None:
        await asyncio.to_thread(self.browser.until_empty)

    async def tap(self, shown: Json, label: str) -> httpx2.Response:
        """As the inbox's worker does it."""
        (action,) = [it for it in shown["actions"] if it["title"] == label]
        self.browser.shows.pop(shown["tag"], None)
        return await answer(self.page, **shown["data"], option=int(action["action"]))


async def answer(page: httpx2.AsyncClient, **body: Any) -> httpx2.Response:
    return await page.post("/push/answer", json=body, headers=WORKER)


@dataclass(slots=True, kw_only=True)
class PushDesk:
    desk: Desk
    clock: StillClock
    service: PushService
    channel: WebChannel
    supervisor: ChannelSupervisor
    address: str
    codes: LoginCodes
    database: Path
    _stack: AsyncExitStack = field(repr=False)

    async def page(self, *, by_token: bool = False, agent: str = ANDROID) -> httpx2.AsyncClient:
        """A browser that is logged in."""
        headers = {"Origin": self.address, "User-Agent": agent}
        page = await self._stack.enter_async_context(visitor(self.address, headers))
        code = await self.codes.new(by_token=by_token)
        response = await page.post("/login", data={"code": code})
        assert response.status_code == 303, response.text
        return page

    async def phone(self, page: httpx2.AsyncClient | None = None) -> Phone:
        page = page or await self.page()
        key = (await page.get("/push/key")).json()["key"]
        browser = self.service.browser(key)
        response = await subscribe(page, browser.subscription)
        assert response.status_code == 201, response.text
        return Phone(page=page, browser=browser, id=response.json()["id"])

    async def ended(self, ask: Ask) -> Ask:
        async with asyncio.timeout(PATIENCE):
            return await self.desk.broker.ended(ask.id)

    async def attention(self, ask: Ask, fits: Callable[[Attention], bool]) -> None:
        """Until the hub has drawn attention to it so far."""
        async with asyncio.timeout(PATIENCE):
            while True:
                if fits((await self.desk.inbox.ask(ask.id)).attention):
                    return
                await asyncio.sleep(0.002)

    async def until_listed(self, *phones: Phone) -> None:
        """Until these are the browsers that ring, and the next hub would know it."""
        async with asyncio.timeout(PATIENCE):
            while True:
                note = await self.desk.inbox.note("web", "push")
                stored = json.loads(note.value)["subscriptions"] if note else []
                if {each["id"] for each in stored} == {each.id for each in phones}:
                    return
                await asyncio.sleep(0.002)

    async def until_remarks(self, parts: list[str]) -> None:
        """Until there is a remark with each of these in it, and no other."""
        async with asyncio.timeout(PATIENCE):
            while True:
                found = self.supervisor.remarks()
                if len(found) == len(parts) and all(map(str.__contains__, found, parts)):
                    return
                await asyncio.sleep(0.002)

    async def noted(self, ask: Ask, phone: Phone) -> int:
        """The revision that is noted for this phone, once it has dealt with the ask, rung or not:
        0 if nobody can have seen it."""
        async with asyncio.timeout(PATIENCE):
            while True:
                if post := await self.desk.inbox.post(ask.id, surface=f"web:{phone.id}"):
                    return post.revision
                await asyncio.sleep(0.002)


async def subscribe(page: httpx2.AsyncClient, subscription: Json, **more: Any) -> httpx2.Response:
    return await page.post("/push/subscriptions", json=subscription | more, headers=WORKER)


@asynccontextmanager
async def running_push(
    folder: Path,
    service: PushService,
    *,
    detail: Detail = "all",
    policy: Policy | None = None,
    clock: StillClock | None = None,
    token: str = TOKEN,
) -> AsyncIterator[PushDesk]:
    """Leaving it is kill -9 for what was not stored: a second one on the same folder is the next
    hub."""
    clock = clock or StillClock()
    service.now = clock.time
    codes, up, announced = LoginCodes(clock=clock), asyncio.Event(), list[str]()

    def announce(address: str) -> None:
        announced.append(address)
        up.set()

    channel = WebChannel(
        host="127.0.0.1",
        port=0,
        token=token,
        clock=clock,
        announce_address=announce,
        health=Health(),
        codes=codes,
        push=Push(detail=detail, services=(service.address,)),
    )
    async with (
        open_desk(folder, clock=clock, channel=Nowhere(), policy=policy) as desk,
        AsyncExitStack() as stack,
    ):
        await codes.load(desk.inbox)
        supervisor = ChannelSupervisor(desk.delivery, clock=clock)
        supervisor.add("web", lambda: channel, unwatched="no page was open")
        running = asyncio.create_task(supervisor.run(desk.inbox))
        try:
            async with asyncio.timeout(PATIENCE):
                await up.wait()
            yield PushDesk(
                desk=desk,
                clock=clock,
                service=service,
                channel=channel,
                supervisor=supervisor,
                address=announced[0],
                codes=codes,
                database=folder / "chatbridge.db",
                _stack=stack,
            )
        finally:
            running.cancel()
            await asyncio.wait({running}, timeout=PATIENCE)
