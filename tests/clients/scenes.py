"""What happens between a program and its owner. A scene that goes another way raises `Failed`."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from PIL import Image

from tests.acceptance.bridge import Json
from tests.clients.desk import Desk, Failed
from tests.clients.model import Call, Script
from tests.clients.programs import Program
from tests.fakes.sample_files import picture

QUESTION = "Which colour?"
ASK = "ask_(user|human)"
"""Gemini CLI drops tools with the first name."""
COLOURS: Json = {"id": "c", "question": QUESTION, "type": "select", "options": ["red", "blue"]}
SHOW: Json = {"id": "c", "question": QUESTION, "type": "text"}
END = "The owner said:"
MAKE = "mkdir made"
TABS, DONE = "Use tabs.", "All is done."
TRIES = 10
"""How often the model asks again after a call that broke off."""
TEAL = (0, 128, 128)
PENDING = re.compile(r'pending\\*"?:\s*true', re.IGNORECASE)
ASK_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def asking(question: Json = COLOURS, **more: object) -> Script:
    """Ask, turn tickets in, ask again where a call broke off, and say what came of it."""
    arguments = {"questions": [question], **more}

    def script(results: Sequence[str]) -> Call | str:
        if not results:
            return Call(ASK, arguments)
        last = results[-1]
        if PENDING.search(last) and (found := ASK_ID.search(last)):
            return Call("wait_for_answer", {"askId": found[0]})
        if "answered" not in last and len(results) < TRIES:
            return Call(ASK, arguments)
        return f"{END} {last}"

    return script


def its_own(program: Program) -> Script:
    """Claude Code's own question, where it has that tool, and a command that needs a permission."""
    colours = [{"label": it, "description": f"The colour {it}"} for it in ("red", "blue")]
    own = {"question": QUESTION, "header": "Colour", "multiSelect": False, "options": colours}
    steps = [Call("Bash", {"command": MAKE, "description": "Makes a file"})]
    if program.asks_itself:
        steps.insert(0, Call("AskUserQuestion", {"questions": [own]}))

    def script(results: Sequence[str]) -> Call | str:
        return steps[len(results)] if len(results) < len(steps) else f"{END} {results[-1]}"

    return script


def looking(program: Program) -> Script:
    """A tool of the program's own, and none of chatbridge."""
    look = program.look
    assert look

    def script(results: Sequence[str]) -> Call | str:
        return f"{END} {results[-1]}" if results else Call(*look)

    return script


def ending(program: Program) -> Script:
    return lambda results: DONE


@dataclass(frozen=True, kw_only=True)
class Scene:
    name: str
    heading: str
    play: Callable[[Desk], None]
    script: Callable[[Program], Script] = lambda program: asking()
    settings: str = ""
    limit: int | None = None
    """Seconds that the program waits for a call."""
    limit_told: bool = True
    """Whether chatbridge knows of it."""
    held: bool = False
    """The scene says when the model replies."""
    fits: Callable[[Program], bool] = lambda program: True


def the_answer(desk: Desk) -> None:
    desk.person.answer(desk.sees(QUESTION), {"values": ["blue"]})
    desk.ended()
    _told(desk, "blue")


def the_time_out(desk: Desk) -> None:
    ask = desk.sees(QUESTION)
    desk.ended()
    desk.becomes(ask, "timed_out")
    _told(desk, r'timedOut\\*"?:\s*true')


def the_ticket(desk: Desk) -> None:
    ask = desk.sees(QUESTION)
    if not PENDING.search(told := desk.results(1)[0]):
        raise Failed(f"no ticket: {_short(told)}")
    desk.person.answer(ask, {"values": ["blue"]})
    desk.ended()
    _told(desk, "blue")
    if desk.model.calls[-1].tool != "wait_for_answer":
        raise Failed("the ticket was not turned in")


def the_unknown_limit(desk: Desk) -> None:
    """The first call breaks off. What comes of the second one is not the answer yet."""
    ask = desk.sees(QUESTION)
    desk.results(2)
    desk.person.answer(ask, {"values": ["blue"]})
    desk.ended()
    _told(desk, "blue")


def the_cancellation(desk: Desk) -> None:
    desk.person.cancel(desk.sees(QUESTION)["id"], reason="Ask Grace")
    desk.ended()
    _told(desk, "Ask Grace")


def the_interruption(desk: Desk) -> None:
    ask = desk.sees(QUESTION)
    desk.interrupt()
    desk.becomes(ask, "withdrawn")


