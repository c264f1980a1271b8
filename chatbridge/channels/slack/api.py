"""The Web API as this channel uses it: the only module that calls it. Its errors are ours.

Owns the HTTP session. The library's own retries are off: they would send a message twice.
"""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from chatbridge.channels.chat.people import display_name
from chatbridge.channels.chat.writer import MessageRejected
from chatbridge.channels.spec import PersonName
from chatbridge.core.cards.phrases import format_certificate_advice
from chatbridge.core.errors import ChatbridgeError, ChatRefused, PostGone, RetryLater, TokenRejected
from chatbridge.core.text import one_line, shortened

Json = dict[str, Any]
Blocks = Sequence[Json]

SCOPES = (
    "channels:history",
    "channels:read",
    "chat:write",
    "commands",
    "files:write",
    "groups:history",
    "groups:read",
    "im:history",
    "im:write",
    "reactions:write",
    "users:read",
)
ANSWERED_WITHIN = 10.0
LONGEST_PAUSE = 3600.0
PAGE, MOST_PAGES = 200, 5
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
    user: str
    team: str
    team_name: str
    scopes: frozenset[str]


class Api:
    def __init__(
        self,
        bot_token: str,
        app_token: str,
        *,
        base: str,
        hint: str,
        patience: float = ANSWERED_WITHIN,
    ) -> None:
        """`hint` says where the tokens are set."""
        self._bot_token, self._app_token = bot_token, app_token
        self._base, self._hint, self._patience = base, hint, patience

    async def __aenter__(self) -> Self:
        timeout = aiohttp.ClientTimeout(total=self._patience)
        self.session = aiohttp.ClientSession(timeout=timeout, trust_env=True)
        self._web = AsyncWebClient(
            token=self._bot_token,
            base_url=self._base,
            session=self.session,
            retry_handlers=[],
            logger=_QUIET,
        )
        return self

    async def __aexit__(self, *ended: object) -> None:
        await self.session.close()

    async def me(self) -> Me:
        """:raises TokenRejected: :raises RetryLater:"""
        said = await self._do(self._web.auth_test())
        scopes = str(said.headers.get("x-oauth-scopes", ""))
        found = {name: str(said.get(name) or "") for name in ("user_id", "team_id", "team")}
        return Me(
            user=found["user_id"],
            team=found["team_id"],
            team_name=found["team"],
            scopes=frozenset(each.strip() for each in scopes.split(",") if each.strip()),
        )

    async def connection(self) -> str:
        """The address of a new connection, to be used once and soon."""
        opened = await self._do(self._web.apps_connections_open(app_token=self._app_token))
        return str(opened.get("url") or "")

    # ── conversations ─────────────────────────────────────────────────────────────────────────────

    async def direct(self, user: str) -> str:
        """The conversation with this person alone."""
        opened = await self._do(self._web.conversations_open(users=user), user)
        return str((opened.get("channel") or {}).get("id") or "")

    async def name_of(self, user: str) -> PersonName:
        found = (await self._do(self._web.users_info(user=user), user)).get("user") or {}
        profile = found.get("profile") or {}
        names = (profile.get("display_name"), found.get("real_name"), found.get("name"), user)
        return PersonName(display_name(*names), display_name(found.get("name")))

    async def standing(self, room: str) -> str:
        """What is wrong with this channel, if anything. Nothing is written."""
        found = (await self._do(self._web.conversations_info(channel=room), room)).get("channel")
        channel: Json = found or {}
        if channel.get("is_archived"):
            return f"the channel {room} is archived"
        return "" if channel.get("is_member") else f"the bot is not in the channel {room}"

    async def history(self, room: str, *, oldest: str, most: int = PAGE * MOST_PAGES) -> list[Json]:
        """The messages after `oldest`, the oldest first; of all of them, the newest `most`."""
        # With a time to begin at, Slack gives the page that is the nearest to it.
        since: Json = {"oldest": oldest} if seconds(oldest) else {}
        return await self._pages(
            most,
            lambda **page: self._web.conversations_history(
                channel=room, include_all_metadata=True, **since, **page
            ),
            room,
        )

    async def replies(
        self, room: str, root: str, *, oldest: str = "0", most: int = PAGE * MOST_PAGES
    ) -> list[Json]:
        """The messages of a thread after `oldest`, with its root."""
        return await self._pages(
            most,
            lambda **page: self._web.conversations_replies(
                channel=room, ts=root, oldest=oldest, include_all_metadata=True, **page
            ),
            room,
        )

    async def message(self, room: str, ts: str, *, root: str | None) -> Json | None:
        # A thread begins with its root, which may be the one that is counted.
        span: Json = {"channel": room, "oldest": ts, "latest": ts, "inclusive": True, "limit": 2}
        if root is not None and root != ts:
            asked = self._web.conversations_replies(ts=root, **span)
        else:
            asked = self._web.conversations_history(**span)
        found = await self._do(asked, room)
        return next((each for each in found.get("messages") or () if each.get("ts") == ts), None)

    async def _pages(self, most: int, ask: Any, room: str) -> list[Json]:
        found: dict[str, Json] = {}
        cursor: str | None = None
        while len(found) < most:
            page = await self._do(ask(limit=min(PAGE, most), cursor=cursor), room)
            found |= {str(each.get("ts")): each for each in page.get("messages") or ()}
            cursor = (page.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                break
        return [found[ts] for ts in sorted(found, key=seconds)]

    # ── messages ──────────────────────────────────────────────────────────────────────────────────

    async def send(
        self, room: str, text: str, blocks: Blocks, *, key: str = "", thread: str | None = None
    ) -> str:
        """Its time, which is its name. `key` is found again in the message's metadata."""
        sent = await self._do(
            self._web.chat_postMessage(
                channel=room,
                text=text,
                blocks=blocks,
                thread_ts=thread,
                unfurl_links=False,
                unfurl_media=False,
                metadata={"event_type": EVENT, "event_payload": {"key": key}} if key else None,
            ),
            room,
        )
        return str(sent.get("ts") or "")

    async def edit(self, room: str, ts: str, text: str, blocks: Blocks) -> None:
        """:raises PostGone:"""
        await self._do(self._web.chat_update(channel=room, ts=ts, text=text, blocks=blocks), room)

    async def delete(self, room: str, ts: str) -> None:
        await self._do(self._web.chat_delete(channel=room, ts=ts), room)

    async def whisper(self, room: str, user: str, text: str, blocks: Blocks) -> None:
        """Only this person sees it, and nothing keeps it."""
        sending = self._web.chat_postEphemeral(channel=room, user=user, text=text, blocks=blocks)
        await self._do(sending, room)

    async def react(self, room: str, ts: str, name: str) -> None:
        await self._do(self._web.reactions_add(channel=room, timestamp=ts, name=name), room)

    async def send_file(self, room: str, name: str, content: bytes, thread: str | None) -> None:
        sending = self._web.files_upload_v2(
            channel=room, filename=name, content=content, thread_ts=thread, request_file_info=False
        )
        await self._do(sending, room)

    async def open_modal(self, trigger: str, view: Json) -> None:
        await self._do(self._web.views_open(trigger_id=trigger, view=view))

    async def _do(self, call: Awaitable[AsyncSlackResponse], room: str = "") -> AsyncSlackResponse:
        try:
            return await call
        except SlackApiError as error:
            raise self._meaning(error, room) from None
        except (SlackClientError, aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise unreachable(error) from None

    def _meaning(self, error: SlackApiError, room: str) -> ChatbridgeError:
        answer = error.response
        data = getattr(answer, "data", None)
        said: Json = data if isinstance(data, dict) else {}
        code, headers = str(said.get("error") or ""), getattr(answer, "headers", {})
        status = getattr(answer, "status_code", getattr(answer, "status", 0))
        if status == 429 or code in ("ratelimited", "rate_limited"):
            pause = str(headers.get("Retry-After", ""))
            after = min(float(pause), LONGEST_PAUSE) if pause.isdecimal() else 1.0
            return RetryLater("slack asks for a pause (429)", after=max(after, 1.0))
        if _BAD_TOKEN.fullmatch(code):
            return TokenRejected(
                f"slack rejected a token ({code}). Check {self._hint}, then run: chatbridge restart"
            )
        if code == "missing_scope":
            scope, where = _word(said.get("needed")), "OAuth & Permissions, reinstall the app"
            if scope == "connections:write":
                where = "Basic Information, App-Level Tokens"
            return ChatRefused(
                f"slack: the app lacks the scope {scope}. Add it under {where}, then run: "
                "chatbridge restart"
            )
        if _REFUSES.fullmatch(code):
            return ChatRefused(
                f"slack: the bot cannot write to {room} ({code}). Invite it with /invite, or check "
                "slack.channel_id and slack.allowed_users"
            )
        if code in _GONE:
            return PostGone()
        if not code or code in _PASSING or status >= 500:
            return RetryLater(f"slack cannot be reached ({_word(code) or status})")
        messages = (said.get("response_metadata") or {}).get("messages") or ()
        return Rejected(code, messages)


class Rejected(MessageRejected):
    """Slack does not take this request, however often it is made."""

    def __init__(self, code: str, messages: Iterable[object] = ()) -> None:
        self.code = code
        more = "; ".join(map(_word, messages))
        super().__init__(f"slack: {_word(code)}{f' ({more})' if more else ''}")


def unreachable(error: Exception) -> RetryLater:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        cause = error.certificate_error
        why = cause.verify_message if isinstance(cause, ssl.SSLCertVerificationError) else ""
        advice = format_certificate_advice("slack.api_base")
        said = f"slack's certificate is not trusted ({why.rstrip('.')}). {advice}"
        return RetryLater(said, unsent=True)
    if isinstance(error, asyncio.TimeoutError):
        return RetryLater("slack did not answer in time")
    unsent = isinstance(error, aiohttp.ClientConnectorError)
    return RetryLater(f"slack cannot be reached ({type(error).__name__})", unsent=unsent)


def missing_scopes(scopes: frozenset[str]) -> list[str]:
    """A server may not say any."""
    return [scope for scope in SCOPES if scope not in scopes] if scopes else []


def seconds(ts: object) -> float:
    """When, by Slack's clock; 0 for what is no time."""
    try:
        return float(str(ts))
    except ValueError:
        return 0.0


def _word(said: object) -> str:
    return shortened(one_line(str(said or "")), 200)
