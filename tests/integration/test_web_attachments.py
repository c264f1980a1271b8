"""Files in the inbox, without a browser: who gets which, how they go out, and what is taken."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterable, AsyncIterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, unquote

import httpx2
import pytest

from chatbridge.channels.web.guard import HEADERS
from chatbridge.channels.web.sessions import IN_A_BROWSER, SESSION_SECONDS
from chatbridge.core.forms import form
from chatbridge.core.model import Answer, Ask, Attachment, Option, Question, View
from chatbridge.core.ports import Preview, Recipient
from tests.fakes.clock import StillClock
from tests.fakes.inbox import COMMAND, CONFIRM, MULTI, SELECT, TEXT
from tests.fakes.sample_files import BROKEN, picture
from tests.fakes.sample_store import SampleStore
from tests.fakes.web import MARK, TOKEN, Web, running_web

LARGEST = 300_000
SOUND = b"\x1aE\xdf\xa3 A_OPUS"
SVG = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"


@pytest.fixture
async def files(tmp_path: Path) -> AsyncIterator[SampleStore]:
    files = SampleStore(tmp_path, clock=StillClock(), largest=LARGEST)
    yield files
    await files.close()


@pytest.fixture
async def web(tmp_path: Path, files: SampleStore) -> AsyncIterator[Web]:
    async with running_web(tmp_path, body_seconds=0.5, attachments=files) as web:
        yield web


def at(ask: Ask, file: Attachment, *more: str) -> str:
    return "/".join((f"/asks/{ask.id}/files/{file.digest}", *more))


async def send(
    web: Web, ask: Ask, content: bytes | AsyncIterator[bytes], name: str = "photo.png", **query: int
) -> httpx2.Response:
    """A file as the page's script sends it."""
    draft = (await web.desk.inbox.ask(ask.id)).draft
    return await web.browser.post(
        f"/asks/{ask.id}/files",
        params={"question": draft.at, **query},
        content=content,
        headers={**MARK, "X-File-Name": quote(name)},
    )


async def attached(web: Web, ask: Ask) -> list[str]:
    draft = (await web.desk.inbox.ask(ask.id)).draft
    return [each.name for each in draft.entries[0].attachments]


def toast(response: httpx2.Response) -> str:
    return unquote(response.headers["x-chatbridge-toast"])


# ── out ───────────────────────────────────────────────────────────────────────────────────────────


async def test_an_original_is_downloaded_and_never_run_or_kept_by_others(
    web: Web, files: SampleStore
) -> None:
    shot = await files.sample(picture(), name="failing page.png")
    ask = await web.desk.ask(TEXT, attachments=(shot,))
    response = await web.browser.get(at(ask, shot))
    assert (response.status_code, response.content) == (200, picture())
    expected = {
        "content-type": "image/png",
        "content-disposition": "attachment; filename*=utf-8''failing%20page.png",
        "x-content-type-options": "nosniff",
        "cache-control": "private, no-store",
        "content-security-policy": "default-src 'none'; sandbox",
        "cross-origin-resource-policy": "same-origin",
    }
    assert expected.items() <= dict(response.headers).items()
    head = await web.browser.head(at(ask, shot))
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(picture()))


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (SVG, "drawing.svg"),
        (b"<html><script>alert(1)</script>", "page.html"),
        (b"%PDF-1.7 \xff", "report.pdf"),
    ],
)
async def test_what_could_run_is_a_plain_file_and_is_never_drawn_on_the_page(
    web: Web, files: SampleStore, content: bytes, name: str
) -> None:
    file = await files.sample(content, name=name)
    ask = await web.desk.ask(TEXT, attachments=(file,))
    page = (await web.browser.get(f"/asks/{ask.id}")).text
    assert name in page
    assert not re.search("<(img|iframe|object|embed|video|svg)", page)
    assert "<script>alert" not in page
    response = await web.browser.get(at(ask, file))
    inert = ("application/octet-stream", "text/plain; charset=utf-8")
    assert response.headers["content-type"] in inert
    assert response.headers["content-disposition"].startswith("attachment")
    assert (await web.browser.get(at(ask, file, "preview"))).status_code == 404


