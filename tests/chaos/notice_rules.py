"""What has to be true of notices: every one that was taken is shown everywhere, and none twice.

Telegram has no idempotent send: who does not hear that it took a message has to send it again. So
a second copy is allowed there, and nowhere else, where the answer to the first went astray, or the
hub was killed before it could note it. The relay between the two knows the one, the faults' log the
other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tests.chaos.log import Carried
from tests.chaos.night import Night, SeenNotice, Violation
from tests.chaos.notices import CHATS, LISTED, Ending

WITHOUT_IDEMPOTENT_SEND = "telegram"
SEND, EDIT = "sendMessage", "editMessageText"
HUB_DIES = (
    "kill the hub",
    "kill the hub twice",
    "kill the hub as it starts",
    "kill the hub as discord brings something",
    "stop the hub",
    "restart everything",
)
TAKES_OVER = (
    "freeze the leader",
    "cut the leader off",
    "kill all hubs",
    "kill postgresql",
    "restart postgresql",
)
"""Of several hubs another one leads, which does not know what could not be noted."""
NOTED_WITHIN = 5.0
"""Seconds from a request until its answer, which may be late, counts as noted."""
HUB_IS_DEAF = ("freeze the hub",)
"""An answer comes, and counts as too late when the hub goes on."""
TIDIED_WITHIN = 20.0
"""How long a hub takes to remove the messages whose notices are in a list now."""
A_MOMENT = 0.5
"""Between what happens and what is noted of it."""


def every_notice_is_told(night: Night) -> Iterator[Violation]:
    for notice, calls in night.notified.items():
        ends = Counter(it.call for it in night.told[notice])
        for call in calls:
            if ends[call.call] != 1:
                what = f"call {call.call} of {call.agent} ended {ends[call.call]} times"
                yield night.violation("every call ends once", notice, what, call.at)


def no_notice_fails(night: Night) -> Iterator[Violation]:
    for notice, ends in night.told.items():
        for told in ends:
            if told.status == Ending.ERROR and not night.disk_was_full(told.at):
                what = f"{told.agent} was told: {told.text}"
                yield night.violation("no call fails", notice, what, told.at)


def no_notice_is_lost(night: Night) -> Iterator[Violation]:
    """What an agent was told is taken is kept; and what is kept is on every chat at the end."""
    kept = {it.notice for it in night.final.notices}
    taken = {key: it for key, ends in night.told.items() for it in ends if _taken(it.status)}
    seen = _by_chat(night.final.seen)
    for notice in sorted(kept | taken.keys()):
        told = taken.get(notice)
        said = f"the agent was told {told.text}" if told else "its agent was told nothing"
        at = told.at if told else None
        if notice not in kept:
            yield night.violation("no notice is lost", notice, f"it is not kept; {said}", at)
        for chat in CHATS:
            if not seen[chat, notice]:
                what = f"{chat} does not show it; {said}"
                yield night.violation("no notice is lost", notice, what, at)


def _taken(status: str) -> bool:
    return status == Ending.TAKEN


def what_was_sent_was_sent(night: Night) -> Iterator[Violation]:
    """A chat that the result names has had the notice by then."""
    for notice, ends in night.told.items():
        for told in ends:
            for chat in {*told.sent} & {*CHATS}:
                at = [it.at for it in night.carried[notice] if it.channel == chat]
                if min(at, default=told.at + 1.0) > told.at + A_MOMENT:
                    what = f"{told.agent} was told that {chat} has it, before it had"
                    yield night.violation("a result is true", notice, what, told.at)


def no_notice_is_crossed(night: Night) -> Iterator[Violation]:
    """Nothing is shown that nobody said, and nothing in other words."""
    for seen in night.final.seen:
        said = {it.text for it in night.notified[seen.notice]}
        if not any(text in seen.text for text in said):
            what = f"{seen.channel} {seen.where} shows {seen.text!r}, which nobody said"
            yield night.violation("none is crossed", seen.notice, what)


def no_notice_is_sent_twice(night: Night) -> Iterator[Violation]:
    for notice, carried in night.carried.items():
        at_chat = [it for it in carried if it.channel == WITHOUT_IDEMPOTENT_SEND]
        for before, again in pairwise(at_chat):
            if again.method == SEND and not _excused(night, before, until=again.at):
                what = f"{again.channel} was sent it again, though it had answered"
                yield night.violation("no notice comes twice", notice, what, again.at)


def no_notice_is_shown_twice(night: Night) -> Iterator[Violation]:
    """A second send is the other rule's business; here it is what should have gone, or should have
    been the same message."""
    for (chat, notice), copies in _by_chat(night.final.seen).items():
        if len(copies) < 2 or (chat == WITHOUT_IDEMPOTENT_SEND and _may_stay(night, notice)):
            continue
        places = ", ".join(it.where for it in copies)
        what = f"{chat} shows it {len(copies)} times: {places}"
        yield night.violation("no notice comes twice", notice, what)


def _may_stay(night: Night, notice: str) -> bool:
    """It was sent twice, or the hub ended before it had removed what is in a list now."""
    at_chat = [it for it in night.carried[notice] if it.channel == WITHOUT_IDEMPOTENT_SEND]
    edits = [it for it in at_chat if it.method == EDIT]
    return sum(it.method == SEND for it in at_chat) > 1 or any(
        _excused(night, edit, until=edit.at + TIDIED_WITHIN) for edit in edits
    )


def _excused(night: Night, carried: Carried, *, until: float) -> bool:
    """Whether the hub may not know that this one arrived."""
    since = carried.at - A_MOMENT
    return (
        not carried.heard
        or night.was_struck(HUB_DIES, since, until)
        or night.was_struck(HUB_IS_DEAF, since, carried.at + A_MOMENT)
        or night.was_struck(TAKES_OVER, since, carried.at + NOTED_WITHIN)
    )


def the_inbox_lists_the_newest(night: Night) -> Iterator[Violation]:
    newest = sorted(night.final.notices, key=lambda it: it.at, reverse=True)[:LISTED]
    for notice in newest:
        if (count := night.final.listed.count(notice.notice)) != 1:
            what = f"the web inbox lists it {count} times"
            yield night.violation("the inbox lists the newest notices", notice.notice, what)


def _by_chat(seen: Sequence[SeenNotice]) -> dict[tuple[str, str], list[SeenNotice]]:
    found: dict[tuple[str, str], list[SeenNotice]] = defaultdict(list)
    for each in seen:
        found[each.channel, each.notice].append(each)
    return found


NOTICE_RULES = (
    every_notice_is_told,
    no_notice_fails,
    no_notice_is_lost,
    what_was_sent_was_sent,
    no_notice_is_crossed,
    no_notice_is_sent_twice,
    no_notice_is_shown_twice,
    the_inbox_lists_the_newest,
)
