"""How the person answers in a chat with buttons: taps, check marks, replies, and plain text."""

from __future__ import annotations

import time
from functools import partial

from tests.chaos.log import Way
from tests.chaos.person_buttons import (
    CHOOSE,
    DONE,
    OFF,
    ON,
    SEND,
    TAKEN,
    USE,
    Button,
    ButtonChat,
    Message,
)
from tests.chaos.person_plan import A_WORD, Notebook, Plan
from tests.chaos.riddles import Kind, choices

GOOD_TOASTS = ("Sent", "Kept")


class ButtonWays:
    liked = 8
    """How often the person answers there, beside other ways."""

    def __init__(self, phone: ButtonChat, notes: Notebook) -> None:
        self.phone = phone
        self._notes = notes
        self._tapped = Way(f"{phone.channel} tap")
        self._replied = Way(f"{phone.channel} reply")
        self._wrote = Way(f"{phone.channel} plain text")

    async def answer(self, plan: Plan) -> bool | None:
        for _ in range(2 * len(plan.riddle.parts) + 2):
            card = self.phone.cards().get(plan.ask)
            if card is None:
                return False
            if send := card.button(SEND):
                last = len(plan.riddle.parts) - 1
                return await self._tap(plan, card, send.data, last, (), whole=True)
            question = next(b.question for b in card.buttons if b.ask == plan.ask)
            given = await self._step(plan, card, question)
            if len(plan.riddle.parts) == 1 or not given:
                return given
            if not await self._notes.until(partial(self._moved, plan.ask, card)):
                return False
        return False

    def _moved(self, ask: str, card: Message) -> bool:
        return self.phone.cards().get(ask) != card

    async def _step(self, plan: Plan, card: Message, question: int) -> bool | None:
        part, value = plan.riddle.parts[question], self._notes.value(plan.riddle, question)
        whole = len(plan.riddle.parts) == 1
        if part.kind is Kind.TEXT:
            if whole and self._notes.writes_beside():
                return await self._plain(plan, value)
            return await self._reply(plan, card, question, value, whole=whole)
        if part.kind is Kind.MULTI:
            return await self._checks(plan, card, question, value, whole=whole)
        options = {b.text.casefold(): b for b in card.buttons if b.code == CHOOSE}
        if value[0] not in options:
            return False
        if self._notes.random.random() < 0.15:
            return await self._reply(plan, card, question, value, whole=whole)
        return await self._tap(plan, card, options[value[0]].data, question, value, whole=whole)

    async def _checks(
        self, plan: Plan, card: Message, question: int, value: tuple[str, ...], *, whole: bool
    ) -> bool | None:
        """All check marks in quick succession, some of them more than once; then Done."""
        done = card.button(DONE)
        options = marks(card)
        taps = [options[it].toggled(it in value) for it in choices(plan.riddle.parts[question])]
        if self._notes.random.random() < 0.5:
            unsure = self._notes.random.choice(list(options.values()))
            taps = [unsure.toggled(True), unsure.toggled(False), *taps]
        for data in taps:
            self._notes.deeds.fast_toggles += 1
            sent = await self.phone.tap(card.id, data)
            if not sent.accepted:
                return False
        if done is None:
            return False
        return await self._tap(plan, card, done.data, question, value, whole=whole)

    async def _tap(
        self,
        plan: Plan,
        card: Message,
        data: str,
        question: int,
        value: tuple[str, ...],
        *,
        whole: bool,
    ) -> bool | None:
        at = time.time()
        sent = await self.phone.tap(card.id, data)
        self._notes.gave(
            plan, question, self._tapped, value, sent.accepted, whole, sent.text, at=at
        )
        if sent.accepted and self._notes.random.random() < 0.2:
            self._notes.deeds.double_taps += 1
            await self.phone.tap(card.id, data)
        if sent.accepted:
            self._notes.spawn(self._heed_toast(plan, self._tapped, sent.id, value))
        return sent.accepted

    async def _heed_toast(self, plan: Plan, way: Way, query: str, value: tuple[str, ...]) -> None:
        told = await self.phone.toast(query, within=A_WORD)
        if told and not told.startswith(GOOD_TOASTS):
            self._notes.refused(plan, way, value, told)

    async def _reply(
        self, plan: Plan, card: Message, question: int, value: tuple[str, ...], *, whole: bool
    ) -> bool | None:
        at = time.time()
        sent = await self.phone.say(value[0], reply_to=card.id)
        way = self._replied
        self._notes.gave(plan, question, way, value, sent.accepted, whole, sent.text, at=at)
        if sent.accepted:
            self._notes.spawn(self._heed_reply(plan, sent.id, value))
        return sent.accepted

    async def _heed_reply(self, plan: Plan, written: int, value: tuple[str, ...]) -> None:
        word = await self._word_about(written)
        if word is not None:
            self._notes.refused(plan, self._replied, value, word.text)

    async def _plain(self, plan: Plan, value: tuple[str, ...]) -> bool | None:
        """Not a reply: either it is clear which question is meant, or the bot asks."""
        way, at = self._wrote, time.time()
        sent = await self.phone.say(value[0])
        self._notes.gave(plan, 0, way, value, sent.accepted, False, sent.text, at=at)
        if not sent.accepted:
            return sent.accepted
        word = await self._word_about(sent.id)
        if word is None:
            taken = TAKEN in self.phone.messages[sent.id].reactions
            if taken:
                self._notes.deeds.taken_at_once += 1
                self._notes.gave(plan, 0, way, value, True, True, "👍", at=at)
            return taken
        use = next((b for b in word.buttons if b.code == USE and b.ask == plan.ask), None)
        if use is None:
            self._notes.refused(plan, way, value, word.text)
            return False
        self._notes.deeds.asked_which += 1
        at = time.time()
        tapped = await self.phone.tap(word.id, use.data)
        self._notes.gave(plan, 0, way, value, tapped.accepted, True, "which one: this", at=at)
        if tapped.accepted:
            self._notes.spawn(self._heed_toast(plan, way, tapped.id, value))
        return tapped.accepted

    async def _word_about(self, written: int) -> Message | None:
        """What the bot says to this message; None, if it takes it or says nothing."""
        found: list[Message] = []

        def told() -> bool:
            found[:] = [m for m in self.phone.messages.values() if m.reply_to == written]
            return bool(found) or TAKEN in self.phone.messages[written].reactions

        await self._notes.until(lambda: written in self.phone.messages)
        if written in self.phone.messages:
            await self._notes.until(told, within=A_WORD)
        return found[0] if found else None


def marks(card: Message) -> dict[str, Button]:
    """The options that can be checked, by their labels."""
    return {b.text.split(" ", 1)[-1]: b for b in card.buttons if b.code in (ON, OFF)}