async def test_a_preview_is_shown_inline_and_its_own_browser_may_keep_it(
    web: Web, files: SampleStore
) -> None:
    shot = await files.sample(picture(size=(3000, 2000)), name="a.png")
    ask = await web.desk.ask(TEXT, attachments=(shot,))
    response = await web.browser.get(at(ask, shot, "preview"))
    assert response.status_code == 200
    assert response.headers["content-type"] in ("image/png", "image/jpeg")
    assert response.headers["content-disposition"] == "inline"
    assert response.headers["cache-control"] == "private, max-age=86400, immutable"
    assert response.headers["content-security-policy"] == "default-src 'none'; sandbox"
    broken = await files.sample(BROKEN, name="broken.png")
    ask = await web.desk.ask(TEXT, attachments=(broken,))
    none = await web.browser.get(at(ask, broken, "preview"))
    assert none.status_code == 404
    assert "broken.png cannot be shown here. Download it." in none.text
    assert none.headers["cache-control"] == "no-store"


async def test_a_preview_of_another_type_is_not_shown(
    web: Web, files: SampleStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    shot = await files.sample(picture())
    ask = await web.desk.ask(TEXT, attachments=(shot,))
    made = await files.preview(shot)
    assert made is not None

    async def drawing(_attachment: Attachment) -> Preview:
        return replace(made, type="image/svg+xml")

    monkeypatch.setattr(files, "preview", drawing)
    assert (await web.browser.get(at(ask, shot, "preview"))).status_code == 404


async def test_only_a_logged_in_browser_gets_a_file(web: Web, files: SampleStore) -> None:
    shot = await files.sample(picture(), name="a.png")
    ask = await web.desk.ask(TEXT, attachments=(shot,))
    notice = await web.desk.notify("Done", attachments=(shot,))
    told = f"/notices/{notice.id}/files/{shot.digest}"
    both = {"Authorization": f"Bearer {TOKEN}"}
    for path in (at(ask, shot), at(ask, shot, "preview"), told, f"{told}/preview"):
        assert (await web.browser.get(path)).status_code == 200
        assert (await web.script.get(path)).status_code == 401
        assert (await web.browser.get(path, headers=both)).status_code == 401
        assert (await web.stranger.get(path)).headers["location"] == "/login"
        assert (await web.stranger.get(path, headers=MARK)).status_code == 401
    web.clock.advance(SESSION_SECONDS + 1)
    assert (await web.browser.get(at(ask, shot))).headers["location"] == "/login"


async def test_a_swept_file_is_gone_in_kind_words(web: Web, files: SampleStore) -> None:
    log = await files.sample(b"two errors\n", name="build.log")
    ask = await web.desk.ask(TEXT, attachments=(log,))
    (files.state / "attachments" / log.digest).unlink()
    for path in (at(ask, log), at(ask, log, "preview")):
        response = await web.browser.get(path)
        assert response.status_code == 410
        assert "build.log has been removed." in response.text


async def test_a_file_is_found_only_where_it_belongs(web: Web, files: SampleStore) -> None:
    shot = await files.sample(picture(), name="a.png")
    ask, other = await web.desk.ask(TEXT, attachments=(shot,)), await web.desk.ask(CONFIRM)
    notice = await web.desk.notify("Done")
    for path in (
        at(other, shot),
        at(other, shot, "preview"),
        f"/notices/{notice.id}/files/{shot.digest}",
        f"/notices/{ask.id}/files/{shot.digest}",
        f"/asks/unknown/files/{shot.digest}",
        f"/asks/{ask.id}/files/{shot.digest[:-1]}",
        f"/asks/{ask.id}/files/..%2f{shot.digest}",
        f"/asks/{ask.id}/files/%00",
    ):
        assert (await web.browser.get(path)).status_code == 404, path


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ('a"; filename="b.exe', "attachment; filename*=utf-8''a%22%3B%20filename%3D%22b.exe"),
        ("a\r\nSet-Cookie: x=1", "attachment; filename*=utf-8''a%20Set-Cookie%3A%20x%3D1"),
        ("../../.bashrc", 'attachment; filename=".._.._.bashrc"'),
        ("..\\evil", 'attachment; filename=".._evil"'),
        ("exe.\u202egnp", f"attachment; filename*=utf-8''exe.{quote('⟨U+202E⟩')}gnp"),
        ("Übersicht.txt", "attachment; filename*=utf-8''%C3%9Cbersicht.txt"),
        ("\ud800.txt", "attachment; filename*=utf-8''%EF%BF%BD.txt"),
        ("", 'attachment; filename="file"'),
    ],
)
async def test_no_name_breaks_out_of_its_header(
    web: Web, files: SampleStore, name: str, header: str
) -> None:
    file = replace(await files.sample(b"text"), name=name)
    ask = await web.desk.ask(TEXT, attachments=(file,))
    response = await web.browser.get(at(ask, file))
    assert response.headers["content-disposition"] == header
    assert "set-cookie" not in response.headers


