"""What a typed reply does to an approval: exact words decide, and nothing else does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.core.asks import transitions as steps
from chatbridge.core.cards.card import AskAction
from chatbridge.core.forms import form
from chatbridge.core.forms.form import AskMore, Choose, Event, ShowAll, Text
from chatbridge.core.forms.typed_input import Unclear, interpret, interpret_beside_buttons
from chatbridge.core.model import ALLOW, ALLOW_SESSION, DENY, Ask, View
from tests import strategies as some
from tests.telegram_asks import NEXT_TIME, approval, ask, stepped
from tests.telegram_strategies import approvals

SHORT = ask(approval("make deploy"))
LONG = ask(approval("x" * 4_000, whole_first=True))
FOLDERS = ("/src/shop/src", "/src/shop")
EDIT = ask(approval("+x", language="diff", file="src/a.py", edits=FOLDERS))
SCOPE = stepped(EDIT, AskMore(step=0))
HOW_LONG = stepped(SHORT, AskMore(step=0))
SESSION = stepped(HOW_LONG, form.Pick(step=1, option=2))
DESTRUCTIVE = ask(approval("rm -r build", destructive=True))
REALLY = stepped(DESTRUCTIVE, Choose(step=0, option=ALLOW))
BEYOND = ask(approval("git push", beyond="Allowing it allows every git push."))
WHY = stepped(SHORT, form.Other(step=0))

_words = st.sampled_from(
    [
        "allow",
        "deny",
        "session",
        "more",
        "2",
        "for 8 h",
        "yes",
        "no",
        "all",
        "why",
        "back",
        "deny: not now",
        "deny:",
        "+15",
    ]
) | st.sampled_from(
    [
        "run it",
        "Run  it",
        "!run it",
        "run",
        "run it now",
        "!allow",
        "Allow",
        " deny ",
        "DENY : no",
        "👍",
        "👎",
        "✅",
        "1",
        "ok",
        "allow it",
        "cancel",
    ]
)


@pytest.mark.parametrize(
    ("shown", "said", "events"),
    [
        (SHORT, "allow", (Choose(step=0, option=ALLOW),)),
        (SHORT, " Allow\n", (Choose(step=0, option=ALLOW),)),
        (SHORT, "!allow", (Choose(step=0, option=ALLOW),)),
        (SHORT, "deny", (Choose(step=0, option=DENY),)),
        (SHORT, "more", (AskMore(step=0),)),
        (SHORT, "session", (AskMore(step=0), form.Pick(step=1, option=2))),
        (EDIT, "session", (AskMore(step=0),)),
        (SCOPE, "1", (form.Pick(step=1, option=0),)),
        (SCOPE, "All edits in shop-api", (form.Pick(step=1, option=1),)),
        (HOW_LONG, "2", (form.Pick(step=1, option=1),)),
        (HOW_LONG, "For 1 h", (form.Pick(step=1, option=0),)),
        (HOW_LONG, "back", (form.Back(step=1),)),
        (HOW_LONG, "deny", (Choose(step=1, option=DENY),)),
        (SHORT, "why", (form.Other(step=0),)),
        (SHORT, "deny:", (form.Other(step=0),)),
        (SHORT, "deny: not\nnow", (form.Other(step=0), Text(text="not\nnow", step=1))),
        (SHORT, "Deny : no", (form.Other(step=0), Text(text="no", step=1))),
        (SHORT, "+15", (form.Extend(minutes=15),)),
        (SHORT, "snooze 1h", (form.Snooze(minutes=60),)),
        (LONG, "all", (ShowAll(step=0),)),
        (LONG, "deny", (Choose(step=0, option=DENY),)),
        (SESSION, "yes", (Choose(step=2, option=ALLOW_SESSION),)),
        (SESSION, "back", (form.Back(step=2),)),
        (SESSION, "deny", (Choose(step=2, option=DENY),)),
        (SESSION, "deny: no", (form.Other(step=2), Text(text="no", step=3))),
        (DESTRUCTIVE, "run it", (Choose(step=0, option=ALLOW), Choose(step=1, option=ALLOW))),
        (DESTRUCTIVE, "allow", (Choose(step=0, option=ALLOW),)),
        (REALLY, " Run it\n", (Choose(step=1, option=ALLOW),)),
        (REALLY, "back", (form.Back(step=1),)),
        (REALLY, "deny", (Choose(step=1, option=DENY),)),
        (REALLY, "deny: no", (form.Other(step=1), Text(text="no", step=2))),
        (BEYOND, "allow", (Choose(step=0, option=ALLOW),)),
        (WHY, "back", (form.Back(step=1),)),
        (WHY, "deny", (Choose(step=1, option=DENY),)),
        (WHY, "deny: too early", (Text(text="too early", step=1),)),
        (WHY, "allow it after the backup", (Text(text="allow it after the backup", step=1),)),
    ],
)
def test_an_exact_word_does_what_it_says(
    shown: Ask, said: str, events: tuple[Event | AskAction, ...]
) -> None:
    assert interpret(shown, said, next_time=NEXT_TIME) == events


@pytest.mark.parametrize(
    ("shown", "words", "how"),
    [
        (
            SHORT,
            ("yes", "1", "ok, allow it", "allowed", "👍", "✅", "all", "back", "deny it", "run it"),
            "Nothing was decided. Reply allow, deny, “deny:” and why, or more.",
        ),
        (
            LONG,
            ("allow", "session", "yes", "why not"),
            "Nothing was decided. Reply all to see all of it first, or deny.",
        ),
        (
            SESSION,
            ("allow", "session", "no", "👍"),
            "Nothing was decided. Reply yes to allow it, or deny, or back.",
        ),
        (
            DESTRUCTIVE,
            ("yes", "👍", "run", "run it please", "ok", "more", "session"),
            "Nothing was decided. Reply run it, deny, or “deny:” and why.",
        ),
        (
            HOW_LONG,
            ("allow", "yes", "4", "0", "1 h", "8h", "👍", "session", "more"),
            "Nothing was decided. Reply with a number, or deny, or back.",
        ),
        (
            REALLY,
            ("allow", "yes", "👍", "session"),
            "Nothing was decided. Reply run it to run it, or deny, or back.",
        ),
        (
            BEYOND,
            ("session", "yes", "run it"),
            "Nothing was decided. Reply allow, deny, or “deny:” and why.",
        ),
        (WHY, ("allow", "yes", "more", "session", "all", "why"), "Reply with the reason, or back."),
    ],
)
def test_anything_else_decides_nothing_and_says_what_would(
    shown: Ask, words: tuple[str, ...], how: str
) -> None:
    for said in words:
        assert interpret(shown, said, next_time=NEXT_TIME) == Unclear(why=how)


def test_an_approval_without_a_limit_takes_no_more_time() -> None:
    assert isinstance(interpret(replace(SHORT, deadline=None), "+15", next_time=NEXT_TIME), Unclear)


@given(approvals(), _words | some.texts | some.big_texts)
def test_every_reply_is_taken_or_refused_kindly(shown: Ask, said: str) -> None:
    found = interpret(shown, said, next_time=NEXT_TIME)
    if isinstance(found, Unclear):
        assert found.why.endswith(".")
        return
    if not shown.open or isinstance(found[0], form.Later):
        return
    for event in found:
        assert not isinstance(event, AskAction)
        step = steps.apply_event(shown, event)
        match step:
            case form.Refused():
                assert step in (form.EMPTY, form.TOO_LONG)
                assert event == found[-1]
            case form.Moved(draft=draft):
                shown = replace(shown, draft=draft)
            case form.Answered(answers=(answer,)):
                assert event == found[-1]
                if answer.values != ("deny",):
                    word = " ".join(said.casefold().split()).removeprefix("!")
                    subject = shown.questions[0].subject
                    once = "run it" if subject and subject.destructive else "allow"
                    assert (answer.values[0], word) in {("allow", once), ("session", "yes")}
            case _:
                pytest.fail(f"{step}")


@given(approvals(), _words | some.texts)
def test_beside_buttons_a_text_is_a_reason_or_nothing(shown: Ask, said: str) -> None:
    events = interpret_beside_buttons(shown, said)
    assert events == (Text(text=said, step=shown.draft.step),)
    if shown.open and shown.draft.view is not View.OTHER:
        assert isinstance(steps.apply_event(shown, events[0]), form.Refused)
