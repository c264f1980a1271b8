"""An approval's screens in Matrix, word for word, and what holds for any of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.chat.approvals import pages
from chatbridge.channels.chat.capabilities import Seen
from chatbridge.channels.chat.document import Code
from chatbridge.channels.matrix.render.card import (
    MATRIX,
    draw_card,
    draw_past,
    draw_reminder,
    draw_root,
    keys,
    pages_of,
)
from chatbridge.channels.matrix.render.html import INDENT, Words
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import Card, Role
from chatbridge.core.cards.phrases import clock_time, format_only_on
from chatbridge.core.forms import form
from chatbridge.core.forms.events import AskSession, ShowAll
from chatbridge.core.model import ALLOW, Answer, Ask, Outcome, Question, Status, Subject, View
from tests.matrix_asks import ADA, SEEN, TYPED, card, check, go, html_text, plain, seens
from tests.telegram_asks import HOUR, NOW, approval, ask
from tests.telegram_strategies import approvals, codes

COMMAND = approval("terraform apply plan.out", folder="~/code/infra")
DIFF = "@@ every occurrence @@\n-a = 1\n+a = 2\n+b = 3"
CHANGE = approval(DIFF, question="Change this file?", language="diff", file="deploy/prod.tf")
LONG = approval("\n".join(f"line {i:03}" for i in range(600)), whole_first=True)
OPEN = ask(COMMAND)
EVERY = "Allowing it allows every git push of this agent until its session ends."
DESTRUCTIVE = ask(approval("rm -r build", folder="~/code/infra", destructive=True))
REALLY = go(DESTRUCTIVE, form.Choose(step=0, option=ALLOW))
BEYOND = ask(approval("git push", folder="~/code/infra", beyond=EVERY))
SESSION = go(OPEN, AskSession(step=0))
ENDS = f"Denied if nobody answers. Ends {clock_time(NOW + HOUR)}."
HINT = (
    "👍 allow once, 👎 deny. Or reply allow, deny, or “deny:” and why. "
    "Reply session to allow it for this session."
)


def body(shown: Ask, seen: Seen = SEEN) -> str:
    drawing = draw_card(card(shown), seen)
    check(drawing)
    return plain(drawing.body)


def ended(question: Question, status: Status, *answers: Answer) -> Ask:
    outcome = Outcome(at=NOW + 60, answers=answers, by=ADA if answers else None)
    return replace(ask(question), status=status, outcome=outcome, delivered_at=NOW + 61)


def seeds(shown: Card) -> str:
    return " ".join(key.emoji for key in keys(shown))


# ── the screens ───────────────────────────────────────────────────────────────────────────────────


def test_a_command_is_shown_to_the_letter_with_where_it_runs_and_what_to_do() -> None:
    assert body(OPEN) == (
        "🔐 shop-api · Claude Code\nRun this command?\n"
        f"    terraform apply plan.out\nin ~/code/infra\n{HINT}\n{ENDS}"
    )
    assert plain(draw_card(card(OPEN), SEEN).html) == (
        "<p>🔐 <strong>shop-api</strong> · Claude Code</p>"
        "<p><strong>Run this command?</strong></p>"
        '<pre><code class="language-bash">terraform apply plan.out</code></pre>'
        f"<p>in <code>~/code/infra</code></p><p>{HINT}<br>{ENDS}</p>"
    )
    assert body(OPEN, TYPED).split("\n")[-2] == HINT.removeprefix(
        "👍 allow once, 👎 deny. Or "
    ).replace("reply", "Reply", 1)
    assert seeds(card(OPEN)) == "👍 👎"


def test_a_change_names_its_file_and_how_much_it_changes() -> None:
    assert body(ask(CHANGE)).startswith(
        "🔐 shop-api · Claude Code\nChange this file?\ndeploy/prod.tf · 2 added, 1 removed\n"
        "    @@ every occurrence @@\n    -a = 1\n"
    )


def test_an_input_whose_path_leads_elsewhere_says_where() -> None:
    shown = ask(approval("{}", language="json", leads_to="/etc/hosts"))
    assert "\nits path leads to /etc/hosts\n" in plain(draw_card(card(shown), SEEN).body)


def test_a_removed_comment_that_looks_like_a_files_name_counts() -> None:
    code = "--- a comment of SQL\n+++ y\n@@ 2 of 2 @@"
    change = approval(code, question="Change this file?", language="diff", file="a.sql")
    assert "a.sql · 1 added, 1 removed\n" in body(ask(change))


def test_the_session_is_a_screen_of_its_own() -> None:
    assert body(SESSION) == (
        "🔐 shop-api · Claude Code\nAllow this exact command until the session ends?\n"
        "    terraform apply plan.out\nin ~/code/infra\n"
        f"👍 allows it for this session, 👎 denies it, ↩️ goes back. Or reply yes.\n{ENDS}"
    )
    assert "Reply yes to allow it for this session. Or reply deny or back." in body(SESSION, TYPED)
    change = go(ask(CHANGE), AskSession(step=0))
    assert "Allow exactly this until the session ends?" in body(change)
    assert seeds(card(SESSION)) == "👍 👎 ↩️"


def test_a_destructive_command_takes_words_and_no_reaction_allows_it() -> None:
    marked = "It is marked as destructive. Reply run it to allow it once."
    denying = "deny, or “deny:” and why. Reply session to allow it for this session."
    assert body(DESTRUCTIVE) == (
        "🔐 shop-api · Claude Code\nRun this command?\n    rm -r build\nin ~/code/infra\n"
        f"{marked} 👎 denies it. Or reply {denying}\n{ENDS}"
    )
    assert body(DESTRUCTIVE, TYPED).endswith(f"\n{marked} Or reply {denying}\n{ENDS}")
    assert body(REALLY) == (
        "🔐 shop-api · Claude Code\nReally run this command?\n    rm -r build\nin ~/code/infra\n"
        "It is marked as destructive. Reply run it to run it. "
        f"👎 denies it, ↩️ goes back.\n{ENDS}"
    )
    assert body(REALLY, TYPED).split("\n")[-2].endswith("run it. Or reply deny or back.")
    session = go(DESTRUCTIVE, AskSession(step=0))
    assert "\nReply yes to allow it for this session. 👎 denies it, ↩️ goes back.\n" in body(session)
    assert [seeds(card(shown)) for shown in (DESTRUCTIVE, REALLY, session)] == [
        "👎",
        "👎 ↩️",
        "👎 ↩️",
    ]


def test_what_allows_more_than_itself_says_so_before_the_decision() -> None:
    assert body(BEYOND) == (
        "🔐 shop-api · Claude Code\nRun this command?\n    git push\nin ~/code/infra\n"
        f"{EVERY}\n👍 allow, 👎 deny. Or reply allow, deny, or “deny:” and why.\n{ENDS}"
    )
    both = ask(approval("git push -f", destructive=True, beyond=EVERY))
    for shown in (both, go(both, form.Choose(step=0, option=ALLOW))):
        assert f"\n{EVERY}\nIt is marked as destructive. Reply run it to " in body(shown)
        assert "session" not in body(shown).replace(EVERY, "")
    hostile = ask(approval("ls", beyond="</p><b>x</b>\n🔐 \u202e"))
    check(draw_card(card(hostile), SEEN))
    assert "\n</p><b>x</b> 🔐 ⟨U+202E⟩\n" in body(hostile)


def test_a_reason_is_asked_for_in_one_line() -> None:
    why = go(OPEN, form.Other(step=0))
    assert body(why) == "Why should it be denied? Reply with the reason. ↩️ goes back."
    assert body(why, TYPED).endswith("Reply back to go back.")
    assert seeds(card(why)) == "↩️"


def test_what_is_not_shown_whole_offers_no_allow() -> None:
    shown = ask(LONG)
    said = body(shown)
    assert "line 000" in said
    assert "line 300" not in said
    assert "line 599" in said
    assert "📄 shows all of it, and then it can be allowed. 👎 denies it. Or reply all." in said
    assert "Reply all to see all of it, and then it can be allowed." in body(shown, TYPED)
    assert seeds(card(shown)) == "📄 👎"
    whole = go(shown, ShowAll(step=0))
    assert all(f"line {i:03}" in body(whole) for i in range(600))
    assert seeds(card(whole)) == "👍 👎"


def test_a_room_that_may_not_settle_it_says_where() -> None:
    shown = build_card(OPEN, channel="matrix", only_on=("telegram",))
    drawing = draw_card(shown, SEEN)
    assert plain(drawing.body).endswith(f"\nAllow or deny this in Telegram.\n{ENDS}")
    assert "terraform apply plan.out" in drawing.body
    assert seeds(shown) == ""
    assert format_only_on(("telegram", "web")) == "Allow or deny this in Telegram or the web inbox."
    assert format_only_on(()).startswith("This cannot be allowed here.")


def test_an_agent_that_is_not_waiting_gets_no_promise() -> None:
    assert "kept" not in body(replace(OPEN, orphaned=True))


# ── the end ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("shown", "first", "last"),
    [
        (
            ended(COMMAND, Status.ANSWERED, Answer(values=("allow",))),
            "✅ Allowed once · shop-api",
            f"you, here, {clock_time(NOW + 60)} · the agent has it",
        ),
        (
            ended(COMMAND, Status.ANSWERED, Answer(values=("session",))),
            "✅ Allowed for this session · shop-api",
            f"you, here, {clock_time(NOW + 60)} · the agent has it",
        ),
        (
            ended(COMMAND, Status.ANSWERED, Answer(values=("deny",), custom_text="Not now.")),
            "🚫 Denied · shop-api",
            f"Reason: Not now.\nyou, here, {clock_time(NOW + 60)} · the agent was told",
        ),
        (
            ended(COMMAND, Status.TIMED_OUT),
            "⌛ Denied · shop-api",
            f"Nobody answered by {clock_time(NOW + HOUR)}.",
        ),
        (
            ended(COMMAND, Status.WITHDRAWN),
            "🚫 Withdrawn · shop-api",
            "The agent no longer needs an answer.",
        ),
    ],
)
def test_the_summary_says_what_was_decided_about_what(shown: Ask, first: str, last: str) -> None:
    what = "Run this command?\n    terraform apply plan.out\nin ~/code/infra"
    assert body(shown) == f"{first}\n{what}\n{last}"
    assert seeds(card(shown)) == ""


def test_a_command_of_ours_says_that_it_is_run_and_no_more_than_was_allowed() -> None:
    subject = BEYOND.questions[0]
    shown = replace(
        ended(subject, Status.ANSWERED, Answer(values=("allow",))),
        dialect="command",
        delivered_at=None,
        orphaned_since=NOW,
    )
    said = body(shown)
    assert said.startswith("✅ Allowed · shop-api\n")
    assert said.endswith(f"\nyou, here, {clock_time(NOW + 60)} · chatbridge runs it")


def test_steps_that_are_over_say_no_more_than_that() -> None:
    allowed = ended(COMMAND, Status.ANSWERED, Answer(values=("session",)))
    for view in (View.QUESTION, View.SESSION, View.OTHER):
        assert draw_past(OPEN, view=view, at=0).body == "It goes on below."
        assert draw_past(allowed, view=view, at=0).body == "Allowed for this session."


def test_the_root_and_the_reminder_say_what_it_is_about() -> None:
    root = plain(draw_root(card(SESSION), SEEN).body)
    assert root.endswith(
        f"    terraform apply plan.out\nin ~/code/infra\nGo on in the thread. {ENDS}"
    )
    reminder = plain(draw_reminder(card(OPEN), SEEN).body)
    assert "\nRun this command?\nterraform apply plan.out\n" in reminder


# ── whatever it is about ──────────────────────────────────────────────────────────────────────────


@given(approvals(), seens)
def test_everything_fits_an_event(shown: Ask, seen: Seen) -> None:
    for each in (card(shown), build_card(shown, channel="matrix", only_on=("web",))):
        check(draw_card(each, seen))
        check(draw_reminder(each, seen))
        if each.view is not None:
            check(draw_root(each, seen))
        for page in pages_of(each):
            check(page)


@given(codes)
def test_pages_are_all_of_it_to_the_letter(code: str) -> None:
    whole = code + "x" * MATRIX.code
    shown = replace(card(ask(approval())), subject=Subject(code=whole))
    parts = [part for page in pages(shown, MATRIX) for part in page if isinstance(part, Code)]
    assert "".join(part.text for part in parts) == whole


@given(approvals(), seens)
def test_whoever_can_allow_something_is_shown_all_of_it(shown: Ask, seen: Seen) -> None:
    found = card(shown)
    subject = found.subject
    assert subject
    allowing = (Role.ALLOW, Role.SESSION_NOW, Role.RUN_NOW)
    if not any(map(found.button, allowing)) or not subject.code.strip():
        return
    pages = pages_of(found)
    said = [draw_card(found, seen)] if not pages else list(pages)
    assert subject.code in "".join(_code_in(drawing) for drawing in said)
    everything = html_text(draw_card(found, seen).html) + "".join(map(_code_in, pages))
    paths = (subject.file, subject.leads_to, subject.folder)
    assert all(path in everything for path in paths if path)


def _code_in(drawing: Words) -> str:
    """What stands in the frame for code."""
    _, _, rest = drawing.html.rpartition("<pre>")
    return html_text(f"<pre>{rest.partition('</pre>')[0]}</pre>")


@given(codes)
def test_no_line_of_the_code_stands_where_ours_do(code: str) -> None:
    shown = ask(approval(f"ls\n{code}\n{HINT}", folder="/tmp"))
    lines = draw_card(card(shown), SEEN).body.split("\n")
    assert [line for line in lines if HINT in line] in (
        [f"{INDENT}{HINT}", HINT],
        [HINT],  # it was cut
    )


@given(st.text(max_size=40))
def test_a_language_is_a_name_or_none(language: str) -> None:
    drawing = draw_card(card(ask(approval("ls", language=language))), SEEN)
    check(drawing)
    assert drawing.html.count("<code") == 1
