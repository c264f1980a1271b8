"""How chats show and read an answer that can still be undone, and the owner's quick answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatbridge.core.asks import transitions
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.phrases import local_time
from chatbridge.core.forms import form
from chatbridge.core.forms.emoji_shortcuts import reaction_for
from chatbridge.core.forms.typed_input import UNDO_FIRST, interpret
from chatbridge.core.model import ALLOW, Ask, Question
from chatbridge.core.policy import Policy
from tests.chats import MATRIX, TELEGRAM, TYPED, Chat, each_chat
from tests.telegram_asks import NEXT_TIME, NOW, approval, ask, confirm, select, text

GO_ON, STOP = "Go on, take the safe way", "Stop and <wait> for me"
AT = f"Sending at {local_time(NOW + 5):%H:%M:%S}…"


def sending(question: Question, *, by: Chat = TELEGRAM) -> Ask:
    """Its first option is chosen."""
    shown = ask(question)
    step = transitions.apply_event(shown, form.Choose(step=0, option=ALLOW))
    step = transitions.delay_sending(shown, step, now=NOW, policy=Policy(undo=5.0))
    assert isinstance(step, form.Moved)
    return replace(shown, draft=replace(step.draft, by=by.me))


@each_chat
def test_the_card_says_what_is_sent_when_and_how_to_undo_it(chat: Chat) -> None:
    how = {TELEGRAM: "", MATRIX: " ↩️ takes it back."}[chat]
    said = f"{AT}{how}"
    shown = sending(confirm("Sure?"), by=chat)
    assert chat.read(shown)[-2:] == ["Yes", said]
    assert chat.read(sending(approval(), by=chat))[-1] == f"Allowed once. {said}"
    assert chat.offers(shown) == {TELEGRAM: [["Undo"]], MATRIX: [["↩️"]]}[chat]


def test_without_reactions_a_word_undoes_it() -> None:
    assert MATRIX.read(sending(confirm("Sure?")), TYPED)[-1] == f"{AT} Reply undo to take it back."


@pytest.mark.parametrize("question", [confirm("Sure?"), approval()], ids=["question", "approval"])
def test_nothing_but_undo_is_read_while_it_is_sent(question: Question) -> None:
    shown = sending(question)
    for said in ("undo", " !Undo", "back", "↩️"):
        assert interpret(shown, said, next_time=NEXT_TIME) == (form.Undo(step=shown.draft.step),)
    for said in ("no, wait", "cancel", "deny", "1", "👎"):
        assert interpret(shown, said, next_time=NEXT_TIME) == UNDO_FIRST


@each_chat
def test_quick_answers_are_offered_where_a_text_is_asked_for_and_nowhere_else(chat: Chat) -> None:
    for question in (text("Why?"), select("Which?", "a", "b"), approval()):
        card = chat.card(ask(question), replies=(GO_ON, STOP))
        assert bool(card.replies) is (question.text == "Why?")
    if chat is MATRIX:
        card = chat.card(ask(text("Why?")), replies=(GO_ON, STOP))
        assert f"2️⃣ {STOP}" in chat.read(card)
        assert f"!2 {STOP}" in chat.read(card, TYPED)


def test_a_number_stands_for_a_quick_answer_only_with_its_sign() -> None:
    shown = ask(text("Why?"))
    stop = form.Text(text=STOP, step=0)
    assert interpret(shown, "!2", replies=(GO_ON, STOP), next_time=NEXT_TIME) == (stop,)
    for said in ("2", "12", "!3", "!0"):
        assert interpret(shown, said, replies=(GO_ON, STOP), next_time=NEXT_TIME) == (
            form.Text(text=said, step=0),
        )
    key = reaction_for(build_card(shown, channel="matrix", replies=(GO_ON, STOP)), "2️⃣")
    assert key is not None
    assert key.action == stop
