"""The rules of `make chaos` about notices find what they are for, and only that."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chaos.checker import check
from tests.chaos.log import Carried, Event, Notified, Struck, Told
from tests.chaos.night import Final, SeenNotice, StoredNotice, Violation
from tests.chaos.notice_rules import EDIT, HUB_DIES, SEND, TAKES_OVER
from tests.chaos.notices import LISTED, Ending, Result, read, words

N, TEXT = words("ada", 1)
SHOWN = ("telegram:1", "matrix:!r")


def notified(at: float, *, key: str = N, agent: str = "ada") -> Notified:
    text = f"{agent} goes on with {key}"
    return Notified(at=at, agent=agent, notice=key, call=f"{agent}/{key}", text=text)


def told(
    at: float,
    status: Ending = Ending.TAKEN,
    *,
    key: str = N,
    sent: tuple[str, ...] = ("telegram", "matrix"),
    waiting: tuple[str, ...] = ("web",),
) -> Told:
    call = f"ada/{key}"
    return Told(
        at=at, agent="ada", notice=key, call=call, status=status, sent=sent, waiting=waiting
    )


def carried(
    at: float,
    channel: str = "telegram",
    *,
    key: str = N,
    method: str = SEND,
    heard: bool = True,
) -> Carried:
    return Carried(at=at, notice=key, channel=channel, method=method, heard=heard)


def seen(channel: str, where: str = "1", *, key: str = N, text: str = "") -> SeenNotice:
    return SeenNotice(
        channel=channel, notice=key, where=where, text=text or f"ℹ️ shop\nada goes on with {key}"
    )


def over(at: float, fault: str) -> Struck:
    return Struck(at=at, fault=fault, detail="over: pid 7")


CLEAN: tuple[Event, ...] = (notified(1), carried(1.1), carried(1.2, "matrix"), told(1.3))
BOTH = (seen("telegram"), seen("matrix"))
FINAL = Final(
    notices=(StoredNotice(notice=N, at=1.0, shown=SHOWN),),
    seen=BOTH,
    listed=(N,),
)
TWO_COPIES = replace(FINAL, seen=(*BOTH, seen("telegram", "2")))


def found(events: Iterable[Event] = CLEAN, final: Final = FINAL) -> list[Violation]:
    """With all that is kept in Discord, too."""
    discord = (seen("discord", key=it.notice) for it in final.notices)
    return check(events, {}, replace(final, seen=(*final.seen, *discord)))


def test_a_notice_that_comes_everywhere_once_passes() -> None:
    assert found() == []


# ── one violation for each rule ───────────────────────────────────────────────────────────────────

VIOLATIONS: dict[str, tuple[str, tuple[Event, ...], Final]] = {
    "a call that never ends": ("every call ends once", CLEAN[:-1], FINAL),
    "a call that ends twice": ("every call ends once", (*CLEAN, told(2)), FINAL),
    "an error without a full disk": (
        "no call fails",
        (notified(1), told(2, Ending.ERROR, sent=())),
        Final(),
    ),
    "a notice that Telegram does not show": (
        "no notice is lost",
        CLEAN,
        replace(FINAL, seen=(seen("matrix"),)),
    ),
    "a notice that waited for Matrix and never came": (
        "no notice is lost",
        (notified(1), carried(1.1), told(1.3, sent=("telegram",), waiting=("matrix", "web"))),
        replace(FINAL, seen=(seen("telegram"),)),
    ),
    "a notice that was kept for an agent that was killed, and is not shown": (
        "no notice is lost",
        (notified(1), told(1.3, Ending.LINK_GONE, sent=())),
        replace(FINAL, seen=()),
    ),
    "a notice that was taken and is not kept": (
        "no notice is lost",
        CLEAN,
        replace(FINAL, notices=()),
    ),
    "a result that names a chat too early": (
        "a result is true",
        (notified(1), carried(1.2, "matrix"), told(1.3), carried(9)),
        FINAL,
    ),
    "a result that names a chat which never had it": (
        "a result is true",
        (notified(1), carried(1.1), told(1.3)),
        FINAL,
    ),
    "a notice in other words": (
        "none is crossed",
        CLEAN,
        replace(FINAL, seen=(seen("telegram", text=f"bob goes on with {N}"), seen("matrix"))),
    ),
    "a notice of nobody": ("none is crossed", (), FINAL),
    "a second send after an answer": (
        "no notice comes twice",
        (*CLEAN, carried(4)),
        TWO_COPIES,
    ),
    "a second send after one that a list had": (
        "no notice comes twice",
        (notified(1), carried(1.1, method=EDIT), *CLEAN[2:], carried(4)),
        TWO_COPIES,
    ),
    "a third send, though only the first answer was lost": (
        "no notice comes twice",
        (*CLEAN[::2], carried(1.1, heard=False), told(1.3), carried(2), carried(3)),
        TWO_COPIES,
    ),
    "a second send after a hub that had died before the first": (
        "no notice comes twice",
        (Struck(at=0, fault="kill the hub"), over(0.2, "kill the hub"), *CLEAN, carried(4)),
        TWO_COPIES,
    ),
    "a second send after a take-over long after the first was noted": (
        "no notice comes twice",
        (*CLEAN, Struck(at=9, fault="cut the leader off"), carried(13)),
        TWO_COPIES,
    ),
    "a second send though only a follower was killed": (
        "no notice comes twice",
        (*CLEAN, Struck(at=1.2, fault="kill a follower"), carried(4)),
        TWO_COPIES,
    ),
    "a second message in Matrix, whatever happened": (
        "no notice comes twice",
        (
            *CLEAN,
            Struck(at=1.2, fault="kill the hub"),
            carried(1.25, "matrix", heard=False),
            carried(3, "matrix"),
        ),
        replace(FINAL, seen=(*BOTH, seen("matrix", "$2"))),
    ),
    "a second message in Discord, whatever happened": (
        "no notice comes twice",
        (
            *CLEAN,
            Struck(at=1.2, fault="kill the hub"),
            carried(1.25, "discord", heard=False),
            carried(3, "discord"),
        ),
        replace(FINAL, seen=(*BOTH, seen("discord", "2"))),
    ),
    "a message that stays beside the list that has it": (
        "no notice comes twice",
        (*CLEAN, carried(5, method=EDIT)),
        TWO_COPIES,
    ),
    "an inbox that does not list it": (
        "the inbox lists the newest notices",
        CLEAN,
        replace(FINAL, listed=()),
    ),
    "an inbox that lists it twice": (
        "the inbox lists the newest notices",
        CLEAN,
        replace(FINAL, listed=(N, N)),
    ),
}


@pytest.mark.parametrize("planted", VIOLATIONS)
def test_a_planted_violation_is_found(planted: str) -> None:
    rule, events, final = VIOLATIONS[planted]
    assert {rule} == {it.rule for it in found(events, final)}


def test_a_notice_that_discord_does_not_show_is_lost() -> None:
    (lost,) = check(CLEAN, {}, FINAL)
    assert lost.rule == "no notice is lost"
    assert lost.what.startswith("discord does not show it")


# ── what cannot be helped ─────────────────────────────────────────────────────────────────────────

HARMLESS: dict[str, tuple[tuple[Event, ...], Final]] = {
    "a notice that a chat showed later": (
        (notified(1), carried(1.2, "matrix"), told(4.2, sent=("matrix",)), carried(60)),
        FINAL,
    ),
    "a call that broke off before anything was kept": (
        (notified(1), told(1.3, Ending.LINK_GONE, sent=())),
        Final(),
    ),
    "a call that broke off after it was kept": (
        (notified(1), carried(2), carried(2, "matrix"), told(1.3, Ending.LINK_GONE, sent=())),
        FINAL,
    ),
    "an error while the disk is full": (
        (notified(1), Struck(at=0, fault="fill the disk"), told(2, Ending.ERROR, sent=())),
        Final(),
    ),
    "a second copy in Telegram after a lost answer": (
        (*CLEAN[::2], carried(1.1, heard=False), told(1.3), carried(3)),
        TWO_COPIES,
    ),
    "a second copy in Telegram after a frozen hub": (
        (Struck(at=1, fault="freeze the hub"), *CLEAN, over(5, "freeze the hub"), carried(6)),
        TWO_COPIES,
    ),
    "a list whose messages a killed hub did not remove": (
        (*CLEAN, carried(5, method=EDIT), Struck(at=5.1, fault="restart everything")),
        TWO_COPIES,
    ),
    "a list that grows": (
        (*CLEAN, carried(5, method=EDIT), carried(6, method=EDIT), carried(7, method=EDIT)),
        FINAL,
    ),
}
for _fault in (*HUB_DIES, *TAKES_OVER):
    HARMLESS[f"a second copy in Telegram: {_fault}"] = (
        (*CLEAN, Struck(at=1.15, fault=_fault), over(1.2, _fault), carried(8)),
        TWO_COPIES,
    )


@pytest.mark.parametrize("harmless", HARMLESS)
def test_what_cannot_be_helped_is_no_violation(harmless: str) -> None:
    assert found(*HARMLESS[harmless]) == []


@given(planted=st.sampled_from(sorted(VIOLATIONS)), random=st.randoms())
def test_the_order_in_which_it_is_noted_hides_no_violation(planted: str, random: Random) -> None:
    rule, events, final = VIOLATIONS[planted]
    noted = [*events]
    random.shuffle(noted)
    assert {rule} == {it.rule for it in found(noted, final)}


def test_the_inbox_need_not_list_what_is_old() -> None:
    keys = [words("ada", number)[0] for number in range(1, LISTED + 2)]
    events = [
        event
        for key in keys
        for event in (
            notified(1, key=key),
            carried(1.1, key=key),
            carried(1.1, "matrix", key=key),
            told(2, key=key),
        )
    ]
    final = Final(
        notices=tuple(StoredNotice(notice=key, at=at, shown=SHOWN) for at, key in enumerate(keys)),
        seen=tuple(seen(channel, key=key) for key in keys for channel in ("telegram", "matrix")),
        listed=tuple(keys[1:]),
    )
    assert found(events, final) == []
    (missing,) = found(events, replace(final, listed=tuple(keys[2:])))
    assert missing.about == keys[1]


def test_a_violation_has_what_happened_to_its_notice_and_the_faults_of_that_time() -> None:
    struck = (Struck(at=0.5, fault="kill a link"), Struck(at=100, fault="kill a link"))
    (lost,) = found((*CLEAN, *struck), replace(FINAL, seen=(seen("matrix"),)))
    assert lost.about == N
    assert [line.split()[1] for line in lost.around] == [
        "Struck",
        "Notified",
        "Carried",
        "Carried",
        "Told",
    ]


# ── what a result says ────────────────────────────────────────────────────────────────────────────


def test_a_result_of_notify_user_is_read() -> None:
    text = '{"sent": ["telegram"], "waiting": ["matrix", "web"]}'
    response = {"result": {"content": [{"type": "text", "text": text}]}}
    assert read(response) == Result(
        status=Ending.TAKEN, sent=("telegram",), waiting=("matrix", "web"), text=text
    )
    refused = {"result": {"isError": True, "content": [{"type": "text", "text": "too many"}]}}
    assert read(refused) == Result(status=Ending.ERROR, text="too many")
    assert read({"error": {"code": -32603}}).status is Ending.ERROR
