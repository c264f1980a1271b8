"""Approvals in the inbox: what its pages and its API show of them, and who can settle one."""

from __future__ import annotations

import re
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx2
import pytest

from chatbridge.core.errors import NotHere
from chatbridge.core.forms import form
from chatbridge.core.model import ALLOW, Answer, Ask, Outcome, Person, Status, Subject, View
from chatbridge.core.policy import Policy
from tests.fakes.inbox import COMMAND, LONG_COMMAND
from tests.fakes.web import MARK, Web, running_web

DESTRUCTIVE = replace(COMMAND, subject=Subject(code="rm -r a", language="bash", destructive=True))
BEYOND = replace(
    COMMAND,
    subject=Subject(
        code="git push", language="bash", beyond="Allowing it allows every <b>git</b> push."
    ),
)
FOLDERS = ("/src/shop/src/<b>", "/src/shop")
EDIT = replace(COMMAND, subject=Subject(code="+x", language="diff", file="a.py", edits=FOLDERS))
CODE = COMMAND.subject.code if COMMAND.subject else ""
ALLOW_IT = {"answers": [{"questionId": COMMAND.id, "values": ["allow"]}]}


def settled_on(folder: Path, *channels: str) -> AbstractAsyncContextManager[Web]:
    return running_web(folder, policy=Policy(approval_channels=frozenset(channels)))


async def now(web: Web, ask: Ask) -> Ask:
    return await web.desk.inbox.ask(ask.id)


async def tap(web: Web, ask: Ask, do: str, **fields: str | int) -> httpx2.Response:
    """A tap as the script sends it, on the step that is shown."""
    step = (await now(web, ask)).draft.step
    data = {"do": do, "step": str(step)} | {name: str(value) for name, value in fields.items()}
    return await web.browser.post(f"/asks/{ask.id}/form", data=data, headers=MARK)


async def page_of(web: Web, ask: Ask) -> str:
    return (await web.browser.get(f"/asks/{ask.id}/card")).text


async def verdict(web: Web, ask: Ask) -> tuple[Answer, ...]:
    outcome = (await now(web, ask)).outcome
    return outcome.answers if outcome else ()


# ── who can settle one ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("channels", [(), ("telegram",), ("web",), ("terminal", "web")])
async def test_the_token_neither_allows_nor_denies_whatever_the_settings_say(
    tmp_path: Path, channels: tuple[str, ...]
) -> None:
    async with settled_on(tmp_path, *channels) as web:
        ask = await web.desk.ask(COMMAND)
        before = await now(web, ask)
        bodies: list[Any] = [ALLOW_IT, {"answers": [{"questionId": "other"}]}, {"answers": []}]
        for body in bodies:
            refused = await web.script.post(f"/api/asks/{ask.id}/answer", json=body)
            assert refused.status_code == 403
            assert str(NotHere(ask.id, channels=())).split(". ")[0] in refused.json()["error"]
        for reason in ({}, {"reason": "no"}):
            refused = await web.script.post(f"/api/asks/{ask.id}/cancel", json=reason)
            assert refused.status_code == 403
        form_of = f"/asks/{ask.id}/form"
        tapped = await web.script.post(form_of, data={"do": "choose", "step": "0", "option": "0"})
        assert tapped.status_code == 401  # the token opens no page
        assert await now(web, ask) == before


async def test_even_with_the_cookie_the_api_settles_none(web: Web) -> None:
    """The API asks for no second tap, and cannot know what was shown."""
    ask = await web.desk.ask(LONG_COMMAND)
    body = {"answers": [{"questionId": LONG_COMMAND.id, "values": ["session"]}]}
    refused = await web.browser.post(f"/api/asks/{ask.id}/answer", json=body)
    assert refused.status_code == 403
    assert (await web.browser.post(f"/api/asks/{ask.id}/cancel", json={})).status_code == 403
    assert await now(web, ask) == ask


