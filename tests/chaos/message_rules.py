"""What has to be true of messages to agents: each one that was taken is stored once, and reaches an
agent of its project once, or waits.

Who dies between reading a result and saying so has it, and nobody can know: so a message may come
again where the link was killed or frozen after it had the first one, where the disk was full, or
where a hub died and the link did not find the next one in time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from tests.chaos.log import Heard
from tests.chaos.night import Night, Violation
from tests.chaos.notice_rules import A_MOMENT, HUB_DIES, TAKES_OVER

WAITING, DELIVERED = ("waiting", "handed_over"), "delivered"
PASSED_ON = (
    *(*HUB_DIES, *TAKES_OVER),
    *("kill a follower", "stop a follower", "freeze a follower"),
)
"""The way of an agent's words to where they are noted ends, or stands still."""
LINK_FAULTS = ("kill a link", "freeze a link", "restart everything", "fill the disk")
CONFIRMED_WITHIN = 5.0
"""How long before a fault a result may have come that was not confirmed then: the hub may have been
frozen, or gone."""


def no_message_is_lost(night: Night) -> Iterator[Violation]:
    stored = {it.key: it for it in night.final.messages}
    for key, wrote in night.wrote.items():
        if wrote.taken and key not in stored:
            what = f"it was taken ({wrote.way}), and is not kept"
            yield night.violation("no message is lost", key, what, wrote.at)
    for key, message in stored.items():
        if message.state == DELIVERED and not night.heard[key]:
            at = night.wrote[key].at if key in night.wrote else None
            what = "it counts as delivered, and no agent has it"
            yield night.violation("no message is lost", key, what, at)


def no_message_comes_twice(night: Night) -> Iterator[Violation]:
    for key, count in Counter(it.key for it in night.final.messages).items():
        if count > 1:
            yield night.violation("no message comes twice", key, f"it is kept {count} times")
    for key, heard in night.heard.items():
        for before, again in pairwise(heard):
            if not _excused(night, before, again.at, again):
                what = f"{again.agent} got it after {before.agent} had it"
                yield night.violation("no message comes twice", key, what, again.at)


def no_message_is_crossed(night: Night) -> Iterator[Violation]:
    projects = {it.key: it.project for it in night.final.messages}
    for key, heard in night.heard.items():
        wrote = night.wrote.get(key)
        for each in heard:
            if wrote is None or not each.text.endswith(wrote.text):
                what = f"{each.agent} got {each.text!r}, which nobody wrote"
                yield night.violation("none is crossed", key, what, each.at)
            elif each.project != projects.get(key, each.project):
                what = f"{each.agent} of {each.project} got what was for {projects[key]}"
                yield night.violation("none is crossed", key, what, each.at)


def what_waits_has_not_come(night: Night) -> Iterator[Violation]:
    end = night.events[-1].at if night.events else 0.0
    for message in night.final.messages:
        heard = night.heard[message.key]
        if message.state == DELIVERED or not heard:
            continue
        if message.state not in WAITING or not _excused(night, heard[-1], end):
            what = f"it is {message.state}, but {heard[-1].agent} has it"
            yield night.violation("a message's state is true", message.key, what, heard[-1].at)


def chats_say_what_became_of_it(night: Night) -> Iterator[Violation]:
    for message in night.final.messages:
        if message.behind:
            what = f"the chat does not say that it is {message.state}"
            yield night.violation("chats say what became of it", message.key, what)


def _excused(night: Night, first: Heard, until: float, again: Heard | None = None) -> bool:
    since = first.at - A_MOMENT
    late = night.was_struck(LINK_FAULTS, since, min(until, first.at + CONFIRMED_WITHIN))
    elsewhere = again is not None and again.link != first.link
    return first.late or late or (elsewhere and night.was_struck(PASSED_ON, since, until))


MESSAGE_RULES = (
    no_message_is_lost,
    no_message_comes_twice,
    no_message_is_crossed,
    what_waits_has_not_come,
    chats_say_what_became_of_it,
)
