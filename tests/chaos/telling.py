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
    """Until it is cancelled. A name that no agent has at that moment is a question back in a chat,
    and an error on the terminal: then nothing is taken."""
    number = 0
    while True:
        await asyncio.sleep(chance.uniform(1.5, 4.0))
        number += 1
        project = chance.choice(projects)
        key, text = messages.words(project, number)
        at, way = time.time(), chance.choice(("telegram", "discord", "matrix", TERMINAL))
        taken = await _told(person, way, project, text)
        log.add(Wrote(at=at, message=key, project=project, way=way, text=text, taken=taken))


async def _told(person: Person, way: str, project: str, text: str) -> bool:
    """Whether it was taken for certain. Chats say so later."""
    match way:
        case "telegram":
            await person.phone.command("tell", f"{project} {text}")
        case "discord":
            await person.discord.command("tell", f"{project} {text}")
        case "matrix":
            await person.room.say(f"!tell {project} {text}")
        case _:
            return await person.desk.tell(project, text)
    return False
