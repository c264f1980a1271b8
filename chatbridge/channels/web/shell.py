"""The inbox as an app: the service worker, and the page that it keeps for a start without a
connection. Both are open to everybody, and hold nothing of anybody's.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from chatbridge.channels.web.render import Assets, Templates, json_text

KEPT = ("inbox.css", "offline.js", "icon.svg", "icon-192.png", "manifest.webmanifest")
"""What the page without a connection consists of."""


@dataclass(frozen=True, slots=True)
class Shell:
    assets: Assets
    templates: Templates

    def routes(self) -> list[Route]:
        return [Route("/sw.js", self._worker), Route("/offline", self._offline)]

    async def _worker(self, request: Request) -> Response:
        """Browsers compare it byte for byte: what the worker keeps is kept anew when it changes."""
        page = bytes(self.templates.page("offline.html").body)
        files = [self.assets.address(name) for name in KEPT]
        kept = {"version": sha256(page).hexdigest()[:12], "files": files}
        script = f"const SHELL = {json_text(kept)};\n{self.assets.text('worker.js')}"
        etag = f'"{sha256(script.encode()).hexdigest()[:12]}"'
        headers = {"cache-control": "no-cache", "etag": etag}
        if request.headers.get("if-none-match") == etag:
            return Response(status_code=304, headers=headers)
        return Response(script, media_type="text/javascript", headers=headers)

    async def _offline(self, _request: Request) -> Response:
        return self.templates.page("offline.html")