async def test_a_picture_has_its_size_on_the_page_so_that_nothing_jumps(
    web: Web, files: SampleStore
) -> None:
    shot = await files.sample(picture(size=(640, 400)), name="a.png", caption="<b>The page</b>")
    ask = await web.desk.ask(TEXT, attachments=(shot,))
    page = (await web.browser.get(f"/asks/{ask.id}")).text
    (image,) = re.findall("<img[^>]*>", page)
    assert f'src="{at(ask, shot, "preview")}" width="640" height="400" loading="lazy"' in image
    assert "&lt;b&gt;The page&lt;/b&gt;" in page
    assert f'href="{at(ask, shot)}"' in page  # without the script a tap downloads it
    assert page.index("<img") < page.index("<textarea")


async def test_a_picture_that_nothing_here_can_decode_is_a_file(
    web: Web, files: SampleStore
) -> None:
    shot = replace(await files.sample(picture(), name="a.png"), width=None, height=None)
    ask = await web.desk.ask(TEXT, attachments=(shot,))
    page = (await web.browser.get(f"/asks/{ask.id}")).text
    assert "<img" not in page
    assert re.search("a.png.*image/png · [0-9]+ (bytes|KB)", page)


async def test_a_text_shows_its_first_lines_as_text(web: Web, files: SampleStore) -> None:
    lines = "first <line>\nexe.\u202egnp".encode()
    log = await files.sample(lines, name="build.log", caption="The build")
    ask = await web.desk.ask(TEXT, attachments=(log,))
    page = (await web.browser.get(f"/asks/{ask.id}")).text
    assert "first &lt;line&gt;\nexe.⟨U+202E⟩gnp" in page
    assert "The build" in page
    diff = await files.sample(b"--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n", name="a.diff")
    ask = await web.desk.ask(TEXT, attachments=(diff,))
    page = (await web.browser.get(f"/asks/{ask.id}")).text
    assert '<span class="removed">-old\n</span><span class="added">+new</span>' in page


async def test_pictures_of_options_are_beside_their_buttons_and_stay_in_the_history(
    web: Web, files: SampleStore
) -> None:
    one, two = [await files.sample(picture(colour=each)) for each in ("red", "blue")]
    options = (Option(label="Sidebar", image=one), Option(label="Tabs", image=two))
    ask = await web.desk.ask(replace(SELECT, options=options))
    page = (await web.browser.get(f"/asks/{ask.id}")).text
    order = [
        page.index(text) for text in (one.digest, 'id="option-1"', two.digest, 'id="option-2"')
    ]
    assert order == sorted(order)
    assert 'data-picture="2 · Tabs"' in page
    await web.desk.inbox.answer(ask.id, (Answer(values=("Tabs",)),), person=IN_A_BROWSER)
    page = (await web.browser.get(f"/asks/{ask.id}")).text
    assert 'data-picture="1 · Sidebar"' in page
    assert (await web.browser.get(at(ask, two))).status_code == 200


async def test_a_notice_shows_its_files(web: Web, files: SampleStore) -> None:
    shot, log = await files.sample(picture()), await files.sample(b"text", name="build.log")
    notice = await web.desk.notify("Done", attachments=(shot, log))
    for page in ("/?all", "/history"):
        shown = (await web.browser.get(page)).text
        assert f'src="/notices/{notice.id}/files/{shot.digest}/preview"' in shown
        assert f'href="/notices/{notice.id}/files/{log.digest}"' in shown


