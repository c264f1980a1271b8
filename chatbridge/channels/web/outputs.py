"""The whole output of an operation, as plain text: a page for a person, a call for a script."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from chatbridge.channels.web.errors import Refusal
from chatbridge.core.cards.operation_summary import output_name
from chatbridge.core.ports import Inbox


class Outputs:
    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    def routes(self) -> list[Route]:
        return [
            Route("/operations/{operation_id}/output", self._output),
            Route("/api/operations/{operation_id}/output", self._output),
        ]

    async def _output(self, request: Request) -> Response:
        operation_id = request.path_params["operation_id"]
        content = await self._inbox.output(operation_id)
        if content is None:
            title = "This output is not here"
            raise Refusal(404, "It is no longer kept, or there never was one.", title=title)
        # Text whatever it looks like: the guard's headers keep a browser from guessing.
        return Response(
            content,
            media_type="text/plain; charset=utf-8",
            headers={"content-disposition": f'inline; filename="{output_name(operation_id)}"'},
        )
