"""What a person sends with an answer, as each tool returns it to its agent."""

from __future__ import annotations

import asyncio
import io
import itertools
import json
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp_types import CallToolResult, ImageContent, TextContent

from chatbridge.attachments.content_type import inspect
from chatbridge.attachments.files import AttachmentFiles
from chatbridge.attachments.project_files import open_in_project
from chatbridge.attachments.settings import AttachmentLimits
from chatbridge.core.asks.reach import Reach
from chatbridge.core.forms import form
from chatbridge.core.model import Agent, Ask, Attachment, CallName, Project
from chatbridge.tools import ask_user, attachments, auq
from chatbridge.tools.ask_user import AskUser
from chatbridge.tools.attachments import ToolFiles
from chatbridge.tools.auq import AskUserQuestions, GetAnsweredQuestions, Limits
from chatbridge.tools.call import Peer, ToolCall, ToolHandler
from chatbridge.tools.waiting import WaitForAnswer, Waiting
from tests.fakes.core_env import OWNER, PATIENCE, World, world
from tests.fakes.sample_files import png
from tests.fakes.window import Questions

Json = dict[str, Any]
SHOP = Project(key="/src/shop", name="shop")
REMOTE = Project(key="http:ci:agent", name="ci")
CODER = Agent(client="coder", name="Coder")
WHY: Json = {"questions": [{"id": "w", "question": "Why?"}]}
ONE: Json = {"question": "Why?"}
AUQ: Json = {
    "questions": [
        {"prompt": "Which?", "title": "T", "options": [{"label": "A"}, {"label": "B"}]},
        {"prompt": "Why?", "title": "W", "options": [{"label": "C"}, {"label": "D"}]},
    ]
}
PICTURE = png(40, 30)


class Desk:
    """An agent's tools, and a person who sends files."""

    def __init__(self, hub: World, store: AttachmentFiles, project: Project) -> None:
        self.hub, self.store, self._project = hub, store, project
        self.files = ToolFiles(store=store, open=open_in_project, most_data=1_000, own=())
        waiting = Waiting(hub.broker, self._reached, self.files)
        renderers = {AskUser.name: ask_user.render_result, AskUserQuestions.name: auq.render_result}
        tools: list[ToolHandler] = [
            AskUser(waiting),
            WaitForAnswer(waiting, renderers),
            AskUserQuestions(waiting, limits=Limits(questions=5, options=5), timeout=None),
            GetAnsweredQuestions(waiting, hub.store),
        ]
        self._tools = {tool.name: tool for tool in tools}
        self._numbers = itertools.count(1)
        hub.broker.waiting_calls.link_opened("link-1")

    async def call(self, tool: str, arguments: Json) -> CallToolResult:
        name = CallName(link="link-1", request=str(next(self._numbers)))
        call = ToolCall(
            name=name,
            id="call",
            project=self._project,
            peer=Peer(agent=CODER),
            report=None,
            clock=self.hub.clock,
            folder=None if self._project.outsider else self._project.key,
        )
        async with asyncio.timeout(PATIENCE):
            result = await self._tools[tool].run(arguments, call)
        assert isinstance(result, CallToolResult)
        return result

    async def asked(self, tool: str, arguments: Json) -> tuple[asyncio.Task[CallToolResult], Ask]:
        waiting = asyncio.create_task(self.call(tool, arguments))
        return waiting, await self.hub.until(lambda ask: ask.open)

    async def received(self, ask: Ask, content: bytes, name: str) -> Attachment:
        async def pieces() -> AsyncIterator[bytes]:
            yield content

        return await self.store.receive(pieces(), name=name, to=ask)

    async def put(self, ask: Ask, *events: form.Event) -> None:
        for event in events:
            step = await self.hub.inbox.put(ask.id, event, person=OWNER)
            assert not isinstance(step, form.Refused), step.why

    async def _reached(self, _: str) -> Reach:
        return Reach(shown=("web",))


@asynccontextmanager
async def desk(folder: Path, project: Project = SHOP) -> AsyncIterator[Desk]:
    async with world(folder) as hub:
        store = AttachmentFiles(folder / "state", AttachmentLimits(), hub.clock)
        try:
            yield Desk(hub, store, project)
        finally:
            await store.close()


