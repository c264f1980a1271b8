"""Files of the workspace: what the app uploads, and what people have in their messages.

A file is uploaded to an address for it alone, and seen once that is said to be complete. People's
are given to who brings the bot's token and may read files; others get the page for logging in.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape

from aiohttp import web

from tests.fakes.kept_files import KeptFiles
from tests.fakes.slack import blocks
from tests.fakes.slack.workspace import BOT, Json, Refused, Room

MOST_FILES, LARGEST, LONGEST_ALTERNATIVE = 10, 1_000_000_000, 1_000
LOGIN = "<!DOCTYPE html><html><body>Sign in to your workspace</body></html>"


@dataclass(slots=True, kw_only=True)
class Uploading:
    """A file for which an address was given out."""

    name: str
    length: int
    alternative: str = ""
    content: bytes | None = None


def upload(given: Json) -> Uploading:
    """What files.getUploadURLExternal is asked for."""
    name, length = str(given.get("filename") or ""), str(given.get("length") or "")
    if not name or not length.isdigit() or int(length) == 0:
        raise Refused("missing_argument")
    if int(length) > LARGEST:
        raise Refused("file_upload_size_restricted")
    alternative = str(given.get("alt_txt") or "")
    if len(alternative) > LONGEST_ALTERNATIVE:
        raise Refused("alt_txt_too_large")
    return Uploading(name=name, length=int(length), alternative=alternative)


def completed(given: Json, uploads: dict[str, Uploading], room: Room) -> Json:
    """The message of files.completeUploadExternal. Its files are uploads no longer."""
    listed = json.loads(str(given.get("files") or "[]"))
    if not listed or len(listed) > MOST_FILES:
        raise Refused("invalid_arguments")
    if any(each["id"] not in uploads or uploads[each["id"]].content is None for each in listed):
        raise Refused("file_not_found")
    shown = json.loads(str(given.get("blocks") or "[]"))
    if wrong := blocks.problems(shown):
        raise Refused("invalid_blocks", response_metadata={"messages": wrong})
    if given.get("thread_ts") and given["thread_ts"] not in room.messages:
        raise Refused("thread_not_found")
    files = []
    for each in listed:
        it = uploads.pop(each["id"])
        files.append({"id": each["id"], "name": it.name, "title": each.get("title") or it.name})
        files[-1] |= {"size": it.length, "alt_txt": it.alternative}
    more = {"thread_ts": given["thread_ts"]} if given.get("thread_ts") else {}
    text = escape(blocks.words(shown), quote=False)  # as Slack writes it
    message = {"type": "message", "subtype": "file_share", "user": BOT, "bot_id": "B1"}
    return message | more | {"text": text, "blocks": shown, "files": files}


async def give(
    request: web.Request, kept: KeptFiles, *, allowed: bool, redirects: bool
) -> web.StreamResponse:
    """A person's file, to who is allowed to have it."""
    name = request.match_info["id"]
    kept.asked(request, name)
    if allowed:
        return await kept.serve(request, name)
    if redirects:
        raise web.HTTPFound("/?redir=%2Ffiles-pri")
    return web.Response(text=LOGIN, content_type="text/html")
