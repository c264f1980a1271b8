"""`notify_user`: tells the owner something without waiting for an answer."""

from __future__ import annotations

from typing import Annotated, Any, Protocol

from mcp_types import CallToolResult, Tool
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from chatbridge.core.asks.reach import Reach
from chatbridge.core.delivery.notices import Notices
from chatbridge.core.model import Level, Notice, Project
from chatbridge.tools.call import Peer, ToolCall, json_result
from chatbridge.tools.definition import described, invalid_arguments, object_schema, text_field

MAX_MESSAGE = 10_000
MAX_TITLE = 100
WAIT = 3.0
"""How long the result waits for the channels, so that it can say which have it."""

DESCRIPTION = """\
Tell the person you work for something that needs no answer: that a long task has finished, that \
you go on with an assumption, that something failed. It reaches them on their phone or in their \
browser, later if the network is down. It never waits for them; to ask something, use ask_user. \
Keep it short, and send few: one at the end is better than one for each step. level: "info" \
arrives silently, "warning" and "error" make the phone ring."""


class Channels(Protocol):
    """The channels that there are."""

    def reach(self, surfaces: frozenset[str]) -> Reach:
        """Which of them these surfaces belong to, and why the others have not shown it."""
        ...


def _said(text: str) -> str:
    if not text.strip():
        raise ValueError("it says nothing")
    return text


class _Arguments(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")

    message: Annotated[str, Field(max_length=MAX_MESSAGE), AfterValidator(_said)]
    title: str | None = Field(default=None, max_length=MAX_TITLE)
    level: Annotated[Level, Field(strict=False)] = Level.INFO


class NotifyUser:
    name = "notify_user"
    always = False

    def __init__(self, notices: Notices, channels: Channels) -> None:
        self._notices = notices
        self._channels = channels

    def definition(self, project: Project, peer: Peer) -> Tool:
        return described(
            self.name,
            title="Notify the user",
            description=DESCRIPTION,
            schema=object_schema(
                {
                    "message": text_field(
                        "What to tell them; basic markdown is shown as such",
                        minLength=1,
                        maxLength=MAX_MESSAGE,
                    ),
                    "title": {"type": "string", "maxLength": MAX_TITLE},
                    "level": {"type": "string", "enum": [*Level], "default": Level.INFO.value},
                },
                "message",
            ),
        )

    async def run(self, arguments: dict[str, Any], call: ToolCall) -> CallToolResult:
        try:
            given = _Arguments.model_validate(arguments)
        except ValidationError as error:
            raise invalid_arguments(error, _Arguments.model_fields) from None
        notice = await self._notices.send(
            call.name,
            project=call.project,
            agent=call.agent,
            message=given.message,
            title=(given.title or "").strip(),
            level=given.level,
            shared_link=call.shared_link,
        )
        return json_result(await self._delivered(notice))

    async def _delivered(self, notice: Notice) -> dict[str, Any]:
        reach = self._channels.reach(await self._notices.surfaces(notice, within=WAIT))
        result: dict[str, Any] = {
            "sent": list(reach.shown),
            "waiting": [name for name, _ in reach.missing],
        }
        return {**result, "delivery": reach.nobody} if reach.nobody else result