def texts(result: CallToolResult) -> list[str]:
    return [block.text for block in result.content if isinstance(block, TextContent)]


def pictures(result: CallToolResult) -> list[ImageContent]:
    return [block for block in result.content if isinstance(block, ImageContent)]


async def test_a_photo_is_told_with_its_path_and_shown(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        waiting, ask = await here.asked("ask_user", WHY)
        photo = await here.received(ask, PICTURE, "photo.png")
        await here.put(ask, form.Attach(attachments=(photo,), text="See the red part"))
        result = await waiting
    told, said = texts(result)
    listed = {"path": photo.path, "name": "photo.png", "type": "image/png", "size": len(PICTURE)}
    assert json.loads(said)["answers"] == [
        {"questionId": "w", "values": ["See the red part"], "attachments": [listed]}
    ]
    size = f"{len(PICTURE)} bytes"
    assert told == f"The user attached photo.png (image/png, {size}): {photo.path}"
    assert photo.path
    assert await asyncio.to_thread(Path(photo.path).read_bytes) == PICTURE
    (shown,) = pictures(result)
    assert result.content[-1] is shown
    found = inspect(io.BytesIO(b64decode(shown.data)))
    assert (shown.mime_type, found.width, found.height) == (found.type, 40, 30)
    assert result.structured_content is None


async def test_a_file_that_is_no_picture_leaves_the_structured_content(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        waiting, ask = await here.asked("ask_user", WHY)
        log = await here.received(ask, b"all is well\n", "../../build.log")
        await here.put(ask, form.Attach(attachments=(log,)))
        result = await waiting
    told, said = texts(result)
    assert told == f"The user attached build.log (text/plain, 12 bytes): {log.path}"
    assert json.loads(said) == result.structured_content
    assert json.loads(said)["answers"][0]["values"] == ["build.log"]
    assert not pictures(result)


async def test_the_form_of_one_question_has_it_before_its_sentence(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        waiting, ask = await here.asked("ask_user", ONE)
        photo = await here.received(ask, PICTURE, "photo.png")
        await here.put(ask, form.Attach(attachments=(photo,)))
        result = await waiting
    told, said = texts(result)
    assert said == "User answered: photo.png"
    assert told.endswith(f": {photo.path}")
    assert len(pictures(result)) == 1


async def test_auq_says_to_which_question_it_belongs(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        waiting, ask = await here.asked("ask_user_questions", AUQ)
        photo = await here.received(ask, PICTURE, "photo.png")
        await here.put(
            ask,
            form.Choose(step=0, option=0),
            form.Attach(attachments=(photo,)),
        )
        step = (await here.hub.now(ask)).draft.step
        await here.put(ask, form.Choose(step=step, option=1))
        step = (await here.hub.now(ask)).draft.step
        await here.put(ask, form.Submit(step=step))
        result = await waiting
        fetched = await here.call("get_answered_questions", {"session_id": ask.id})
    told, said = texts(result)
    assert "2. Why?\n→ D" in said
    assert told.startswith("The user attached photo.png (image/png, ")
    assert told.endswith(f" to question 2: {photo.path}")
    assert fetched == result


async def test_a_ticket_and_a_kept_answer_have_it_as_well(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        ticket = await here.call("ask_user", {**WHY, "wait": False})
        assert json.loads(texts(ticket)[0])["pending"]
        ask = await here.hub.until(lambda ask: ask.open)
        photo = await here.received(ask, PICTURE, "photo.png")
        await here.put(ask, form.Attach(attachments=(photo,)))
        waited = await here.call("wait_for_answer", {"askId": ask.id})
    assert texts(waited)[0].endswith(f": {photo.path}")
    assert len(pictures(waited)) == 1


async def test_question_ask_has_it_beside_the_answer_that_is_saved(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        asking = Questions(here.hub, tmp_path, files=here.files)
        waiting = asyncio.create_task(asking.tool.run({"question": "Why?"}, asking.call()))
        ask = await here.hub.until(lambda ask: ask.open)
        photo = await here.received(ask, PICTURE, "photo.png")
        await here.put(ask, form.Attach(attachments=(photo,)))
        result = await waiting
    assert isinstance(result, CallToolResult)
    told, answer = texts(result)
    assert json.loads(answer)["answer"] == "photo.png"
    assert json.loads(answer)["attachments"][0]["path"] == photo.path
    assert told.endswith(f": {photo.path}")
    assert len(pictures(result)) == 1
    (saved,) = asking.files()
    assert 'answer: "photo.png"' in saved.read_text()


async def test_an_agent_elsewhere_gets_no_path_but_what_is_in_it(tmp_path: Path) -> None:
    async with desk(tmp_path, REMOTE) as here:
        waiting, ask = await here.asked("ask_user", WHY)
        sent = [
            await here.received(ask, content, name)
            for content, name in (
                (PICTURE, "photo.png"),
                ("Größe\n".encode(), "note.txt"),
                ("Größe".encode("utf-16"), "wide.txt"),
                (b"x" * (attachments.MAX_TEXT_BYTES + 1), "long.txt"),
                (b"%PDF-1.7 \x00", "plan.pdf"),
            )
        ]
        await here.put(ask, form.Attach(attachments=tuple(sent)))
        result = await waiting
    told, said, note, wide = texts(result)
    assert [*json.loads(said)["answers"][0]["attachments"][0]] == ["name", "type", "size"]
    assert (note, wide) == ("Größe\n", "Größe")
    lines = told.splitlines()
    assert lines[0].endswith("; the picture follows.")
    assert lines[1].endswith("; its text follows.")
    assert "cannot be sent to you" in lines[3]
    assert "cannot be sent to you" in lines[4]
    assert len(pictures(result)) == 1
    assert str(tmp_path) not in result.model_dump_json()


async def test_texts_that_a_line_cannot_hold_are_told_and_not_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attachments, "MAX_TEXTS_BYTES", 70)
    async with desk(tmp_path, REMOTE) as here:
        waiting, ask = await here.asked("ask_user", WHY)
        coloured = [b"\x1b" * 10 + name for name in (b"first", b"second")]  # 60 bytes each and more
        logs = [await here.received(ask, content, "build.log") for content in coloured]
        await here.put(ask, form.Attach(attachments=tuple(logs)))
        result = await waiting
    told, _, *given = texts(result)
    assert given == ["\x1b" * 10 + "first"]
    assert "cannot be sent to you" in told.splitlines()[1]


async def test_pictures_that_a_line_cannot_hold_are_told_and_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk(tmp_path) as here:
        waiting, ask = await here.asked("ask_user", WHY)
        photos = [await here.received(ask, png(width, 30), "photo.png") for width in (40, 41, 42)]
        previews = [await here.store.preview(photo) for photo in photos]
        sizes = [preview.size for preview in previews if preview]
        room = sum((size + 2) // 3 * 4 for size in sizes[:2])
        monkeypatch.setattr(attachments, "MAX_IMAGE_CHARACTERS", room)
        await here.put(ask, form.Attach(attachments=tuple(photos)))
        result = await waiting
    assert len(texts(result)[0].splitlines()) == 3
    assert len(pictures(result)) == 2


async def test_a_file_that_is_gone_is_said_to_be(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        waiting, ask = await here.asked("ask_user", WHY)
        photo = await here.received(ask, PICTURE, "photo.png")
        assert photo.path
        await asyncio.to_thread(Path(photo.path).unlink)
        await here.put(ask, form.Attach(attachments=(photo,)))
        result = await waiting
    assert texts(result)[0].endswith("; it has been removed since.")
    assert not pictures(result)


async def test_an_answer_without_files_is_the_contracts_to_the_byte(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        waiting, ask = await here.asked("ask_user", WHY)
        await here.put(ask, form.Text(text="Because"))
        result = await waiting
    said = '{"answered": true, "cancelled": false, "timedOut": false, "answers": '
    assert texts(result) == [said + '[{"questionId": "w", "values": ["Because"]}]}']
    assert result.structured_content == json.loads(texts(result)[0])
