"""What the Bot API can answer, as this channel tells it apart. Shared ones are in `core.errors`."""

from __future__ import annotations

from chatbridge.channels.chat.writer import MessageRejected
from chatbridge.core.errors import ChatbridgeError, RetryLater

CONFLICT_PAUSE = 5.0


class Rejected(MessageRejected):
    """Telegram does not take this request, however often it is made (400)."""

    def __init__(self, said: str) -> None:
        super().__init__(said)
        text = said.lower()
        self.nothing_new = "message is not modified" in text
        self.message_gone = "message to edit not found" in text or "message can't be edited" in text
        gone = ("message thread not found", "topic_closed", "topic_deleted")
        self.topic_gone = any(words in text for words in gone)
        self.unreadable = "can't parse entities" in text


class Migrated(ChatbridgeError):
    """The group became a supergroup and has a new id."""

    def __init__(self, chat: int) -> None:
        self.chat = chat
        super().__init__(f"the group became a supergroup, its id is {chat} now")


class Polled(RetryLater):
    """Another program reads this bot's messages (409)."""

    def __init__(self, said: str) -> None:
        what = (
            "another program polls this bot (409). Stop it: look for a second chatbridge, also on "
            "another computer, or for another bridge with the same token; or make a new bot with "
            "@BotFather"
        )
        if "webhook" in said.lower():
            what = (
                "this bot has a webhook, so its messages go elsewhere (409). Remove it with "
                "deleteWebhook, or make a new bot with @BotFather"
            )
        super().__init__(f"telegram: {what}", after=CONFLICT_PAUSE)
