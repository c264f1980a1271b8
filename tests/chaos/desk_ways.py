"""How the person answers at the computer: in the web inbox, and on the terminal."""

from __future__ import annotations

import time

from tests.chaos.log import Way
from tests.chaos.person_plan import Notebook, Plan
from tests.chaos.person_web import Desk


class DeskWays:
    def __init__(self, desk: Desk, notes: Notebook) -> None:
        self.desk = desk
        self._notes = notes

    async def web(self, plan: Plan) -> bool | None:
        ask = self.desk.asks.get(plan.ask)
        if ask is None:
            return False
        values = [self._notes.value(plan.riddle, i) for i in range(len(plan.riddle.parts))]
        at = time.time()
        accepted, said = await self.desk.answer(ask, values)
        for question, value in enumerate(values):
            whole = question == len(values) - 1
            self._notes.gave(plan, question, Way.WEB, value, accepted, whole, said, at=at)
        return accepted

    async def terminal(self, plan: Plan) -> bool | None:
        value, at = self._notes.value(plan.riddle, 0), time.time()
        accepted, said = await self.desk.type_answer(plan.ask, value)
        self._notes.gave(plan, 0, Way.TERMINAL, value, accepted, True, said, at=at)
        return accepted