# ── in ────────────────────────────────────────────────────────────────────────────────────────────


async def test_files_wait_for_the_text_that_sends_them(web: Web) -> None:
    ask = await web.desk.ask(TEXT)
    for name in ("one.png", "Übersicht.png"):
        response = await send(web, ask, picture(), name)
        assert response.status_code == 200
        assert f"<bdi>{name}</bdi>" in response.text
    assert (await web.desk.inbox.ask(ask.id)).open
    data = {"do": "text", "step": "0", "text": "see there"}
    await web.browser.post(f"/asks/{ask.id}/form", data=data, headers=MARK)
    ended = await web.desk.broker.ended(ask.id)
    assert ended.outcome is not None
    assert ended.outcome.answers is not None
    (answer,) = ended.outcome.answers
    assert (answer.values, [each.name for each in answer.attachments]) == (
        ("see there",),
        ["one.png", "Übersicht.png"],
    )
    page = (await web.browser.get(f"/asks/{ask.id}")).text
    assert page.count(f'src="{at(ask, answer.attachments[0], "preview")}"') == 2
    assert (await web.browser.get(at(ask, answer.attachments[0]))).content == picture()
    assert "one.png" in (await web.browser.get("/history")).text


@pytest.mark.parametrize("view", [View.QUESTION, View.OTHER])
async def test_files_can_be_sent_alone_or_taken_back(web: Web, view: View) -> None:
    ask = await web.desk.ask(SELECT)
    if view is View.OTHER:
        await web.desk.inbox.put(ask.id, form.Other(step=0), person=IN_A_BROWSER)
    await send(web, ask, picture())
    shown = (await web.browser.get(f"/asks/{ask.id}")).text
    drop, alone = (
        re.search(
            f'name="do" value="{do}"><input type="hidden" name="step" value="([0-9]+)"', shown
        )
        for do in ("drop_attached", "send_attached")
    )
    assert drop
    assert alone
    form_address = f"/asks/{ask.id}/form"
    data = {"do": "drop_attached", "step": drop[1]}
    assert (await web.browser.post(form_address, data=data, headers=MARK)).status_code == 200
    assert await attached(web, ask) == []
    await send(web, ask, picture(), "second.png")
    data = {"do": "send_attached", "step": str(int(alone[1]) + 1)}
    assert (await web.browser.post(form_address, data=data, headers=MARK)).status_code == 200
    ended = await web.desk.broker.ended(ask.id)
    assert ended.outcome is not None
    assert ended.outcome.answers is not None
    assert [each.name for each in ended.outcome.answers[0].attachments] == ["second.png"]


@pytest.mark.parametrize("question", [SELECT, MULTI, CONFIRM])
async def test_a_file_goes_with_the_option_that_is_tapped(web: Web, question: Question) -> None:
    ask = await web.desk.ask(question)
    assert (await send(web, ask, picture())).status_code == 200
    do = {"do": "choose", "option": "0"} if question is not MULTI else {"do": "done"}
    data = {**do, "step": "0"}
    await web.browser.post(f"/asks/{ask.id}/form", data=data, headers=MARK)
    ended = await web.desk.broker.ended(ask.id)
    assert ended.outcome is not None
    assert ended.outcome.answers is not None
    assert [each.name for each in ended.outcome.answers[0].attachments] == ["photo.png"]


async def test_an_approval_takes_no_file(web: Web, files: SampleStore) -> None:
    ask = await web.desk.ask(COMMAND)
    assert 'id="attach"' not in (await web.browser.get(f"/asks/{ask.id}")).text
    response = await send(web, ask, picture())
    assert response.status_code == 422
    assert await web.desk.inbox.ask(ask.id) == ask
    assert files.received == []


async def test_without_a_place_for_files_none_is_offered_or_taken(web: Web) -> None:
    web.desk.inbox.attachments = None
    ask = await web.desk.ask(TEXT)
    assert 'id="attach"' not in (await web.browser.get(f"/asks/{ask.id}")).text
    assert (await send(web, ask, picture())).status_code == 422


