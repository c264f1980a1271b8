"""The web inbox with sample asks of all kinds: python -m tests.fakes.web_preview [port]"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from chatbridge.channels.web.channel import WebChannel
from chatbridge.channels.web.sessions import IN_A_BROWSER
from chatbridge.clock import SystemClock
from chatbridge.core.forms import form
from chatbridge.core.login_codes import LoginCodes
from chatbridge.core.model import Agent, Answer, Level, Person, Project, Question
from chatbridge.core.policy import Policy
from chatbridge.core.ports import Health
from tests.fakes.inbox import (
    ANYWHERE,
    COMMAND,
    CONFIRM,
    LONG_COMMAND,
    MULTI,
    OPTIONAL,
    SELECT,
    TEXT,
    Desk,
    open_desk,
)

TOKEN = "preview"
ME = IN_A_BROWSER
OTHER = Person(name="Ada", channel="telegram")
LONG = Question(
    id="q_long",
    text="""Which **index** should `orders` get?

The query planner reads the whole table, see [the plan](https://example.org/plan?id=7):

```sql
EXPLAIN ANALYZE SELECT * FROM orders WHERE customer = 7 ORDER BY placed_at DESC LIMIT 20;
```

1. one on `customer`
2. one on both

> <script>alert(1)</script> and \u202eesrever""",
    type=SELECT.type,
    options=SELECT.options,
)


async def _fill(desk: Desk) -> None:
    billing = Project(key="/code/billing", name="billing", label="night run")
    codex = Agent(client="codex", name="Codex")
    await desk.ask(SELECT, timeout=108)
    await desk.ask(LONG, timeout=720)
    await desk.ask(CONFIRM, project=billing, agent=codex, timeout=1000)
    await desk.ask(TEXT, timeout=1200)
    await desk.ask(MULTI, timeout=1300)
    await desk.ask(COMMAND, project=billing, agent=codex, timeout=1400)
    await desk.ask(LONG_COMMAND, timeout=1500)
    await desk.notify("All **412** tests pass.", title="Night run")
    await desk.notify("The disk is 92 % full.", level=Level.WARNING)
    await desk.ask(SELECT, MULTI, OPTIONAL, title="Release 2.4", project=billing, timeout=28_260)
    half = await desk.ask(TEXT, MULTI, OPTIONAL, title="Release 2.5", timeout=9000)
    await desk.inbox.put(half.id, form.Text(text="release/2.5", step=0), person=ME)
    await desk.inbox.put(half.id, form.Toggle(step=1, option=1, on=True), person=ME)
    review = await desk.ask(CONFIRM, OPTIONAL, title="Cleanup", timeout=10_000)
    await desk.inbox.put(review.id, form.Choose(step=0, option=0), person=ME)
    await desk.inbox.put(review.id, form.Skip(step=1), person=ME)
    for person in (ME, OTHER):
        answered = await desk.ask(SELECT, title="Answered", timeout=400)
        await desk.inbox.answer(answered.id, (Answer(values=("SQLite",)),), person=person)
    cancelled = await desk.ask(CONFIRM, title="Cancelled", timeout=400)
    await desk.inbox.cancel(cancelled.id, reason="Ask me after lunch.", person=ME)
    await desk.ask(CONFIRM, title="Timed out", timeout=0.1)


async def main(port: int) -> None:
    clock = SystemClock()
    codes, announced = LoginCodes(clock=clock), list[str]()
    channel = WebChannel(
        host="127.0.0.1",
        port=port,
        token=TOKEN,
        clock=clock,
        announce_address=announced.append,
        health=Health(agents=lambda: ("shop-api", "billing")),
        codes=codes,
    )
    policy = Policy(min_timeout=0.1, max_timeout=12 * 3600, approval_channels=ANYWHERE)
    with tempfile.TemporaryDirectory() as folder:
        async with open_desk(Path(folder), clock=clock, channel=channel, policy=policy) as desk:
            await _fill(desk)
            await codes.load(desk.inbox)
            code = await codes.new(by_token=False)
            await channel.run(
                desk.inbox,
                ready=lambda: print(f"{announced[0]}/login/{code}", flush=True),  # noqa: T201
            )


if __name__ == "__main__":
    try:
        asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 8790))
    except KeyboardInterrupt:
        pass
