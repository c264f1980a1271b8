"""How the person answers on Discord, beside what all chats with buttons have: selects and forms."""

from __future__ import annotations

import time

from tests.chaos.button_ways import ButtonWays, marks
from tests.chaos.log import Way
from tests.chaos.person_buttons import DONE, WRITE, Message
from tests.chaos.person_discord import FAILED, DiscordPhone
from tests.chaos.person_plan import A_WORD, Notebook, Plan


class DiscordWays(ButtonWays):
    phone: DiscordPhone
    liked = 30  # what takes a message a second shows few cards as long as they are open

    def __init__(self, phone: DiscordPhone, notes: Notebook) -> None:
        super().__init__(phone, notes)

    async def _checks(
        self, plan: Plan, card: Message, question: int, value: tuple[str, ...], *, whole: bool
    ) -> bool | None:
        """Pick, perhaps others at first; and Done, unless the picking is told to have failed."""
        done, options = card.button(DONE), marks(card)
        picks = [value]
        if self._notes.random.random() < 0.5:
            picks = [tuple(self._notes.random.sample(list(options), 2)), value]
        for each in picks:
            self._notes.deeds.fast_toggles += 1
            at = time.time()
            sent = await self.phone.pick(card.id, [options[it].data for it in each])
            text = "picked"
            self._notes.gave(plan, question, self._tapped, each, sent.accepted, False, text, at=at)
        if done is None or not sent.accepted:
            return False
        if await self.phone.toast(sent.id, within=A_WORD) == FAILED:
            return False
        return await self._tap(plan, card, done.data, question, value, whole=whole)

    async def _reply(
        self, plan: Plan, card: Message, question: int, value: tuple[str, ...], *, whole: bool
    ) -> bool | None:
        """In the form that the card opens, or as a reply."""
        write = card.button(WRITE)
        if write is None or self._notes.random.random() < 0.4:
            return await super()._reply(plan, card, question, value, whole=whole)
        tapped = await self.phone.tap(card.id, write.data)
        sent = await self.phone.submit(tapped.id, value[0]) if tapped.accepted else None
        if sent is None:
            return False
        way, at = Way.DISCORD_FORM, time.time()
        self._notes.gave(plan, question, way, value, True, whole, sent.text, at=at)
        self._notes.spawn(self._heed_toast(plan, way, sent.id, value))
        return True
