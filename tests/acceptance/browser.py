"""A web inbox with the real broker, store and delivery behind it, and a browser in front of it.

`running_inbox` is the one place that knows what is behind the inbox; tests speak to it as an agent
would.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from chatbridge.channels.web.channel import WebChannel
from chatbridge.channels.web.push.settings import Push
from chatbridge.clock import SystemClock
from chatbridge.core.asks import transitions
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.asks.broker import Broker
from chatbridge.core.login_codes import LoginCodes
from chatbridge.core.model import (
    Agent,
    Answer,
    Ask,
    AskRequest,
    Attachment,
    CallName,
    Level,
    Notice,
    Option,
    Outcome,
    Person,
    Project,
    Question,
    QuestionType,
    Subject,
)
from chatbridge.core.policy import Policy
from chatbridge.core.ports import Health
from chatbridge.hub.wiring.channel_supervisor import ChannelSupervisor
from tests.fakes.inbox import ANYWHERE, Desk, open_desk
from tests.fakes.push_desk import Nowhere

TOKEN = "a-token-of-the-tests"
POLICY = Policy(max_timeout=8 * 3600.0, handover_within=600.0, approval_channels=ANYWHERE)
PHONE = (390, 844)
NARROW = (360, 800)
DESKTOP = (1280, 800)
PATIENCE_MS = 10_000
MICROPHONE = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
"""One that beeps, and may be used without a question."""
FEW_PROCESSES = ("--process-per-site", "--renderer-process-limit=1")
"""A page is drawn by the process that drew the one before: each start costs as much as a page."""
ARGUMENTS = ["--no-sandbox", *MICROPHONE]
"""Where tests run as root, as in containers, Chromium has no sandbox."""
LINK = "link"
TELEGRAM = Person(name="Robin", channel="telegram")


def select(text: str, *labels: str, required: bool = True) -> Question:
    return _choice(QuestionType.SELECT, text, labels, required)


def multi(text: str, *labels: str, required: bool = True) -> Question:
    return _choice(QuestionType.MULTI_SELECT, text, labels, required)


def _choice(kind: QuestionType, text: str, labels: tuple[str, ...], required: bool) -> Question:
    options = tuple(
        Option(label=label, description=description or None)
        for label, _, description in (label.partition(" | ") for label in labels)
    )
    return Question(id=f"q-{text[:12]}", text=text, type=kind, options=options, required=required)


def confirm(text: str) -> Question:
    return Question(id=f"q-{text[:12]}", text=text, type=QuestionType.CONFIRM)


def text(question: str, *, placeholder: str | None = None, required: bool = True) -> Question:
    return Question(
        id=f"q-{question[:12]}", text=question, placeholder=placeholder, required=required
    )


def approval(question: str, code: str, **about: Any) -> Question:
    subject = Subject(code=code, **about)
    return Question(id="q-allow", text=question, type=QuestionType.APPROVAL, subject=subject)


@dataclass(slots=True)
class RunningInbox:
    """An agent's side of a running inbox, and the other places where its owner may answer."""

    address: str
    desk: Desk
    codes: LoginCodes
    _numbers: itertools.count[int] = field(default_factory=itertools.count)
    _calls: dict[str, CallName] = field(default_factory=dict)

    @property
    def broker(self) -> Broker:
        return self.desk.broker

    @property
    def inbox(self) -> AskActions:
        return self.desk.inbox

    async def notify(self, message: str, *, title: str = "", level: Level = Level.INFO) -> Notice:
        return await self.desk.notify(message, title=title, level=level)

    async def ask(
        self,
        *questions: Question,
        title: str | None = None,
        timeout: float = 3600.0,
        project: str = "shop-api",
        agent: str = "Claude Code",
        attachments: tuple[Attachment, ...] = (),
    ) -> Ask:
        request = AskRequest(
            project=Project(key=f"/code/{project}", name=project),
            agent=Agent(client=agent.lower(), name=agent),
            tool="ask_user",
            dialect="questions",
            questions=questions,
            title=title,
            timeout=timeout,
            attachments=attachments,
        )
        name = CallName(link=LINK, request=str(next(self._numbers)))
        ask, _ = await self.broker.ask(request, name)
        self._calls[ask.id] = name
        return ask

    async def now(self, ask: Ask) -> Ask:
        return await self.inbox.ask(ask.id)

    async def hand_over(self, ask: Ask) -> None:
        """The agent confirms that it has the answer, once there is one."""
        async with asyncio.timeout(PATIENCE_MS / 1000):
            await self.broker.ended(ask.id)
        await self.broker.waiting_calls.delivered(self._calls[ask.id])

    async def agent_leaves(self, ask: Ask) -> None:
        """The agent's client stops waiting, and the card says so at once."""
        await self.broker.waiting_calls.cancel(self._calls[ask.id])
        await self.broker.change(ask.id, transitions.mark_orphaned)

    async def time_out(self, ask: Ask) -> None:
        await self.broker.change(
            ask.id, lambda a: transitions.time_out(a, now=time.time(), policy=POLICY)
        )

    async def answer_elsewhere(self, ask: Ask, *values: str) -> None:
        await self.inbox.answer(ask.id, (Answer(values=values),), person=TELEGRAM)


