"""Operations that have ended, in the inbox: in the list, in the API, and all of what they printed
for whoever is let in."""

from __future__ import annotations

from dataclasses import replace

from chatbridge.channels.web.guard import HEADERS
from tests.ended_operations import BADLY, COLOURED, HOSTILE, OPERATION, WELL
from tests.fakes.web import MARK, Web
from tests.fakes.web_stream import stream

PAGE = f"/operations/{OPERATION}/output"
CALL = f"/api{PAGE}"


# ── in the list ───────────────────────────────────────────────────────────────────────────────────


async def test_the_list_says_what_ended_how_and_where_all_of_its_output_is(web: Web) -> None:
    await web.desk.tell_end(WELL)
    web.clock.advance(60)
    await web.desk.tell_end(BADLY)
    badly, well = await web.notices()
    for words in (
        'class="notice is-error"',
        "❌ Failed",
        "<bdi>shop-api</bdi>",
        ">pytest</p>",
        ">exit 1 after 4 min 12 s</p>",
        "<code>E   assert 1 == 2\n1 failed, 411 passed</code></pre>",
        f'href="{PAGE}" aria-label="Whole output of pytest">Whole output</a>',
    ):
        assert words in badly
    for words in ("✅ Finished", ">cargo build</p>", ">4 min 12 s</p>"):
        assert words in well
    for tag in ("<pre", "<a "):
        assert tag not in well


async def test_what_a_command_printed_is_only_text(web: Web) -> None:
    await web.desk.tell_end(HOSTILE)
    (shown,) = await web.notices()
    for tag in ("<script", "<b>✅", "</p>exit"):
        assert tag not in shown
    assert shown.count("</pre>") == 1
    assert "\x1b" not in shown
    assert "&lt;/code&gt;&lt;/pre&gt;&lt;b&gt;✅ all fine&lt;/b&gt; &amp; ⟨U+202E⟩" in shown
    assert "\nE   link</code></pre>" in shown


async def test_a_line_without_end_is_cut_from_the_front(web: Web) -> None:
    await web.desk.tell_end(replace(BADLY, tail="x" * 5_000 + "the end"))
    (shown,) = await web.notices()
    assert "<code>…xxx" in shown
    assert "xthe end</code>" in shown
    assert len(shown) < 4_500


async def test_the_api_and_the_stream_say_it_too(web: Web) -> None:
    async with stream(web) as script:
        notice = await web.desk.tell_end(BADLY)
        name, told = await script.event()
        assert (name, told["id"]) == ("notice", notice.id)
    assert told["operation"] == {
        "id": OPERATION,
        "title": "pytest",
        "succeeded": False,
        "how": "exit 1",
        "seconds": 252.0,
        "tail": BADLY.tail,
        "output": CALL,
    }
    assert (await web.script.get("/api/notices")).json() == [told]


# ── all of what it printed ────────────────────────────────────────────────────────────────────────


async def test_the_owner_reads_the_whole_output_as_plain_text(web: Web) -> None:
    printed = f"<script>alert(1)</script> {COLOURED}\n€\n".encode() + b"\xff" * 2
    web.desk.outputs[OPERATION] = printed
    for visitor, path in ((web.browser, PAGE), (web.browser, CALL), (web.script, CALL)):
        reply = await visitor.get(path)
        assert reply.status_code == 200
        assert reply.content == b"<script>alert(1)</script> red\rE   link\n\xe2\x82\xac\n\xff\xff"
        assert reply.headers["content-type"] == "text/plain; charset=utf-8"
        assert reply.headers["content-disposition"] == 'inline; filename="output-5e0f3a7c.txt"'
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["content-security-policy"] == HEADERS["content-security-policy"]
        assert reply.headers["cache-control"] == "no-store"


async def test_a_large_output_comes_whole(web: Web) -> None:
    web.desk.outputs[OPERATION] = b"a line of it\n" * 1_000_000
    assert (await web.browser.get(PAGE)).content == web.desk.outputs[OPERATION]


async def test_an_output_that_is_gone_is_a_page_that_says_so(web: Web) -> None:
    for path in (PAGE, "/operations/%2e%2e/output", "/operations/..%2f..%2fx/output"):
        gone = await web.browser.get(path)
        assert gone.status_code == 404
        assert gone.headers["content-type"].startswith("text/html")
    assert "It is no longer kept, or there never was one." in (await web.browser.get(PAGE)).text
    gone = await web.script.get(CALL)
    assert gone.status_code == 404
    assert gone.json() == {"error": "It is no longer kept, or there never was one."}


async def test_a_stranger_learns_nothing_not_even_whether_it_is_there(web: Web) -> None:
    async def seen() -> list[tuple[int, str, str]]:
        replies = [
            await web.stranger.get(PAGE),
            await web.stranger.get(PAGE, headers=MARK),
            await web.stranger.get(CALL),
            await web.stranger.get(CALL, headers={"Authorization": "Bearer wrong"}),
            await web.script.get(PAGE),
        ]
        return [(r.status_code, r.text, r.headers.get("location", "")) for r in replies]

    before = await seen()
    web.desk.outputs[OPERATION] = b"the secret of the build"
    assert await seen() == before
    assert [status for status, _, _ in before] == [303, 401, 401, 401, 401]
    assert before[0][2] == "/login"
