"""Whatever comes and goes in whatever order, limits hold and everybody gets a turn in order."""

from __future__ import annotations

from collections import Counter

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from chatbridge.commands.operations.fair_queue import FairQueue
from chatbridge.core.operation import Operation
from tests.fakes.operating import operation

LIMIT = 2
LIMITS = {"cargo": 1, "npm": 2, "git": None}


class Queue(RuleBasedStateMachine):
    """The model: who waits, in the order of coming, and who runs."""

    def __init__(self) -> None:
        super().__init__()
        self.turns = FairQueue(LIMIT)
        self.waiting: list[Operation] = []
        self.running: dict[str, Operation] = {}

    @rule(
        link=st.sampled_from("abc"),
        group=st.sampled_from(sorted(LIMITS)),
        synchronous=st.booleans(),
    )
    def one_comes(self, link: str, group: str, synchronous: bool) -> None:
        limit = LIMITS[group]
        turn = operation(link=link, group=group, concurrency=limit, synchronous=synchronous)
        self.turns.add(turn)
        self.waiting.append(turn)

    @rule()
    def the_next_one_runs(self) -> None:
        operation_id = self.turns.next()
        if operation_id is None:
            assert not any(self.could_run(turn) for turn in self.waiting)
            return
        (turn,) = (each for each in self.waiting if each.id == operation_id)
        older = self.waiting[: self.waiting.index(turn)]
        assert not any(
            self.could_run(each)
            for each in older
            if (each.call.link, each.plan.synchronous) == (turn.call.link, turn.plan.synchronous)
            and not self.yields(each)
        )
        self.waiting.remove(turn)
        self.running[turn.id] = turn

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def one_ends(self, data: st.DataObject) -> None:
        operation_id = data.draw(st.sampled_from(sorted(self.running)))
        del self.running[operation_id]
        self.turns.done(operation_id)

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def one_leaves(self, data: st.DataObject) -> None:
        turn = data.draw(st.sampled_from(self.waiting))
        self.waiting.remove(turn)
        self.turns.done(turn.id)

    def could_run(self, turn: Operation) -> bool:
        kinds = [each.plan.synchronous for each in self.running.values()]
        alike = kinds.count(turn.plan.synchronous)
        group = sum(each.group == turn.group for each in self.running.values())
        limit = LIMITS[turn.group]
        return alike < LIMIT and (limit is None or group < limit)

    def yields(self, turn: Operation) -> bool:
        """One of the other kind and the same group came earlier, and can run."""
        return any(
            each.plan.synchronous != turn.plan.synchronous and each.group == turn.group
            for each in self.waiting[: self.waiting.index(turn)]
            if self.could_run(each)
        )

    @invariant()
    def no_limit_is_passed(self) -> None:
        kinds = Counter(turn.plan.synchronous for turn in self.running.values())
        groups = Counter(turn.group for turn in self.running.values())
        assert all(number <= LIMIT for number in kinds.values())
        for group, number in groups.items():
            assert number <= (LIMITS[group] or 2 * LIMIT)

    def teardown(self) -> None:
        """Everybody who waits gets a turn."""
        while self.waiting:
            for operation_id in list(self.running):
                self.turns.done(operation_id)
            self.running.clear()
            served = self.turns.next()
            assert served is not None
            self.waiting = [turn for turn in self.waiting if turn.id != served]
            self.turns.done(served)
        assert self.turns.next() is None


TestQueue = Queue.TestCase