async def test_only_a_page_of_the_inbox_can_send_a_file(web: Web, files: SampleStore) -> None:
    ask = await web.desk.ask(TEXT)
    path = f"/asks/{ask.id}/files?question=0"
    assert (await web.script.post(path, content=b"x")).status_code == 401
    assert (await web.stranger.post(path, content=b"x")).status_code == 401
    foreign = {"Origin": "https://evil.example"}
    assert (await web.browser.post(path, content=b"x", headers=foreign)).status_code == 403
    bare = httpx2.Request("POST", f"{web.address}{path}", content=b"x", cookies=web.browser.cookies)
    assert (await web.stranger.send(bare)).status_code == 403
    assert files.received == []


async def _pieces(number: int, length: int = 50_000) -> AsyncIterator[bytes]:
    for _ in range(number):
        yield b"x" * length


async def test_too_much_is_refused_in_a_sentence_and_leaves_nothing(
    web: Web, files: SampleStore
) -> None:
    ask = await web.desk.ask(TEXT)
    sentence = "That is too large: the files of an answer can have 300 KB together."
    declared = await send(web, ask, b"x" * (LARGEST + 1))
    assert (declared.status_code, toast(declared)) == (413, sentence)
    endless = await send(web, ask, _pieces(7))
    assert (endless.status_code, toast(endless)) == (413, sentence)
    assert files.received == []
    assert (await send(web, ask, _pieces(4), "first")).status_code == 200
    together = await send(web, ask, _pieces(3))
    assert (together.status_code, toast(together)) == (413, sentence)
    assert await attached(web, ask) == ["first"]


async def test_a_full_quota_is_said_in_words_and_takes_nothing_away(
    web: Web, tmp_path: Path
) -> None:
    full = SampleStore(tmp_path, clock=StillClock(), largest=1_000, quota=1_000)
    ask, other = await web.desk.ask(TEXT), await web.desk.ask(CONFIRM)
    web.desk.inbox.attachments = full
    assert (await send(web, ask, b"x" * 700)).status_code == 200
    response = await send(web, other, b"y" * 301)
    assert response.status_code == 507
    assert toast(response).startswith("The space for files is full.")
    assert 'id="attach"' in response.text
    assert (await attached(web, ask), await attached(web, other)) == (["photo.png"], [])


async def test_an_empty_file_is_refused(web: Web) -> None:
    ask = await web.desk.ask(TEXT)
    response = await send(web, ask, b"")
    assert (response.status_code, toast(response)) == (422, "This file is empty.")


async def test_a_hostile_name_is_a_name_and_no_place(web: Web, files: SampleStore) -> None:
    ask = await web.desk.ask(TEXT)
    for name in ("../../../evil.sh", "a\u202egnp.exe", "x" * 900, "\0", ""):
        assert (await send(web, ask, b"text of " + name.encode(), name)).status_code == 200
    names = await attached(web, ask)
    assert names[:2] == ["evil.sh", "agnp.exe"]
    assert all(0 < len(name) <= 100 for name in names)
    assert all(re.fullmatch(r"[0-9a-f]{12}\.(txt|bin)", each) for each in files.received)


async def test_one_file_too_many_is_not_even_stored(web: Web, files: SampleStore) -> None:
    ask = await web.desk.ask(TEXT)
    for number in range(5):
        assert (await send(web, ask, b"text %d" % number)).status_code == 200
    response = await send(web, ask, b"one more")
    why = "An answer can have 5 files at most. Send fewer."
    assert (response.status_code, toast(response)) == (422, why)
    assert len(files.received) == 5


async def test_a_file_for_what_has_ended_or_another_question_is_refused(
    web: Web, files: SampleStore
) -> None:
    ended = await web.desk.ask(CONFIRM)
    await web.desk.inbox.answer(ended.id, (Answer(values=("yes",)),), person=IN_A_BROWSER)
    response = await send(web, ended, picture())
    assert response.status_code == 409
    assert toast(response).startswith("Already answered")
    two = await web.desk.ask(TEXT, CONFIRM)
    for question in (1, 7, -1):
        response = await send(web, two, picture(), question=question)
        assert response.status_code == 422
        assert toast(response).startswith("You went on to another question.")
    assert (await web.browser.post("/asks/unknown/files", content=b"x")).status_code == 404
    assert files.received == []


