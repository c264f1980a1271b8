"""Notices in the inbox: which of them a page shows, and how a script gets them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from chatbridge.channels.web.request_parsing import Refusal
from chatbridge.core.asks.serialize import agent_object, iso
from chatbridge.core.cards.operation_summary import output_name, summarize_operation
from chatbridge.core.model import GLYPHS, Level, Notice, OperationEnd
from chatbridge.core.policy import DAY
from chatbridge.core.ports import AskActions
from chatbridge.core.text import one_line, prose

MOST = 20
WORDS = {Level.INFO: "Info", Level.WARNING: "Warning", Level.ERROR: "Error"}


async def recent(inbox: AskActions, *, now: float) -> Sequence[Notice]:
    """Those of the last day, the newest first."""
    return await inbox.notices(since=now - DAY, limit=MOST)


def shown(notice: Notice) -> dict[str, Any]:
    """A notice for a template: `message` is markdown, the rest is plain. `ended` says how an
    operation ended, in place of a title and a message; `output` is where its whole output is."""
    label, operation = notice.project.label, notice.operation
    end = summarize_operation(operation) if operation else None
    return {
        "id": notice.id,
        "level": notice.level.value,
        "word": end.word.capitalize() if end else WORDS[notice.level],
        "glyph": end.glyph if end else GLYPHS[notice.level],
        "project": one_line(notice.project.name),
        "label": one_line(label) if label else None,
        "agent": one_line(notice.agent.name),
        "title": one_line(notice.title),
        "message": prose(notice.message),
        "at": notice.at,
        "ended": end,
        "output": output_address(operation.id) if operation and operation.whole else None,
    }


def output_address(operation_id: str) -> str:
    return f"/operations/{quote(operation_id, safe='')}/output"


def notice_object(notice: Notice) -> dict[str, Any]:
    """A notice as the API and the event stream show it."""
    return {
        "id": notice.id,
        "level": notice.level,
        "title": notice.title or None,
        "message": notice.message,
        "at": iso(notice.at),
        "agent": agent_object(notice.agent, notice.project),
        "operation": _end_object(notice.operation) if notice.operation else None,
    }


def _end_object(end: OperationEnd) -> dict[str, Any]:
    return {
        "id": end.id,
        "title": end.title,
        "succeeded": end.succeeded,
        "how": end.how or None,
        "seconds": round(end.took, 3),
        "tail": end.tail or None,
        "output": f"/api{output_address(end.id)}" if end.whole else None,
    }


def output_routes(inbox: AskActions) -> list[Route]:
    async def output(request: Request) -> Response:
        operation_id = request.path_params["operation_id"]
        content = await inbox.output(operation_id)
        if content is None:
            title = "This output is not here"
            raise Refusal(404, "It is no longer kept, or there never was one.", title=title)
        # Text whatever it looks like: the guard's headers keep a browser from guessing.
        return Response(
            content,
            media_type="text/plain; charset=utf-8",
            headers={"content-disposition": f'inline; filename="{output_name(operation_id)}"'},
        )

    path = "/operations/{operation_id}/output"
    return [Route(path, output), Route(f"/api{path}", output)]
