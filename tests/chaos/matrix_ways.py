"""How the person answers on Matrix: reactions, replies, and plain text."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

from tests.chaos.log import Way
from tests.chaos.person_matrix import FORWARD, NUMBERS, YES_NO, Room, Said, Step
from tests.chaos.person_plan import A_WORD, Given, Notebook, Plan
from tests.chaos.riddles import Kind, Part, choices


class MatrixWays:
    def __init__(self, room: Room, notes: Notebook) -> None:
        self.room = room
        self._notes = notes

    async def answer(self, plan: Plan) -> bool | None:
        for _ in range(2 * len(plan.riddle.parts) + 2):
            step = self.room.steps().get(plan.ask)
            if step is None:
                return False
            given = await self._matrix_step(plan, step)
            if len(plan.riddle.parts) == 1 or not given or step.part is None:
                return given
            if not await self._notes.until(partial(self._matrix_moved, step)):
                return False
        return False

    def _matrix_moved(self, step: Step) -> bool:
        now = self.room.steps().get(step.ask)
        return now is None or now.event != step.event

    async def _matrix_step(self, plan: Plan, step: Step) -> bool | None:
        last = len(plan.riddle.parts) - 1
        if step.part is None:
            return await self._react(plan, step, FORWARD, last, (), whole=True)
        part, value = plan.riddle.parts[step.part], self._notes.value(plan.riddle, step.part)
        whole = last == 0
        if part.kind is Kind.TEXT and whole and self._notes.writes_beside():
            return await self._matrix_plain(plan, value)
        if part.kind is Kind.TEXT or self._notes.random.random() < 0.3:
            return await self._matrix_reply(plan, step, value, whole=whole)
        if part.kind is not Kind.MULTI:
            emoji = _emoji(part, value[0])
            return await self._react(plan, step, emoji, step.part, value, whole=whole)
        if plan.tries > 1:  # what was put on before would have to be taken back
            return await self._matrix_reply(plan, step, value, whole=whole)
        for each in value:
            accepted, _ = await self.room.react(step.event, _emoji(part, each))
            if not accepted:
                return False
        return await self._react(plan, step, FORWARD, step.part, value, whole=whole)

    async def _react(
        self,
        plan: Plan,
        step: Step,
        emoji: str,
        question: int,
        value: tuple[str, ...],
        *,
        whole: bool,
    ) -> bool | None:
        way, at = Way.MATRIX_REACTION, time.time()
        accepted, said = await self.room.react(step.event, emoji)
        self._notes.gave(plan, question, way, value, accepted, whole, said, at=at)
        self._await_word(plan, said, way, value, accepted=accepted)
        return accepted

    async def _matrix_reply(
        self, plan: Plan, step: Step, value: tuple[str, ...], *, whole: bool
    ) -> bool | None:
        assert step.part is not None
        part = plan.riddle.parts[step.part]
        text = value[0]
        if part.options:
            text = ",".join(str(part.options.index(it) + 1) for it in value)
        way, at = Way.MATRIX_REPLY, time.time()
        accepted, said = await self.room.reply(text, to=step)
        self._notes.gave(plan, step.part, way, value, accepted, whole, said, at=at)
        self._await_word(plan, said, way, value, accepted=accepted)
        return accepted

    async def _matrix_plain(self, plan: Plan, value: tuple[str, ...]) -> bool | None:
        way, at = Way.MATRIX_TEXT, time.time()
        accepted, event = await self.room.say(value[0])
        self._notes.gave(plan, 0, way, value, accepted, False, event, at=at)
        if not accepted:
            return accepted
        words: list[Said] = []

        def told() -> bool:
            words[:] = [it for it in self.room.said() if it.to == event]
            return bool(words) or self._shows(plan, value)

        await self._notes.until(told, within=A_WORD)
        if not words:
            if not self._shows(plan, value):
                return None
            self._notes.deeds.taken_at_once += 1
            self._notes.gave(plan, 0, way, value, True, True, "the card shows it", at=at)
            return True
        offers = words[0].offers
        if plan.ask not in offers:
            self._notes.refused(plan, way, value, words[0].text)
            return False
        self._notes.deeds.asked_which += 1
        emoji = YES_NO[0] if len(offers) == 1 else _numbered(offers.index(plan.ask))
        at = time.time()
        accepted, _ = await self.room.react(words[0].event, emoji)
        self._notes.gave(plan, 0, way, value, accepted, True, "which one: this", at=at)
        return accepted

    def _shows(self, plan: Plan, value: tuple[str, ...]) -> bool:
        """Whether the card has come to an end with this answer."""
        step = self.room.steps().get(plan.ask)
        return step is not None and value[0] in step.now

    def _await_word(
        self, plan: Plan, event: str, way: Way, value: tuple[str, ...], *, accepted: bool | None
    ) -> None:
        if accepted:
            reaction = way is Way.MATRIX_REACTION
            plan.awaited.append(Given(event=event, reaction=reaction, way=way, values=value))

    def heed(self, plans: Sequence[Plan], heard: set[str]) -> None:
        """Look for what the bot has said about answers on Matrix."""
        new = [said for said in self.room.said() if said.event not in heard]
        about = self.room.asks_by_thread() if new else {}
        for said in new:
            heard.add(said.event)
            for plan in plans:
                for given in plan.awaited:
                    to_reaction = given.reaction and about.get(said.root or "") == plan.ask
                    if said.to == given.event or to_reaction:
                        self._notes.refused(plan, given.way, given.values, said.text)


def _emoji(part: Part, label: str) -> str:
    if part.kind is Kind.CONFIRM:
        return YES_NO[choices(part).index(label)]
    return NUMBERS[part.options.index(label)]


def _numbered(index: int) -> str:
    return "🔟" if index == 9 else f"{index + 1}\ufe0f\u20e3"
