"""`notify_user`: tells the owner something without waiting for an answer."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from mcp_types import CallToolResult, Tool
from pydantic import AfterValidator, Field

from chatbridge.core.asks.reach import Reach
from chatbridge.core.delivery.notices import Notices
from chatbridge.core.model import Attachment, Level, Notice, Project
from chatbridge.tools.attachments import FileShape, GivenFileShape, ToolFiles, given_attachments
from chatbridge.tools.call import Peer, ToolCall, ToolHandler, json_result
from chatbridge.tools.definition import Shape, object_schema, present, text_field, validated

MAX_MESSAGE = 10_000
MAX_TITLE = 100
WAIT = 3.0
"""How long the result waits for the channels, so that it can say which have it."""


class Channels(Protocol):
    def reach(self, surfaces: frozenset[str], *, places: Collection[str] = ()) -> Reach:
        """Which of them these surfaces belong to, and why the others have not shown it. `places`:
        it is shown only there, if there are some."""
        ...


def _said(text: str) -> str:
    if not text.strip():
        raise ValueError("it says nothing")
    return text


class _Arguments(Shape):
    message: Annotated[str, Field(max_length=MAX_MESSAGE), AfterValidator(_said)]
    title: str | None = Field(default=None, max_length=MAX_TITLE)
    level: Annotated[Level, Field(strict=False)] = Level.INFO
    attachments: list[GivenFileShape] | None = None


@dataclass(frozen=True, slots=True)
class NotifyUser(ToolHandler):
    name = "notify_user"
    title = "Notify the user"
    description = """\
Tell the person you work for something that needs no answer: that a long task has finished, that \
you go on with an assumption, that something failed. It reaches them on their phone or in their \
browser, later if the network is down. It never waits for them; to ask something, use ask_user. \
Keep it short, and send few: one at the end is better than one for each step. level: "info" \
arrives silently, "warning" and "error" make the phone ring."""
    schema = object_schema(
        "message",
        message=text_field(
            "What to tell them; basic markdown is shown as such",
            minLength=1,
            maxLength=MAX_MESSAGE,
        ),
        title={"type": "string", "maxLength": MAX_TITLE},
        level={"type": "string", "enum": [*Level], "default": Level.INFO.value},
    )

    notices: Notices
    channels: Channels
    files: ToolFiles | None = None
    places_for: Callable[[Notice], Collection[str]] = lambda notice: ()
    """Where a notice is shown; empty: everywhere."""

    def definition(self, project: Project, peer: Peer) -> Tool:
        if self.files is None:
            return self._described()
        attachments = self.files.fields(project, peer).attachments
        properties = {**self.schema["properties"], "attachments": attachments}
        return self._described(schema={**self.schema, "properties": properties})

    async def run(self, arguments: dict[str, Any], call: ToolCall) -> CallToolResult:
        given = validated(_Arguments, arguments, FileShape)
        attachments: tuple[Attachment, ...] = ()
        if self.files is not None:
            files = tuple(given_attachments(given.attachments))
            attachments = await self.files.add(files, call)
        notice = await self.notices.send(
            call.name,
            project=call.project,
            agent=call.agent,
            message=given.message,
            title=(given.title or "").strip(),
            level=given.level,
            attachments=attachments,
            shared_link=call.shared_link,
        )
        shown, places = await self.notices.surfaces(notice, within=WAIT), self.places_for(notice)
        reach = self.channels.reach(shown, places=places)
        missing = [name for name, _ in reach.missing]
        return json_result(present(sent=list(reach.shown), waiting=missing, delivery=reach.nobody))
