"""How the person answers on Telegram, beside what all chats with buttons have: with a file."""

from __future__ import annotations

import time

from tests.chaos.button_ways import ButtonWays
from tests.chaos.log import Way
from tests.chaos.person_buttons import Message
from tests.chaos.person_plan import Plan
from tests.chaos.person_telegram import Phone
from tests.chaos.riddles import Kind

FILES = 0.3
"""How often a text is sent as a file."""


class TelegramWays(ButtonWays):
    phone: Phone

    async def _reply(
        self, plan: Plan, card: Message, question: int, value: tuple[str, ...], *, whole: bool
    ) -> bool | None:
        text = plan.riddle.parts[question].kind is Kind.TEXT
        if not text or self._notes.random.random() > FILES:
            return await super()._reply(plan, card, question, value, whole=whole)
        way, at = Way.TELEGRAM_FILE, time.time()
        sent = await self.phone.send_file(value[0], reply_to=card.id)
        self._notes.gave(plan, question, way, value, sent.accepted, whole, sent.text, at=at)
        if sent.accepted:
            self._notes.spawn(self._heed_reply(plan, sent.id, value))
        return sent.accepted
