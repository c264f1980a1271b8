"""Compares what the person gave with what came back to the agents, and looks at what is left.

Pure: it works from the log and the final state alone, so that it can be shown to find what it is
for. The order of the log does not matter to it, only the times in it. What is true of notices is in
`notice_rules`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from tests.chaos.log import Event, Gave, Way
from tests.chaos.message_rules import MESSAGE_RULES
from tests.chaos.night import ANOTHER_FIRST, Final, Night, StoredAsk, Violation
from tests.chaos.notice_rules import NOTICE_RULES, WITHOUT_IDEMPOTENT_SEND
from tests.chaos.riddles import Kind, Riddle, Status, Values

TAKE_OVER_SECONDS, ANYHOW_SECONDS = 5.0, 20.0
"""Until another hub leads: where nothing else is in the way, and where other faults are."""
MIXED_SECONDS = 15.0
"""So long a hub may be away, and then hear at once of what was done in two chats."""
UNDER_WAY = 2.0
"""A call that began so shortly after an answer may have been on its way before it."""


def check(events: Iterable[Event], riddles: Mapping[str, Riddle], final: Final) -> list[Violation]:
    night = Night(events, riddles, final)
    return [found for rule in RULES for found in rule(night)]


# ── the agents' side ──────────────────────────────────────────────────────────────────────────────


def every_call_ends(night: Night) -> Iterator[Violation]:
    for riddle, calls in night.asked.items():
        ends = Counter(it.call for it in night.back[riddle])
        for call in calls:
            if ends[call.call] != 1:
                what = f"call {call.call} of {call.agent} ended {ends[call.call]} times"
                yield night.violation("every call ends once", riddle, what, call.at)


def every_riddle_ends(night: Night) -> Iterator[Violation]:
    """Whoever asked has been told; if the person had answered, it is the answer that is lost."""
    over = (Status.ANSWERED, Status.TIMED_OUT, Status.CANCELLED)
    for riddle, calls in night.asked.items():
        told = {it.agent for it in night.back[riddle] if it.status in over}
        for agent in sorted({call.agent for call in calls} - told):
            last = max(call.at for call in calls if call.agent == agent)
            given = night.standing(riddle)
            if len(given) > len({it.agent for it in night.answers(riddle)}):
                what = f"{agent} never got an answer; given was {given[0].values} by {given[0].way}"
                yield night.violation("none is lost", riddle, what, given[0].at)
            else:
                what = f"{agent} was never told how it ended"
                yield night.violation("every riddle ends", riddle, what, last)


def none_twice(night: Night) -> Iterator[Violation]:
    for riddle in night.asked:
        answers = night.answers(riddle)
        for agent, count in Counter(it.agent for it in answers).items():
            if count > 1:
                what = f"{agent} was answered {count} times"
                yield night.violation("none comes twice", riddle, what, answers[-1].at)
        texts = Counter(it.values for it in answers if _is_text(night.riddles[riddle]))
        for values, count in texts.items():
            if count > 1 and len({it.agent for it in answers if it.values == values}) > 1:
                what = f"{values} came back to two agents that both waited"
                yield night.violation("none comes twice", riddle, what, answers[-1].at)


def _is_text(riddle: Riddle) -> bool:
    """Every text is unlike every other; an option may be chosen by chance for both."""
    return riddle.parts[0].kind is Kind.TEXT


def none_crossed(night: Night) -> Iterator[Violation]:
    for riddle in night.asked:
        for back in night.answers(riddle):
            if len(back.values) != len(night.riddles[riddle].parts):
                what = f"{back.agent} got {back.values}: not one answer for each question"
                yield night.violation("none is crossed", riddle, what, back.at)
                continue
            parts = zip(night.riddles[riddle].parts, back.values, strict=True)
            for question, (part, values) in enumerate(parts):
                given = [
                    it
                    for it in night.gave[riddle]
                    if it.question == question and it.accepted is not False and it.at <= back.at
                ]
                mixed = part.kind is Kind.MULTI and _was_mixed(given, values)
                if not mixed and all(sorted(it.values) != sorted(values) for it in given):
                    what = (
                        f"{back.agent} got {values} for question {question + 1}: nobody gave that"
                    )
                    yield night.violation("none is crossed", riddle, what, back.at)


def _was_mixed(given: Sequence[Gave], values: tuple[str, ...]) -> bool:
    """Whether each check mark is as the person left it in one of two chats, which brought theirs at
    the same time: taps on check marks, and the end of a list, are events of their own."""
    return bool(values) and any(
        one.way is not other.way
        and abs(one.at - other.at) <= MIXED_SECONDS
        and {*one.values} & {*other.values} <= {*values} <= {*one.values} | {*other.values}
        for one, other in combinations(given, 2)
    )


def files_come_along(night: Night) -> Iterator[Violation]:
    """What was sent as a file comes with a file that says the same, and nothing else does."""
    for riddle in night.asked:
        sent = {it.values for it in night.gave[riddle] if it.way is Way.TELEGRAM_FILE}
        for back in night.answers(riddle):
            wanted = [text for values in back.values if values in sent for text in values]
            if list(back.files) != wanted:
                what = f"{back.agent} got the files {list(back.files)}, and not {wanted}"
                yield night.violation("files come along", riddle, what, back.at)


def silence_is_no_answer(night: Night) -> Iterator[Violation]:
    for riddle in night.asked:
        mortal = night.riddles[riddle].mortal
        for back in night.back[riddle]:
            if back.status == Status.TIMED_OUT and not mortal:
                what = f"{back.agent} was told of a time-out, a day too early"
                yield night.violation("time-outs where they are due", riddle, what, back.at)
            elif back.status == Status.CANCELLED:
                what = f"{back.agent} was told that it was cancelled, and nobody did"
                yield night.violation("nobody cancelled", riddle, what, back.at)


def no_call_fails(night: Night) -> Iterator[Violation]:
    """A hub's restart is invisible. Only a full disk is told."""
    for riddle in night.asked:
        for back in night.back[riddle]:
            if back.status == Status.ERROR and not night.disk_was_full(back.at):
                what = f"{back.agent} was told: {back.text}"
                yield night.violation("no call fails", riddle, what, back.at)


