"""The Web API as this channel uses it: the only module that calls it. Its errors are ours.

The library's own retries are off: they would send a message twice.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse
from yarl import URL

from chatbridge.channels.chat.document import File
from chatbridge.channels.chat.people import display_name
from chatbridge.channels.chat.writer import MessageRejected, open_content, size_of
from chatbridge.channels.errors import asks_for_pause, pause, token_rejected, words
from chatbridge.channels.sockets.errors import unreachable
from chatbridge.channels.sockets.files import FileClient
from chatbridge.channels.sockets.retold import seconds
from chatbridge.channels.spec import PersonName
from chatbridge.core.errors import (
    AttachmentError,
    ChatbridgeError,
    ChatRefused,
    PostGone,
    RetryLater,
)
from chatbridge.core.text import clipped, one_line
from chatbridge.safe_json import value_at

Json = dict[str, Any]
Method = Callable[..., Awaitable[AsyncSlackResponse]]

SCOPES = (
    "channels:history", "channels:read", "chat:write", "commands", "files:read", "files:write",
    "groups:history", "groups:read", "im:history", "im:write", "reactions:write", "users:read",
)  # fmt: skip
ANSWERED_WITHIN = 10.0
ALTERNATIVE = 1_000
"""The longest text that Slack takes for a picture."""
MAY_NOT_READ = (
    "Slack does not let me read files: the app lacks the scope files:read. Add it at "
    "api.slack.com/apps under OAuth & Permissions, and reinstall the app. Until then, send files "
    "through the inbox."
)
FILES = "/files-"
"""What the paths of people's files begin with."""
PAGE = 200
MOST = 5 * PAGE
_QUIET = logging.getLogger(f"{__name__}.library")
_QUIET.setLevel(logging.WARNING)  # below, it writes whole messages, and addresses of connections
EVENT = "chatbridge"
_BAD_TOKEN = re.compile(
    "account_inactive|app_uninstalled|invalid_auth|not_allowed_token_type|not_authed|token_expired|"
    "token_revoked"
)
_REFUSES = re.compile(
    "cannot_dm_bot|channel_not_found|is_archived|is_inactive|messages_tab_disabled|no_permission|"
    r"not_in_channel|restricted_action\w*|user_disabled|user_not_found|user_not_visible|"
    "users_not_found"
)
_GONE = ("cant_update_message", "edit_window_closed", "message_not_found", "thread_not_found")
_PASSING = ("fatal_error", "internal_error", "request_timeout", "service_unavailable")


@dataclass(frozen=True, slots=True, kw_only=True)
class Me:
    id: str
    team: str
    name: str
    """The workspace's."""
    missing: tuple[str, ...]
    """The scopes that the app lacks."""

    @property
    def lacking(self) -> str:
        how = "Add them at api.slack.com/apps under OAuth & Permissions, and reinstall the app"
        return f"the app lacks scopes: {', '.join(self.missing)}. {how}" if self.missing else ""


def key_of(message: Json) -> str:
    """The key that this message was sent with; empty if it has none of ours."""
    ours = value_at(message, "metadata", "event_type") == EVENT
    return str(value_at(message, "metadata", "event_payload", "key") or "") if ours else ""


