"""Files and voice messages that people send in a chat: what they answer, and what is never fetched.

Over the kit alone. That each service hands its files over is shown in `tests/contract`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from chatbridge.channels.chat.capabilities import Files
from chatbridge.channels.chat.inbound import ChatInput, Origin, TextResult
from chatbridge.channels.chat.notices import NOTHING_WAITS, ONLY_TEXT
from chatbridge.channels.chat.poll_loop import FIRST_PAUSE
from chatbridge.channels.chat.received_files import (
    FETCH_SECONDS,
    NOT_ALL_FETCHED,
    NOT_FETCHED,
    SENT_AS_RECORDING,
    FileIntake,
    IncomingFile,
)
from chatbridge.core.errors import AttachmentError, RetryLater
from chatbridge.core.forms import form
from chatbridge.core.forms.approval_form import TAP_IT
from chatbridge.core.model import Answer, Ask, Person, Question, Status, View
from chatbridge.core.policy import Policy
from tests.fakes.disk import failing
from tests.fakes.inbox import COMMAND, CONFIRM, MULTI, SELECT, TEXT
from tests.fakes.memory_chat import TOO_LARGE, Deed, MemoryDesk, Sendable, running_memory
from tests.fakes.sample_store import SampleStore

WEB = Person(name="Ada", channel="web")


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[MemoryDesk]:
    """Ada's own."""
    async with running_memory(tmp_path) as found:
        yield found


@pytest.fixture
async def group(tmp_path: Path) -> AsyncIterator[MemoryDesk]:
    async with running_memory(tmp_path, private=False) as found:
        yield found


async def now(chat: MemoryDesk, ask: Ask) -> Ask:
    return await chat.desk.inbox.ask(ask.id)


async def answer(chat: MemoryDesk, ask: Ask, at: int = 0) -> Answer:
    ended = await now(chat, ask)
    assert ended.status is Status.ANSWERED, ended.draft
    assert ended.outcome is not None
    return ended.outcome.answers[at]


def content(chat: MemoryDesk, given: Answer) -> list[bytes]:
    paths = [chat.desk.files.path(each) for each in given.attachments]
    return [Path(path).read_bytes() for path in paths if path is not None]


# ── as a reply to the card ────────────────────────────────────────────────────────────────────────


async def test_a_photo_as_a_reply_answers_and_is_marked_as_taken(chat: MemoryDesk) -> None:
    ask, photo = await chat.desk.ask(TEXT), Sendable()
    sent = await chat.send(photo, to=ask)
    given = await answer(chat, ask)
    assert given.values == ("photo.jpg",)
    assert content(chat, given) == [photo.content]
    assert (given.attachments[0].ask_id, photo.fetches) == (ask.id, 1)
    assert (chat.taken, chat.said) == ([sent.id], [])


async def test_the_caption_is_the_answer_and_all_files_of_the_message_go_with_it(
    chat: MemoryDesk,
) -> None:
    ask, files = await chat.desk.ask(TEXT), [Sendable(b"one"), Sendable(b"two", name=None)]
    await chat.send(*files, to=ask, text="both of them")
    given = await answer(chat, ask)
    assert given.values == ("both of them",)
    assert content(chat, given) == [b"one", b"two"]


@pytest.mark.parametrize(("question", "label"), [(SELECT, "SQLite"), (CONFIRM, "no")])
async def test_a_photo_beside_options_is_the_remark_of_the_next_tap(
    chat: MemoryDesk, question: Question, label: str
) -> None:
    ask, photo = await chat.desk.ask(question), Sendable()
    await chat.send(photo, to=ask)
    assert (await now(chat, ask)).open
    await chat.tap(ask, form.Choose(step=0, option=1))
    given = await answer(chat, ask)
    assert given.values == (label,)
    assert content(chat, given) == [photo.content]


@pytest.mark.parametrize(
    ("question", "caption", "expected"),
    [
        (SELECT, "sqlite", Answer(values=("SQLite",))),
        (SELECT, "2", Answer(values=("SQLite",))),
        (SELECT, "MySQL, as here", Answer(custom_text="MySQL, as here")),
        (CONFIRM, "yes", Answer(values=("yes",))),
        (CONFIRM, "no, see here", Answer(values=("no",), custom_text="see here")),
    ],
)
async def test_a_caption_can_name_the_option_that_the_photo_is_the_remark_of(
    chat: MemoryDesk, question: Question, caption: str, expected: Answer
) -> None:
    ask, photo = await chat.desk.ask(question), Sendable()
    await chat.send(photo, to=ask, text=caption)
    given = await answer(chat, ask)
    assert replace(given, attachments=()) == expected
    assert content(chat, given) == [photo.content]


