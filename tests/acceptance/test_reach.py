"""That nobody could be reached is another thing than that nobody answered: the agent learns it."""

from __future__ import annotations

import asyncio

import pytest

from tests.acceptance.bridge import Connection, Json, connected, new_home, text_of, texts_of, told
from tests.fakes.telegram.server import BotApi

pytestmark = pytest.mark.asyncio(loop_scope="session")

TIMED_OUT = "User did not respond within the timeout period. Proceeding with your best judgment."
NO_CHANNEL = "Nobody could be reached: no channel is set up."
FORM: Json = {"questions": [{"id": "q", "question": "Go on?"}]}
SINGLE: Json = {"question": "Go on, then?"}


async def both(connection: Connection) -> tuple[Json, str]:
    """How the two forms end when nobody answers."""
    form, single = await asyncio.gather(connection.ask(FORM), connection.ask(SINGLE))
    assert single.is_error
    return told(form), texts_of(single)[0]


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_without_a_channel_a_ticket_and_a_time_out_say_that_nobody_could_be_reached(
    mode: str,
) -> None:
    settings = {"WEB__ENABLED": "false", "MIN_TIMEOUT": "1", "DEFAULT_TIMEOUT": "1"}
    with new_home(**settings) as home:
        async with connected(home, home.project("shop"), mode=mode) as connection:
            ticket = told(await connection.ask({**FORM, "wait": False}))
            assert ticket["delivery"] == NO_CHANNEL
            sentence = text_of(await connection.ask({**SINGLE, "wait": False}))
            assert ticket["askId"] not in sentence
            assert sentence.endswith(NO_CHANNEL)
            form, single = await both(connection)
            assert form["timedOut"]
            assert form["delivery"] == NO_CHANNEL
            assert single == f"{TIMED_OUT} {NO_CHANNEL}"


async def test_while_telegram_cannot_be_reached_and_no_page_is_open_a_time_out_says_so() -> None:
    with BotApi.running() as api:
        ada = api.person("Ada")
        api.private(ada)
        settings = {
            "TELEGRAM__TOKEN": api.token,
            "TELEGRAM__API_BASE": api.address,
            "TELEGRAM__ALLOWED_USERS": str(ada.id),
            "MIN_TIMEOUT": "1",
            "DEFAULT_TIMEOUT": "6",
        }
        api.go_down()
        with new_home(**settings) as home:
            async with connected(home, home.project("shop")) as connection:
                form, single = await both(connection)
                assert form["timedOut"]
                assert form["delivery"].startswith("Nobody could be reached. ")
                assert "Telegram: " in form["delivery"]
                assert "Web inbox: no page was open" in form["delivery"]
                assert api.token not in form["delivery"]
                assert single == f"{TIMED_OUT} {form['delivery']}"
