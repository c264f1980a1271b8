"""The inbox's static files, read once: what is not among them cannot be asked for."""

from __future__ import annotations

import hashlib
import mimetypes
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from chatbridge.channels.web.errors import Refusal

STATIC = Path(__file__).parent / "static"
TYPES = {".js": "text/javascript", ".webmanifest": "application/manifest+json"}
FOR_EVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    type: str
    mark: str


class Assets:
    def __init__(self) -> None:
        self._files = {path.name: _read(path) for path in STATIC.iterdir() if path.is_file()}

    def address(self, name: str) -> str:
        """Where a page finds the file; changes with its content."""
        return f"/static/{name}?v={self._files[name].mark}"

    def routes(self) -> list[Route]:
        return [Route("/static/{name:path}", self._serve)]

    async def _serve(self, request: Request) -> Response:
        file = self._files.get(request.path_params["name"])
        if file is None:
            raise Refusal(404, "There is no such file.")
        marked = request.query_params.get("v") == file.mark
        tag = f'"{file.mark}"'
        headers = {"cache-control": FOR_EVER if marked else "no-cache", "etag": tag}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(file.content, media_type=file.type, headers=headers)


def _read(path: Path) -> _File:
    content = path.read_bytes()
    kind = TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0]
    mark = hashlib.sha256(content).hexdigest()[:12]
    return _File(content, kind or "application/octet-stream", mark)
