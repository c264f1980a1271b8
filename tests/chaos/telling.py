"""The person writes to an agent now and then, in one of the chats or on the terminal."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence

from tests.chaos import messages
from tests.chaos.log import Log, Wrote
from tests.chaos.person import Person

TERMINAL = "terminal"


async def tell_now_and_then(
    person: Person, projects: Sequence[str], log: Log, chance: random.Random
) -> None:
    """Until it is cancelled. Agents are named after their projects. A name that no agent has at
    that moment is a question back in a chat, and an error on the terminal: nothing is taken."""
    number = 0
    while True:
        await asyncio.sleep(chance.uniform(1.5, 4.0))
        number += 1
        project = chance.choice(projects)
        key, text = messages.words(project, number)
        at, way = time.time(), chance.choice(("telegram", "discord", "matrix", TERMINAL))
        taken = False
        try:
            taken = await _told(person, way, project.replace("/", "-"), text)
        finally:  # at the end it may be on its way
            log.add(Wrote(at=at, message=key, project=project, way=way, text=text, taken=taken))


async def _told(person: Person, way: str, agent: str, text: str) -> bool:
    """Whether it was taken for certain. Chats say so later."""
    match way:
        case "telegram":
            await person.phone.command("tell", f"{agent} {text}")
        case "discord":
            await person.discord.command("tell", f"{agent} {text}")
        case "matrix":
            await person.room.say(f"!tell {agent} {text}")
        case _:
            return await person.desk.tell(agent, text)
    return False