class Api(FileClient):
    service, called = "slack", "Slack"
    elsewhere = "That file is only linked in Slack. Upload it, or send it through the inbox."

    def __init__(
        self, bot_token: str, app_token: str, *, base: str, hint: str, patience: float
    ) -> None:
        """`hint` says where the tokens are set."""
        super().__init__(patience=patience)
        self._app_token, self._hint = app_token, hint
        self._reading = {"Authorization": f"Bearer {bot_token}"}
        at = URL(base).origin()
        self.file_origins = frozenset((at, URL(f"https://files.{at.host}")))
        self._web = AsyncWebClient(bot_token, base, retry_handlers=[], logger=_QUIET)

    def opened(self) -> None:
        self._web.session = self.session

    async def me(self) -> Me:
        """:raises TokenRejected: :raises RetryLater:"""
        said = await self._do(self._web.auth_test)
        user, team, name = (str(said.get(key) or "") for key in ("user_id", "team_id", "team"))
        scopes = str(said.headers.get("x-oauth-scopes", "")).replace(",", " ").split()
        missing = tuple(scope for scope in SCOPES if scopes and scope not in scopes)
        return Me(id=user, team=team, name=name, missing=missing)

    async def connection(self) -> str:
        """The address of a new connection, to be used once and soon."""
        opened = await self._do(self._web.apps_connections_open, app_token=self._app_token)
        return str(opened.get("url") or "")

    # ── conversations ─────────────────────────────────────────────────────────────────────────────

    async def direct(self, user: str) -> str:
        """The conversation with this person alone."""
        opened = await self._do(self._web.conversations_open, about=user, users=user)
        return str((opened.get("channel") or {}).get("id") or "")

    async def name_of(self, user: str) -> PersonName:
        said = await self._do(self._web.users_info, about=user, user=user)
        found = said.get("user") or {}
        profile = found.get("profile") or {}
        names = (profile.get("display_name"), found.get("real_name"), found.get("name"), user)
        return PersonName(display_name(*names), display_name(found.get("name")))

    async def standing(self, room: str) -> str:
        """What is wrong with this channel, if anything. Nothing is written."""
        found = (await self._in(room, self._web.conversations_info)).get("channel") or {}
        if found.get("is_archived"):
            return f"the channel {room} is archived"
        return "" if found.get("is_member") else f"the bot is not in the channel {room}"

    async def messages(
        self, room: str, *, root: str | None = None, since: str = "", most: int = MOST, **span: Any
    ) -> list[Json]:
        """Those of a conversation, or of the thread below `root`, after `since`: the newest
        `most`, the oldest first."""
        ask: Method = self._web.conversations_history
        if root is not None:
            ask = partial(self._web.conversations_replies, ts=root)
        if seconds(since):  # with a time to begin at, Slack gives the page nearest to it first
            span["oldest"] = since
        span |= {"include_all_metadata": True, "limit": min(PAGE, most)}
        found, cursor = dict[str, Json](), None
        while len(found) < most:
            page = await self._in(room, ask, cursor=cursor, **span)
            found |= {str(each.get("ts")): each for each in page.get("messages") or ()}
            cursor = (page.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                break
        return [found[ts] for ts in sorted(found, key=seconds)]

    async def message(self, room: str, ts: str, root: str) -> Json | None:
        thread = root if root != ts else None
        found = await self.messages(room, root=thread, since=ts, latest=ts, inclusive=True, most=2)
        return next((each for each in found if each.get("ts") == ts), None)

    # ── messages: a text for notifications, and blocks ────────────────────────────────────────────

    async def send(self, room: str, message: Json, *, key: str = "", thread: str | None) -> str:
        """Its time, which is its name. `key_of` finds its key again."""
        more: Json = {"unfurl_links": False, "unfurl_media": False, "thread_ts": thread}
        if key:
            more["metadata"] = {"event_type": EVENT, "event_payload": {"key": key}}
        sent = await self._in(room, self._web.chat_postMessage, **message, **more)
        return str(sent.get("ts") or "")

    async def send_files(
        self, room: str, files: Sequence[File], *, blocks: Sequence[Json], thread: str | None
    ) -> str:
        """As one message with these blocks; the id of its first file. The library would hold the
        files in memory."""
        listed = [{"id": await self._upload(file, room), "title": _title(file)} for file in files]
        what: Json = {"files": json.dumps(listed), "channel_id": room, "thread_ts": thread}
        if blocks:
            what["blocks"] = json.dumps(blocks)
        await self._post("files.completeUploadExternal", room, what)
        return listed[0]["id"]

    async def _upload(self, file: File, room: str) -> str:
        """Its id. Nobody sees it yet."""
        name = one_line(file.name)
        with open_content(file) as content:
            about: Json = {"filename": name, "length": size_of(content)}
            if file.size and file.caption:
                about["alt_txt"] = clipped(one_line(file.caption), ALTERNATIVE)
            place = await self._post("files.getUploadURLExternal", room, about)
            status = await self.put(str(place.get("upload_url")), content)
        if status != 200:
            raise MessageRejected(f"slack does not take {name} ({status})")
        return str(place.get("file_id"))

    def fetch(self, file: object) -> AsyncIterator[bytes]:
        """A file of a person's message."""
        address, size = value_at(file, "url_private_download"), value_at(file, "size")
        return self.download(address, size=size, headers=self._reading)

    def is_kept_at(self, url: URL) -> bool:
        """Not any address of Slack's: with the token, one of a method would call it."""
        within = url.path.startswith(FILES) and ".." not in url.path.split("/")
        return super().is_kept_at(url) and within

    def is_file(self, response: aiohttp.ClientResponse) -> bool:
        """Who may not read files is sent to the page for logging in, or given it."""
        status, how = response.status, response.headers.get("Content-Disposition", "")
        page = response.content_type == "text/html" and not how.startswith("attachment")
        if status in (401, 403) or 300 <= status < 400 or (status == 200 and page):
            raise AttachmentError(MAY_NOT_READ)
        return super().is_file(response)

    async def edit(self, room: str, ts: str, message: Json) -> None:
        """:raises PostGone:"""
        await self._in(room, self._web.chat_update, ts=ts, **message)

    async def delete(self, room: str, ts: str) -> None:
        await self._in(room, self._web.chat_delete, ts=ts)

    async def whisper(self, room: str, user: str, message: Json) -> None:
        """Only this person sees it, and nothing keeps it."""
        await self._in(room, self._web.chat_postEphemeral, user=user, **message)

    async def react(self, room: str, ts: str, name: str) -> None:
        await self._in(room, self._web.reactions_add, timestamp=ts, name=name)

    async def open_modal(self, trigger: str, view: Json) -> None:
        await self._do(self._web.views_open, trigger_id=trigger, view=view)

    # ── one request ───────────────────────────────────────────────────────────────────────────────

    async def _post(self, method: str, room: str, data: Json) -> AsyncSlackResponse:
        """In the body: what the library puts into the address would be too long there."""
        return await self._do(partial(self._web.api_call, method), about=room, data=data)

    async def _in(self, room: str, method: Method, **what: Any) -> AsyncSlackResponse:
        return await self._do(method, about=room, channel=room, **what)

    async def _do(self, method: Method, *, about: str = "", **what: Any) -> AsyncSlackResponse:
        """`about` is where, or with whom, something was to be done."""
        try:
            return await method(**what)
        except SlackApiError as error:
            raise self._meaning(error, about) from None
        except (SlackClientError, aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise unreachable(error, "slack") from None

    def _meaning(self, error: SlackApiError, about: str) -> ChatbridgeError:
        answer = error.response
        said, headers = getattr(answer, "data", None), getattr(answer, "headers", {})
        code = words(value_at(said, "error"))
        status = getattr(answer, "status_code", getattr(answer, "status", 0))
        if status == 429 or code in ("ratelimited", "rate_limited"):
            return asks_for_pause("slack", pause(headers.get("Retry-After"), least=1.0))
        if _BAD_TOKEN.fullmatch(code):
            return token_rejected(f"slack rejected a token ({code})", hint=self._hint)
        if code == "missing_scope":
            scope, where = words(value_at(said, "needed")), "OAuth & Permissions, reinstall the app"
            if scope == "connections:write":
                where = "Basic Information, App-Level Tokens"
            return ChatRefused(
                f"slack: the app lacks the scope {scope}. Add it under {where}, then run: "
                "chatbridge restart"
            )
        if _REFUSES.fullmatch(code):
            return ChatRefused(
                f"slack: the bot cannot write to {about} ({code}). Invite it with /invite, or "
                "check slack.channel_id and slack.allowed_users"
            )
        if code in _GONE:
            return PostGone()
        if not code or code in _PASSING or status >= 500:
            return RetryLater(f"slack cannot be reached ({code or status})")
        more = words(value_at(said, "response_metadata", "messages"))
        return MessageRejected(f"slack: {code} {more}".rstrip())


def _title(file: File) -> str:
    """What a picture is called below it, and a file."""
    return one_line(file.caption if file.size and file.caption else file.name)