def no_false_refusal(night: Night) -> Iterator[Violation]:
    """Nobody is told of a text that another was first, when it is the answer itself."""
    said = {
        (no.way, no.values[0])
        for refused in night.refused.values()
        for no in refused
        if no.values and no.text.startswith(ANOTHER_FIRST)
    }
    texts = {
        ask.values[0][0]: ask.riddle
        for ask in night.final.asks
        if ask.values and ask.riddle in night.riddles and _is_text(night.riddles[ask.riddle])
    }
    for where, text in sorted(said | {*night.final.second}):
        if text in texts:
            what = f"{where}: of {text!r} the person was told that another was first; it counts"
            yield night.violation("a refusal is true", texts[text], what)


# ── the hub's side ────────────────────────────────────────────────────────────────────────────────


def delivered_is_delivered(night: Night) -> Iterator[Violation]:
    """What the card says of the agent ("has it") is true."""
    for ask in night.final.asks:
        came = {it.values for it in night.answers(ask.riddle)}
        if ask.delivered and ask.values and not _same(ask.values, came):
            given = [it.at for it in night.gave[ask.riddle]]
            what = f"ask {ask.id}: {ask.values} counts as delivered, and no agent has it"
            yield night.violation("none is lost", ask.riddle, what, max(given, default=None))


def kept_is_handed_over(night: Night) -> Iterator[Violation]:
    """A kept answer goes to whoever asks in the same words again."""
    for ask in night.final.asks:
        came = {it.values for it in night.answers(ask.riddle)}
        if not ask.kept or not ask.values or _same(ask.values, came):
            continue
        last = [set(each) for each in ask.values]
        given = [it.at for it in night.gave[ask.riddle] if it.whole and set(it.values) in last]
        if not given:
            continue
        again = [it for it in night.asked[ask.riddle] if it.at > max(given) + UNDER_WAY]
        if again:
            what = f"ask {ask.id}: {ask.values} is kept, and {again[0].call} did not get it"
            yield night.violation("none is lost", ask.riddle, what, again[0].at)