@asynccontextmanager
async def running_inbox(
    folder: Path, *, policy: Policy = POLICY, port: int = 0, push: Push | None = None
) -> AsyncIterator[RunningInbox]:
    clock = SystemClock()
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    codes = LoginCodes(clock=clock)
    channel = WebChannel(
        host="127.0.0.1",
        port=port,
        token=TOKEN,
        clock=clock,
        announce_address=address.set_result,
        health=Health(agents=lambda: ["shop-api", "billing"]),
        codes=codes,
        push=push or Push(),
    )
    async with open_desk(folder, clock=clock, channel=Nowhere(), policy=policy) as desk:
        await codes.load(desk.inbox)
        supervisor = ChannelSupervisor(desk.delivery, clock=clock)
        supervisor.add("web", lambda: channel, unwatched="no page was open")
        serving = asyncio.create_task(supervisor.run(desk.inbox))
        desk.broker.waiting_calls.link_opened(LINK)
        try:
            yield RunningInbox(address=await address, desk=desk, codes=codes)
        finally:
            serving.cancel()
            await asyncio.wait({serving})


@dataclass(slots=True)
class Visit:
    """The owner's browser."""

    inbox: RunningInbox
    context: BrowserContext
    page: Page
    errors: list[str]
    """What the pages' scripts, or the policy against foreign ones, complained about."""

    async def open(self, where: Ask | str = "/") -> Page:
        """Go there, and wait until the page is live."""
        return await self._show(self.page, where)

    async def open_tab(self, where: Ask | str = "/") -> Page:
        return await self._show(await self.context.new_page(), where)

    async def _show(self, page: Page, where: Ask | str) -> Page:
        path = f"/asks/{where.id}" if isinstance(where, Ask) else where
        await page.goto(f"{self.inbox.address}{path}")
        await expect(page.locator("#live")).to_have_text("Live")
        return page


@asynccontextmanager
async def launched(chromium: str) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        args = [*ARGUMENTS, *FEW_PROCESSES]
        browser = await playwright.chromium.launch(executable_path=chromium, args=args)
        yield browser
        await browser.close()


@asynccontextmanager
async def installed(chromium: str, folder: Path, bus: str) -> AsyncIterator[BrowserContext]:
    """With a profile: only for one do buttons of notifications reach the worker."""
    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(
            folder,
            executable_path=chromium,
            args=ARGUMENTS,
            env={**os.environ, "DBUS_SESSION_BUS_ADDRESS": bus},
            viewport={"width": PHONE[0], "height": PHONE[1]},
            has_touch=True,
            timezone_id="UTC",
            locale="en-GB",
        )
        yield context
        await context.close()


@asynccontextmanager
async def visiting(
    browser: Browser,
    folder: Path,
    size: tuple[int, int],
    *,
    script: bool = True,
    logged_in: bool = True,
    locale: str = "en-GB",
) -> AsyncIterator[Visit]:
    async with (
        running_inbox(folder) as inbox,
        browsing(browser, inbox, size, script=script, logged_in=logged_in, locale=locale) as visit,
    ):
        yield visit


@asynccontextmanager
async def browsing(
    browser: Browser,
    inbox: RunningInbox,
    size: tuple[int, int],
    *,
    script: bool = True,
    logged_in: bool = True,
    locale: str = "en-GB",
    worker: bool = False,
) -> AsyncIterator[Visit]:
    """`worker`: with the service worker, which takes time to start."""
    context = await browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        has_touch=size[0] < DESKTOP[0],
        java_script_enabled=script,
        timezone_id="UTC",
        locale=locale,
        service_workers="allow" if worker else "block",
    )
    visit = await _visit(inbox, context)
    if logged_in:
        await _log_in(visit)
    yield visit
    await context.close()


@asynccontextmanager
async def using_app(context: BrowserContext, inbox: RunningInbox) -> AsyncIterator[Visit]:
    """With a worker and notifications. `context` is one for all tests: each inbox has an origin of
    its own."""
    await context.grant_permissions(["notifications"], origin=inbox.address)
    visit = await _visit(inbox, context)
    await _log_in(visit)
    before = context.pages[0]
    yield visit
    for page in context.pages:
        if page is not before:
            await page.close()


async def _visit(inbox: RunningInbox, context: BrowserContext) -> Visit:
    context.set_default_timeout(PATIENCE_MS)
    errors: list[str] = []
    context.on("weberror", lambda error: errors.append(str(error.error)))
    context.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    return Visit(inbox, context, await context.new_page(), errors)


async def login_link(visit: Visit) -> str:
    """As `chatbridge inbox` prints it."""
    return f"{visit.inbox.address}/login/{await visit.inbox.codes.new(by_token=False)}"


async def _log_in(visit: Visit) -> None:
    """With what the log-in page sends, and without the page: each of its loads costs more than most
    tests. It has tests of its own."""
    code = (await login_link(visit)).rpartition("/")[2]
    reply = await visit.context.request.post(
        f"{visit.inbox.address}/login",
        form={"code": code},
        headers={"Origin": visit.inbox.address},
        max_redirects=0,
    )
    assert reply.status == 303


# ── for a test module to name: visit = visit_on_a_phone ───────────────────────────────────────────


@pytest_asyncio.fixture(loop_scope="session")
async def visit_on_a_phone(
    request: pytest.FixtureRequest, browser: Browser, tmp_path: Path
) -> AsyncIterator[Visit]:
    async with visiting(browser, tmp_path, getattr(request, "param", PHONE)) as visit:
        yield visit


AT_EACH_SIZE = pytest.mark.parametrize(
    "visit", [PHONE, DESKTOP], ids=["phone", "desktop"], indirect=True
)
"""Where a wide page is another: the list beside the question, sheets, the bar of buttons."""
IN_BROWSER = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def outcome_of(visit: Visit, ask: Ask) -> Outcome:
    """What the agent is told, once the ask has ended."""
    async with asyncio.timeout(PATIENCE_MS / 1000):
        ended = await visit.inbox.broker.ended(ask.id)
    assert ended.outcome is not None
    return ended.outcome
