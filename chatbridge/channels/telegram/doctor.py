"""Telegram: the token, the webhook, and each chat. Reads no updates: that is the hub's alone."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from chatbridge.channels.bot_checks import ANSWER_SECONDS, BotCheck
from chatbridge.channels.checks import CheckContext, Finding, from_error, problem, remark
from chatbridge.channels.telegram.client.api import Api
from chatbridge.channels.telegram.client.errors import Migrated
from chatbridge.channels.telegram.settings import Telegram
from chatbridge.channels.telegram.spec import TELEGRAM
from chatbridge.core.errors import ChatbridgeError, ChatRefused

NAME = "telegram"
NOT_POLLED = (
    "stop it: look for a second chatbridge, or another bridge with the same token; or make a new "
    "bot: chatbridge setup"
)
PRIVACY = "in Telegram, to @BotFather: /setprivacy, then Enable; then add the bot again"


class TelegramCheck(BotCheck[Telegram]):
    called = "@{}"

    def open(self, table: Telegram) -> Api:
        assert table.token is not None
        token = table.token.get_secret_value()
        return Api(token, base=table.api_base, hint="telegram.token", patience=ANSWER_SECONDS)

    async def look_closer(self, api: Api, told: str | None) -> list[Finding]:
        found = []
        if told and "polls this bot" in told:
            found.append(problem(NAME, "another program polls this bot (409)", NOT_POLLED))
        if address := await api.webhook():
            # The host alone: what follows it is often a secret.
            host = urlsplit(address).hostname or "somewhere"
            what = f"This bot has a webhook, so its messages go elsewhere ({host})"
            found.append(problem(NAME, what, "remove it: chatbridge setup"))
        return found

    async def chats(self, table: Telegram, context: CheckContext) -> Sequence[int]:
        # A group that has become a supergroup has another number.
        known = await context.notes(NAME)
        homes = table.chat_id or sorted(table.allowed_users)
        return [int(known.get(f"chat:telegram:{home}", home)) for home in homes]

    async def look_at(self, api: Api, chat: int, *, direct: bool) -> Finding | None:
        try:
            kind, wrong = await api.standing(chat)
            me = await api.me()  # known by now
        except Migrated as error:
            what = f"the group {chat} became a supergroup"
            return remark(NAME, what, f"put {error.chat} into telegram.chat_id")
        except ChatRefused as error:
            return _refused(chat, str(error))
        except ChatbridgeError as error:
            return remark(NAME, f"the chat {chat} could not be checked: {error}")
        if wrong:
            return problem(NAME, wrong, "ask an administrator to allow it")
        if me.reads_all and kind in ("group", "supergroup"):
            # In groups only replies count, and those come with privacy mode, too.
            what = "receives everything that is said in its groups, but needs only replies"
            return remark(NAME, f"@{me.name} {what}", PRIVACY)
        return None


def _refused(chat: int, said: str) -> Finding:
    if "does not know the chat" in said:
        return problem(NAME, "The phone's chat was deleted or left.", "chatbridge pair", chat=chat)
    if chat > 0:
        fix = "Open the chat in Telegram and press Start or Unblock."
        return problem(NAME, "The bot may not write to you (403).", fix, chat=chat)
    return from_error(NAME, said, chat=chat)


CHECK = TelegramCheck(TELEGRAM)
check, names = CHECK.check, CHECK.names