async def test_a_caption_that_is_neither_yes_nor_no_waits_with_the_photo_for_the_tap(
    chat: MemoryDesk,
) -> None:
    ask = await chat.desk.ask(CONFIRM)
    await chat.send(Sendable(), to=ask, text="only these")
    await chat.tap(ask, form.Choose(step=0, option=0))
    given = await answer(chat, ask)
    assert (given.values, given.custom_text) == (("yes",), "only these")
    assert len(given.attachments) == 1


async def test_files_gather_beside_the_boxes_until_done(chat: MemoryDesk) -> None:
    ask = await chat.desk.ask(MULTI)
    await chat.send(Sendable(b"one"), to=ask, text="1, 3")
    await chat.send(Sendable(b"two"), to=ask)
    await chat.tap(ask, form.Done(step=0))
    given = await answer(chat, ask)
    assert given.values == ("Unit tests", "Load test")
    assert content(chat, given) == [b"one", b"two"]


async def test_each_question_of_a_form_has_its_own_files(chat: MemoryDesk) -> None:
    ask = await chat.desk.ask(TEXT, replace(TEXT, id="second"))
    await chat.send(Sendable(b"first"), to=ask)
    await chat.send(Sendable(b"second"), to=ask)
    await chat.tap(await now(chat, ask), form.Submit(step=2))
    assert content(chat, await answer(chat, ask, 0)) == [b"first"]
    assert content(chat, await answer(chat, ask, 1)) == [b"second"]


async def test_a_photo_in_the_other_step_answers(chat: MemoryDesk) -> None:
    ask = await chat.desk.ask(SELECT)
    await chat.tap(ask, form.Other(step=0))
    await chat.send(Sendable(), to=ask)
    assert (await answer(chat, ask)).custom_text == "photo.jpg"


async def test_a_photo_after_the_time_is_up_is_a_late_answer(chat: MemoryDesk) -> None:
    ask = await chat.desk.ask(TEXT)
    await chat.card(ask)
    await chat.desk.time_out(ask)
    await chat.send(Sendable(), to=ask)
    late = (await now(chat, ask)).late
    assert late is not None
    assert content(chat, late.answers[0]) == [Sendable().content]


# ── beside the cards ──────────────────────────────────────────────────────────────────────────────


async def test_a_photo_beside_the_card_answers_the_only_question(chat: MemoryDesk) -> None:
    ask = await chat.desk.ask(TEXT)
    await chat.card(ask)
    sent = await chat.send(Sendable())
    assert content(chat, await answer(chat, ask)) == [Sendable().content]
    assert chat.taken == [sent.id]


async def test_with_several_questions_a_photo_is_fetched_once_it_is_known_for_which(
    chat: MemoryDesk,
) -> None:
    first, second = await chat.desk.ask(TEXT), await chat.desk.ask(replace(TEXT, text="Why?"))
    for ask in (first, second):
        await chat.card(ask)
    photo = Sendable(name="<b>@everyone</b>.jpg")
    sent = await chat.send(photo)
    (which,) = chat.said
    assert "Which question is this for?" in which
    assert "<b>@everyone</b>.jpg" in which
    assert (photo.fetches, chat.taken) == (0, [])
    await chat.press("shop-api: Why?", about=sent)
    assert (photo.fetches, chat.taken, chat.said) == (1, [sent.id], [])
    assert content(chat, await answer(chat, second)) == [photo.content]
    assert (await now(chat, first)).open


async def test_a_photo_for_yes_or_no_is_the_remark_of_the_one_that_is_tapped(
    chat: MemoryDesk,
) -> None:
    ask = await chat.desk.ask(CONFIRM)
    await chat.card(ask)
    sent = await chat.send(Sendable(), text="these ones")
    await chat.press("No, with this remark", about=sent)
    given = await answer(chat, ask)
    assert (given.values, given.custom_text) == (("no",), "these ones")
    assert content(chat, given) == [Sendable().content]


