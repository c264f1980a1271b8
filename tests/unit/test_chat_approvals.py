"""An approval's card in a chat, word for word, and what of a long one is shown when."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.chat.approvals import pages
from chatbridge.channels.chat.capabilities import Seen
from chatbridge.channels.chat.card import placeholder, toast
from chatbridge.channels.chat.document import Code
from chatbridge.channels.matrix.render.html import INDENT, Words
from chatbridge.channels.telegram.render.card import draw_prompt
from chatbridge.channels.telegram.render.html import to_html
from chatbridge.core.cards.card import Role
from chatbridge.core.cards.phrases import UNSENT, clock_time, format_only_on
from chatbridge.core.forms import approval_form, form
from chatbridge.core.forms.approval_form import advance_approval as advance
from chatbridge.core.forms.form import AskMore, ShowAll
from chatbridge.core.model import (
    ALLOW,
    ALLOW_SESSION,
    DENY,
    VERDICTS,
    Answer,
    Ask,
    Grant,
    Outcome,
    Status,
    Subject,
    View,
)
from tests import telegram_drawings as telegram
from tests.chats import MATRIX, TELEGRAM, TYPED, Chat, each_chat
from tests.matrix_asks import html_text, seens
from tests.matrix_drawings import draw_card, draw_past, draw_root, pages_of
from tests.telegram_asks import HOUR, NOW, approval, ask, read_plainly, stepped, time_tag
from tests.telegram_drawings import Overflow, overflow
from tests.telegram_strategies import approvals, codes

APPLY = "terraform apply -lock-timeout=60s -var-file=prod.tfvars plan.out"
FOLDER = "~/code/infra"
COMMAND = ask(approval(APPLY, folder=FOLDER))
DIFF = "@@ -1,3 +1,3 @@\n a\n-b\n-c\n+B\n+C"
CHANGE = ask(approval(DIFF, question="Change this file?", language="diff", file="deploy/prod.tf"))
LINES = "\n".join(f"line {i:03}" for i in range(600))
LONG = ask(approval(LINES, whole_first=True))
EVERY = "Allowing it allows every git push of this agent until its session ends."
DESTRUCTIVE = ask(approval("rm -r build", folder=FOLDER, destructive=True))
REALLY = stepped(DESTRUCTIVE, form.Choose(step=0, option=ALLOW))
BEYOND = ask(approval("git push", folder=FOLDER, beyond=EVERY))
BOTH = ask(approval("git push -f", destructive=True, beyond=EVERY))
HOW_LONG = stepped(COMMAND, AskMore(step=0))
SESSION = stepped(HOW_LONG, form.Pick(step=1, option=2))
TIMED = stepped(HOW_LONG, form.Pick(step=1, option=0))
TIMED = replace(TIMED, draft=replace(TIMED.draft, until=NOW + HOUR))
FOLDERS = ("/src/shop-api/src/<b>", "/src/shop-api")
EDIT = replace(CHANGE, questions=(approval("+x", language="diff", file="a.py", edits=FOLDERS),))
SCOPE = stepped(EDIT, AskMore(step=0))
EDITS = stepped(SCOPE, form.Pick(step=1, option=0), form.Pick(step=2, option=1))
EDITS = replace(EDITS, draft=replace(EDITS.draft, until=NOW + 8 * HOUR))
WHY = stepped(COMMAND, form.Other(step=0))
LATER = ["More time…"]
ROWS = [["Allow once"], ["Deny", "Deny, say why…"], ["Allow more…"], LATER]
DENYING = [["Deny", "Deny, say why…"], LATER]
AT = clock_time(NOW + 60)
FIRST_LINE = "🔐 shop-api · Claude Code"
ENDS = f"Denied if nobody answers. Ends {clock_time(NOW + HOUR)}"
MORE_TIME = "Reply “later” for more time."
HINT = (
    "👍 allow once, 👎 deny. Or reply allow, deny, or “deny:” and why. "
    "Reply more to allow more than this."
)


def decided(
    chat: Chat, shown: Ask, verdict: int, why: str | None = None, grant: Grant | None = None
) -> Ask:
    answer = Answer(values=(VERDICTS[verdict].label,), custom_text=why)
    outcome = Outcome(at=NOW + 60, answers=(answer,), by=chat.me, grant=grant)
    return replace(shown, status=Status.ANSWERED, outcome=outcome, delivered_at=NOW + 61)


def about(chat: Chat, shown: Ask) -> str:
    return "\n".join(chat.read(shown))


# ── open ──────────────────────────────────────────────────────────────────────────────────────────


@each_chat
def test_a_command_is_shown_to_the_letter_with_where_it_would_run(chat: Chat) -> None:
    assert (
        chat.markup(chat.draw(chat.card(COMMAND), chat.private))
        == {
            TELEGRAM: "🔐 <b>shop-api</b> · Claude Code\n\n<b>Run this command?</b>\n"
            f'<pre><code class="language-bash">{APPLY}</code></pre>\nin <code>{FOLDER}</code>\n\n'
            f"Denied if nobody answers. Ends {time_tag(NOW + HOUR, now=NOW)}",
            MATRIX: "<p>🔐 <strong>shop-api</strong> · Claude Code</p>"
            "<p><strong>Run this command?</strong></p>"
            f'<pre><code class="language-bash">{APPLY}</code></pre>'
            f"<p>in <code>{FOLDER}</code></p><p>{HINT}<br>{ENDS}. {MORE_TIME}</p>",
        }[chat]
    )
    assert chat.offers(COMMAND) == {TELEGRAM: ROWS, MATRIX: [["👍", "👎"]]}[chat]


def test_buttons_of_an_approval_do_not_stand_out() -> None:
    rows = telegram.draw_card(TELEGRAM.card(COMMAND), TELEGRAM.private).rows
    assert {key.style for row in rows for key in row} == {None}


def test_more_time_for_an_approval_is_asked_for_where_it_can_be_denied_but_not_allowed() -> None:
    later = stepped(COMMAND, form.AskLater(step=0))
    assert TELEGRAM.read(later)[1:3] == ["Run this command?", "How much more time?"]
    assert TELEGRAM.read(later)[-1] == ENDS
    assert TELEGRAM.offers(later)[0] == ["+15 min"]
    assert TELEGRAM.offers(later)[-1] == ["‹ Back", "Deny"]
    assert MATRIX.read(later)[0].startswith("How much more time? React or reply with a number,")
    assert MATRIX.offers(later)[0][-2:] == ["👎", "↩️"]
    allow = approval_form.advance_approval(
        later.questions[0], later.draft, form.Choose(step=1, option=ALLOW)
    )
    assert allow == form.UNFIT


def test_where_nobody_can_react_words_decide() -> None:
    words = HINT.removeprefix("👍 allow once, 👎 deny. Or ").replace("reply", "Reply", 1)
    assert MATRIX.read(COMMAND, TYPED)[-2] == words


@each_chat
@pytest.mark.parametrize(
    "code",
    [
        "echo ```; echo '</code></pre>' <b>x</b> && true",
        "**not bold** [a](https://example.org) `date`",
        "  leading\n\n\n# and blank lines\n  kept",
        "\n".join(f"echo {i}" for i in range(200)),
        "é" * 1_000,
    ],
    ids=["markup", "markdown", "blanks", "many lines", "1,000 characters"],
)
def test_whatever_is_in_a_command_is_shown_as_it_is(chat: Chat, code: str) -> None:
    shown = chat.text(chat.draw(chat.card(ask(approval(code))), chat.private))
    assert code in shown.replace(f"\n{INDENT}", "\n")


@each_chat
def test_what_is_not_plainly_visible_is_told(chat: Chat) -> None:
    assert "rm ⟨U+202E⟩txt." in chat.read(ask(approval("rm \u202etxt.")))
    shown = about(chat, ask(approval("cd a\r\n\trm 1\ufe0f", folder=" a\n")))
    assert "\ncd a⟨U+000D⟩\n⇥rm 1⟨U+FE0F⟩\nin ⟨1 space⟩a⟨U+000A⟩\n" in shown


@each_chat
def test_folders_and_paths_say_what_is_known_of_them(chat: Chat) -> None:
    shown = about(chat, ask(approval("ls", folder=FOLDER, started=True)))
    assert f"\nls\nagent started in {FOLDER}\n" in shown
    shown = about(
        chat, ask(approval("+a", language="diff", file="notes.txt", leads_to="/etc/hosts"))
    )
    assert "\nnotes.txt · 1 line added\nleads to /etc/hosts\n+a\n" in shown
    shown = about(
        chat, ask(approval("{}", language="json", leads_to="/etc/hosts", folder="~/shop"))
    )
    assert "\nits path leads to /etc/hosts\n{}\nin ~/shop\n" in shown


def test_another_tool_shows_its_name_and_input() -> None:
    shown = ask(approval('{\n  "a": 1\n}', question="Use `fetch`?", language="json"))
    html = TELEGRAM.draw(TELEGRAM.card(shown), TELEGRAM.private)
    assert '<b>Use </b><code>fetch</code><b>?</b>\n<pre><code class="language-json">{' in html


@each_chat
@pytest.mark.parametrize(
    ("diff", "counted"),
    [
        (DIFF, " · 2 lines added, 2 removed"),
        ("@@ 1 of 2 @@\n-a\n+b\n@@ 2 of 2 @@\n c\n+d", " · 2 lines added, 1 removed"),
        ("--- a comment in SQL\n+++", " · 1 line added, 1 removed"),
        ("@@ the whole file @@\n+a\n+\n+b", " · 3 lines added"),
        ("-a\n-b", " · 2 lines removed"),
        ("@@ delete cell @@", ""),
    ],
)
def test_every_line_that_comes_or_goes_is_counted(chat: Chat, diff: str, counted: str) -> None:
    shown = ask(approval(diff, question="Change it?", language="diff", file="a.sql"))
    assert f"\nChange it?\na.sql{counted}\n{diff}\n" in about(chat, shown)


@each_chat
def test_what_has_to_be_read_can_only_be_shown_or_denied_until_it_is(chat: Chat) -> None:
    shown = about(chat, LONG)
    assert "line 000" in shown
    assert "line 300" not in shown
    assert "line 599" in shown
    assert (
        chat.offers(LONG)
        == {TELEGRAM: [["Show all"], ["Deny"], LATER], MATRIX: [["📄", "👎"]]}[chat]
    )
    assert overflow(LONG) == Overflow()
    how = "shows all of it, and then it can be allowed. 👎 denies it. Or reply all."
    typed = "Reply all to see all of it, and then it can be allowed. Or reply deny."
    assert MATRIX.read(LONG)[-2] == f"📄 {how}"
    assert MATRIX.read(LONG, TYPED)[-2] == typed
    whole = stepped(LONG, ShowAll(step=0))
    assert chat.offers(whole) == chat.offers(COMMAND)
    (file,) = overflow(whole).after
    assert (file.name, file.content.decode()) == ("approval-0b2c5f1e.txt", LINES)
    assert LINES in about(MATRIX, whole)
    unsent = replace(TELEGRAM.private, unsent=True)
    assert TELEGRAM.offers(whole, unsent) == DENYING


def test_a_command_that_no_card_can_hold_is_allowed_only_with_its_file() -> None:
    assert "é" * 3_000 in TELEGRAM.read(ask(approval("é" * 3_000)))
    code = "x" * 2_000 + "😀" * 2_000
    shown = ask(approval(code))
    (file,) = overflow(shown).after
    assert file.content.decode() == code
    assert "All of it is in the file." in TELEGRAM.read(shown)
    assert "… 2,100 characters …" in TELEGRAM.read(shown)
    assert TELEGRAM.offers(shown) == ROWS
    unsent = replace(TELEGRAM.private, unsent=True)
    assert TELEGRAM.offers(shown, unsent) == DENYING
    assert UNSENT in TELEGRAM.read(shown, unsent)


def test_long_paths_keep_their_end_and_come_whole_in_the_file() -> None:
    path = "/src" + "/deep" * 100 + "/main.tf"
    shown = ask(approval("ls", folder=path))
    assert "/deep/main.tf\n" in about(TELEGRAM, shown)
    assert path not in about(TELEGRAM, shown)
    assert path in overflow(shown).after[0].content.decode()


def test_of_a_long_change_first_and_last_lines_are_shown() -> None:
    code = "\n".join(f"+line {i}" for i in range(60))
    shown = ask(approval(code, language="diff", file="new.py"))
    assert "new.py · 60 lines added\n" in about(TELEGRAM, shown)
    assert "+line 13\n… 38 lines …\n+line 52\n" in about(TELEGRAM, shown)
    assert TELEGRAM.offers(shown) == ROWS
    assert overflow(shown).after[0].content.decode() == code
    first = ask(approval(code, language="diff", file="run.sh", whole_first=True))
    assert "\nrun.sh\n+line 0\n" in about(TELEGRAM, first), "what is cut is not counted"
    assert TELEGRAM.offers(first) == [["Show all"], ["Deny"], LATER]


def test_a_destructive_command_takes_a_second_tap_or_words_but_no_reaction() -> None:
    assert TELEGRAM.offers(DESTRUCTIVE) == [*ROWS[:2], LATER]
    marked = "It is marked as destructive"
    really = [FIRST_LINE, "Really run this command?", "rm -r build", f"in {FOLDER}"]
    assert TELEGRAM.read(REALLY) == [*really, f"{marked}, so it takes a second tap.", ENDS]
    rows = telegram.draw_card(TELEGRAM.card(REALLY), TELEGRAM.private).rows
    assert TELEGRAM.offers(REALLY) == [["Yes, run it"], ["‹ Back", "Deny"]]
    assert [key.style for row in rows for key in row] == ["danger", None, None]
    once = f"{marked}. Reply run it to allow it once."
    denying = "deny, or “deny:” and why."
    assert MATRIX.read(DESTRUCTIVE)[-2:] == [
        f"{once} 👎 denies it. Or reply {denying}",
        f"{ENDS}. {MORE_TIME}",
    ]
    assert MATRIX.read(DESTRUCTIVE, TYPED)[-2] == f"{once} Or reply {denying}"
    run = f"{marked}. Reply run it to run it."
    assert MATRIX.read(REALLY) == [*really, f"{run} 👎 denies it, ↩️ goes back.", f"{ENDS}."]
    assert MATRIX.read(REALLY, TYPED)[-2] == f"{run} Or reply deny or back."
    seeds = [MATRIX.offers(shown) for shown in (DESTRUCTIVE, REALLY)]
    assert seeds == [[["👎"]], [["👎", "↩️"]]]


@each_chat
def test_what_allows_more_than_itself_says_so_and_has_one_way_to_allow(chat: Chat) -> None:
    said = [FIRST_LINE, "Run this command?", "git push", f"in {FOLDER}", EVERY]
    how = ["👍 allow, 👎 deny. Or reply allow, deny, or “deny:” and why.", f"{ENDS}. {MORE_TIME}"]
    assert chat.read(BEYOND) == [*said, *({TELEGRAM: [ENDS], MATRIX: how}[chat])]
    assert chat.offers(BEYOND) == {TELEGRAM: [["Allow"], *DENYING], MATRIX: [["👍", "👎"]]}[chat]
    really = stepped(BOTH, form.Choose(step=0, option=ALLOW))
    assert f"\n{EVERY}\nIt is marked as destructive" in about(chat, really)
    hostile = ask(approval("ls", beyond="</pre></p><b>x</b>\n🔐 \u202e"))
    assert "</pre></p><b>x</b> 🔐 ⟨U+202E⟩" in chat.read(hostile)
    allowed = chat.read(decided(chat, BEYOND, ALLOW))
    assert allowed[0] == "✅ Allowed · shop-api", "not once"
    assert "session" not in about(MATRIX, BOTH).replace(EVERY, "")


@each_chat
def test_the_last_screen_says_all_that_it_allows(chat: Chat) -> None:
    until = "without asking until"
    session, timed = (chat.read(shown)[1:3] for shown in (SESSION, TIMED))
    assert session == [f"Claude Code may run this exact command {until} its session ends.", APPLY]
    at = clock_time(NOW + HOUR)
    assert timed == [f"Any agent in shop-api may run this exact command {until} {at}.", APPLY]
    at = clock_time(NOW + 8 * HOUR)
    assert chat.read(EDITS)[1] == (
        f"Any agent in shop-api may edit files in shop-api/src/<b> {until} {at}."
    )
    still = "Hidden files, links, scripts and files that tools run on their own "
    still += "are still asked for."
    assert [still in chat.read(shown) for shown in (EDITS, SCOPE, TIMED)] == [True, False, False]
    rows = [["Yes"], ["‹ Back", "Deny"]]
    assert chat.offers(SESSION) == {TELEGRAM: rows, MATRIX: [["👍", "👎", "↩️"]]}[chat]
    how = "👍 allows it, 👎 denies it, ↩️ goes back. Or reply yes."
    assert MATRIX.read(SESSION)[-2] == how
    typed = "Reply yes to allow it. Or reply deny or back."
    assert MATRIX.read(SESSION, TYPED)[-2] == typed


@each_chat
def test_what_may_be_done_without_asking_and_for_how_long_is_picked(chat: Chat) -> None:
    assert chat.read(SCOPE)[1] == "What may it do without asking?"
    assert chat.read(HOW_LONG)[1] == "How long may it run this exact command without asking?"
    back = ["‹ Back", "Deny"]
    times = ["For 1 h", "For 8 h", "Until the session ends"]
    folders = ["Edits in src/<b>/", "All edits in shop-api"]
    if chat is TELEGRAM:
        assert chat.offers(SCOPE) == [*([folder] for folder in folders), back]
        assert chat.offers(HOW_LONG) == [*([time] for time in times), back]
        return
    assert chat.offers(SCOPE) == [["1️⃣", "2️⃣", "👎", "↩️"]]
    assert chat.offers(HOW_LONG) == [["1️⃣", "2️⃣", "3️⃣", "👎", "↩️"]]
    for shown, labels in ((SCOPE, folders), (HOW_LONG, times)):
        for number, label in enumerate(labels, 1):
            assert f"{number} {label}" in chat.read(shown)
    how = "React or reply with a number. 👎 denies it, ↩️ goes back."
    assert chat.read(SCOPE)[-2] == how
    typed = "Reply with a number. Or reply deny or back."
    assert chat.read(HOW_LONG, TYPED)[-2] == typed


@each_chat
def test_what_was_allowed_beyond_one_use_stands_on_the_card_until_it_is_taken_back(
    chat: Chat,
) -> None:
    draft = EDITS.draft
    grant = Grant(folder=FOLDERS[0], lasting=draft.lasting, until=draft.until)
    shown = decided(chat, EDITS, ALLOW_SESSION, grant=grant)
    at = clock_time(NOW + 8 * HOUR)
    allowed = f"Any agent in shop-api may edit files in shop-api/src/<b> without asking until {at}."
    assert chat.read(shown)[0] == "✅ Allowed for 8 h · shop-api"
    assert allowed in chat.read(shown)
    assert chat.offers(shown) == ([["Take back"]] if chat is TELEGRAM else [])
    reply = "To end this, reply “take back”."
    assert (reply in chat.read(shown)) == (chat is MATRIX)
    over = replace(chat.private, now=NOW + 9 * HOUR)
    assert chat.offers(shown, over) == []
    assert reply not in chat.read(shown, over)
    back = decided(chat, EDITS, ALLOW_SESSION, grant=replace(grant, taken_back_at=NOW + 60))
    asked_again = "It is asked for again, unless something else allows it."
    assert f"Taken back {AT}. {asked_again}" in chat.read(back)
    assert allowed not in chat.read(back)
    assert chat.offers(back) == []
    elsewhere = chat.card(shown, only_on=("ntfy",))
    assert not elsewhere.buttons


def test_denying_with_a_reason_asks_for_it() -> None:
    assert "Send the reason as text." in TELEGRAM.read(WHY)
    assert "Reply with the reason." in TELEGRAM.read(WHY, TELEGRAM.group)
    assert TELEGRAM.offers(WHY) == [["Write it…"], ["‹ Back"]]
    assert TELEGRAM.offers(WHY, replace(TELEGRAM.private, prompted=True)) == [["‹ Back"]]
    prompt = to_html(draw_prompt(TELEGRAM.card(WHY), mention=None))
    assert read_plainly(prompt) == "Your reason for shop-api:"
    assert placeholder(TELEGRAM.card(WHY)) == "Your reason"
    asked = "Why should it be denied? Reply with the reason."
    assert MATRIX.read(WHY) == [f"{asked} ↩️ goes back."]
    assert MATRIX.read(WHY, TYPED) == [f"{asked} Reply back to go back."]
    assert MATRIX.offers(WHY) == [["↩️"]]


@each_chat
def test_where_it_cannot_be_settled_the_card_says_where_it_can(chat: Chat) -> None:
    for asked in (SCOPE, HOW_LONG, TIMED, EDITS):
        card = chat.card(asked, only_on=("ntfy",))
        assert not card.choices
        assert "without asking" not in "\n".join(chat.read(card, chat.soon))
    card = chat.card(COMMAND, only_on=("ntfy",))
    shown = chat.read(card, chat.soon)
    assert "Allow or deny this in ntfy." in shown
    assert APPLY in shown
    assert not card.buttons
    assert format_only_on(["matrix", "web"]) == "Allow or deny this in Matrix or the web inbox."
    assert format_only_on(()).startswith("This cannot be allowed here.")


@each_chat
def test_the_last_line_says_that_silence_denies(chat: Chat) -> None:
    soon = chat.markup(chat.draw(chat.card(COMMAND), chat.soon))
    at = {TELEGRAM: time_tag(NOW + HOUR, now=NOW), MATRIX: clock_time(NOW + HOUR)}[chat]
    tag = {TELEGRAM: "b", MATRIX: "strong"}[chat]
    assert f"Denied if nobody answers. <{tag}>Ends {at}, soon.</{tag}>" in soon
    forever = chat.read(replace(COMMAND, deadline=None))[-1]
    snooze = {TELEGRAM: "", MATRIX: ". Reply “later” to snooze it."}[chat]
    assert forever == f"No time limit{snooze}"
    assert "kept" not in about(chat, replace(COMMAND, orphaned=True)), "nothing is promised"


def test_the_root_names_the_command() -> None:
    root = MATRIX.lines(draw_root(MATRIX.card(SESSION), MATRIX.private))
    assert root[-3:] == [APPLY, f"in {FOLDER}", f"Go on in the thread. {ENDS}."]


# ── ended ─────────────────────────────────────────────────────────────────────────────────────────


@each_chat
def test_the_summary_says_what_was_decided_about_what(chat: Chat) -> None:
    has, told = f"You allowed it here, {AT} · delivered", "The agent was told: “Not now.”"
    over = replace(COMMAND, status=Status.TIMED_OUT, outcome=Outcome(at=NOW + HOUR))
    gone = replace(COMMAND, status=Status.WITHDRAWN, outcome=Outcome(at=NOW))
    ours = replace(decided(chat, COMMAND, ALLOW), delivered_at=None, orphaned_since=NOW)
    what = {TELEGRAM: [APPLY], MATRIX: ["Run this command?", APPLY, f"in {FOLDER}"]}[chat]
    for shown, how, last in (
        (decided(chat, COMMAND, ALLOW), "✅ Allowed once", [has]),
        (decided(chat, COMMAND, ALLOW_SESSION), "✅ Allowed for this session", [has]),
        (
            decided(chat, COMMAND, DENY, "Not now."),
            "🚫 Denied",
            [told, f"You denied it here, {AT}"],
        ),
        (over, "⌛ Denied", [f"Nobody answered by {clock_time(NOW + HOUR)}."]),
        (gone, "🚫 Withdrawn", ["The agent no longer needs an answer."]),
        (
            replace(ours, dialect="command"),
            "✅ Allowed once",
            [f"You allowed it here, {AT} · chatbridge runs it"],
        ),
    ):
        assert chat.read(shown) == [f"{how} · shop-api", *what, *last]
        assert chat.offers(shown) == []


def test_a_changed_file_is_named_and_its_diff_is_over() -> None:
    shown = TELEGRAM.read(decided(TELEGRAM, CHANGE, ALLOW))
    assert shown[1:3] == ["Change this file?", "deploy/prod.tf · 2 lines added, 2 removed"]
    assert len(shown) == 4


def test_steps_that_are_over_say_no_more_than_that() -> None:
    allowed = decided(MATRIX, COMMAND, ALLOW_SESSION)
    for view in (View.QUESTION, View.CONFIRM_GRANT, View.OTHER):
        assert draw_past(COMMAND, view=view, at=0).body == "It goes on below."
        assert draw_past(allowed, view=view, at=0).body == "Allowed for this session."


@pytest.mark.parametrize(
    ("shown", "event", "said"),
    [
        (COMMAND, form.Choose(step=0, option=ALLOW), "Allowed once."),
        (BEYOND, form.Choose(step=0, option=ALLOW), "Allowed."),
        (COMMAND, form.Choose(step=0, option=DENY), "Denied."),
        (COMMAND, AskMore(step=0), ""),
        (COMMAND, form.Text(text="allow"), "Tap Allow or Deny."),
    ],
)
def test_a_tap_is_answered_with_what_it_did(shown: Ask, event: form.Event, said: str) -> None:
    assert toast(shown, advance(shown.questions[0], shown.draft, event)) == said


# ── whatever it is about ──────────────────────────────────────────────────────────────────────────


@given(codes)
def test_pages_are_all_of_it_to_the_letter(code: str) -> None:
    whole = code + "x" * MATRIX.capabilities.code
    shown = replace(MATRIX.card(COMMAND), subject=Subject(code=whole))
    found = pages(shown, MATRIX.capabilities)
    parts = [part for page in found for part in page if isinstance(part, Code)]
    assert "".join(part.text for part in parts) == whole


@given(approvals(), seens)
def test_whoever_can_allow_something_is_shown_all_of_it(shown: Ask, seen: Seen) -> None:
    found = MATRIX.card(shown)
    subject = found.subject
    assert subject
    allowing = (Role.ALLOW, Role.MORE_NOW, Role.RUN_NOW)
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
    lines = draw_card(MATRIX.card(shown), MATRIX.private).body.split("\n")
    assert [line for line in lines if HINT in line] in (
        [f"{INDENT}{HINT}", HINT],
        [HINT],  # it was cut
    )


@given(st.text(max_size=40))
def test_a_language_is_a_name_or_none(language: str) -> None:
    drawing = draw_card(MATRIX.card(ask(approval("ls", language=language))), MATRIX.private)
    MATRIX.text(drawing)
    assert drawing.html.count("<code") == 1
