"""A web inbox with the real broker, store and delivery behind it, and a browser in front of it.

`running_inbox` is the one place that wires the inside; tests speak to it as an agent would.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from chatbridge.channels.web.channel import WebChannel
from chatbridge.clock import SystemClock
from chatbridge.core import asks
from chatbridge.core.broker import Broker
from chatbridge.core.delivery import Delivery
from chatbridge.core.intake import Intake
from chatbridge.core.model import (
    Agent,
    Answer,
    Ask,
    AskRequest,
    CallName,
    Option,
    Person,
    Project,
    Question,
    QuestionType,
)
from chatbridge.core.policy import Policy
from chatbridge.store.sqlite import SqliteStore

TOKEN = "a-token-of-the-tests"
POLICY = Policy(max_timeout=8 * 3600.0, handover_within=600.0)
PHONE = (390, 844)
NARROW = (360, 800)
DESKTOP = (1280, 800)
TELEGRAM = Person(name="Robin", channel="telegram")


def select(text: str, *labels: str, required: bool = True) -> Question:
    return _choice(QuestionType.SELECT, text, labels, required)


def multi(text: str, *labels: str, required: bool = True) -> Question:
    return _choice(QuestionType.MULTI_SELECT, text, labels, required)


def _choice(
    kind: QuestionType, text: str, labels: tuple[str, ...], required: bool
) -> Question:
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


@dataclass(slots=True)
class RunningInbox:
    """An agent's side of a running inbox, and the other places where its owner may answer."""

    address: str
    store: SqliteStore
    broker: Broker
    intake: Intake
    clock: SystemClock
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)
    _calls: dict[str, CallName] = field(default_factory=dict)

    async def ask(
        self,
        *questions: Question,
        title: str | None = None,
        timeout: float = 3600.0,
        project: str = "shop-api",
        agent: str = "Claude Code",
    ) -> Ask:
        request = AskRequest(
            project=Project(key=f"/code/{project}", name=project),
            agent=Agent(client=agent.lower(), name=agent),
            tool="ask_user",
            dialect="questions",
            questions=questions,
            title=title,
            timeout=timeout,
        )
        name = CallName(link="link", request=str(next(self._numbers)))
        ask, _ = await self.broker.ask(request, name)
        self._calls[ask.id] = name
        return ask

    async def now(self, ask: Ask) -> Ask:
        found = await self.store.ask(ask.id)
        assert found is not None
        return found

    async def hand_over(self, ask: Ask) -> None:
        """The agent confirms that it has the answer."""
        await self.broker.callers.delivered(self._calls[ask.id])

    async def agent_leaves(self, ask: Ask) -> None:
        """The agent's client stops waiting, and the card says so at once."""
        await self.broker.callers.left(self._calls[ask.id])
        await self.broker.change(ask.id, asks.alone)

    async def time_out(self, ask: Ask) -> None:
        await self.broker.change(
            ask.id, lambda a: asks.timed_out(a, now=self.clock.time(), policy=POLICY)
        )

    async def answer_elsewhere(self, ask: Ask, *values: str) -> None:
        await self.intake.answer(ask.id, (Answer(values=values),), person=TELEGRAM)


@asynccontextmanager
async def running_inbox(folder: Path, *, port: int = 0) -> AsyncIterator[RunningInbox]:
    clock = SystemClock()
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    async with AsyncExitStack() as stack:
        store = await SqliteStore.open(folder / "chatbridge.db")
        stack.push_async_callback(store.close)
        delivery = Delivery(store, clock=clock)

        async def drained() -> None: ...

        broker = Broker(
            store, clock=clock, policy=POLICY, changed=delivery.changed, drained=drained
        )
        intake = Intake(broker, store=store, clock=clock)
        channel = WebChannel(
            host="127.0.0.1",
            port=port,
            token=TOKEN,
            clock=clock,
            announce=address.set_result,
            agents=lambda: ["shop-api", "billing"],
        )
        for work in (
            broker.run(),
            delivery.serve(channel),
            channel.run(intake, ready=lambda: None),
        ):
            task = asyncio.create_task(work)
            stack.push_async_callback(_stopped, task)
        yield RunningInbox(await address, store, broker, intake, clock)


async def _stopped(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.wait({task})


@asynccontextmanager
async def running_browser(executable: str) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        # A test may run as root in a container, where Chromium has no sandbox.
        browser = await playwright.chromium.launch(
            executable_path=executable, args=["--no-sandbox"]
        )
        yield browser
        await browser.close()


async def logged_in(
    browser: Browser, inbox: RunningInbox, size: tuple[int, int] = PHONE, *, dark: bool = False
) -> BrowserContext:
    """A browser that the owner has logged in, in the way that the owner does."""
    context = await browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if dark else "light",
        has_touch=size[0] < 960,
        timezone_id="UTC",
        locale="en-GB",
    )
    context.set_default_timeout(10_000)
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    response = await context.request.post(f"{inbox.address}/api/login-codes", headers=bearer)
    assert response.ok, await response.text()
    code = (await response.json())["code"]
    page = await context.new_page()
    await page.goto(f"{inbox.address}/login/{code}")
    await page.get_by_role("button", name="Log in").click()
    await page.wait_for_url(lambda url: "/login" not in url)
    await page.close()
    return context


async def open_page(context: BrowserContext, inbox: RunningInbox, path: str = "/") -> Page:
    """The page, once it is live."""
    page = await context.new_page()
    await page.goto(f"{inbox.address}{path}")
    await page.locator("#live", has_text="Live").wait_for()
    return page