async def test_the_page_settles_it_only_if_the_owner_named_the_inbox(tmp_path: Path) -> None:
    async with settled_on(tmp_path, "telegram", "matrix") as web:
        ask = await web.desk.ask(COMMAND)
        for do, fields in (
            ("choose", {"option": 0}),
            ("choose", {"option": 2}),
            ("ask_more", {}),
            ("pick", {"option": "0"}),
            ("take_back", {}),
            ("other", {}),
            ("other", {"text": "no"}),
            ("text", {"text": "allow"}),
            ("cancel", {"reason": "no"}),
            ("ask_later", {}),
            ("extend", {"minutes": "15"}),
            ("snooze", {"minutes": "15"}),
        ):
            refused = await tap(web, ask, do, **fields)
            assert refused.status_code == 403, do
            told = unquote(refused.headers["x-chatbridge-toast"])
            assert told == "Allow or deny this in Matrix or Telegram."
        assert await now(web, ask) == ask
        page = await page_of(web, ask)
        assert "Allow or deny this in Matrix or Telegram." in page
        assert "<button" not in page


async def test_nobody_but_a_named_channel_gets_past_the_inboxs_own_door(web: Web) -> None:
    ask = await web.desk.ask(COMMAND)
    script = Person(name="a script", channel="terminal")
    with pytest.raises(NotHere):
        await web.desk.inbox.put(ask.id, form.Choose(step=0, option=ALLOW), person=script)
    with pytest.raises(NotHere):
        await web.desk.inbox.answer(ask.id, (Answer(values=("allow",)),), person=script)
    with pytest.raises(NotHere):
        await web.desk.inbox.cancel(ask.id, reason=None, person=script)
    assert await now(web, ask) == ask


# ── the page, without its script ──────────────────────────────────────────────────────────────────


def forms(page: str) -> dict[str, dict[str, str]]:
    """What each button sends, by the button's id."""
    found = {}
    for inside in re.findall(r"<form method=\"post\"[^>]*>(.*?)</form>", page, re.DOTALL):
        fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="(\w+)">', inside))
        for button in re.findall(r'<button[^>]* id="([\w-]+)"', inside):
            found[button] = fields
    return found


async def press(web: Web, ask: Ask, button: str, **more: str) -> None:
    page = (await web.browser.get(f"/asks/{ask.id}")).text
    sent = await web.browser.post(f"/asks/{ask.id}/form", data=forms(page)[button] | more)
    assert sent.status_code == 303, sent.text


async def test_the_pages_own_buttons_allow_once(web: Web) -> None:
    ask = await web.desk.ask(COMMAND)
    await press(web, ask, "allow")
    assert await verdict(web, ask) == (Answer(values=("allow",)),)
    page = await page_of(web, ask)
    assert "Allowed once" in page
    assert "Allowed in the web inbox, " in page
    assert "On its way." in page


async def test_more_is_allowed_screen_by_screen_and_taken_back(web: Web) -> None:
    ask = await web.desk.ask(EDIT)
    await press(web, ask, "more")
    page = await page_of(web, ask)
    assert "<p>What may it do without asking?</p>" in page
    assert "<bdi>Edits in src/&lt;b&gt;/</bdi>" in page
    assert "<bdi>All edits in shop-api</bdi>" in page
    assert not {"allow", "allow-more", "deny-why", "more"} & forms(page).keys()
    await press(web, ask, "pick-scope-1")
    assert "How long may it edit files in <bdi>shop-api/src/&lt;b&gt;</bdi>" in (
        await page_of(web, ask)
    )
    await press(web, ask, "back")
    assert (await now(web, ask)).draft.view is View.SCOPE
    await press(web, ask, "pick-scope-1")
    await press(web, ask, "pick-how_long-2")
    page = await page_of(web, ask)
    assert "may edit files in <bdi>shop-api/src/&lt;b&gt;</bdi> without asking until <time" in page
    assert "are still asked for." in page
    await press(web, ask, "allow-more")
    assert await verdict(web, ask) == (Answer(values=("session",)),)
    page = await page_of(web, ask)
    assert "Allowed for 8 h" in page
    await press(web, ask, "take-back")
    taken = (await now(web, ask)).grant
    assert taken
    assert taken.taken_back_at is not None
    page = await page_of(web, ask)
    assert "Taken back <time" in page
    assert "take-back" not in forms(page)


async def test_the_button_that_takes_back_goes_with_what_it_would_end(web: Web) -> None:
    ask = await web.desk.ask(EDIT)
    for button in ("more", "pick-scope-1", "pick-how_long-1", "allow-more"):
        await press(web, ask, button)
    assert "take-back" in forms(await page_of(web, ask))
    web.clock.advance(3600.0)
    assert "take-back" not in forms(await page_of(web, ask))