async def test_a_photo_that_is_used_later_and_cannot_be_fetched_can_be_used_again(
    chat: MemoryDesk,
) -> None:
    ask, photo = await chat.desk.ask(SELECT), Sendable(fails=RetryLater("cut"))
    await chat.card(ask)
    sent = await chat.send(photo)
    assert await chat.press("Use it", about=sent) == ""
    assert NOT_FETCHED in chat.said
    photo.fails = None
    await chat.press("Use it", about=sent)
    await chat.tap(ask, form.Choose(step=0, option=0))
    assert content(chat, await answer(chat, ask)) == [photo.content]


async def test_a_photo_while_nothing_waits_is_not_fetched(chat: MemoryDesk) -> None:
    photo = Sendable()
    await chat.send(photo)
    assert (chat.said, photo.fetches) == ([NOTHING_WAITS], 0)


# ── what is never fetched ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("reply", [True, False])
async def test_a_strangers_file_is_neither_fetched_nor_answered(
    chat: MemoryDesk, reply: bool
) -> None:
    ask, photo = await chat.desk.ask(TEXT), Sendable()
    await chat.send(photo, to=ask if reply else None, by="eve")
    assert (photo.fetches, chat.said, chat.taken) == (0, [], [])
    assert (await now(chat, ask)).open


async def test_a_file_from_another_chat_is_not_fetched(chat: MemoryDesk) -> None:
    ask, photo = await chat.desk.ask(TEXT), Sendable()
    await chat.send(photo, to=ask, room="elsewhere")
    assert (photo.fetches, chat.said) == (0, [])
    assert (await now(chat, ask)).open


async def test_in_a_group_only_a_reply_to_the_bot_is_fetched(group: MemoryDesk) -> None:
    ask, photo = await group.desk.ask(TEXT), Sendable()
    await group.card(ask)
    others = await group.send(text="look at my cat")
    await group.send(photo)
    await group.send(photo, to=others)
    assert (photo.fetches, group.said) == (0, [])
    await group.send(photo, to=ask)
    assert photo.fetches == 1
    assert content(group, await answer(group, ask)) == [photo.content]


async def refused(chat: MemoryDesk, ask: Ask, *, voice: bool = False) -> str:
    """What is said to a file that is not even fetched."""
    file, before = Sendable(voice=voice), await now(chat, ask)
    await chat.send(file, to=ask)
    assert (file.fetches, chat.taken) == (0, [])
    after = await now(chat, ask)
    assert (after.draft, after.outcome) == (before.draft, before.outcome)
    return chat.said[-1]


@pytest.mark.parametrize("screen", [form.AskCancel, form.AskExplain])
async def test_a_screen_beside_the_question_takes_no_file(
    chat: MemoryDesk, screen: type[form.AskCancel | form.AskExplain]
) -> None:
    ask = await chat.desk.ask(SELECT)
    await chat.tap(ask, screen(step=0))
    assert await refused(chat, ask) == form.NO_FILE_HERE.why


@pytest.mark.parametrize("voice", [False, True])
async def test_a_file_allows_and_denies_nothing(chat: MemoryDesk, voice: bool) -> None:
    ask = await chat.desk.ask(COMMAND)
    assert await refused(chat, ask, voice=voice) == TAP_IT.why


async def test_an_approval_that_is_given_elsewhere_takes_no_file(tmp_path: Path) -> None:
    policy = Policy(approval_channels=frozenset({"web"}))
    async with running_memory(tmp_path, policy=policy) as chat:
        assert "web" in await refused(chat, await chat.desk.ask(COMMAND))


async def test_an_ask_that_has_ended_takes_no_file(chat: MemoryDesk) -> None:
    ask = await chat.desk.ask(SELECT)
    await chat.tap(ask, form.Choose(step=0, option=0))
    assert "already answered" in (await refused(chat, ask)).casefold()


async def test_an_answer_that_is_about_to_be_sent_takes_no_file(tmp_path: Path) -> None:
    async with running_memory(tmp_path, policy=Policy(undo=60.0)) as chat:
        ask = await chat.desk.ask(SELECT)
        await chat.tap(ask, form.Choose(step=0, option=0))
        assert await refused(chat, ask) == form.ABOUT_TO_BE_SENT.why


