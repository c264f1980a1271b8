"""An approval's card, word for word (T16, T16b, T17b), and what of a long one is shown when."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatbridge.channels.chat.capabilities import Seen
from chatbridge.channels.chat.card import placeholder, toast
from chatbridge.channels.telegram.render.card import (
    Overflow,
    draw_card,
    draw_prompt,
    draw_reminder,
    overflow,
)
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.phrases import UNSENT, clock_time, format_only_on
from chatbridge.core.forms import form
from chatbridge.core.forms.approval import advance
from chatbridge.core.forms.events import AskSession, ShowAll
from chatbridge.core.model import ALLOW, DENY, VERDICTS, Answer, Ask, Outcome, Status
from tests.telegram_asks import (
    ADA,
    GROUP,
    HOUR,
    NOW,
    PRIVATE,
    approval,
    ask,
    buttons,
    card,
    labels,
    read_card,
    read_plainly,
    stepped,
    time_tag,
)

APPLY = "terraform apply -lock-timeout=60s -var-file=prod.tfvars plan.out"
COMMAND = ask(approval(APPLY, folder="~/code/infra"), project="infra", agent="Codex")
LONG = ask(approval("x" * 2_000 + "hidden" + "y" * 2_000, whole_first=True))
DIFF = "@@ -1,3 +1,3 @@\n a\n-b\n-c\n+B\n+C"
CHANGE = ask(
    approval(DIFF, question="Change this file?", language="diff", file="deploy/prod.tf"),
    project="infra",
)
EVERY = "Allowing it allows every git push of this agent until its session ends."
DESTRUCTIVE = ask(approval("rm -r build", folder="~/code/infra", destructive=True))
BEYOND = ask(approval("git push", folder="~/code/infra", beyond=EVERY))
ROWS = [["Allow for this session…"], ["Allow once"], ["Deny", "Deny, say why…"]]
AT = clock_time(NOW + 60)


def html(shown: Ask, seen: Seen = PRIVATE) -> str:
    return draw_card(card(shown), seen).html.replace("\u2068", "").replace("\u2069", "")


def decided(shown: Ask, verdict: int, why: str | None = None) -> Ask:
    answer = Answer(values=(VERDICTS[verdict].label,), custom_text=why)
    outcome = Outcome(at=NOW + 60, answers=(answer,), by=ADA)
    return replace(shown, status=Status.ANSWERED, outcome=outcome, delivered_at=NOW + 61)


# ── open ──────────────────────────────────────────────────────────────────────────────────────────


def test_a_command_is_shown_to_the_letter_with_where_it_would_run() -> None:
    assert html(COMMAND) == (
        "🔐 <b>infra</b> · Codex\n\n<b>Run this command?</b>\n"
        f'<pre><code class="language-bash">{APPLY}</code></pre>\n'
        "in <code>~/code/infra</code>\n\n"
        f"Denied if nobody answers. Ends {time_tag(NOW + HOUR, now=NOW)}"
    )
    assert buttons(COMMAND) == ROWS
    assert buttons(COMMAND, replace(PRIVATE, now=NOW + 50 * 60)) == [*ROWS, ["+15 min"]]


def test_no_button_of_an_approval_stands_out() -> None:
    drawing = draw_card(card(COMMAND), PRIVATE)
    assert {key.style for row in drawing.rows for key in row} == {None}


@pytest.mark.parametrize(
    "code",
    [
        "echo ```; echo '</code></pre>' <b>x</b> && true",
        "**not bold** [a](https://example.org) `date`",
        "  leading\n\n\n# and blank lines\n  kept",
        "\n".join(f"echo {i}" for i in range(200)),
        "é" * 3_000,
    ],
    ids=["markup", "markdown", "blanks", "many lines", "3,000 characters"],
)
def test_whatever_is_in_a_command_is_shown_as_it_is(code: str) -> None:
    assert code in read_card(ask(approval(code)))


def test_what_is_not_plainly_visible_is_told() -> None:
    assert "rm ⟨U+202E⟩txt.\n" in read_card(ask(approval("rm \u202etxt.")))
    assert "\ncd a⟨U+000D⟩\n⇥rm 1⟨U+FE0F⟩\n" in read_card(ask(approval("cd a\r\n\trm 1\ufe0f")))
    assert "in ⟨1 space⟩a⟨U+000A⟩\n" in read_card(ask(approval("ls", folder=" a\n")))


def test_a_folder_that_is_only_where_the_agent_began_says_so() -> None:
    shown = ask(approval("ls", folder="~/code/infra", started=True))
    assert "\nls\nagent started in ~/code/infra\n" in read_card(shown)


def test_a_path_that_leads_elsewhere_says_where() -> None:
    shown = ask(approval("+a", language="diff", file="notes.txt", leads_to="/etc/hosts"))
    assert "\nnotes.txt · 1 added, 0 removed\nleads to /etc/hosts\n+a\n" in read_card(shown)
    shown = ask(approval("{}", language="json", leads_to="/etc/hosts", folder="~/shop"))
    assert "\nits path leads to /etc/hosts\n{}\nin ~/shop\n" in read_card(shown)


def test_another_tool_shows_its_name_and_input() -> None:
    shown = ask(approval('{\n  "a": 1\n}', question="Use `fetch`?", language="json"))
    assert '<b>Use </b><code>fetch</code><b>?</b>\n<pre><code class="language-json">{' in html(
        shown
    )


def test_a_long_command_can_only_be_shown_or_denied() -> None:
    shown = read_card(LONG)
    assert "x" * 1_500 in shown
    assert "y" * 800 in shown
    assert "hidden" not in shown
    assert buttons(LONG) == [["Show all"], ["Deny"]]
    assert overflow(LONG) == Overflow()


def test_once_all_of_it_is_out_it_can_be_allowed_and_not_before() -> None:
    whole = stepped(LONG, ShowAll(step=0))
    (file,) = overflow(whole).after
    assert file.name == "approval-0b2c5f1e.txt"
    assert file.content.decode() == "x" * 2_000 + "hidden" + "y" * 2_000
    assert buttons(whole, replace(PRIVATE, unsent=True)) == [["Deny", "Deny, say why…"]]
    assert buttons(whole) == ROWS
    assert "… 1,706 characters …" in read_card(whole)
    assert "All of it is in the file." in read_card(whole)


def test_a_command_that_no_card_can_hold_is_allowed_only_with_its_file() -> None:
    shown = ask(approval("😀" * 2_000))
    (file,) = overflow(shown).after
    assert file.content.decode() == "😀" * 2_000
    assert "All of it is in the file." in read_card(shown)
    assert buttons(shown) == ROWS
    unsent = replace(PRIVATE, unsent=True)
    assert buttons(shown, unsent) == [["Deny", "Deny, say why…"]]
    assert UNSENT in read_card(shown, unsent)


def test_long_paths_keep_their_end_and_come_whole_in_the_file() -> None:
    path = "/src" + "/deep" * 100 + "/main.tf"
    shown = ask(approval("ls", folder=path))
    assert "/deep/main.tf\n" in read_card(shown)
    assert path not in read_card(shown)
    assert path in overflow(shown).after[0].content.decode()


def test_a_change_says_how_much_of_the_file_it_touches() -> None:
    assert (
        "<b>Change this file?</b>\n<code>deploy/prod.tf</code> · 2 added, 2 removed\n"
        f'<pre><code class="language-diff">{DIFF}</code></pre>'
    ) in html(CHANGE)
    assert buttons(CHANGE) == ROWS


def test_a_long_change_that_has_to_be_read_can_only_be_shown_or_denied() -> None:
    lines = [f"+{i}" for i in range(24)]
    question = approval("\n".join(lines), language="diff", file="run.sh", whole_first=True)
    shown = ask(question)
    assert "\nrun.sh\n+0\n" in read_card(shown)
    assert "+13\n… 2 lines …\n+16\n" in read_card(shown)
    assert buttons(shown) == [["Show all"], ["Deny"]]
    whole = stepped(shown, ShowAll(step=0))
    assert overflow(whole).after[0].content.decode() == "\n".join(lines)
    assert buttons(whole) == ROWS


def test_of_a_long_change_first_and_last_lines_are_shown_and_it_can_be_allowed() -> None:
    lines = [f"+line {i}" for i in range(60)]
    question = approval("\n".join(lines), language="diff", file="new.py")
    shown = ask(question)
    assert "new.py · 60 added, 0 removed\n" in read_card(shown)
    assert "+line 13\n… 38 lines …\n+line 52\n" in read_card(shown)
    assert buttons(shown) == ROWS
    (file,) = overflow(shown).after
    assert file.content.decode() == "\n".join(lines)


@pytest.mark.parametrize(
    ("diff", "counted"),
    [
        ("@@ 1 of 2 @@\n-a\n+b\n@@ 2 of 2 @@\n c\n+d", "2 added, 1 removed"),
        ("--- a comment in SQL\n+++", "1 added, 1 removed"),
        ("@@ the whole file @@\n+a\n+\n+b", "3 added, 0 removed"),
        ("@@ delete cell @@", "0 added, 0 removed"),
    ],
)
def test_every_line_that_comes_or_goes_is_counted(diff: str, counted: str) -> None:
    shown = read_card(ask(approval(diff, language="diff", file="a.sql")))
    assert f"\na.sql · {counted}\n" in shown


def test_a_destructive_command_asks_once_more() -> None:
    assert buttons(DESTRUCTIVE) == ROWS
    shown = stepped(DESTRUCTIVE, form.Choose(step=0, option=ALLOW))
    assert html(shown) == (
        "🔐 <b>shop-api</b> · Claude Code\n\n<b>Really run this command?</b>\n"
        '<pre><code class="language-bash">rm -r build</code></pre>\n'
        "in <code>~/code/infra</code>\n\n"
        "It is marked as destructive, so it takes a second tap.\n\n"
        f"Denied if nobody answers. Ends {time_tag(NOW + HOUR, now=NOW)}"
    )
    drawing = draw_card(card(shown), PRIVATE)
    assert labels(drawing.rows) == [["Yes, run it"], ["‹ Back", "Deny"]]
    assert [key.style for row in drawing.rows for key in row] == ["danger", None, None]


def test_what_allows_more_than_itself_says_so_and_has_one_way_to_allow() -> None:
    assert read_card(BEYOND) == (
        "🔐 shop-api · Claude Code\n\nRun this command?\ngit push\nin ~/code/infra\n\n"
        f"{EVERY}\n\nDenied if nobody answers. Ends {clock_time(NOW + HOUR)}"
    )
    assert buttons(BEYOND) == [["Allow"], ["Deny", "Deny, say why…"]]
    both = ask(approval("git push -f", destructive=True, beyond=EVERY))
    really = read_card(stepped(both, form.Choose(step=0, option=ALLOW)))
    assert f"\n{EVERY}\nIt is marked as destructive, so it takes a second tap.\n\n" in really
    hostile = ask(approval("ls", beyond="</pre><b>x</b>\n🔐 \u202e"))
    assert "\n</pre><b>x</b> 🔐 ⟨U+202E⟩\n\nDenied if" in read_card(hostile)


def test_what_allowed_more_than_itself_does_not_claim_to_be_allowed_once() -> None:
    assert read_card(decided(BEYOND, ALLOW)).startswith("✅ Allowed · shop-api\n\ngit push\n\n")
    allowed = advance(BEYOND.questions[0], BEYOND.draft, form.Choose(step=0, option=ALLOW))
    assert toast(BEYOND, allowed) == "Allowed."


def test_a_command_of_ours_says_that_it_is_run() -> None:
    shown = replace(
        decided(COMMAND, ALLOW), dialect="command", delivered_at=None, orphaned_since=NOW
    )
    assert read_card(shown).endswith(f"\n\nyou, here, {AT} · chatbridge runs it")


def test_the_session_asks_once_more() -> None:
    shown = stepped(COMMAND, AskSession(step=0))
    assert "Allow this exact command until the session ends?\n" + APPLY in read_card(shown)
    assert buttons(shown) == [["Yes, for this session"], ["‹ Back", "Deny"]]
    change = stepped(CHANGE, AskSession(step=0))
    assert "Allow this exact change until the session ends?" in read_card(change)


def test_denying_with_a_reason_asks_for_it() -> None:
    shown = stepped(COMMAND, form.Other(step=0))
    assert "Send the reason as text." in read_card(shown)
    assert "Reply with the reason." in read_card(shown, GROUP)
    assert buttons(shown) == [["Write it…"], ["‹ Back"]]
    assert buttons(shown, replace(PRIVATE, prompted=True)) == [["‹ Back"]]
    assert read_plainly(draw_prompt(card(shown), mention=None)) == "Your reason for infra:"
    assert placeholder(card(shown)) == "Your reason"


def test_where_it_cannot_be_settled_the_card_says_where_it_can() -> None:
    drawn = build_card(COMMAND, channel="telegram", latest_deadline=1e12, only_on=("matrix",))
    drawing = draw_card(drawn, replace(PRIVATE, now=NOW + 50 * 60))
    assert "\n\nAllow or deny this in Matrix.\nDenied if" in read_plainly(drawing.html)
    assert APPLY in drawing.html
    assert drawing.rows == ()
    assert format_only_on(["matrix", "web"]) == "Allow or deny this in Matrix or the web inbox."


def test_the_last_line_stands_out_when_time_runs_out() -> None:
    soon = html(COMMAND, replace(PRIVATE, now=NOW + 55 * 60))
    assert soon.endswith(
        f"Denied if nobody answers. <b>Ends {time_tag(NOW + HOUR, now=NOW)}, soon.</b>"
    )
    assert read_card(replace(COMMAND, deadline=None)).endswith("\n\nNo time limit")


def test_the_reminder_names_the_command() -> None:
    drawing = draw_reminder(card(COMMAND), PRIVATE)
    assert read_plainly(drawing.html).endswith(
        "\n\nRun this command? terraform apply -lock-timeout=60s -var-fi…"
    )


# ── ended ─────────────────────────────────────────────────────────────────────────────────────────


def test_an_allowed_command_says_by_whom_and_that_the_agent_has_it() -> None:
    assert read_card(decided(COMMAND, ALLOW)) == (
        f"✅ Allowed once · infra\n\n{APPLY}\n\nyou, here, {AT} · the agent has it"
    )
    assert buttons(decided(COMMAND, ALLOW)) == []


def test_a_denied_command_has_its_reason() -> None:
    assert read_card(decided(COMMAND, DENY, "not on a Friday")) == (
        f"🚫 Denied · infra\n\n{APPLY}\n\nReason: not on a Friday\n\n"
        f"you, here, {AT} · the agent was told"
    )


def test_an_approval_that_nobody_answered_is_denied_for_good() -> None:
    over = replace(COMMAND, status=Status.TIMED_OUT, outcome=Outcome(at=NOW + HOUR))
    assert read_card(over) == (
        f"⌛ Denied · infra\n\n{APPLY}\n\nNobody answered by {clock_time(NOW + HOUR)}."
    )
    assert buttons(over) == []


def test_a_changed_file_is_named_and_its_diff_is_over() -> None:
    shown = read_card(decided(CHANGE, ALLOW))
    assert "\n\nChange this file?\ndeploy/prod.tf · 2 added, 2 removed\n\nyou" in shown


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (form.Choose(step=0, option=ALLOW), "Allowed once."),
        (form.Choose(step=0, option=DENY), "Denied."),
        (AskSession(step=0), ""),
        (form.Text(text="allow"), "Tap Allow or Deny."),
    ],
)
def test_a_tap_is_answered_with_what_it_did(event: form.Event, said: str) -> None:
    assert toast(COMMAND, advance(COMMAND.questions[0], COMMAND.draft, event)) == said
