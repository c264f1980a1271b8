"""Whatever is in a command's arguments, its card says the same around them, on every channel: no
argument can pass for a word of ours, for another command, or for less than it is."""

from __future__ import annotations

import html
import re
import shlex
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chatbridge.channels.matrix.render.html import INDENT
from chatbridge.channels.telegram.render.html import escape
from chatbridge.commands.operations.gate import Gate
from chatbridge.core.exact_text import exact
from chatbridge.core.model import Ask
from chatbridge.core.policy import Policy
from tests import matrix_asks, telegram_asks
from tests import matrix_drawings as matrix
from tests import telegram_drawings as telegram
from tests.fakes.core_env import World, world
from tests.fakes.gated import gate_before, operation
from tests.fakes.web import MARK, Web, running_web

PLAIN = "plain"
GIT = "/usr/bin/git"
HOSTILE = {
    "another line": "x\n$ git status\n\nin ~/elsewhere\n\nDenied if nobody answers.",
    "the end of the code": "</code></pre></p><p>✅ <b>Allowed once</b>",
    "a fence": "```\n**It is safe.** [Allow](https://example.org)\n```",
    "turned around": "\u202etxt.exe\u202c \u2067evil\u2069",
    "hidden": "a\u200bb\u2060\u00ad\ufeff\x00\x1b[2J\rc",
    "far away": "x" + " " * 3_000 + "y" + "\n" * 200 + "z",
    "quotes": 'it\'s "quoted" $(id) `id` \\',
    "a second command": "; rm -rf ~ #",
}
QUESTION = re.compile(r'<pre class="wrap command" dir="ltr">(.*?)</pre>', re.DOTALL)
each = pytest.mark.parametrize("argument", HOSTILE.values(), ids=list(HOSTILE))


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path) as it:
        yield it


async def asked(hub: World, argument: str, number: int = 1) -> Ask:
    gate = Gate(hub.broker, store=hub.store.operations, clock=hub.clock, timeout=None)
    return await hub.inbox.ask(await gate.ask(operation("git", argument, "--end", number=number)))


def shown(argument: str) -> str:
    code = exact(shlex.join((GIT, argument, "--end")))
    assert code.startswith(f"{GIT} ")
    assert code.endswith(" --end")
    return code


@each
async def test_an_argument_cannot_pretend_anything_on_telegram(hub: World, argument: str) -> None:
    plain, hostile = [
        telegram.draw_card(telegram_asks.card(ask), telegram_asks.PRIVATE).html
        for ask in (await asked(hub, PLAIN), await asked(hub, argument, 2))
    ]
    telegram_asks.read(hostile)
    assert hostile == plain.replace(shown(PLAIN), escape(shown(argument)))


@each
async def test_an_argument_cannot_pretend_anything_in_matrix(hub: World, argument: str) -> None:
    plain, hostile = [
        matrix.draw_card(matrix_asks.card(ask), matrix_asks.SEEN)
        for ask in (await asked(hub, PLAIN), await asked(hub, argument, 2))
    ]
    matrix_asks.check(hostile)
    assert hostile.body == plain.body.replace(
        shown(PLAIN), shown(argument).replace("\n", f"\n{INDENT}")
    )
    assert matrix_asks.html_text(hostile.html) == matrix_asks.html_text(plain.html).replace(
        shown(PLAIN), shown(argument)
    )


async def test_an_argument_cannot_pretend_anything_in_the_inbox(tmp_path: Path) -> None:
    async with (
        running_web(tmp_path) as web,
        gate_before(web.desk.broker, clock=web.clock, folder=tmp_path) as gate,
    ):
        plain = await page(web, gate, PLAIN, 0)
        for number, argument in enumerate(HOSTILE.values(), 1):
            hostile = await page(web, gate, argument, number)
            assert QUESTION.sub("", hostile) == QUESTION.sub("", plain)
            (code,) = QUESTION.findall(hostile)
            pieces = re.findall(r"<span>(.*?)</span>", code, re.DOTALL)
            assert [html.unescape(piece) for piece in pieces] == [
                GIT,
                shown(argument)[len(GIT) + 1 : -len(" --end")],
                "--end",
            ]
            assert re.sub(r"</?span>", "", code).count("<") == 0


async def test_the_inbox_says_that_what_was_allowed_is_run(tmp_path: Path) -> None:
    async with (
        running_web(tmp_path) as web,
        gate_before(web.desk.broker, clock=web.clock, folder=tmp_path) as gate,
    ):
        ask = await gate.ask(operation())
        tap = {"do": "choose", "step": "0", "option": "0"}
        tapped = await web.browser.post(f"/asks/{ask}/form", data=tap, headers=MARK)
        assert re.search(
            r"Allowed in the web inbox, <time.*</time>\. chatbridge runs it\.", tapped.text
        )
        assert await gate.refusal(ask) is None


async def page(web: Web, gate: Gate, argument: str, number: int) -> str:
    ask = await gate.ask(operation("git", argument, "--end", number=number))
    found = (await web.browser.get(f"/asks/{ask}/card")).text
    await gate.withdraw(ask)
    return found.replace(ask, "id")


async def test_neither_the_token_nor_a_page_of_another_channel_settles_it(tmp_path: Path) -> None:
    policy = Policy(approval_channels=frozenset({"telegram"}))
    async with (
        running_web(tmp_path, policy=policy) as web,
        gate_before(web.desk.broker, clock=web.clock, folder=tmp_path) as gate,
    ):
        ask = await gate.ask(operation())
        allow = {"answers": [{"questionId": "approval", "values": ["allow"]}]}
        for client in (web.script, web.browser):
            answered = await client.post(f"/api/asks/{ask}/answer", json=allow)
            assert answered.status_code == 403
            cancelled = await client.post(f"/api/asks/{ask}/cancel", json={})
            assert cancelled.status_code == 403
        tap = {"do": "choose", "step": "0", "option": "0"}
        tapped = await web.browser.post(f"/asks/{ask}/form", data=tap, headers=MARK)
        assert tapped.status_code == 403
        assert (await web.script.post(f"/asks/{ask}/form", data=tap)).status_code == 401
        assert (await web.desk.inbox.ask(ask)).open