async def test_a_reply_to_a_step_that_is_over_brings_no_file(chat: MemoryDesk) -> None:
    ask, photo = await chat.desk.ask(TEXT, SELECT), Sendable()
    old = await chat.card(ask)
    await chat.begin(to=ask, text="first")
    await chat.begin(photo, to=old)
    await chat.dealt_with()
    assert (photo.fetches, chat.said) == (0, [form.STALE.why])
    assert (await now(chat, ask)).draft.entries[1].attachments == ()


async def test_where_no_files_are_kept_only_text_is_an_answer(chat: MemoryDesk) -> None:
    ask, photo = await chat.desk.ask(SELECT), Sendable()
    chat.desk.inbox.attachments = None
    await chat.send(photo, to=ask, text="a caption")
    await chat.send(photo)
    assert (chat.said, photo.fetches) == ([ONLY_TEXT, ONLY_TEXT], 0)
    assert (await now(chat, ask)).open


async def test_a_message_with_neither_text_nor_file_is_no_answer(chat: MemoryDesk) -> None:
    ask = await chat.desk.ask(TEXT)
    await chat.send(to=ask)
    await chat.send()
    assert chat.said == [ONLY_TEXT, ONLY_TEXT]


@pytest.mark.parametrize("taken", [True, False])
async def test_help_says_whether_files_are_answers(chat: MemoryDesk, taken: bool) -> None:
    if not taken:
        chat.desk.inbox.attachments = None
    await chat.send(text="/help")
    (said,) = (posted.text for posted in chat.channel.chat.messages.values())
    assert ("a photo, a file or a voice message works, too" in said) is taken


# ── limits ────────────────────────────────────────────────────────────────────────────────────────


async def test_what_the_service_hands_out_to_nobody_is_told_at_once(chat: MemoryDesk) -> None:
    ask, film = await chat.desk.ask(TEXT), Sendable(size=1_001)
    await chat.send(Sendable(size=10), film, to=ask)
    assert (chat.said, film.fetches) == ([TOO_LARGE], 0)
    assert (await now(chat, ask)).open


async def test_a_file_that_is_larger_than_was_said_is_given_up(chat: MemoryDesk) -> None:
    ask, bomb = await chat.desk.ask(TEXT), Sendable(b"x" * 5_000, size=10)
    await chat.send(bomb, to=ask)
    assert chat.said == [TOO_LARGE]
    assert (await now(chat, ask)).open


async def test_the_connection_of_a_file_that_is_given_up_is_closed_at_once(
    chat: MemoryDesk,
) -> None:
    closed = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"x" * 700
        finally:
            closed.set()

    limits = Files(largest=1_000, fetched=1_000)
    intake = FileIntake(store=chat.desk.files, clock=chat.desk.clock, limits=limits)
    reading = endless()  # held here, so that no collector closes it
    with pytest.raises(AttachmentError):
        await intake.fetch([IncomingFile(read=lambda: reading)], await chat.desk.ask(TEXT))
    assert closed.is_set()


@pytest.mark.parametrize("sizes", [(6, 6), (None, None)], ids=["told", "not told"])
async def test_the_files_of_an_answer_are_counted_together(
    chat: MemoryDesk, monkeypatch: pytest.MonkeyPatch, sizes: tuple[int | None, ...]
) -> None:
    monkeypatch.setattr(SampleStore, "largest", 10)
    ask = await chat.desk.ask(SELECT)
    await chat.send(Sendable(b"123456", size=sizes[0]), to=ask)
    more = Sendable(b"abcdef", size=sizes[1])
    await chat.send(more, to=ask)
    (said,) = chat.said
    assert "10 bytes" in said
    assert more.fetches == (sizes[1] is None)
    assert len((await now(chat, ask)).draft.entries[0].attachments) == 1


async def test_an_answer_has_so_many_files_at_most(chat: MemoryDesk) -> None:
    ask, photo = await chat.desk.ask(SELECT), Sendable()
    await chat.send(*[photo] * chat.desk.files.most, to=ask)
    fetches = photo.fetches
    await chat.send(photo, to=ask)
    assert chat.said == ["An answer can have 5 files at most. Send fewer."]
    assert photo.fetches == fetches