async def _begin(
    web: Web, ask: Ask, *, length: int = 1_000
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """An upload of so many bytes, of which 500 are there."""
    reader, writer = await asyncio.open_connection(web.host, web.port)
    cookies = "; ".join(f"{name}={value}" for name, value in web.browser.cookies.items())
    writer.write(
        f"POST /asks/{ask.id}/files?question=0 HTTP/1.1\r\nHost: {web.host}:{web.port}\r\n"
        f"Origin: {web.address}\r\nCookie: {cookies}\r\nContent-Length: {length}\r\n"
        "X-Chatbridge: fragment\r\n\r\n".encode()
        + b"x" * 500
    )
    await writer.drain()
    return reader, writer


async def test_a_file_lands_at_its_question_whichever_screen_is_shown_by_then(web: Web) -> None:
    ask = await web.desk.ask(SELECT)
    reader, writer = await _begin(web, ask)
    await web.desk.inbox.put(ask.id, form.Other(step=0), person=IN_A_BROWSER)
    writer.write(b"x" * 500)
    async with asyncio.timeout(20):
        assert b" 200 " in await reader.readline()
    writer.close()
    assert await attached(web, ask) == ["file.txt"]


async def test_a_file_that_says_that_it_is_too_large_is_not_waited_for(
    web: Web, files: SampleStore
) -> None:
    ask = await web.desk.ask(TEXT)
    await send(web, ask, b"x" * 1_000)
    reader, writer = await _begin(web, ask, length=LARGEST - 999)
    async with asyncio.timeout(20):
        assert b" 413 " in await reader.readline()
    writer.close()
    assert len(files.received) == 1


async def test_files_that_come_at_once_are_counted_together(web: Web) -> None:
    ask = await web.desk.ask(TEXT)
    reader, writer = await _begin(web, ask)
    assert (await send(web, ask, b"y" * (LARGEST - 999), "first")).status_code == 200
    writer.write(b"x" * 500)
    async with asyncio.timeout(20):
        assert b" 413 " in await reader.readline()
    writer.close()
    assert await attached(web, ask) == ["first"]


async def test_a_file_that_stops_coming_is_given_up_and_one_that_is_cut_is_nothing(
    web: Web, files: SampleStore
) -> None:
    ask = await web.desk.ask(TEXT)
    reader, writer = await _begin(web, ask)
    async with asyncio.timeout(20):
        assert b" 408 " in await reader.readline()
    writer.close()
    _, writer = await _begin(web, ask)
    writer.transport.abort()
    assert (await send(web, ask, b"whole", "whole.txt")).status_code == 200
    assert await attached(web, ask) == ["whole.txt"]


class Measuring(SampleStore):
    longest = 0

    async def receive(
        self, content: AsyncIterable[bytes], *, name: str | None, to: Recipient
    ) -> Attachment:
        async def measured() -> AsyncIterator[bytes]:
            async for chunk in content:
                self.longest = max(self.longest, len(chunk))
                yield chunk

        return await super().receive(measured(), name=name, to=to)


async def test_a_large_file_passes_in_small_pieces(web: Web, tmp_path: Path) -> None:
    files = Measuring(tmp_path, clock=StillClock(), largest=5_000_000)
    web.desk.inbox.attachments = files
    ask = await web.desk.ask(TEXT)
    assert (await send(web, ask, b"x" * 4_000_000)).status_code == 200
    assert 0 < files.longest < 600_000
    (file,) = (await web.desk.inbox.ask(ask.id)).draft.entries[0].attachments
    async with web.browser.stream("GET", at(ask, file)) as response:
        assert sum([len(chunk) async for chunk in response.aiter_raw()]) == 4_000_000


@pytest.mark.parametrize("do", ["attach", "speak", "transcribed"])
async def test_a_form_cannot_claim_a_file_or_what_was_heard(web: Web, do: str) -> None:
    ask = await web.desk.ask(TEXT)
    recording = Attachment(digest="0", name="r", type="audio/webm", size=1)
    await web.desk.inbox.put(ask.id, form.Speak(recording=recording), person=IN_A_BROWSER)
    before = await web.desk.inbox.ask(ask.id)
    data = {"do": do, "step": "1", "text": "forged", "attachments": "x", "recording": "x"}
    response = await web.browser.post(f"/asks/{ask.id}/form", data=data, headers=MARK)
    assert response.status_code == 422
    assert await web.desk.inbox.ask(ask.id) == before


# ── voice ─────────────────────────────────────────────────────────────────────────────────────────


async def test_a_recording_is_attached_where_nothing_transcribes_it(web: Web) -> None:
    ask = await web.desk.ask(TEXT)
    response = await send(web, ask, SOUND, "recording.webm", voice=1)
    assert response.status_code == 200
    assert toast(response) == (
        "Attached as a recording. To have speech turned into text, set [voice] in config.toml."
    )
    assert await attached(web, ask) == ["recording.webm"]


async def heard(web: Web, ask: Ask, text: str, problem: str | None = None) -> None:
    """As the hub says it, once the recording is transcribed."""
    voice = (await web.desk.inbox.ask(ask.id)).draft.voice
    assert voice
    event = form.Transcribed(digest=voice.recording.digest, text=text, problem=problem)
    await web.desk.inbox.put(ask.id, event, person=IN_A_BROWSER)


async def test_what_was_heard_can_be_corrected_sent_or_discarded(web: Web) -> None:
    ask, inbox = await web.desk.ask(TEXT), web.desk.inbox
    inbox.transcribes = True
    form_address = f"/asks/{ask.id}/form"
    response = await send(web, ask, SOUND, "recording.webm", voice=1)
    assert "Turning your voice message into text…" in response.text
    assert "x-chatbridge-toast" not in response.headers
    recording = re.search(f"/asks/{ask.id}/files/[0-9a-f]+", response.text)
    assert recording
    assert (await web.browser.get(recording[0])).content == SOUND
    problem = "The transcription took too long."
    await heard(web, ask, "", problem)
    page = (await web.browser.get(f"/asks/{ask.id}")).text
    assert problem in page
    assert "Send the recording" in page
    back = {"do": "back", "step": "2"}
    page = (await web.browser.post(form_address, data=back, headers=MARK)).text
    assert 'id="attach"' in page
    await send(web, ask, SOUND, "recording.webm", voice=1)
    await heard(web, ask, "Take <it>")
    page = (await web.browser.get(f"/asks/{ask.id}")).text
    assert "You said:" in page
    assert ">Take &lt;it&gt;</textarea>" in page
    data = {"do": "text", "step": "5", "text": "Take that"}
    assert (await web.browser.post(form_address, data=data, headers=MARK)).status_code == 200
    ended = await web.desk.broker.ended(ask.id)
    assert ended.outcome is not None
    assert ended.outcome.answers == (Answer(values=("Take that",)),)


async def test_what_was_said_beside_yes_and_no_is_shown_until_the_tap(web: Web) -> None:
    ask, inbox = await web.desk.ask(CONFIRM), web.desk.inbox
    inbox.transcribes = True
    await send(web, ask, SOUND, "recording.webm", voice=1)
    await heard(web, ask, "only old ones")
    data = {"do": "text", "step": "2", "text": "only the old ones"}
    page = (await web.browser.post(f"/asks/{ask.id}/form", data=data, headers=MARK)).text
    assert ">only the old ones</textarea>" in page
    data = {"do": "choose", "step": "3", "option": "0"}
    await web.browser.post(f"/asks/{ask.id}/form", data=data, headers=MARK)
    ended = await web.desk.broker.ended(ask.id)
    assert ended.outcome is not None
    assert ended.outcome.answers == (Answer(values=("yes",), custom_text="only the old ones"),)


async def test_the_microphone_is_allowed_to_our_own_pages_alone(web: Web) -> None:
    policy = (await web.browser.get("/?all")).headers["permissions-policy"]
    assert policy == HEADERS["permissions-policy"]
    assert "microphone=(self)" in policy
    assert "camera=()" in policy
