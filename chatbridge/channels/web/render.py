"""What the inbox sends: HTML through the templates, static files, JSON for the API.

Every text reaches a page through Jinja's escaping or `_escape`; an agent's markdown only as the
closed set of tags below, and an address that an agent wrote leads to a page of ours that shows it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import mimetypes
import os
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, assert_never
from urllib.parse import quote

from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup
from markupsafe import escape as _escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from chatbridge import markdown
from chatbridge.channels.web.addresses import Address, parse_address, split_addresses
from chatbridge.channels.web.request_parsing import Refusal, event_fields
from chatbridge.core.asks.serialize import iso
from chatbridge.core.cards import markup as tree
from chatbridge.core.cards.attached import DIFF, format_size, shown_name
from chatbridge.core.cards.build import MARKED, REALLY
from chatbridge.core.cards.grants import grant_note
from chatbridge.core.cards.operation_summary import summarize_operation
from chatbridge.core.cards.outcome_text import (
    given_reason,
    is_forgotten,
    page_heading,
    page_remark,
    sending,
)
from chatbridge.core.cards.phrases import (
    clock_time,
    format_change,
    format_duration,
    format_later,
    format_only_on,
    local_time,
)
from chatbridge.core.cards.row import Rows
from chatbridge.core.cards.sharing import TO_WHOM
from chatbridge.core.exact_text import exact
from chatbridge.core.forms.form import MAX_TEXT
from chatbridge.core.model import GLYPHS, Attachment, AttachmentKind, Level, Notice, Subject
from chatbridge.core.nights.summary import GLYPH
from chatbridge.core.statistics import COUNTED, ended_words, is_empty, time_words
from chatbridge.core.text import one_line, prose

TEMPLATES = Path(__file__).parent / "templates"
STATIC = Path(__file__).parent / "static"
TYPES = {".js": "text/javascript", ".webmanifest": "application/manifest+json"}
SHELLS = frozenset({"bash", "sh", "shell", "zsh"})
KINDS = {"+": "added", "-": "removed"}
FIRST, LAST = 14, 8
"""Lines at both ends of a long diff that are shown at once; the others open on a tap."""
MAX_LINKS = 100
"""In one text; the addresses of a text with more stay text, since checking each takes time."""
SPLIT_UP_TO = 20_000
"""A longer command is shown in one piece: an element for each argument would slow the page."""

_ARGUMENT = re.compile(
    r"""(?: [^\s'"\\] | \\. | '[^']*' | "(?:\\.|[^"\\])*" | ['"\\] )+""", re.DOTALL | re.VERBOSE
)

_EMPTY_LINE = f"\n{exact(' ')}"
_ZERO = re.compile(r"\b0(?=[0-9]:[0-9]{2}\b)")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_MARK = re.compile("([0-9a-f]{12})?")
WORDS = {Level.INFO: "Info", Level.WARNING: "Warning", Level.ERROR: "Error"}
FOR_EVER = "public, max-age=31536000, immutable"


# ── JSON ──────────────────────────────────────────────────────────────────────────────────────────


json_text = json.JSONEncoder(separators=(",", ":")).encode


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


def clock(at: float) -> str:
    return short_times(clock_time(at))


def short_times(text: str) -> str:
    """Without the zero before an hour: the inbox says 9:05, as the script does."""
    return _ZERO.sub("", text)


def day(at: float, now: float) -> str:
    then, today = local_time(at).date(), local_time(now).date()
    days = (today - then).days
    if days in (0, 1):
        return ("Today", "Yesterday")[days]
    year = f" {then.year}" if then.year != today.year else ""
    return f"{then:%A}, {then.day} {then:%B}{year}"


# ── static files ──────────────────────────────────────────────────────────────────────────────────


class Assets:
    """The static files, read once: what is not among them cannot be asked for."""

    def __init__(self) -> None:
        self._files = {path.name: path.read_bytes() for path in STATIC.iterdir() if path.is_file()}
        everything = b"".join(content for _, content in sorted(self._files.items()))
        self._mark = hashlib.sha256(everything).hexdigest()[:12]

    def address(self, name: str) -> str:
        """Where a page finds the file. It changes when any file does: what a script imports is
        beside it, and kept by browsers as long."""
        assert name in self._files
        return f"/static/{self._mark}/{name}"

    def text(self, name: str) -> str:
        return self._files[name].decode()

    def routes(self) -> list[Route]:
        return [Route("/static/{name:path}", self._serve)]

    async def _serve(self, request: Request) -> Response:
        mark, _, name = request.path_params["name"].rpartition("/")
        # A page of an earlier version may still ask with that one's mark.
        if name not in self._files or not _MARK.fullmatch(mark):
            raise Refusal(404, "File not found.")
        lasting = FOR_EVER if mark == self._mark else "no-cache"
        headers = {"cache-control": lasting, "etag": f'"{self._mark}"'}
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        kind = TYPES.get(Path(name).suffix) or mimetypes.guess_type(name)[0]
        kind = kind or "application/octet-stream"
        return Response(self._files[name], media_type=kind, headers=headers)


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
            "notice_context": notice_context,
            "event_fields": event_fields,
            "page_heading": page_heading,
            "page_remark": page_remark,
            "sending": sending,
            "given_reason": given_reason,
            "is_forgotten": is_forgotten,
            "format_later": format_later,
            "format_only_on": format_only_on,
            "SHELLS": SHELLS,
            "command_html": command_html,
            "diff_html": diff_html,
            "format_change": format_change,
            "REALLY": REALLY,
            "MARKED": MARKED,
            "grant_note": grant_note,
            "TO_WHOM": TO_WHOM,
            "GLYPH": GLYPH,
            "stats_words": (ended_words, time_words),
            "COUNTED": COUNTED,
            "is_empty": is_empty,
            "MAX_TEXT": MAX_TEXT,
            "shown_name": shown_name,
            "format_size": format_size,
            "is_shown": is_shown,
            "excerpt_html": excerpt_html,
            "too_large": too_large,
            "is_demo": lambda: "CHATBRIDGE_DEMO" in os.environ,
            "listed": Rows((), 0),  # for the frame of pages that list none: it counts them
            "connected": 0,
        }
        self._jinja.filters |= {
            "iso": iso,
            "clock": clock,
            "day": day,
            "left": left,
            "one_line": one_line,
            "duration": format_duration,
            "prose": prose,
        }
        self._jinja.tests["is_shown"] = is_shown

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
    return markdown.plain(markdown.parse(source))


def markup(source: str) -> Markup:
    return _html(markdown.parse(source), links=source.count("://") <= MAX_LINKS)


def _html(nodes: Iterable[tree.Block | tree.Inline], *, links: bool) -> Markup:
    return Markup("").join(_node(node, links=links) for node in nodes)


def _node(node: tree.Block | tree.Inline, *, links: bool) -> Markup:
    write = partial(_html, links=links)
    match node:
        case tree.Plain(text=text) if links:
            return Markup("").join(_words(*part) for part in split_addresses(text))
        case tree.Plain(text=text):
            return _escape(text)
        case tree.Code(text=text):
            return _code(text, parse_address(text) if links else None)
        case tree.Strong(children=inside):
            return Markup("<strong>{}</strong>").format(write(inside))
        case tree.Emphasis(children=inside):
            return Markup("<em>{}</em>").format(write(inside))
        case tree.Link():
            return write(node.shown)
        case tree.Break():
            return Markup("<br>")
        case tree.Paragraph(children=inside):
            return Markup("<p>{}</p>").format(write(inside))
        case tree.Table(rows=(head, *body)):
            heads = _each(Markup("<th>{}</th>"), map(write, head))
            rows = (_each(Markup("<td>{}</td>"), map(write, row)) for row in body)
            return Markup(
                '<div class="table" tabindex="0" role="group" aria-label="Table"><table>'
                "<thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>"
            ).format(heads, _each(Markup("<tr>{}</tr>"), rows))
        case tree.CodeBlock(text=text):
            return Markup("<pre><code>{}</code></pre>").format(text)
        case tree.Quote(children=blocks):
            return Markup("<blockquote>{}</blockquote>").format(write(blocks))
        case tree.Items(items=items, start=start):
            listed = _each(Markup("<li>{}</li>"), map(write, items))
            if start is None:
                return Markup("<ul>{}</ul>").format(listed)
            return Markup('<ol start="{}">{}</ol>').format(start, listed)
        case _:
            assert_never(node)


def _words(text: str, address: Address | None) -> Markup:
    return _code(text, address) if address else _escape(text)


def _code(text: str, address: Address | None) -> Markup:
    if address is None:
        return Markup("<code>{}</code>").format(text)
    link = Markup('<a class="address" href="{}" data-host="{}"><code>{}</code></a>')
    return link.format(address.page, address.host, text)


def _each(element: Markup, contents: Iterable[Markup]) -> Markup:
    return Markup("").join(map(element.format, contents))


def output_address(operation_id: str) -> str:
    return f"/operations/{quote(operation_id, safe='')}/output"


def notice_context(notice: Notice) -> dict[str, Any]:
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
        "attachments": notice.attachments,
        "ended": end,
        "output": output_address(operation.id) if operation and operation.whole else None,
    }


# ── files ─────────────────────────────────────────────────────────────────────────────────────────


def is_shown(file: Attachment) -> bool:
    """Whether a page shows the preview of this file. One whose size in pixels is not known could
    not be decoded here, or nothing here decodes pictures."""
    return file.kind is AttachmentKind.PICTURE and bool(file.width and file.height)


def excerpt_html(file: Attachment) -> Markup:
    """The first lines of a text; those of a diff by what they do."""
    lines = prose(file.excerpt or "")
    if file.type != DIFF:
        return _escape(lines)
    return Markup("").join(
        Markup('<span class="{}">{}</span>').format(kind, line) for kind, line in _kinds(lines)
    )


def too_large(most: int, of: str = "an answer") -> str:
    return f"That is too large: the files of {of} can have {format_size(most)} together."


# ── what an approval is about ─────────────────────────────────────────────────────────────────────
# To the letter, a command by its arguments, a diff by its lines. Every character of the code is on
# the page, and nothing is added to it.


def command_html(code: str) -> Markup:
    """Each argument is an element of its own, so that a line never breaks inside one."""
    if len(code) > SPLIT_UP_TO:
        return Markup("{}").format(code)
    parts, end = [], 0
    for found in _ARGUMENT.finditer(code):
        parts.append(Markup("{}<span>{}</span>").format(code[end : found.start()], found.group()))
        end = found.end()
    return Markup("").join([*parts, Markup("{}").format(code[end:])])


def diff_html(about: Subject) -> tuple[Markup, Markup, Markup, int]:
    """A diff's beginning, middle and end, and how many lines are in the middle: none, unless it is
    so long that hiding them pays, and may be allowed unread."""
    lines = [f'<span class="{kind}">{_escape(line)}</span>' for kind, line in _kinds(about.code)]
    if about.code.endswith(_EMPTY_LINE):  # both texts end with a line break: nothing to see
        lines[-1] = lines[-1].replace("same", "same end", 1)
    hidden = len(lines) - FIRST - LAST
    if hidden < FIRST or about.whole_first:
        first, last, hidden = len(lines), len(lines), 0
    else:
        first, last = FIRST, len(lines) - LAST
    # To format each of many lines as markup would take seconds.
    parts = ("".join(part) for part in (lines[:first], lines[first:last], lines[last:]))
    head, middle, tail = map(Markup, parts)
    return head, middle, tail, hidden


def _kinds(code: str) -> Iterator[tuple[str, str]]:
    """Each line and what it does. No files are named in it: "--- a" is a line that goes."""
    for line in _LINE.findall(code):
        yield "place" if line.startswith("@@") else KINDS.get(line[0], "same"), line
