"""Pictures, files and voice in the web inbox: looked at, attached in every way, and recorded."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from pathlib import Path

import pytest
from playwright.async_api import Browser, FilePayload, Page, Request, Route, expect

from chatbridge.channels.web.sessions import IN_A_BROWSER
from chatbridge.core.forms import form
from chatbridge.core.model import Ask, Attachment, AttachmentKind, Option, Question, QuestionType
from tests.acceptance.browser import (
    IN_BROWSER,
    PHONE,
    Visit,
    confirm,
    multi,
    outcome_of,
    select,
    text,
    visit_on_a_phone,
    visiting,
)
from tests.fakes.sample_files import BROKEN, picture

pytestmark = IN_BROWSER
visit = visit_on_a_phone

BRANCH = text("Which branch is released?")
UPLOADS = "**/files?question=*"
HAND_OVER = """([kind, files, text]) => {
  const data = new DataTransfer();
  if (text) data.setData("text/plain", text);
  for (const [name, content] of files) {
    const bytes = Uint8Array.from(atob(content), (each) => each.charCodeAt(0));
    data.items.add(new File([bytes], name, { type: "image/png" }));
  }
  const at = document.querySelector(text ? "textarea" : "#card");
  const given = { bubbles: true, cancelable: true, clipboardData: data, dataTransfer: data };
  if (kind === "paste") at.dispatchEvent(new ClipboardEvent("paste", given));
  else for (const name of ["dragover", "drop"]) at.dispatchEvent(new DragEvent(name, given));
}"""
SWIPE = """([from, to]) => {
  const stage = document.querySelector("#lightbox-stage");
  for (const [name, clientX] of [["touchstart", from], ["touchend", to]]) {
    const touch = new Touch({ identifier: 1, target: stage, clientX, clientY: 300 });
    const touches = name === "touchstart" ? [touch] : [];
    stage.dispatchEvent(new TouchEvent(name, { touches, changedTouches: [touch], bubbles: true }));
  }
}"""
NO_MICROPHONE = """
navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException("", "NotAllowedError"));
"""
PLAIN_HTTP = """
Object.defineProperty(window, "isSecureContext", { value: false });
Object.defineProperty(navigator, "mediaDevices", { value: undefined });
"""


def payload(name: str, content: bytes = b"text") -> FilePayload:
    return FilePayload(name=name, mimeType="", buffer=content)


async def layouts(visit: Visit) -> Question:
    images = [
        await visit.inbox.desk.files.sample(picture(colour=colour), name=f"{colour}.png")
        for colour in ("teal", "navy")
    ]
    options = (Option(label="Sidebar", image=images[0]), Option(label="Tabs", image=images[1]))
    return Question(id="q", text="Which layout?", type=QuestionType.MULTI_SELECT, options=options)


async def files_of(visit: Visit, ask: Ask) -> list[Attachment]:
    answers = (await outcome_of(visit, ask)).answers
    assert answers is not None
    return list(answers[0].attachments)


# ── looking ───────────────────────────────────────────────────────────────────────────────────────


async def test_pictures_open_large_and_keys_and_swipes_lead_through_them(visit: Visit) -> None:
    shot = await visit.inbox.desk.files.sample(picture(colour="gold"), caption="As it is now")
    ask = await visit.inbox.ask(await layouts(visit), attachments=(shot,))
    page = await visit.open(ask)
    await page.get_by_role("link", name="1 · Sidebar").click()
    box = page.get_by_role("dialog", name="Picture")
    await expect(box.get_by_text("1 · Sidebar")).to_be_visible()
    await expect(box.get_by_text("2 of 3")).to_be_visible()
    await page.keyboard.press("ArrowLeft")
    await expect(box.get_by_text("As it is now")).to_be_visible()
    await page.keyboard.press("ArrowRight")
    await expect(box.get_by_text("1 · Sidebar")).to_be_visible()
    await page.evaluate(SWIPE, [100, 300])
    await expect(box.get_by_text("As it is now")).to_be_visible()
    await page.evaluate(SWIPE, [100, 300])
    await expect(box.get_by_text("2 · Tabs")).to_be_visible()
    await page.evaluate(SWIPE, [300, 100])
    await box.get_by_role("button", name="Previous picture").click()
    loaded = "() => document.querySelector('#lightbox-stage img').naturalWidth > 0"
    await page.wait_for_function(loaded)
    async with page.expect_download() as downloading:
        await box.get_by_role("link", name="Download original").click()
    download = await downloading.value
    assert download.suggested_filename == "navy.png"
    assert await asyncio.to_thread((await download.path()).read_bytes) == picture(colour="navy")
    await page.keyboard.press("Escape")
    await expect(box).to_be_hidden()
    await expect(page.get_by_role("link", name="1 · Sidebar")).to_be_focused()
    assert (await visit.inbox.now(ask)).open
    assert visit.errors == []


async def test_a_redrawn_card_keeps_its_pictures(visit: Visit) -> None:
    shot = await visit.inbox.desk.files.sample(picture(colour="gold"), name="a.png")
    ask = await visit.inbox.ask(await layouts(visit), attachments=(shot,))
    loads: list[str] = []

    def note(request: Request) -> None:
        loads.extend([request.url] if request.url.endswith("/preview") else [])

    visit.page.on("request", note)
    page = await visit.open(ask)
    shown = page.locator(".thumb img")
    await expect(shown).to_have_count(3)
    loaded = "() => [...document.querySelectorAll('.thumb img')].every((each) => each.naturalWidth)"
    await page.wait_for_function(loaded)
    await page.evaluate("() => document.querySelectorAll('.thumb img').forEach((e) => e.known = 1)")
    await page.get_by_role("checkbox", name="Tabs").click()
    await visit.inbox.inbox.put(ask.id, form.Toggle(step=0, option=0, on=True), person=IN_A_BROWSER)
    await expect(page.get_by_role("checkbox", name="Sidebar")).to_be_checked()
    known = "() => [...document.querySelectorAll('.thumb img')].every((each) => each.known)"
    assert await page.evaluate(known)
    assert len(loads) == 3


@pytest.mark.parametrize("after", [False, True])
async def test_a_picture_that_cannot_be_shown_is_a_file_and_stays_one(
    visit: Visit, after: bool
) -> None:
    shot = await visit.inbox.desk.files.sample(BROKEN, name="a.png")
    ask = await visit.inbox.ask(multi("Which?", "One", "Two"), attachments=(shot,))
    failed = visit.page.wait_for_event("requestfinished", lambda each: "preview" in each.url)
    known = asyncio.ensure_future(failed)

    async def late(route: Route) -> None:
        """The script comes when the picture has failed already, or before."""
        if after:
            await known
        await route.continue_()

    await visit.page.route("**/static/*/inbox.js", late)
    page = await visit.open(ask)
    await known
    row = page.get_by_role("link", name="Download a.png")
    await expect(row).to_be_visible()
    await expect(page.locator(".thumb")).to_be_hidden()
    await visit.inbox.inbox.put(ask.id, form.Toggle(step=0, option=0, on=True), person=IN_A_BROWSER)
    await expect(page.get_by_role("checkbox", name="One")).to_be_checked()
    await expect(row).to_be_visible()


async def test_without_the_script_a_picture_is_downloaded(browser: Browser, tmp_path: Path) -> None:
    async with visiting(browser, tmp_path, PHONE, script=False) as visit:
        shot = await visit.inbox.desk.files.sample(picture(), name="a.png")
        ask = await visit.inbox.ask(BRANCH, attachments=(shot,))
        await visit.page.goto(f"{visit.inbox.address}/asks/{ask.id}")
        await expect(visit.page.get_by_text("Attach", exact=True)).to_be_hidden()
        async with visit.page.expect_download() as downloading:
            await visit.page.locator(".thumb").click()
        assert (await downloading.value).suggested_filename == "a.png"


# ── attaching ─────────────────────────────────────────────────────────────────────────────────────


async def test_several_files_and_a_text_go_together(visit: Visit) -> None:
    ask = await visit.inbox.ask(BRANCH)
    page = await visit.open(ask)
    await page.locator("#answer").fill("release/2.4, see the log")
    log = payload("Übersicht.log", b"fine\n")
    await page.get_by_label("Attach files").set_input_files([payload("a.png", picture()), log])
    await expect(page.get_by_role("link", name="Download Übersicht.log")).to_be_visible()
    await expect(page.get_by_role("link", name="a.png", exact=True)).to_be_visible()
    await expect(page.locator("#answer")).to_have_value("release/2.4, see the log")
    await page.get_by_role("button", name="Send answer").click()
    sent = await files_of(visit, ask)
    assert [each.name for each in sent] == ["a.png", "Übersicht.log"]
    assert (await outcome_of(visit, ask)).answers[0].values == ("release/2.4, see the log",)
    assert visit.errors == []


async def test_what_is_pasted_or_dropped_waits_beside_the_options(visit: Visit) -> None:
    ask = await visit.inbox.ask(select("Which database?", "PostgreSQL", "SQLite"))
    page = await visit.open(ask)
    for kind, colour in (("paste", "teal"), ("drop", "navy")):
        given = [[f"{kind}.png", b64encode(picture(colour=colour)).decode()]]
        await page.evaluate(HAND_OVER, [kind, given])
        await expect(page.get_by_role("link", name=f"{kind}.png", exact=True)).to_be_visible()
    await expect(page.get_by_text("Goes with the option that you tap:")).to_be_visible()
    assert (await visit.inbox.now(ask)).open
    await page.get_by_role("button", name="SQLite").click()
    assert [each.name for each in await files_of(visit, ask)] == ["paste.png", "drop.png"]


async def test_cells_of_a_table_are_pasted_into_a_field_as_text(visit: Visit) -> None:
    ask = await visit.inbox.ask(BRANCH)
    page = await visit.open(ask)
    given = [["table.png", b64encode(picture()).decode()]]
    await page.evaluate(HAND_OVER, ["paste", given, "one\ttwo"])
    await page.evaluate(HAND_OVER, ["paste", given])
    await expect(page.get_by_role("link", name="table.png", exact=True)).to_be_visible()
    draft = (await visit.inbox.now(ask)).draft
    assert len(draft.entries[0].attachments) == 1


async def test_a_photo_can_be_sent_alone_and_another_be_removed_before(visit: Visit) -> None:
    ask = await visit.inbox.ask(BRANCH)
    page = await visit.open(ask)
    camera = page.get_by_label("Take a photo")
    assert await camera.get_attribute("capture") == "environment"
    assert await camera.get_attribute("accept") == "image/*"
    await camera.set_input_files(payload("blurred.jpg", picture(kind="JPEG")))
    await page.get_by_role("button", name="Remove the file").click()
    await expect(page.get_by_role("button", name="Send only this")).to_be_hidden()
    await expect(page.get_by_label("Attach files")).to_be_focused()
    await camera.set_input_files(payload("sharp.jpg", picture(kind="JPEG")))
    await page.get_by_role("button", name="Send only this").click()
    assert [each.name for each in await files_of(visit, ask)] == ["sharp.jpg"]
    await expect(page.get_by_role("link", name="sharp.jpg", exact=True)).to_be_visible()


async def test_a_file_that_is_too_large_is_refused_before_it_is_sent(visit: Visit) -> None:
    ask = await visit.inbox.ask(confirm("Delete it?"))
    page = await visit.open(ask)
    await page.route(UPLOADS, lambda route: route.abort())
    large = payload("film.mp4", b"x" * 2_000_001)
    await page.get_by_label("Attach files").set_input_files(large)
    problem = "That is too large: the files of an answer can have 2 MB together."
    await expect(page.get_by_text(problem).first).to_be_visible()
    await page.get_by_role("button", name="Remove", exact=True).click()
    await expect(page.get_by_text("film.mp4")).to_be_hidden()
    await page.get_by_role("button", name="Yes").click()
    assert await files_of(visit, ask) == []


async def test_a_lost_connection_is_said_and_the_file_can_be_tried_again(visit: Visit) -> None:
    ask = await visit.inbox.ask(BRANCH)
    page = await visit.open(ask)
    await page.locator("#answer").fill("release/2.4")
    await page.route(UPLOADS, lambda route: route.abort())
    await page.get_by_label("Attach files").set_input_files(payload("a.log"))
    await expect(page.get_by_text("Your computer is not responding.").first).to_be_visible()
    await expect(page.locator("#answer")).to_have_value("release/2.4")
    await page.unroute(UPLOADS)
    await page.get_by_role("button", name="Try again").click()
    await expect(page.get_by_role("link", name="Download a.log")).to_be_visible()
    await expect(page.get_by_role("button", name="Try again")).to_be_hidden()
    await expect(page.locator("#answer")).to_have_value("release/2.4")


async def test_no_answer_leaves_while_its_file_is_on_the_way(visit: Visit) -> None:
    ask = await visit.inbox.ask(select("Which database?", "PostgreSQL", "SQLite"))
    page = await visit.open(ask)
    released = asyncio.Event()

    async def hold(route: Route) -> None:
        await released.wait()
        await route.continue_()

    await page.route(UPLOADS, hold)
    await page.get_by_label("Attach files").set_input_files(payload("a.log"))
    await expect(page.get_by_role("progressbar", name="Sending a.log")).to_be_visible()
    await page.get_by_role("button", name="SQLite").click()
    await expect(page.locator("#toast")).to_have_text(
        "A file is still being sent. Wait for it, or cancel it."
    )
    released.set()
    await expect(page.get_by_role("link", name="Download a.log")).to_be_visible()
    await page.get_by_role("button", name="SQLite").click()
    assert [each.name for each in await files_of(visit, ask)] == ["a.log"]


async def test_two_tabs_attach_to_the_same_answer(visit: Visit) -> None:
    ask = await visit.inbox.ask(BRANCH)
    first, second = await visit.open(ask), await visit.open_tab(ask)
    await second.locator("#answer").fill("typed in the second")
    await first.get_by_label("Attach files").set_input_files(payload("one.log", b"1"))
    await expect(second.get_by_role("link", name="Download one.log")).to_be_visible()
    await second.get_by_label("Attach files").set_input_files(payload("two.log", b"2"))
    await expect(first.get_by_role("link", name="Download two.log")).to_be_visible()
    await second.get_by_role("button", name="Send answer").click()
    assert [each.name for each in await files_of(visit, ask)] == ["one.log", "two.log"]


# ── speaking ──────────────────────────────────────────────────────────────────────────────────────


async def recorded(page: Page, end: str) -> None:
    await page.locator("#record").click()
    await expect(page.locator("#record-time")).to_have_text("0:01")
    await page.locator("#recorder").get_by_role("button", name=end).click()
    await expect(page.locator("#recorder")).to_be_hidden()


async def test_a_recording_is_attached_or_cancelled(visit: Visit) -> None:
    ask = await visit.inbox.ask(BRANCH)
    page = await visit.open(ask)
    await recorded(page, "Cancel")
    await recorded(page, "Stop")
    await expect(page.get_by_role("link", name="Download recording.webm")).to_have_count(1)
    await expect(page.locator("#toast")).to_contain_text("Attached as a recording.")
    await page.get_by_role("button", name="Send only this").click()
    (recording,) = await files_of(visit, ask)
    assert (recording.name, recording.kind) == ("recording.webm", AttachmentKind.AUDIO)
    assert recording.size > 1_000
    assert visit.errors == []


async def heard(visit: Visit, ask: Ask, text: str) -> None:
    """As the hub says it, once the recording is transcribed."""
    voice = (await visit.inbox.inbox.ask(ask.id)).draft.voice
    assert voice
    event = form.Transcribed(digest=voice.recording.digest, text=text)
    await visit.inbox.inbox.put(ask.id, event, person=IN_A_BROWSER)


async def test_a_voice_message_becomes_a_text_that_can_be_corrected(visit: Visit) -> None:
    visit.inbox.inbox.transcribes = True
    ask = await visit.inbox.ask(BRANCH)
    page = await visit.open(ask)
    await recorded(page, "Stop")
    await expect(page.get_by_text("Turning your voice message into text…")).to_be_visible()
    await heard(visit, ask, "Release two four")
    field = page.get_by_label("You said:")
    await expect(field).to_have_value("Release two four")
    await field.fill("thrown away")
    await page.get_by_role("button", name="Discard").click()
    await recorded(page, "Stop")
    await expect(page.get_by_text("Turning your voice message into text…")).to_be_visible()
    await heard(visit, ask, "Release 24")
    await expect(field).to_have_value("Release 24")
    await field.fill("release/2.4")
    await page.get_by_role("button", name="Send", exact=True).click()
    answers = (await outcome_of(visit, ask)).answers
    assert answers is not None
    assert (answers[0].values, answers[0].attachments) == (("release/2.4",), ())


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        (NO_MICROPHONE, "The microphone was refused."),
        (PLAIN_HTTP, "Browsers record only over https, or on your computer itself."),
    ],
    ids=["refused", "plain-http"],
)
async def test_why_nothing_is_recorded_is_said(visit: Visit, script: str, sentence: str) -> None:
    ask = await visit.inbox.ask(BRANCH)
    await visit.page.add_init_script(script)
    page = await visit.open(ask)
    await page.locator("#record").click()
    await expect(page.locator("#toast")).to_contain_text(sentence)
    await expect(page.locator("#recorder")).to_be_hidden()
