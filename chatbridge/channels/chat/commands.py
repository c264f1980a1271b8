"""What a person commands in a chat: lists, cancelling, quiet hours and help. Messages to agents are
`telling`'s."""

from __future__ import annotations

from dataclasses import dataclass

from chatbridge.channels.chat import notices
from chatbridge.channels.chat.inbound import ChatInput, Origin, Said
from chatbridge.channels.chat.scene import CardRequest
from chatbridge.core.cards import phrases
from chatbridge.core.errors import ChatbridgeError, StoreError
from chatbridge.core.forms import form
from chatbridge.core.model import Ask
from chatbridge.core.nights.switching import format_quiet, format_state

COMMANDS = (
    ("pending", "Open questions"),
    ("history", "The last ten that have ended"),
    ("cancel", "Cancel an open question"),
    ("agents", "Which agents are connected"),
    ("tell", "Tell an agent something"),
    ("quiet", "Quiet hours, on or off"),
    ("help", "What can be done here"),
)
NOT_CANCELLED = "This one can be denied instead. Tap Deny."
MAX_PAST_LISTED = 10


@dataclass(frozen=True, slots=True)
class Commands:
    input: ChatInput

    async def run(self, name: str, by: Origin, *, words: str = "") -> Said | None:
        """What the bot says to a command, if anything. `words` are what follows its name."""
        match name:
            case "quiet":
                return (await self.quiet(words, by))[1]
            case "pending" | "cancel":
                listed = await self.input.inbox.open_rows(limit=notices.LISTED_AT_MOST)
                if name == "pending" or listed.only is None:
                    return notices.pending(listed)
                return await self._ask_to_cancel(await self.input.inbox.ask(listed.only.id), by)
            case "history":
                rows = await self.input.inbox.past_rows(limit=MAX_PAST_LISTED)
                return notices.history(rows)
        return None

    async def quiet(self, words: str, by: Origin) -> tuple[str, Said]:
        """Switch quiet hours as the words say, if there are some. Return how they are, in a few
        words and with what can be done."""
        if words.strip():
            try:
                await self.input.inbox.switch_quiet(words, person=by.person, cursor=by.cursor)
            except StoreError:
                raise
            except ChatbridgeError as error:
                return str(error), str(error)
        nights, now = self.input.inbox.nights, self.input.clock.time()
        said: Said = notices.quiet(nights, now=now)
        if self.input.typed:
            said = f"{format_quiet(nights, now=now)} {notices.QUIET_WORDS}"
        return format_state(nights, now=now), said

    async def _ask_to_cancel(self, ask: Ask, by: Origin) -> str | None:
        """The only open card asks whether to cancel, at the bottom of the chat. An approval comes
        there as it is: it is denied, not cancelled."""
        repost = CardRequest(repost=True)
        if ask.approval:
            await self.input.request(ask, repost, by.chat)
            channels = self.input.inbox.only_on(ask, self.input.channel)
            return phrases.format_only_on(channels) if channels else NOT_CANCELLED
        step = await self.input.put(ask, form.AskCancel(step=ask.draft.step), by=by)
        if isinstance(step, str):
            return step
        by.chat.requests[ask.id] = repost
        held_back = await self.input.inbox.post(ask.id, surface=by.chat.name) is None
        if held_back or isinstance(step, form.Refused):  # it asks already
            await self.input.inbox.redraw(ask.id)
        return None


def help_text(prefix: str, *, private: bool, files: bool) -> str:
    own_words = "send it as a message" if private else "reply to the question"
    also = f"; {notices.FILES_TOO}" if files else ""
    return "\n".join(
        (
            "Your agents' questions arrive here.",
            f"Tap a button to answer. For an answer in your own words, {own_words}{also}.",
            "With several questions open, reply to the one you mean.",
            f"{prefix}pending shows what is open, {prefix}history what has ended.",
            f"{prefix}cancel tells an agent that you will not answer.",
            f"{prefix}tell passes your words to a running agent, as a reply to its notice does; "
            f"{prefix}agents shows who is there.",
            f"{prefix}quiet 2h keeps your chats quiet for a while; {prefix}quiet says how it is.",
            "What you answer after the time is up is kept for the agent's next call.",
        )
    )
