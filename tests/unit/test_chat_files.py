"""How a card in a chat shows files: those of the agent, those of the person, and voice messages."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatbridge.channels.chat import attachments
from chatbridge.channels.chat.callback_data import Originals, Tap, decode, encode
from chatbridge.channels.chat.capabilities import Capabilities, Seen
from chatbridge.channels.chat.card import draw_card, finished_step
from chatbridge.channels.chat.card_messages import CardMessages, Part, SentFiles, from_text, to_text
from chatbridge.channels.chat.document import Code, Group
from chatbridge.channels.chat.runs import Text, write_plain
from chatbridge.channels.discord import render as discord_render
from chatbridge.channels.discord.render import DISCORD
from chatbridge.channels.slack import render as slack_render
from chatbridge.channels.slack.render import SLACK
from chatbridge.channels.telegram.render import html as telegram_html
from chatbridge.channels.telegram.render.card import TELEGRAM as TELEGRAM_CAN
from chatbridge.core.cards.attached import DIFF
from chatbridge.core.forms import form
from chatbridge.core.forms.emoji_shortcuts import reaction_for, reactions
from chatbridge.core.forms.typed_input import Unclear, interpret, takes_text
from chatbridge.core.model import Answer, Ask, Attachment, AttachmentKind, Entry, View
from tests.chats import MATRIX, TELEGRAM, TYPED, Chat, each_chat
from tests.telegram_asks import NEXT_TIME, NOW, ask, confirm, select, stepped


def picture(name: str, *, digest: str = "", caption: str | None = None) -> Attachment:
    return Attachment(
        digest=digest or name,
        name=name,
        type="image/png",
        size=1_200_000,
        kind=AttachmentKind.PICTURE,
        caption=caption,
        width=3000,
        height=2000,
    )


def log(name: str = "build.log", *, lines: int = 30) -> Attachment:
    return Attachment(
        digest=name,
        name=name,
        type="text/plain",
        size=12_300,
        kind=AttachmentKind.TEXT,
        excerpt="\n".join(f"line {i}" for i in range(1, lines + 1)),
    )


VOICE = Attachment(
    digest="voice", name="voice.ogg", type="audio/ogg", size=9_000, kind=AttachmentKind.AUDIO
)
PHOTO = picture("photo.png")
_LAYOUT = select("Which layout?", "Sidebar (recommended)", "Tabs")
LAYOUT = replace(
    _LAYOUT,
    options=tuple(
        replace(option, image=picture(f"{number}.png"))
        for number, option in enumerate(_LAYOUT.options, 1)
    ),
)
SPOKEN = stepped(ask(select("Which?", "a", "b")), form.Speak(recording=VOICE))
HEARD = stepped(SPOKEN, form.Transcribed(digest=VOICE.digest, text="Use the first,\nplease"))
UNHEARD = stepped(
    SPOKEN, form.Transcribed(digest=VOICE.digest, text="", problem="It took too long.")
)


def with_files(*files: Attachment) -> Ask:
    return replace(ask(select("Which?", "a", "b")), attachments=files)


def lost(seen: Seen, *digests: str) -> Seen:
    return replace(seen, files=SentFiles(missing=digests))


# ── those of the agent ────────────────────────────────────────────────────────────────────────────


@each_chat
def test_a_card_counts_pictures_and_names_files(chat: Chat) -> None:
    shown = chat.read(with_files(picture("a.png"), picture("b.png"), log()))
    assert "📎 2 pictures, 1 file (build.log, 12 KB)" in shown


@each_chat
def test_a_card_without_files_has_no_line_for_them(chat: Chat) -> None:
    assert not any("📎" in line for line in chat.read(with_files()))


@each_chat
@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("a", "📎 a could not be sent here; it is in the inbox."),
        ("a b", "📎 a and b could not be sent here; they are in the inbox."),
        ("a b c", "📎 a, b and c could not be sent here; they are in the inbox."),
        ("a b c d e", "📎 a, b, c and 2 more could not be sent here; they are in the inbox."),
    ],
)
def test_a_card_names_the_files_that_were_not_sent(chat: Chat, names: str, said: str) -> None:
    files = [picture(name) for name in names.split()]
    shown = chat.read(with_files(*files, log()), lost(chat.private, *names.split()))
    assert said in shown


@each_chat
def test_a_file_of_another_question_is_not_called_missing(chat: Chat) -> None:
    shown = ask(select("Which?", "a", "b"), LAYOUT)
    seen = lost(chat.private, "1.png")
    assert not any("in the inbox" in line for line in chat.read(shown, seen))
    second = stepped(shown, form.Choose(step=0, option=0))
    assert any("1.png could not be sent" in line for line in chat.read(second, seen))


@each_chat
def test_a_card_shows_the_first_lines_of_a_text(chat: Chat) -> None:
    shown = chat.read(with_files(log()))
    assert "build.log:" in shown
    assert "line 12" in shown
    assert "line 13" not in shown


def test_a_diff_is_marked_as_one() -> None:
    (block,) = attachments.excerpts([replace(log(), type=DIFF)], 3)
    assert isinstance(block, Group)
    assert Code(text="line 1\nline 2\nline 3", language="diff") in block.blocks


@pytest.mark.parametrize("chat", [TELEGRAM_CAN, SLACK, DISCORD], ids=lambda each: each.channel)
def test_a_card_without_room_shows_fewer_lines_or_none(chat: Capabilities[Text]) -> None:
    wide = replace(log(), excerpt="\n".join(f"line {i} " + "x" * 400 for i in range(1, 20)))
    few = _drawn(with_files(wide), chat)
    assert "line 4" in few
    assert "line 5" not in few
    full = replace(with_files(wide), questions=(select("word " * 500, "a", "b"),))
    assert "line 1" not in _drawn(full, chat)


def _drawn(shown: Ask, chat: Capabilities[Text]) -> str:
    written, _ = draw_card(TELEGRAM.card(shown), TELEGRAM.private, chat)
    return "".join(run.text for run in written)


@each_chat
def test_what_an_agent_hides_in_a_name_or_a_text_is_visible(chat: Chat) -> None:
    tricky = replace(log(), name="safe\u202egnp.exe", excerpt="a\u202eb")
    shown = "\n".join(chat.read(with_files(tricky), lost(chat.private, tricky.digest)))
    assert "\u202e" not in shown


# ── pictures of options ───────────────────────────────────────────────────────────────────────────


def test_the_number_of_a_picture_is_that_of_its_button() -> None:
    shown = ask(LAYOUT)
    captions = [each.caption for each in attachments.of_ask(shown)]
    assert captions == ["1 · Sidebar", "2 · Tabs"]
    first, *_ = TELEGRAM.offers(shown)
    assert first == captions
    assert "1. Sidebar (recommended)" in TELEGRAM.read(shown)


def test_with_several_questions_a_caption_says_which() -> None:
    shown = replace(ask(confirm("Sure?"), LAYOUT), attachments=(picture("now.png", caption="Now"),))
    captions = [each.caption for each in attachments.of_ask(shown)]
    assert captions == ["Question 2, 1 · Sidebar", "Question 2, 2 · Tabs", "Now"]


def test_originals_can_be_had_where_a_picture_is_shown_smaller() -> None:
    seen = replace(TELEGRAM.private, files=SentFiles(shrunk=True))
    labels = [label for row in TELEGRAM.offers(ask(LAYOUT), seen) for label in row]
    assert labels[-1] == "Originals"  # where nobody takes it for an answer
    assert "Originals" not in str(TELEGRAM.offers(ask(LAYOUT)))
    cancelling = stepped(ask(LAYOUT), form.AskCancel(step=0))
    assert "Originals" not in str(TELEGRAM.offers(cancelling, seen))


def test_the_button_for_originals_can_be_read_again() -> None:
    tap = Tap(ask_id=ask(LAYOUT).id, question=0, action=Originals())
    assert decode(encode(tap)) == tap


def test_an_option_called_as_a_button_of_ours_gets_a_number() -> None:
    shown = stepped(
        ask(select("Which?", "Send only this", "Send only these")),
        form.Attach(attachments=(PHOTO,)),
    )
    labels = [label for row in TELEGRAM.offers(shown) for label in row]
    assert {"1 · Send only this", "Send only this"} <= {*labels}


# ── those of the person ───────────────────────────────────────────────────────────────────────────


@each_chat
def test_files_beside_options_wait_for_the_choice_and_can_be_sent_alone(chat: Chat) -> None:
    shown = stepped(with_files(), form.Attach(attachments=(PHOTO,)))
    said = "\n".join(chat.read(shown))
    assert "Attached: 📎 1 picture. It goes with your choice." in said
    offers = [each for row in chat.offers(shown) for each in row]
    wanted = {"Send only this", "Remove the file"} if chat is TELEGRAM else {"✅", "🗑️"}
    assert wanted <= set(offers)
    more = stepped(with_files(), form.Attach(attachments=(PHOTO, log())))
    offers = [each for row in chat.offers(more) for each in row]
    wanted = {"Send only these", "Remove the files"} if chat is TELEGRAM else {"✅", "🗑️"}
    assert wanted <= set(offers)


def test_where_nothing_can_be_tapped_the_card_says_what_to_reply() -> None:
    one = stepped(with_files(), form.Attach(attachments=(PHOTO,)))
    two = stepped(
        ask(select("Which?", "a", "b", multi=True)), form.Attach(attachments=(PHOTO, log()))
    )
    assert "Reply send to send only this, remove to remove it." in "\n".join(
        MATRIX.read(one, TYPED)
    )
    assert "Reply remove to remove them." in "\n".join(MATRIX.read(two, TYPED))


@pytest.mark.parametrize(
    ("said", "action"),
    [
        ("send", form.SendAttached(step=0)),
        ("✅", form.SendAttached(step=0)),
        ("remove", form.DropAttached(step=0)),
        ("!remove", form.DropAttached(step=0)),
        ("🗑", form.DropAttached(step=0)),
    ],
)
def test_files_are_sent_or_removed_by_a_word_or_a_reaction(said: str, action: form.Event) -> None:
    shown = stepped(with_files(), form.Attach(attachments=(PHOTO,)))
    step = shown.draft.step
    assert interpret(shown, said, next_time=NEXT_TIME) == (replace(action, step=step),)


def test_an_option_called_remove_is_that_option() -> None:
    shown = stepped(ask(select("Which?", "Remove", "b")), form.Attach(attachments=(PHOTO,)))
    step = shown.draft.step
    assert interpret(shown, "remove", next_time=NEXT_TIME) == (form.Choose(step=step, option=0),)
    assert "!remove to remove it" in "\n".join(MATRIX.read(shown, TYPED))


# ── voice messages ────────────────────────────────────────────────────────────────────────────────


@each_chat
@pytest.mark.parametrize(
    ("shown", "said"),
    [
        (SPOKEN, "Turning your voice message into text…"),
        (HEARD, "You said: “Use the first, please”"),
        (UNHEARD, "It took too long."),
    ],
    ids=["being transcribed", "understood", "not understood"],
)
def test_a_card_shows_what_became_of_a_voice_message(chat: Chat, shown: Ask, said: str) -> None:
    assert said in "\n".join(chat.read(shown))


def test_what_was_heard_can_be_sent_or_discarded() -> None:
    assert TELEGRAM.offers(SPOKEN) == [["Discard"]]
    assert TELEGRAM.offers(HEARD) == [["Send", "Discard"]]
    assert TELEGRAM.offers(UNHEARD) == [["Send the recording", "Discard"]]
    assert MATRIX.offers(HEARD) == [["✅", "❌"]]
    assert MATRIX.offers(SPOKEN) == [["❌"]]
    assert "Send it, or reply with a correction." in TELEGRAM.read(HEARD)
    assert "Send the recording, or reply with your answer." in TELEGRAM.read(UNHEARD)
    (said,) = MATRIX.read(HEARD)
    assert said.endswith("✅ sends it, ❌ discards it. Or reply with a correction.")
    (typed,) = MATRIX.read(UNHEARD, TYPED)
    assert typed.endswith(
        "Reply send to send the recording, or discard, or reply with your answer."
    )


@pytest.mark.parametrize(
    ("said", "action"),
    [
        ("send", form.SendHeard(step=0)),
        ("Send", form.SendHeard(step=0)),
        ("✅", form.SendHeard(step=0)),
        ("discard", form.Back(step=0)),
        ("!discard", form.Back(step=0)),
        ("back", form.Back(step=0)),
        ("❌", form.Back(step=0)),
        ("explain", form.Text(text="explain", step=0)),
        ("send it tomorrow", form.Text(text="send it tomorrow", step=0)),
        ("1", form.Text(text="1", step=0)),
    ],
)
def test_words_and_reactions_to_what_was_heard(said: str, action: form.Event) -> None:
    meant = interpret(HEARD, said, next_time=NEXT_TIME)
    assert meant == (replace(action, step=HEARD.draft.step),)


def test_what_is_not_heard_yet_cannot_be_sent() -> None:
    assert reaction_for(MATRIX.card(SPOKEN), "✅") is None
    assert [each.emoji for each in reactions(MATRIX.card(SPOKEN))] == ["❌"]
    assert not isinstance(interpret(SPOKEN, "send", next_time=NEXT_TIME), Unclear)


def test_a_text_beside_the_cards_can_be_the_correction() -> None:
    assert takes_text(HEARD)


@pytest.mark.parametrize(
    ("later", "said"),
    [
        (HEARD, "It goes on below."),
        (stepped(HEARD, form.Back(step=0)), "Discarded."),
        (
            stepped(
                ask(select("Which?", "a", "b"), confirm("Sure?")),
                form.Speak(recording=VOICE),
                form.Transcribed(digest=VOICE.digest, text="The first"),
                form.SendHeard(step=0),
            ),
            "1. Which?\nThe first",
        ),
    ],
    ids=["heard", "discarded", "sent"],
)
def test_a_screen_of_a_voice_message_that_was_left_says_what_became_of_it(
    later: Ask, said: str
) -> None:
    assert write_plain(finished_step(later, view=View.HEARD, at=0), now=0.0) == said


# ── what is kept of them ──────────────────────────────────────────────────────────────────────────


def test_what_became_of_files_is_stored_with_the_card() -> None:
    place = CardMessages(
        room="r", parts=(Part(event="1", step=0),), files=SentFiles(missing=("a",), shrunk=True)
    )
    assert from_text(to_text(place)) == place


def test_a_place_of_an_earlier_version_has_all_its_files() -> None:
    assert from_text('{"room": "r", "parts": [{"event": "1", "step": 0}]}') is not None


# ── the largest there can be ──────────────────────────────────────────────────────────────────────

LIMITS = [
    (TELEGRAM_CAN, telegram_html.LIMIT),
    (SLACK, slack_render.LIMIT),
    (DISCORD, discord_render.LIMIT),
]


@pytest.mark.parametrize("multi", [False, True], ids=["select", "multi-select"])
@pytest.mark.parametrize(("chat", "limit"), LIMITS, ids=[chat.channel for chat, _ in LIMITS])
@pytest.mark.parametrize("fill", ["x", "&", "*", "😀", "word "])
def test_the_largest_question_has_room_for_its_files(
    chat: Capabilities[Text], limit: int, fill: str, multi: bool
) -> None:
    files = tuple(picture(f"{number}{fill * 200}.bin", digest=f"{number}") for number in range(5))
    files = tuple(replace(each, kind=AttachmentKind.FILE) for each in files)
    seen = Seen(now=NOW, private=False, again=True, files=SentFiles(missing=tuple("01234")))
    largest = 0
    for length in range(chat.card - 700, chat.card, 20):
        question = select(fill * (length // len(fill)), "a", "b", multi=multi)
        question = replace(question, on_timeout=Answer(values=(fill * 40,)))
        shown = ask(question, project=fill * 50, agent=fill * 50, title=fill * 50)
        entry = Entry(text=fill * 500, attachments=files * 2)
        draft = replace(shown.draft, entries=(entry,))
        shown = replace(shown, attachments=files, draft=draft, orphaned=True)
        written, _ = draw_card(TELEGRAM.card(shown), seen, chat)
        largest = max(largest, chat.size(written))
    assert largest <= limit