def the_picture(desk: Desk) -> None:
    ask = desk.sees(QUESTION)
    if desk.page.attaches(ask, picture(), "photo.png") != 200:
        raise Failed("the inbox did not take the picture")
    desk.page.taps(ask, "text", step=0, text="like this")
    desk.ended()
    _told(desk, "like this")
    found = [it for request in desk.model.requests for it in request.pictures()]
    if not any(_is_teal(content) for content in found):
        raise Failed("only its path" if ".png" in _last(desk) else "nothing of the picture")


def its_own_prompts(desk: Desk) -> None:
    if desk.program.asks_itself:
        desk.person.answer(desk.sees(QUESTION), {"values": ["blue"]})
        if "blue" not in desk.results(1)[0]:
            raise Failed(f"its question: {_short(_last(desk))}")
    if (status := desk.page.allows(desk.sees("Run this command?"))) != 200:
        raise Failed(f"the inbox did not take the permission: {status}")
    desk.ended()
    if not (desk.shop / "made").exists():
        raise Failed(f"nothing was run: {_short(_last(desk))}")


def the_message(desk: Desk) -> None:
    ask = desk.sees(QUESTION)
    desk.page.tells("shop", TABS)
    desk.person.answer(ask, {"values": ["blue"]})
    desk.ended()
    _told(desk, "blue")
    _delivered(desk, TABS)


def the_message_after_a_tool(desk: Desk) -> None:
    desk.results(0)
    desk.page.tells("shop", TABS)
    desk.reply()
    desk.results(1)
    _delivered(desk, TABS)
    desk.reply()
    desk.ended()


def the_message_at_the_end(desk: Desk) -> None:
    desk.results(0)
    desk.page.tells("shop", TABS)
    desk.reply()
    _delivered(desk, TABS)
    desk.reply()
    desk.ended()


def the_next_task(desk: Desk) -> None:
    """One, and then that there is none."""
    ask = desk.sees(DONE)
    desk.page.taps(ask, "text", step=0, text=TABS)
    desk.shown(TABS)
    desk.page.taps(desk.sees(DONE, other_than=ask["id"]), "skip", step=0)
    desk.ended()


def _delivered(desk: Desk, words: str) -> None:
    """To the model, and the owner is told so."""
    desk.shown(words)
    told = re.compile(rf">{re.escape(words)}<(?:(?!<li).)*?Delivered to", re.DOTALL)
    why = "the owner was not told that it was delivered"
    desk.until(lambda: told.search(desk.page.agents()), why, alone=True)


def _is_teal(content: bytes) -> bool:
    with Image.open(io.BytesIO(content)) as image:
        found: Any = image.convert("RGB").getpixel((image.width // 2, image.height // 2))
    return all(abs(a - b) < 10 for a, b in zip(found, TEAL, strict=True))


def _told(desk: Desk, words: str) -> None:
    """That the model was told this at the end."""
    if not re.search(words, _last(desk)):
        raise Failed(f"the model was told: {_short(_last(desk))}")


def _last(desk: Desk) -> str:
    if not desk.model.results:
        raise Failed("no result reached the model")
    return desk.model.results[-1]


def _short(text: str) -> str:
    return " ".join(text.split())[:80]


SCENES = [
    Scene(name="ask", heading="answer", play=the_answer),
    Scene(
        name="timeout",
        heading="time-out",
        play=the_time_out,
        script=lambda program: asking(timeout=10_000),
    ),
    Scene(name="ticket", heading="ticket", play=the_ticket, limit=8),
    Scene(
        name="unknown",
        heading="unknown limit",
        play=the_unknown_limit,
        limit=5,
        limit_told=False,
        fits=lambda program: "--print" in program.connect,
    ),
    Scene(name="cancel", heading="cancelled", play=the_cancellation),
    Scene(
        name="interrupt",
        heading="interrupted",
        play=the_interruption,
        settings='on_cancel = "withdraw"\n',
    ),
    Scene(
        name="picture",
        heading="picture",
        play=the_picture,
        script=lambda program: asking(SHOW),
    ),
    Scene(
        name="own",
        heading="own prompts",
        play=its_own_prompts,
        script=its_own,
        fits=lambda program: program.permissions,
    ),
    Scene(name="tell", heading="message", play=the_message),
    Scene(
        name="hook",
        heading="message after another tool",
        play=the_message_after_a_tool,
        script=looking,
        held=True,
        fits=lambda program: program.look is not None,
    ),
    Scene(
        name="stop",
        heading="message at the end",
        play=the_message_at_the_end,
        script=ending,
        held=True,
        fits=lambda program: program.goes_on,
    ),
    Scene(
        name="next",
        heading="what next?",
        play=the_next_task,
        script=ending,
        settings='[claude]\nwhen_done = "ask"\n',
        fits=lambda program: program.asks_what_next,
    ),
]
