"""The longest and most laborious asks that are legal: what pages cost with them, and how long other
requests wait meanwhile."""

from __future__ import annotations

import asyncio

from tests.bench.loop_turns import longest, pinging
from tests.bench.machine import Client, Json, machine, milliseconds
from tests.bench.person import Person, person

ASKS = 20
HIDDEN, EMOJI, LINES, MARKED = "\u200b" * 98_000, "❤️" * 24_000, "a\n" * 25_000, "- *a*\n" * 399


def _select(question: str, labels: list[str], description: str) -> Json:
    options = [{"label": label, "description": description} for label in labels]
    return {"question": question, "options": options}


SHORT: tuple[Json, ...] = (_select("Which one?", ["a", "b"], "one of two"),)
WORST: tuple[Json, ...] = (
    _select(f"Which{HIDDEN}one?", ["a", "b", "c"], HIDDEN),
    _select(EMOJI * 2, [str(n) for n in range(6)], EMOJI),
    _select(LINES * 2, [str(n) for n in range(5)], LINES),
    _select(MARKED, [str(n) for n in range(100)], MARKED),
    _select("Which one?", [f"{n}" + "a\u200b" * 100 for n in range(90)], "one of many"),
)


COMMANDS = (
    "a;" * 199_000,
    "a \n" * 36_000,
    "ɑ\u0301" * 33_000,
    "".join(map(chr, range(0x10000, 0x18000))),
)
"""What approvals are about: as long as their JSON may be, or what is shown of them."""


async def worst(rounds: int) -> Json:
    return {
        "asks": ASKS,
        "short": await _measured(SHORT, ("ls",), rounds),
        "worst": await _measured(WORST, COMMANDS, rounds),
    }


async def _measured(kinds: tuple[Json, ...], commands: tuple[str, ...], rounds: int) -> Json:
    async with machine() as here, here.link() as link:
        await link.list_tools()
        async with person(here) as somebody:
            address = await here.web()
            await somebody.loads("/?all", 1)  # the first page compiles the templates
            with pinging(address) as quiet:
                await asyncio.sleep(1)
            with pinging(address) as entering:
                await _ask(link, kinds)
                ids = [(await somebody.sees())[0] for _ in range(ASKS)]
                for number, command in enumerate(commands):
                    use = {"tool_name": "Bash", "input": {"command": command}}
                    call = {"name": "approve_tool_use", "arguments": use}
                    link.request(number + 10 + ASKS, "tools/call", call)
                    ids.append((await somebody.sees())[0])
            await _end(somebody, ids[: ASKS // 2])
            pages = {}
            with pinging(address) as drawing:
                for name, path in (("list", "/?all"), ("history", "/history")):
                    pages[name] = milliseconds(await somebody.loads(path, rounds))
                cards = [
                    milliseconds(await somebody.loads(f"/asks/{ask_id}", rounds))
                    for ask_id in ids[-len(kinds) - len(commands) :]
                ]
                pages["card"] = max(cards)
    waits = {"quiet": quiet, "entering": entering, "drawing": drawing}
    turns = {name: longest(found) for name, found in waits.items()}
    return {"pages_ms": pages, "longest_wait_ms": turns}


async def _ask(link: Client, kinds: tuple[Json, ...]) -> None:
    """One after another, without waiting for an answer."""
    for number in range(ASKS):
        arguments = {**kinds[number % len(kinds)], "title": f"Number {number}", "wait": False}
        link.request(number + 10, "tools/call", {"name": "ask_user", "arguments": arguments})
        ticket = await link.receive()
        assert not ticket["result"].get("isError"), ticket


async def _end(somebody: Person, ids: list[str]) -> None:
    async with somebody.connection() as script:
        for ask_id in ids:
            await script.post(f"/api/asks/{ask_id}/cancel", {})
