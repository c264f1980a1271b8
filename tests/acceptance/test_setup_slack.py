"""`chatbridge setup` for Slack, at a narrow terminal, to an answered test question; and `pair`."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import tomllib
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import pytest

from chatbridge.channels.slack.spec import account_lock
from chatbridge.cli.config_file import change
from chatbridge.clock import SystemClock
from tests.acceptance.wizard import Desk, choose, desk, forget, to_the_end
from tests.fakes.pty_person import ENTER, PtyPerson
from tests.fakes.slack.server import BOT_TOKEN, Fault, Slack, running_slack

P = ParamSpec("P")
T = TypeVar("T")


async def meanwhile(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """At the terminal, while Slack goes on."""
    return await asyncio.to_thread(work, *args, **kwargs)


def to_the_tokens(me: PtyPerson) -> Any:
    """The manifest that is shown."""
    choose(me, "Slack")
    me.expect("it begins with xapp-")
    written = me.written.decode().replace("\r\n", "\n")
    return json.JSONDecoder().raw_decode(written, written.index("\n{\n") + 1)[0]


def give(me: PtyPerson, kind: str, pasted: str, *said: str) -> None:
    me.asks(f"Paste the token with {kind}- (not shown):")
    me.paste(pasted)
    me.press(ENTER)
    me.expect(*said)


def give_tokens(me: PtyPerson, slack: Slack) -> None:
    """What is wrong is said, and only that is asked for again."""
    give(me, "xoxb", "xoxp-1-2-a-persons-token", "That contains no token with xoxb-.")
    give(me, "xoxb", f"Bearer {BOT_TOKEN}x", "Slack does not know the token with xoxb-.")
    slack.scopes.discard("im:history")
    give(me, "xoxb", f" {BOT_TOKEN}\n", "the app lacks scopes: im:history", "reinstall")
    slack.scopes.add("im:history")
    give(me, "xoxb", BOT_TOKEN, "✓ the app in Acme answers")
    give(me, "xapp", BOT_TOKEN.replace("xoxb", "xoxp"), "That contains no token with xapp-.")
    slack.faults["apps.connections.open"] = Fault(error="missing_scope")
    give(me, "xapp", slack.app_token, "lacks the scope", "with connections:write.")
    give(me, "xapp", f"{slack.app_token}x", "Slack does not know the token with xapp-.")
    give(me, "xapp", f'"{slack.app_token}"', "then send")
    assert "✓ Socket Mode answers" in me.scrolled


@pytest.mark.early
async def test_from_nothing_to_an_answered_question_and_a_second_person() -> None:
    app = f"A{secrets.token_hex(5).upper()}"
    async with running_slack(SystemClock(), app=app) as slack:
        ada, eve = slack.person("Ada"), slack.person("Eve")
        with desk(CHATBRIDGE_SLACK__API_BASE=f"{slack.base}/api") as here:
            with here.runs("setup", columns=50) as me:
                manifest = await meanwhile(to_the_tokens, me)
                assert manifest["settings"]["socket_mode_enabled"], "and all of it can be pasted"
                await meanwhile(give_tokens, me, slack)
                code = re.search(r"then send +(p_\w{8})", me.screen)
                assert code
                await slack.say(eve, slack.direct(eve), f"{code[1]}x")  # a guess: nobody is told
                room = slack.direct(ada)
                await slack.say(ada, room, code[1])
                await meanwhile(me.expect, "The code was sent by Ada", "Is that you?")
                me.enter("y")
                await meanwhile(me.expect, "paired with Ada", "A test question is in Slack.")
                card = await slack.sees(room, "Can you see this?")
                await slack.press(ada, room, card, "Yes")
                await meanwhile(to_the_end, me)
            assert tomllib.loads(here.config.read_text())["slack"] == {
                "allowed_users": [ada],
                "api_base": f"{slack.base}/api/",
            }
            shown = me.written.decode(errors="replace") + here.config.read_text()
            assert [it for it in (BOT_TOKEN, slack.app_token) if it in shown] == []
            assert slack.bot_said(slack.direct(eve)) == []
            await pair_in_a_channel(here, slack, ada, eve)
            forget(account_lock(app))


async def pair_in_a_channel(here: Desk, slack: Slack, ada: str, eve: str) -> None:
    """Who is paired once cards go to a channel may answer there; the channel stays the place."""
    room = slack.channel(ada, eve)
    change(here.config, {("slack", "channel_id"): [room.id]})
    with here.runs("pair", "slack") as me:
        await meanwhile(me.expect, "then send", "waiting for the code")
        code = re.search(r"then send +(p_\w{8})", me.screen)
        assert code
        await slack.say(eve, slack.direct(eve), code[1])
        await meanwhile(me.expect, "The code was sent by Eve", "Is that the person you mean?")
        me.enter("y")
        await meanwhile(me.expect, "paired with Eve", "A test question is in Slack.")
        await slack.press(eve, room, await slack.sees(room, "Can you see this?"), "No")
        await meanwhile(me.ends, 0)
    found = tomllib.loads(here.config.read_text())["slack"]
    assert (found["allowed_users"], found["channel_id"]) == ([ada, eve], [room.id])
    listed = (await meanwhile(here.home.run, "people")).stdout
    assert [line.split() for line in listed.splitlines()[1:]] == [
        [ada, "Ada", "(@ada)", "Slack"],
        [eve, "Eve", "(@eve)", "Slack"],
    ]
