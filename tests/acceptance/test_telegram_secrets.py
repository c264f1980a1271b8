"""A bot's token shows up nowhere, whatever goes wrong; and one bot belongs to one hub."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import quote

import pytest

from chatbridge.hub.process.lock import account_lock_path
from tests.acceptance.test_secrets import arguments_of_all, files_with
from tests.fakes.chat_settings import telegram_settings
from tests.fakes.link_client import PATIENCE
from tests.fakes.machine import Agent, House, Json, house
from tests.fakes.telegram.people import Phone, file
from tests.fakes.telegram.server import BotApi


@pytest.fixture
def api() -> Iterator[BotApi]:
    with BotApi.running() as api:
        yield api
        Path(account_lock_path(str(api.bot.id))).unlink(missing_ok=True)


@contextmanager
def at_home(
    api: BotApi, phone: Phone, make: Callable[..., AbstractContextManager[House]] = house
) -> Iterator[tuple[House, Agent]]:
    """A machine with an agent on it, whose hub says all that it can say."""
    settings = telegram_settings(api, phone.person)
    with make(CHATBRIDGE_LOG_LEVEL="debug", **settings) as home, home.agent() as agent:
        agent.initialize()
        yield home, agent


def question(title: str) -> Json:
    choice = {"id": "c", "question": title, "type": "select", "options": ["red", "blue"]}
    return {"questions": [choice]}


def said(home: House) -> str:
    return (home.state / "hub.log").read_text()


def until_refused(api: BotApi, status: int, *, method: str = "getUpdates") -> None:
    """Each pair of the two comes about in one way only, so it does not matter when it was."""
    api.until(lambda it: any((c.status, c.method) == (status, method) for c in it.requests))


FAILURES: dict[str, Callable[[BotApi, str], object]] = {
    "429": lambda api, method: api.fail(method, status=429, retry_after=1),
    "500": lambda api, method: api.fail(method, status=500),
    "a gateway's page": lambda api, method: api.fail(method, status=502),
    "no JSON": lambda api, method: api.garble(method),
    "cut": lambda api, method: api.cut(method, after_effect=False),
    "cut after it": lambda api, method: api.cut(method, after_effect=True),
    "400": lambda api, method: api.fail(method, status=400, description="Bad Request: strange"),
}


@pytest.mark.early
def test_the_token_is_in_nothing_that_a_hub_wrote_after_everything_that_can_go_wrong(
    api: BotApi,
) -> None:
    ada = api.person("Ada")
    phone = api.private(ada).phone(ada)
    api.go_down()
    with at_home(api, phone, partial(house, cold=True)) as (home, agent):
        agent.ask("no network", question("Without network?"))
        until_shown(home, "telegram cannot be reached (httpx.ConnectError)")
        api.come_back()
        phone.sees("Without network?")

        for name, fail in FAILURES.items():
            fail(api, "sendMessage")
            fail(api, "getUpdates")
            phone.say("/help")
            agent.ask(name, question(f"With {name}?"))
            phone.tap(phone.sees(f"With {name}?"), "blue").answered()
            assert agent.result()["answered"], name

        agent.ask("file", question("With a file?"))
        api.cut_off("file", after=1)
        card = phone.sees("With a file?")
        phone.send(file(b"red", name="build.log"), reply_to=card)
        phone.sees("could not be fetched")
        phone.tap(card, "blue").answered()
        assert agent.result()["answered"]

        agent.ask("deleted", question("Deleted?"))
        card = phone.sees("Deleted?")
        home.until_noted(card)
        phone.delete(card)
        home.answer(home.until(lambda ask: ask["questions"][0]["question"] == "Deleted?"))
        until_refused(api, 400, method="editMessageText")
        assert agent.result()["answered"]

        agent.ask("too old", question("Too old?"))
        hold = api.hold("answerCallbackQuery")
        phone.tap(phone.sees("Too old?"), "blue")
        hold.arrived()
        api.expire_queries()
        hold.release()
        until_refused(api, 400, method="answerCallbackQuery")
        assert agent.result()["answered"]

        api.another_poller(on=True)
        until_refused(api, 409)
        api.another_poller(on=False)

        phone.block()
        agent.ask("blocked", question("While blocked?"))
        until_refused(api, 403, method="sendMessage")
        phone.unblock()
        phone.sees("While blocked?")

        api.revoke_token()
        until_refused(api, 401, method="getMe")
        status = until_shown(home, "telegram rejected the bot token (401)")
        api.restore_token()

        card = phone.sees("Without network?")
        tap = phone.tap(card, "blue")
        assert agent.result()["answered"]
        tap.answered()
        arguments = arguments_of_all(home.state)
        home.warm_up()
        printed = home.run("inbox")
        home.kill_hub(signal.SIGTERM)
        log = said(home)
        found = secrets_of(api)
        assert files_with(found, home.state.parent) == []
        lock = Path(account_lock_path(str(api.bot.id))).read_text()
        everything = "\n".join([arguments, printed.stdout, printed.stderr, status, log, lock])
        assert [secret[:4] for secret in found if secret in everything] == []
    for path in ("/bot[secret]/getUpdates", "/file/bot[secret]/documents/"):
        assert path in log, "the libraries have said something, too"
    for trouble in ("(401)", "(403", "(409)", "(429)", "Bad Gateway", "cannot be read", "ConnectE"):
        assert trouble in log, f"{trouble} was not tried"


def secrets_of(api: BotApi) -> list[str]:
    second = api.token.partition(":")[2]
    return [api.token, second, quote(api.token, safe=""), second[:20], second[-20:]]


def until_shown(home: House, text: str) -> str:
    """How the hub says it is, once it says this."""
    until = time.monotonic() + PATIENCE
    shown = ""
    while text not in shown:
        assert time.monotonic() < until, shown
        time.sleep(0.05)
        shown = json.dumps(home.api("/api/status"))
    return shown


def test_a_second_hub_with_the_same_bot_says_who_has_it_and_takes_over_when_that_one_ends(
    api: BotApi,
) -> None:
    ada = api.person("Ada")
    phone = api.private(ada).phone(ada)
    with ExitStack() as stack:
        first, agent = stack.enter_context(at_home(api, phone))
        agent.ask(1, question("At the first?"))
        phone.sees("At the first?")
        second, other = stack.enter_context(at_home(api, phone))
        other.ask(1, question("At the second?"))
        ask = second.until()
        holder = f"another hub of yours (pid {first.hub()}) receives the messages of the Telegram"
        until_shown(second, holder)
        other.ask(2, question("By the inbox?"))
        second.answer(second.until(lambda it: it["id"] != ask["id"]))
        assert other.result()["answered"]
        assert len(api.calls("getMe")) == 1, "the second one has not even said hello"

        agent.close_input()  # its link would start the first hub anew
        agent.exit_code()
        first.kill_hub()
        phone.tap(phone.sees("At the second?"), "blue").answered()
        assert other.result()["answered"]
