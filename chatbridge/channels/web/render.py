"""What the inbox sends: HTML through the templates, static files, JSON for the API.

Every text reaches a page through Jinja's escaping or `_escape`; an agent's markdown only as the
closed set of tags below, and an address that an agent wrote is never something to click.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import mimetypes
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import assert_never

from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup
from markupsafe import escape as _escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from chatbridge import markdown
from chatbridge.channels.web import approval_html
from chatbridge.channels.web.request_parsing import Refusal, event_fields
from chatbridge.core.asks.deadlines import MORE_TIME_BEFORE
from chatbridge.core.asks.serialize import iso
from chatbridge.core.cards import markup as tree
from chatbridge.core.cards.build import MARKED, REALLY
from chatbridge.core.cards.outcome_text import (
    given_reason,
    is_forgotten,
    page_heading,
    page_remark,
)
from chatbridge.core.cards.phrases import clock_time, format_only_on, local_time
from chatbridge.core.cards.row import Rows
from chatbridge.core.forms.form import MAX_TEXT
from chatbridge.core.text import one_line

TEMPLATES = Path(__file__).parent / "templates"
STATIC = Path(__file__).parent / "static"
TYPES = {".js": "text/javascript", ".webmanifest": "application/manifest+json"}
FOR_EVER = "public, max-age=31536000, immutable"


# ── JSON ──────────────────────────────────────────────────────────────────────────────────────────


def json_text(content: object) -> str:
    return json.dumps(content, separators=(",", ":"))


def json_response(content: object, *, status: int = 200) -> Response:
    return Response(json_text(content), status_code=status, media_type="application/json")


# ── times ─────────────────────────────────────────────────────────────────────────────────────────


def left(deadline: float, now: float) -> str:
    seconds = max(0, int(deadline - now))
    minutes = seconds // 60
    if minutes < 10:
        return f"{minutes}:{seconds % 60:02} left"
    if minutes < 60:
        return f"{minutes} min left"
    return f"{minutes // 60} h {minutes % 60} min left"


def day(at: float, now: float) -> str:
    """A heading of the history."""
    then, today = local_time(at).date(), local_time(now).date()
    days = (today - then).days
    if days in (0, 1):
        return ("Today", "Yesterday")[days]
    year = f" {then.year}" if then.year != today.year else ""
    return f"{then:%A}, {then.day} {then:%B}{year}"


# ── static files ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    type: str
    mark: str


class Assets:
    """The static files, read once: what is not among them cannot be asked for."""

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


# ── HTML ──────────────────────────────────────────────────────────────────────────────────────────


class Templates:
    """All templates: read at once, so that an upgrade under the hub mixes no versions, and compiled
    before the first page, which takes as long as a fifth of a hub's whole start."""

    def __init__(self, assets: Assets) -> None:
        self._compiled = False
        self._compiling = Lock()
        self._jinja = Environment(
            loader=DictLoader({path.name: path.read_text("utf-8") for path in TEMPLATES.iterdir()}),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._jinja.globals |= {
            "static": assets.address,
            "markup": markup,
            "plain": plain,
            "event_fields": event_fields,
            "page_heading": page_heading,
            "page_remark": page_remark,
            "given_reason": given_reason,
            "is_forgotten": is_forgotten,
            "format_only_on": format_only_on,
            "subject": approval_html,
            "REALLY": REALLY,
            "MARKED": MARKED,
            "MAX_TEXT": MAX_TEXT,
            "MORE_TIME_BEFORE": MORE_TIME_BEFORE,
            # For the frame of pages that list none: it counts them.
            "listed": Rows((), 0),
        }
        self._jinja.filters |= {
            "iso": iso,
            "clock": clock_time,
            "left": left,
            "one_line": one_line,
        }

    async def ready(self) -> None:
        """Before `page`. In a thread: the hub's loop must not wait for it."""
        if not self._compiled:
            await asyncio.to_thread(self.compile)

    async def get_ready(self, pause: Callable[[], Awaitable[None]]) -> None:
        """The same in small pieces: an ask that comes meanwhile is as fast as ever."""
        for name in self._jinja.list_templates():
            await pause()
            await asyncio.to_thread(self._jinja.get_template, name)

    def compile(self) -> None:
        with self._compiling:
            for name in () if self._compiled else self._jinja.list_templates():
                self._jinja.get_template(name)
            self._compiled = True

    def page(self, name: str, *, status: int = 200, **context: object) -> Response:
        html = self._jinja.get_template(name).render(**context)
        return HTMLResponse(html, status_code=status)


def plain(source: str) -> str:
    """A question's markdown as plain text."""
    return markdown.plain(markdown.parse(source))


def markup(source: str) -> Markup:
    """A question's markdown as HTML."""
    return _blocks(markdown.parse(source))


def _block(block: tree.Block) -> Markup:
    match block:
        case tree.Paragraph(children=children):
            return Markup("<p>{}</p>").format(_inlines(children))
        case tree.CodeBlock(text=text):
            return Markup("<pre><code>{}</code></pre>").format(text)
        case tree.Quote(children=blocks):
            return Markup("<blockquote>{}</blockquote>").format(_blocks(blocks))
        case tree.Items(items=items, start=None):
            return Markup("<ul>{}</ul>").format(_items(items))
        case tree.Items(items=items, start=start):
            return Markup('<ol start="{}">{}</ol>').format(start, _items(items))
        case _:
            assert_never(block)


def _blocks(blocks: Sequence[tree.Block]) -> Markup:
    return Markup("").join(_block(block) for block in blocks)


def _items(items: Sequence[Sequence[tree.Block]]) -> Markup:
    return Markup("").join(Markup("<li>{}</li>").format(_blocks(item)) for item in items)


def _inlines(children: Sequence[tree.Inline]) -> Markup:
    return Markup("").join(_inline(child) for child in children)


def _inline(inline: tree.Inline) -> Markup:
    match inline:
        case tree.Plain(text=text):
            return _escape(text)
        case tree.Code(text=text):
            return Markup("<code>{}</code>").format(text)
        case tree.Strong(children=children):
            return Markup("<strong>{}</strong>").format(_inlines(children))
        case tree.Emphasis(children=children):
            return Markup("<em>{}</em>").format(_inlines(children))
        case tree.Link(children=children, address=address):
            shown = Markup("<code>{}</code>").format(address)
            bare = children == (tree.Plain(address),)
            return shown if bare else Markup("{} {}").format(_inlines(children), shown)
        case tree.Break():
            return Markup("<br>")
        case _:
            assert_never(inline)