# ── what goes wrong ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (RetryLater("cut"), NOT_FETCHED),
        (AttachmentError("It has gone."), "It has gone."),
        (OSError("reset"), NOT_FETCHED),
        (ValueError("a length that is no number"), NOT_FETCHED),
    ],
)
async def test_a_fetch_that_fails_is_told_and_the_chat_goes_on(
    chat: MemoryDesk, error: Exception, told: str
) -> None:
    ask, broken = await chat.desk.ask(TEXT), Sendable(fails=error)
    await chat.send(broken, to=ask)
    assert (chat.said, chat.taken, broken.fetches) == ([told], [], 1)
    await chat.send(Sendable(), to=ask)
    assert content(chat, await answer(chat, ask)) == [Sendable().content]


async def test_of_several_files_all_are_taken_or_none(chat: MemoryDesk) -> None:
    ask = await chat.desk.ask(SELECT)
    await chat.send(Sendable(), Sendable(fails=RetryLater("cut")), to=ask)
    assert chat.said == [NOT_ALL_FETCHED]
    assert (await now(chat, ask)).draft.entries[0].attachments == ()


async def test_a_fetch_that_takes_longer_than_a_minute_is_given_up(chat: MemoryDesk) -> None:
    ask, slow = await chat.desk.ask(TEXT), Sendable(goes_on=asyncio.Event())
    await chat.begin(slow, to=ask)
    async with asyncio.timeout(20):
        await slow.half.wait()
    chat.clock.advance(FETCH_SECONDS - 1)
    await asyncio.sleep(0)
    assert chat.said == []
    chat.clock.advance(1)
    await chat.dealt_with()
    assert chat.said == [NOT_FETCHED]
    await chat.send(to=ask, text="in words then")
    assert (await answer(chat, ask)).values == ("in words then",)


async def test_what_changes_while_a_file_is_fetched_is_not_answered_with_it(
    chat: MemoryDesk,
) -> None:
    ask, slow = await chat.desk.ask(TEXT, TEXT), Sendable(goes_on=asyncio.Event())
    await chat.begin(slow, to=ask)
    async with asyncio.timeout(20):
        await slow.half.wait()
    await chat.desk.inbox.put(ask.id, form.Text(text="on the web"), person=WEB)
    assert slow.goes_on is not None
    slow.goes_on.set()
    await chat.dealt_with()
    entries = (await now(chat, ask)).draft.entries
    assert [entry.attachments for entry in entries] == [(), ()]
    assert chat.said == [form.STALE.why]


async def test_an_ask_that_ends_while_a_file_is_fetched_has_ended(chat: MemoryDesk) -> None:
    ask, slow = await chat.desk.ask(TEXT), Sendable(goes_on=asyncio.Event())
    await chat.begin(slow, to=ask)
    async with asyncio.timeout(20):
        await slow.half.wait()
    await chat.desk.inbox.cancel(ask.id, reason=None, person=WEB)
    assert slow.goes_on is not None
    slow.goes_on.set()
    await chat.dealt_with()
    assert len(chat.said) == 1
    assert (await now(chat, ask)).status is Status.CANCELLED


async def test_a_hub_that_dies_while_it_fetches_takes_the_file_once_when_it_is_back(
    tmp_path: Path,
) -> None:
    deeds, photo = list[Deed](), Sendable(goes_on=asyncio.Event())
    async with running_memory(tmp_path, deeds=deeds) as chat:
        ask = await chat.desk.ask(SELECT)
        await chat.begin(photo, to=ask)
        async with asyncio.timeout(20):
            await photo.half.wait()
        clock = chat.clock
    photo.goes_on = None
    async with running_memory(tmp_path, deeds=deeds, clock=clock) as chat:
        await chat.dealt_with()
        (attached,) = (await now(chat, ask)).draft.entries[0].attachments
        assert photo.fetches == 2
        assert content(chat, Answer(attachments=(attached,))) == [photo.content]


async def test_a_file_whose_answer_cannot_be_stored_comes_again(
    chat: MemoryDesk, tmp_path: Path
) -> None:
    ask, photo = await chat.desk.ask(TEXT), Sendable()
    await chat.card(ask)
    async with failing(tmp_path, "asks"):
        await chat.begin(photo, to=ask)
        async with asyncio.timeout(20):
            await chat.clock.until_asleep(FIRST_PAUSE)
    chat.clock.advance(60)
    await chat.dealt_with()
    assert content(chat, await answer(chat, ask)) == [photo.content]
    assert photo.fetches >= 2


# ── voice messages ────────────────────────────────────────────────────────────────────────────────


def voice() -> Sendable:
    return Sendable(b"OggS hello", name="voice.ogg", voice=True)