def nobody_is_asked_twice(night: Night) -> Iterator[Violation]:
    """Who asks again in the same words goes on with the same ask, unless that has timed out."""
    asks = Counter(ask.riddle for ask in night.final.asks)
    for riddle, count in asks.items():
        agents = len({call.agent for call in night.asked[riddle]})
        if riddle in night.riddles and not night.riddles[riddle].mortal and count > agents:
            what = f"{count} asks for {agents} agent" + "s" * (agents != 1)
            yield night.violation("nobody is asked twice", riddle, what)


def _same(values: Values, came: set[Values]) -> bool:
    wanted = [sorted(each) for each in values]
    return any([sorted(each) for each in one] == wanted for one in came)


def all_asks_ended(night: Night) -> Iterator[Violation]:
    for ask in night.final.asks:
        if ask.status == "open":
            what = f"ask {ask.id} is still open in the store"
            yield night.violation("every ask ends", ask.riddle, what)
        behind = {name: seen for name, seen in ask.shown.items() if seen != ask.revision}
        if behind:
            what = f"ask {ask.id} is at revision {ask.revision}; shown is {behind}"
            yield night.violation("every card is final", ask.riddle, what)
    for riddle in night.final.inbox:
        yield night.violation("every ask ends", riddle, "the web inbox still lists it")


def all_cards_final(night: Night) -> Iterator[Violation]:
    ended: dict[str, list[StoredAsk]] = defaultdict(list)
    for ask in night.final.asks:
        ended[ask.riddle].append(ask)
    for card in night.final.cards:
        if card.live:
            what = f"{card.channel} {card.where} still offers {card.live}: {card.text!r}"
            yield night.violation("every card is final", card.riddle, what)
            continue
        answered = [ask.values for ask in ended[card.riddle] if ask.values]
        if len(answered) < len(ended[card.riddle]):
            continue
        if not any(_shows(card.text, values) for values in answered):
            what = f"{card.channel} {card.where} does not show {answered}: {card.text!r}"
            yield night.violation("the first answer counts", card.riddle, what)


def no_card_twice(night: Night) -> Iterator[Violation]:
    """Where what is sent again is the same message, each ask has one card at the end."""
    asks = Counter(ask.riddle for ask in night.final.asks)
    cards = Counter((card.channel, card.riddle) for card in night.final.cards)
    for (channel, riddle), count in cards.items():
        if channel != WITHOUT_IDEMPOTENT_SEND and count > asks[riddle]:
            what = f"{channel} has {count} cards for {asks[riddle]} asks"
            yield night.violation("no card comes twice", riddle, what)


def _shows(text: str, values: Values) -> bool:
    return all(value in text.casefold() for each in values for value in each)


def no_summary_twice(night: Night) -> Iterator[Violation]:
    for (chat, heading), count in Counter(night.final.summaries).items():
        if count > 1:
            what = f"{chat} has {count} of them: {heading}"
            yield Violation(rule="one summary for a night", about="", what=what)


def another_hub_leads_soon(night: Night) -> Iterator[Violation]:
    for took in night.took_over:
        if took.seconds > (TAKE_OVER_SECONDS if took.due else ANYHOW_SECONDS):
            what = f"{took.seconds} s after: {took.fault}"
            yield night.violation("another hub leads soon", "", what, took.at)


def nothing_is_left(night: Night) -> Iterator[Violation]:
    for process in night.final.leftovers:
        yield Violation(rule="nothing is left running", about="", what=process)
    for leak in night.final.leaks:
        yield Violation(rule="no secret in any output", about="", what=leak)
    if night.final.strange_lines:
        what = f"{night.final.strange_lines} lines of links' standard output are no MCP"
        yield Violation(rule="standard output carries MCP alone", about="", what=what)
    for trouble in night.final.troubles:
        yield Violation(rule="it settles", about="", what=trouble)


RULES = (
    every_call_ends,
    every_riddle_ends,
    none_twice,
    none_crossed,
    files_come_along,
    silence_is_no_answer,
    no_call_fails,
    no_false_refusal,
    delivered_is_delivered,
    kept_is_handed_over,
    nobody_is_asked_twice,
    all_asks_ended,
    all_cards_final,
    no_card_twice,
    no_summary_twice,
    another_hub_leads_soon,
    nothing_is_left,
    *NOTICE_RULES,
    *MESSAGE_RULES,
)