async def test_a_destructive_command_takes_a_second_tap_and_the_first_can_be_taken_back(
    web: Web,
) -> None:
    ask = await web.desk.ask(DESTRUCTIVE)
    first = forms(await page_of(web, ask))["allow"]
    await press(web, ask, "allow")
    page = await page_of(web, ask)
    assert "<p>Really run this command?</p>" in page
    assert "It is marked as destructive, so it takes a second tap." in page
    assert forms(page).keys() >= {"run-now", "back", "deny"}
    assert not {"allow", "more", "allow-more"} & forms(page).keys()
    twice = await web.browser.post(f"/asks/{ask.id}/form", data=first, headers=MARK)
    assert twice.status_code == 409  # the same tap again is none on the second screen
    await press(web, ask, "back")
    assert (await now(web, ask)).draft.view is View.QUESTION
    await press(web, ask, "allow")
    await press(web, ask, "run-now")
    assert await verdict(web, ask) == (Answer(values=("allow",)),)


async def test_what_allows_more_than_itself_says_so_and_has_one_way_to_allow(web: Web) -> None:
    ask = await web.desk.ask(BEYOND)
    page = await page_of(web, ask)
    assert '<p class="note">Allowing it allows every &lt;b&gt;git&lt;/b&gt; push.</p>' in page
    assert ">Allow</button>" in page
    assert "more" not in forms(page)
    assert (await tap(web, ask, "ask_more")).status_code == 422
    await press(web, ask, "allow")
    assert ">Allowed</h1>" in await page_of(web, ask)


async def test_the_use_of_another_tool_is_asked_for_in_words_that_fit(web: Web) -> None:
    about = Subject(code='{"url": "https://example.org"}', language="json")
    ask = await web.desk.ask(replace(COMMAND, text="Use `WebFetch`?", subject=about))
    await press(web, ask, "more")
    assert "How long may it do exactly this without asking?" in await page_of(web, ask)


async def test_a_reason_is_asked_for_on_a_screen_of_its_own(web: Web) -> None:
    ask = await web.desk.ask(COMMAND)
    await press(web, ask, "deny-why")
    page = await page_of(web, ask)
    assert 'id="why"' in page
    assert 'id="allow"' not in page
    await tap(web, ask, "text", text="Not on a Friday.")
    assert await verdict(web, ask) == (Answer(values=("deny",), custom_text="Not on a Friday."),)
    assert "“Not on a Friday.”" in await page_of(web, ask)


async def test_the_sheet_denies_with_its_reason_in_one_go(web: Web) -> None:
    ask = await web.desk.ask(COMMAND)
    too_long = await tap(web, ask, "other", text="x" * 10_001)
    assert too_long.status_code == 422
    assert await now(web, ask) == ask
    await tap(web, ask, "other", text="Not on a Friday.")
    assert await verdict(web, ask) == (Answer(values=("deny",), custom_text="Not on a Friday."),)


async def test_a_sheet_of_an_older_step_changes_nothing(web: Web) -> None:
    ask = await web.desk.ask(COMMAND)
    await tap(web, ask, "ask_more")
    before = await now(web, ask)
    stale = await tap(web, ask, "other", text="no", step=0)
    assert stale.status_code == 409
    assert await now(web, ask) == before


async def test_a_long_command_can_be_denied_at_once_and_allowed_once_it_was_shown(web: Web) -> None:
    ask = await web.desk.ask(LONG_COMMAND)
    buttons = forms(await page_of(web, ask))
    assert "deny" in buttons
    assert "show-all" in buttons
    assert not {"allow", "more"} & buttons.keys()
    await press(web, ask, "show-all")
    page = await page_of(web, ask)
    assert page.count("<span>of</span>") == 200
    await press(web, ask, "allow")
    assert await verdict(web, ask) == (Answer(values=("allow",)),)


async def test_a_long_change_that_has_to_be_read_is_shown_without_a_fold_before_it_is_allowed(
    web: Web,
) -> None:
    lines = "\n".join(f"+line {i:02}" for i in range(60))
    subject = Subject(code=lines, language="diff", file="run.sh", whole_first=True)
    ask = await web.desk.ask(replace(COMMAND, text="Change this file?", subject=subject))
    page = await page_of(web, ask)
    assert "… 38 lines …" in page
    assert not {"+line 30", "60 lines added"} & set(re.findall(r"\+line 30|60 lines added", page))
    assert not {"allow", "more"} & forms(page).keys()
    await press(web, ask, "show-all")
    page = await page_of(web, ask)
    assert "60 lines added</p>" in page
    assert [f"+line {i:02}" for i in range(60)] == re.findall(r"\+line \d\d", page)
    assert "<details" not in page
    await press(web, ask, "allow")
    assert await verdict(web, ask) == (Answer(values=("allow",)),)


