"""What came of a night: figures for people, and the same as JSON for the documentation."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from tests.chaos.log import Gave, Struck, Told, TookOver
from tests.chaos.night import Night, Violation
from tests.chaos.notices import CHATS, Ending
from tests.chaos.riddles import Status

BESIDE = " (beside others)"
SHOWN = 12
"""How many events are printed beside a violation; the file has all."""


@dataclass(slots=True, kw_only=True)
class Summary:
    seed: int
    manner: str
    store: str
    minutes: float
    agents: int
    left_out: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    answers: dict[str, int] = field(default_factory=dict)
    """Accepted answers, by way."""
    faults: dict[str, int] = field(default_factory=dict)
    longest_wait: float = 0.0
    """Seconds from an accepted answer until its agent had it."""
    usual_wait: float = 0.0
    """The same for the one in the middle."""
    take_overs: dict[str, list[float]] = field(default_factory=dict)
    """Seconds until another hub led, by fault; in order."""
    violations: list[dict[str, Any]] = field(default_factory=list)


def summary(
    night: Night,
    violations: Sequence[Violation],
    *,
    seed: int,
    manner: str,
    store: str,
    minutes: float,
    agents: int,
    left_out: dict[str, str],
    counts: dict[str, int],
) -> Summary:
    statuses = Counter(it.status for back in night.back.values() for it in back)
    waits = sorted(_waits(night))
    own = {
        "riddles": len(night.asked),
        "calls": sum(map(len, night.asked.values())),
        "answered": statuses[Status.ANSWERED],
        "timed out, as they should": statuses[Status.TIMED_OUT],
        "calls that broke off": statuses[Status.LINK_GONE],
        "answers refused in words": sum(map(len, night.refused.values())),
        "notices": len(night.notified),
        "notices that a chat showed only later": sum(map(_late, night.told.values())),
        "messages to agents that were taken": len(night.final.messages),
        "messages that an agent has": sum(map(bool, night.heard.values())),
    }
    return Summary(
        seed=seed,
        manner=manner,
        store=store,
        minutes=minutes,
        agents=agents,
        left_out=left_out,
        counts=own | counts,
        answers=_ways(night),
        faults=_faults(night.struck),
        longest_wait=round(waits[-1], 1) if waits else 0.0,
        usual_wait=round(waits[len(waits) // 2], 1) if waits else 0.0,
        take_overs=_take_overs(night.took_over),
        violations=[asdict(it) for it in violations],
    )


def _waits(night: Night) -> Iterable[float]:
    for riddle in night.asked:
        answers, given = night.answers(riddle), night.standing(riddle)
        if answers and given:
            yield max(0.0, answers[0].at - given[0].at)


def _late(told: Sequence[Told]) -> bool:
    return any(it.status == Ending.TAKEN and not {*CHATS} <= {*it.sent} for it in told)


def _ways(night: Night) -> dict[str, int]:
    def counts(it: Gave) -> bool:
        return bool(it.accepted and it.whole)

    given = (it for gave in night.gave.values() for it in gave if counts(it))
    return dict(sorted(Counter(it.way.value for it in given).items()))


def _faults(struck: Iterable[Struck]) -> dict[str, int]:
    return dict(sorted(Counter(it.fault for it in struck if not it.detail).items()))


def _take_overs(took: Iterable[TookOver]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for each in took:
        named = each.fault if each.due else f"{each.fault}{BESIDE}"
        found.setdefault(named, []).append(each.seconds)
    return {fault: sorted(seconds) for fault, seconds in sorted(found.items())}


def write(found: Summary, file: Path) -> None:
    file.write_text(json.dumps(asdict(found), indent=1, ensure_ascii=False) + "\n")


def lines(found: Summary, folder: Path) -> Iterable[str]:
    yield (
        f"a {found.manner} night, {found.minutes:g} minutes, {found.agents} agents, "
        f"seed {found.seed}"
    )
    yield ""
    yield from _table(found.counts)
    yield from _headed("answers that a service accepted", found.answers)
    yield from _headed("faults", found.faults)
    for fault, why in found.left_out.items():
        yield f"  left out: {fault}: {why}"
    yield ""
    yield from _distributions(found.take_overs)
    yield (
        f"from an accepted answer to the agent: usually {found.usual_wait} s, "
        f"at most {found.longest_wait} s"
    )
    yield ""
    if not found.violations:
        yield "none lost, none twice, none crossed, every card final, nothing left, no secret told"
        return
    for each in found.violations:
        yield f"✗ {each['rule']}: {each['about']} {each['what']}"
        around = each["around"]
        yield from (f"    {line}" for line in around[:SHOWN])
        if len(around) > SHOWN:
            yield f"    … {len(around) - SHOWN} more in {folder / 'summary.json'}"
    yield ""
    yield f"{len(found.violations)} violations. Logs: {folder}"
    yield (
        f"Again: CHAOS_SEED={found.seed} CHAOS_MINUTES={found.minutes:g} "
        f"CHAOS_MANNER={found.manner} CHAOS_AGENTS={found.agents} CHAOS_STORE={found.store} "
        "make chaos"
    )


def _distributions(take_overs: dict[str, list[float]]) -> Iterable[str]:
    if not take_overs:
        return
    due = sorted(s for fault, took in take_overs.items() if BESIDE not in fault for s in took)
    shown = {**take_overs, **({"all that have a limit": due} if due else {})}
    width = max(map(len, shown))
    yield f"{'seconds until another hub led':{width + 2}}  times  median     p95  longest"
    for fault, took in shown.items():
        p95 = took[min(len(took) - 1, int(0.95 * len(took)))]
        figures = f"{len(took):7} {median(took):7.2f} {p95:7.2f} {took[-1]:8.2f}"
        yield f"  {fault:{width}}{figures}"
    yield ""


def _headed(heading: str, counts: dict[str, int]) -> Iterable[str]:
    yield ""
    yield heading
    yield from _table(counts)


def _table(counts: dict[str, int]) -> Iterable[str]:
    yield from (f"  {count:6}  {name}" for name, count in counts.items())