@pytest.mark.parametrize("question", [TEXT, SELECT, CONFIRM, MULTI])
async def test_a_voice_message_is_heard_before_it_answers(
    chat: MemoryDesk, question: Question
) -> None:
    chat.desk.inbox.transcribes = True
    ask = await chat.desk.ask(question)
    sent = await chat.send(voice(), to=ask)
    draft = (await now(chat, ask)).draft
    assert draft.view is View.HEARD
    assert draft.voice is not None
    assert content(chat, Answer(attachments=(draft.voice.recording,))) == [b"OggS hello"]
    assert (chat.taken, chat.said) == ([sent.id], [])


async def test_a_recording_that_nothing_transcribes_answers_and_the_person_is_told(
    chat: MemoryDesk,
) -> None:
    ask = await chat.desk.ask(TEXT)
    sent = await chat.send(voice(), to=ask)
    assert content(chat, await answer(chat, ask)) == [b"OggS hello"]
    assert (chat.said, chat.taken) == ([SENT_AS_RECORDING], [sent.id])


async def test_a_recording_that_was_not_taken_was_not_sent(chat: MemoryDesk) -> None:
    ask, broken = await chat.desk.ask(TEXT), replace(voice(), fails=RetryLater("cut"))
    await chat.send(broken, to=ask)
    assert chat.said == [NOT_FETCHED]


async def test_a_voice_message_with_a_caption_goes_as_a_file_with_those_words(
    chat: MemoryDesk,
) -> None:
    chat.desk.inbox.transcribes = True
    ask = await chat.desk.ask(TEXT)
    await chat.send(voice(), to=ask, text="the noise it makes")
    given = await answer(chat, ask)
    assert given.values == ("the noise it makes",)
    assert content(chat, given) == [b"OggS hello"]
    assert chat.said == []


async def test_a_voice_message_that_is_used_later_is_told_about_then(chat: MemoryDesk) -> None:
    ask = await chat.desk.ask(SELECT)
    await chat.card(ask)
    sent = await chat.send(voice())
    await chat.press("Use it", about=sent)
    assert (chat.said, chat.taken) == ([SENT_AS_RECORDING], [sent.id])
    assert len((await now(chat, ask)).draft.entries[0].attachments) == 1


async def test_a_voice_message_for_yes_or_no_is_heard_first(chat: MemoryDesk) -> None:
    chat.desk.inbox.transcribes = True
    ask = await chat.desk.ask(CONFIRM)
    await chat.card(ask)
    sent = await chat.send(voice())
    await chat.press("Use it", about=sent)
    assert (await now(chat, ask)).draft.view is View.HEARD
    other = await chat.desk.ask(replace(CONFIRM, text="Really?"))
    await chat.card(other)
    assert await chat.tap(await now(chat, ask), form.Back(step=1)) is not None
    sent = await chat.send(voice())
    await chat.press("shop-api: Really?", about=sent)
    assert (await now(chat, other)).draft.view is View.HEARD


# ── where everything is typed ─────────────────────────────────────────────────────────────────────


async def typed(
    chat: MemoryDesk, ask: Ask, *files: Sendable, caption: str | None = None
) -> TextResult:
    reads = ChatInput(chat.desk.inbox, channel="memory", clock=chat.clock, typed=True)
    ada = Person(name="Ada", channel="memory")
    by = Origin(chat=chat.channel.chat, person=ada, cursor=None)
    found = await now(chat, ask)
    return await reads.text(found, caption, by, files=[each.incoming for each in files])


@pytest.mark.parametrize(
    ("question", "caption", "values"),
    [(SELECT, "2", ("SQLite",)), (MULTI, "1, 3", ("Unit tests", "Load test"))],
)
async def test_a_typed_choice_is_complete_with_its_photo(
    chat: MemoryDesk, question: Question, caption: str, values: tuple[str, ...]
) -> None:
    ask = await chat.desk.ask(question)
    await typed(chat, ask, Sendable(), caption=caption)
    given = await answer(chat, ask)
    assert given.values == values
    assert content(chat, given) == [Sendable().content]


async def test_a_photo_waits_while_it_is_not_clear_which_option_is_meant(
    chat: MemoryDesk,
) -> None:
    ask = await chat.desk.ask(SELECT)
    said = await typed(chat, ask, Sendable(), caption="9")
    assert said == "There is no option 9. This question has options 1 to 2."
    waiting = await now(chat, ask)
    assert waiting.open
    assert len(waiting.draft.entries[0].attachments) == 1