# ── what is shown ─────────────────────────────────────────────────────────────────────────────────


async def test_the_list_names_the_command_and_what_silence_means(web: Web) -> None:
    await web.desk.ask(COMMAND)
    rows = (await web.browser.get("/rows")).text
    assert re.search(r"🔐\s*<code>terraform apply -var-file=prod.tfvars plan.out</code>", rows)
    assert "denied if nobody answers" in rows


async def test_a_hostile_command_is_shown_and_nothing_else(web: Web) -> None:
    assert COMMAND.subject
    subject = replace(
        COMMAND.subject,
        code="</pre><script>alert(1)</script> \u202ex",
        folder="<b>~</b>",
        language="</pre>",
    )
    ask = await web.desk.ask(replace(COMMAND, subject=subject))
    for page in (await page_of(web, ask), (await web.browser.get("/rows")).text):
        assert "<script>alert" not in page
        assert "<b>~" not in page
    assert "&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt; ⟨U+202E⟩x" in await page_of(web, ask)


async def test_where_a_path_leads_and_where_an_agent_began_are_shown_verbatim(web: Web) -> None:
    change = Subject(code="+a", language="diff", file=" a.txt", leads_to="/etc/hosts\n")
    page = await page_of(web, await web.desk.ask(replace(COMMAND, subject=change)))
    assert '<code dir="ltr">⟨1 space⟩a.txt</code>' in page
    assert 'leads to <code dir="ltr">/etc/hosts⟨U+000A⟩</code>' in page
    began = Subject(code="{}", language="json", leads_to="/b", folder="~/shop", started=True)
    page = await page_of(web, await web.desk.ask(replace(COMMAND, subject=began)))
    assert 'its path leads to <code dir="ltr">/b</code>' in page
    assert 'agent started in <code dir="ltr">~/shop</code>' in page


async def test_the_history_says_how_each_ended(web: Web) -> None:
    allowed, denied = await web.desk.ask(COMMAND), await web.desk.ask(COMMAND)
    await tap(web, allowed, "choose", option=0)
    await tap(web, denied, "other", text="Not on a Friday.")
    late = await web.desk.ask(COMMAND, timeout=60)
    await web.desk.time_out(late)
    history = (await web.browser.get("/history")).text
    tags = re.findall(r'<span class="tag [\w]*">([^<]+)</span>', history)
    assert sorted(tags) == ["Allowed once", "Denied", "Denied"]
    assert "“Not on a Friday.”" in history
    assert "No answer" in history
    assert "Skipped" not in history
    page = await page_of(web, late)
    assert "Nobody answered by" in page
    assert "Answer anyway" not in page
    assert "The agent was told so" not in page


async def test_the_api_shows_what_it_is_about(web: Web) -> None:
    ask = await web.desk.ask(COMMAND)
    found = (await web.script.get(f"/api/asks/{ask.id}")).json()
    assert found["questions"][0]["type"] == "approval"
    assert found["questions"][0]["subject"] == {
        "code": CODE,
        "language": "bash",
        "file": None,
        "leadsTo": None,
        "folder": "~/code/infra",
        "started": False,
        "destructive": False,
        "beyond": None,
    }
    await tap(web, ask, "choose", option=2)
    ended = (await web.script.get(f"/api/asks/{ask.id}")).json()
    assert ended["outcome"]["answers"] == [{"questionId": COMMAND.id, "values": ["deny"]}]
    assert ended["outcome"]["channel"] == "web"


async def test_an_answer_of_elsewhere_is_told_with_its_place(web: Web) -> None:
    ask = await web.desk.ask(COMMAND)
    ada = Person(name="Ada", channel="telegram")
    await web.desk.inbox.put(ask.id, form.Choose(step=0, option=ALLOW), person=ada)
    ended = await now(web, ask)
    assert ended.status is Status.ANSWERED
    assert isinstance(ended.outcome, Outcome)
    page = await page_of(web, ask)
    assert "Allowed once" in page
    assert "<bdi>Ada</bdi> allowed it on Telegram, " in page
