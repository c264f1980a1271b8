"""The Bot API's methods by name, and the way of one request through them: token, faults, effect."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tests.fakes.telegram import limits
from tests.fakes.telegram.chats import TOPIC_COLOUR, ChatRecord, Document, Json, permissions
from tests.fakes.telegram.entities import width
from tests.fakes.telegram.faults import run_with
from tests.fakes.telegram.media import Media
from tests.fakes.telegram.replies import (
    Cut,
    Later,
    Outcome,
    Refusal,
    Reply,
    bad_request,
    refused,
    result,
)
from tests.fakes.telegram.sending import Sending
from tests.fakes.telegram.service import Request, Service

Method = Callable[[Json, dict[str, Document]], Any]
_TOKEN = re.compile(r"[1-9]\d{0,15}:[A-Za-z0-9_-]{30,60}")
_COMMAND = re.compile(r"[a-z0-9_]{1,32}")


class Api:
    def __init__(self, service: Service, *, in_loop: Callable[[Callable[[], None]], None]) -> None:
        self._service = service
        self._in_loop = in_loop
        sending, media = Sending(service), Media(service)
        self._sending = sending
        self._methods: dict[str, Method] = {
            "getme": self._get_me,
            "getupdates": self._get_updates,
            "setwebhook": self._set_webhook,
            "deletewebhook": self._set_webhook,
            "getwebhookinfo": self._get_webhook_info,
            "setmycommands": self._set_my_commands,
            "getmycommands": self._get_my_commands,
            "deletemycommands": self._delete_my_commands,
            "getchat": self._get_chat,
            "getchatmember": self._get_chat_member,
            "sendmessage": sending.send_message,
            "senddocument": sending.send_document,
            "sendphoto": sending.send_photo,
            "sendmediagroup": sending.send_media_group,
            "getfile": media.get_file,
            "file": media.fetch,
            "sendchataction": sending.send_chat_action,
            "editmessagetext": sending.edit_message_text,
            "editmessagereplymarkup": sending.edit_message_reply_markup,
            "deletemessage": sending.delete_message,
            "setmessagereaction": sending.set_message_reaction,
            "answercallbackquery": self._answer_callback_query,
            "createforumtopic": self._create_forum_topic,
            "deleteforumtopic": self._delete_forum_topic,
        }

    def call(
        self, token: str, method: str, params: Json, files: dict[str, Document]
    ) -> Outcome | Later:
        """Answer one request, in the server's loop."""
        service = self._service
        with service.changed:
            request = Request(method=method, params=params, files=files, at=service.clock.time())
            service.requests.append(request)
            outcome = self._outcome(token, request)
            if isinstance(outcome, Later):
                outcome.when_settled(lambda settled: self._note(request, settled))
            else:
                self._note(request, outcome)
            service.changed.notify_all()
            return outcome

    def _note(self, request: Request, outcome: Outcome) -> None:
        with self._service.changed:
            if not isinstance(outcome, Cut):
                request.status, request.description = outcome.status, outcome.description
            self._service.changed.notify_all()

    def _outcome(self, token: str, request: Request) -> Outcome | Later:
        if not _TOKEN.fullmatch(token):
            return refused(Refusal(404, "Not Found"))
        if token != self._service.token or self._service.revoked:
            return refused(Refusal(401, "Unauthorized"))
        fault = self._service.faults.take(request.method, request.params)
        if fault is None:
            return self._effect(request)
        return run_with(fault, lambda: self._effect(request), in_loop=self._in_loop)

    def _effect(self, request: Request) -> Outcome | Later:
        with self._service.changed:
            method = self._methods.get(request.method.lower())
            if method is None:
                return refused(Refusal(404, "Not Found: method not found"))
            try:
                value = method(request.params, request.files)
            except Refusal as error:
                return refused(error)
            return value if isinstance(value, Later | Reply) else result(value)

    def _get_me(self, params: Json, files: dict[str, Document]) -> Json:
        return {
            **self._service.bot.json(),
            "can_join_groups": True,
            "can_read_all_group_messages": self._service.features.reads_all,
            "supports_inline_queries": False,
            "can_connect_to_business": False,
            "has_main_web_app": False,
            "has_topics_enabled": self._service.features.topics_enabled,
        }

    def _get_updates(self, params: Json, files: dict[str, Document]) -> Any:
        limit = params.get("limit", 100)
        return self._service.updates.get(
            offset=int(params.get("offset") or 0),
            limit=limit if isinstance(limit, int) and 1 <= limit <= 100 else 100,
            timeout=float(params.get("timeout") or 0),
            allowed=params.get("allowed_updates"),
        )

    def _set_webhook(self, params: Json, files: dict[str, Document]) -> bool:
        updates = self._service.updates
        if params.get("drop_pending_updates"):
            updates.clear()
        updates.webhook = str(params.get("url") or "")
        if updates.webhook:
            updates.end_polls(Refusal(409, "Conflict: terminated by setWebhook request"))
        return True

    def _get_webhook_info(self, params: Json, files: dict[str, Document]) -> Json:
        updates = self._service.updates
        return {
            "url": updates.webhook,
            "has_custom_certificate": False,
            "pending_update_count": len(updates.pending),
        }

    def _set_my_commands(self, params: Json, files: dict[str, Document]) -> bool:
        commands = params.get("commands") or []
        if len(commands) > 100:
            raise bad_request("BOT_COMMANDS_TOO_MUCH")
        for command in commands:
            if not _COMMAND.fullmatch(command["command"]):
                raise bad_request("BOT_COMMAND_INVALID")
            if not 1 <= width(command["description"]) <= 256:
                raise bad_request("BOT_COMMAND_DESCRIPTION_INVALID")
        self._service.commands[_scope(params)] = commands
        return True

    def _get_my_commands(self, params: Json, files: dict[str, Document]) -> list[Json]:
        return self._service.commands.get(_scope(params), [])

    def _delete_my_commands(self, params: Json, files: dict[str, Document]) -> bool:
        self._service.commands.pop(_scope(params), None)
        return True

    def _get_chat(self, params: Json, files: dict[str, Document]) -> Json:
        chat = self._known_chat(params)
        return {
            **chat.json(),
            **({} if chat.private else {"permissions": permissions(chat.everybody_may_write)}),
            "accent_color_id": 0,
            "max_reaction_count": 11,
            "accepted_gift_types": dict.fromkeys(
                (
                    "unlimited_gifts",
                    "limited_gifts",
                    "unique_gifts",
                    "premium_subscription",
                    "gifts_from_channels",
                ),
                False,
            ),
        }

    def _get_chat_member(self, params: Json, files: dict[str, Document]) -> Json:
        chat, bot = self._known_chat(params), self._service.bot
        number = params.get("user_id")
        if number == bot.id and not chat.private:
            return {"user": bot.json(), **chat.membership}
        person = chat.people.get(number) if isinstance(number, int) else None
        if person is None:
            raise bad_request("member not found")
        return {"user": person.json(), "status": "member"}

    def _known_chat(self, params: Json) -> ChatRecord:
        """Somebody who has blocked the bot is still shown to it; a group that it was thrown out of
        is not."""
        chat = self._sending.chat(params, write=False)
        if chat.refusal is not None and not chat.private:
            raise Refusal(403, chat.refusal)
        return chat

    def _answer_callback_query(self, params: Json, files: dict[str, Document]) -> bool:
        text = str(params.get("text") or "")
        if width(text) > limits.CALLBACK_ANSWER:
            raise bad_request("MESSAGE_TOO_LONG")
        query_id = str(params.get("callback_query_id", ""))
        if not self._service.answer(query_id, text, alert=bool(params.get("show_alert"))):
            raise bad_request(
                "query is too old and response timeout expired or query ID is invalid"
            )
        return True

    def _create_forum_topic(self, params: Json, files: dict[str, Document]) -> Json:
        name = str(params.get("name") or "").strip()
        chat = self._sending.chat(params)
        if not self._has_topics(chat.id):
            raise bad_request("the chat is not a forum")
        if not name:
            raise bad_request("topic name is empty")
        if width(name) > limits.TOPIC_NAME:
            raise bad_request("TOPIC_TITLE_TOO_LONG")
        colour = params.get("icon_color") or TOPIC_COLOUR
        thread = self._service.open_topic(chat, name, self._service.bot, colour)
        return {"message_thread_id": thread, "name": name, "icon_color": colour}

    def _delete_forum_topic(self, params: Json, files: dict[str, Document]) -> bool:
        chat = self._sending.chat(params)
        if not self._has_topics(chat.id):
            raise bad_request("the chat is not a forum")
        if not self._service.close_topic(chat, int(params.get("message_thread_id") or 0)):
            raise bad_request("TOPIC_ID_INVALID")
        return True

    def _has_topics(self, chat_id: int) -> bool:
        return self._service.chats[chat_id].forum


def _scope(params: Json) -> str:
    return str(params.get("scope") or {"type": "default"})