@pytest.mark.parametrize("word", ["cancel", "skip", "!later", "+15", "explain"])
async def test_a_word_that_stands_for_a_button_does_nothing_below_a_photo(
    chat: MemoryDesk, word: str
) -> None:
    ask = await chat.desk.ask(TEXT)
    await typed(chat, ask, Sendable(), caption=word)
    assert (await answer(chat, ask)).values == (word,)


async def test_a_late_photo_needs_the_word_that_opens_a_late_answer(chat: MemoryDesk) -> None:
    ask, photo = await chat.desk.ask(TEXT), Sendable()
    await chat.desk.time_out(ask)
    said = await typed(chat, ask, photo)
    assert "Reply “anyway”" in str(said)
    assert photo.fetches == 0
    await typed(chat, ask, photo, caption="Anyway")
    late = (await now(chat, ask)).late
    assert late is not None
    assert late.answers[0].values == ("photo.jpg",)


async def test_a_photo_with_the_word_allow_allows_nothing(chat: MemoryDesk) -> None:
    ask, photo = await chat.desk.ask(COMMAND), Sendable()
    assert "allow" in str(await typed(chat, ask, photo, caption="allow"))
    assert photo.fetches == 0
    assert (await now(chat, ask)).open


# ── on the disk ───────────────────────────────────────────────────────────────────────────────────


def on_disk(folder: Path) -> list[Path]:
    return [path for path in (folder / "received").rglob("*") if path.is_file()]


@pytest.mark.parametrize("name", ["../../.ssh/authorized_keys", "/etc/passwd", "a\0b\n", "", None])
async def test_no_name_from_outside_becomes_a_path(
    chat: MemoryDesk, tmp_path: Path, name: str | None
) -> None:
    ask = await chat.desk.ask(TEXT)
    await chat.send(Sendable(name=name), to=ask)
    (given,) = (await answer(chat, ask)).attachments
    (path,) = on_disk(tmp_path)
    assert path.read_bytes() == Sendable().content
    assert path.parent == tmp_path / "received" / ask.id
    assert path.name.startswith(given.digest[:12])
    assert (path.stat().st_mode & 0o777, given.path) == (0o600, str(path))
    assert "/" not in given.name


async def test_what_was_not_fetched_completely_leaves_nothing_behind(
    chat: MemoryDesk, tmp_path: Path
) -> None:
    ask, slow = await chat.desk.ask(TEXT), Sendable(goes_on=asyncio.Event())
    await chat.send(Sendable(fails=RetryLater("cut")), to=ask)
    await chat.begin(slow, to=ask)
    async with asyncio.timeout(20):
        await slow.half.wait()
    chat.clock.advance(FETCH_SECONDS)
    await chat.dealt_with()
    assert chat.said == [NOT_FETCHED, NOT_FETCHED]
    assert on_disk(tmp_path) == []


async def test_what_cannot_be_kept_is_told(chat: MemoryDesk, tmp_path: Path) -> None:
    chat.desk.inbox.attachments = SampleStore(tmp_path, clock=chat.clock, largest=25, quota=25)
    first, ask = await chat.desk.ask(TEXT), await chat.desk.ask(TEXT, timeout=900.0)
    await chat.send(Sendable(), to=first)
    await chat.send(Sendable(b"another photo of 24 byte"), to=ask)
    await chat.send(Sendable(b""), to=ask)
    full, empty = chat.said
    assert full.startswith("The space for files is full.")
    assert empty == "The file is empty."
    assert (await now(chat, ask)).open
    assert len(on_disk(tmp_path)) == 1


async def test_a_photo_that_was_fetched_twice_is_stored_once(
    chat: MemoryDesk, tmp_path: Path
) -> None:
    ask = await chat.desk.ask(TEXT)
    await chat.card(ask)
    async with failing(tmp_path, "asks"):
        await chat.begin(Sendable(), to=ask)
        async with asyncio.timeout(20):
            await chat.clock.until_asleep(FIRST_PAUSE)
    chat.clock.advance(60)
    await chat.dealt_with()
    assert len((await answer(chat, ask)).attachments) == 1
    assert len(on_disk(tmp_path)) == 1
