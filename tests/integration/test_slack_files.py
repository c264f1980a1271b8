"""Files in Slack: what the app uploads, and what people send to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from chatbridge.channels.chat.document import File, Upload
from chatbridge.channels.chat.incoming import Incoming
from chatbridge.channels.chat.received_files import IncomingFile
from chatbridge.channels.chat.writer import MessageRejected, Outgoing, Sent
from chatbridge.channels.slack.api import MAY_NOT_READ
from chatbridge.channels.slack.chat import SHOWN_WITHIN
from chatbridge.channels.slack.receiver import Receiver
from chatbridge.core.errors import AttachmentError, ChatRefused, RetryLater
from chatbridge.core.model import Answer, Ask
from chatbridge.digests import sha256_hex
from chatbridge.safe_json import value_at
from tests.fakes.clock import StillClock
from tests.fakes.inbox import TEXT
from tests.fakes.kept_files import FetchFault
from tests.fakes.sample_store import SampleStore
from tests.fakes.slack.server import BOT, BOT_TOKEN, Fault, Slack, running_slack
from tests.fakes.slack_desk import SlackDesk, read, running_channel

PHOTO = b"\x89PNG" + bytes(200_000)
PICTURES = (
    File(name="a.png", content=PHOTO, type="image/png", caption="1 · Sidebar", size=(800, 600)),
    File(name="b.png", content=b"b", type="image/png", caption="2 · <!channel>", size=(8, 6)),
)


@pytest.fixture
async def slack() -> AsyncIterator[Slack]:
    async with running_slack(StillClock()) as found:
        yield found


@pytest.fixture
async def desk(slack: Slack, tmp_path: Path) -> AsyncIterator[SlackDesk]:
    assert isinstance(slack.clock, StillClock)
    async with running_channel(tmp_path, slack, slack.clock) as found:
        yield found


async def upload(desk: SlackDesk, *files: File, root: str | None = None) -> Sent:
    (chat,) = desk.channel.surfaces
    what = Upload(files)
    return await chat.send(Outgoing(room=desk.room.id, what=what, key=("files",), root=root))


async def send(desk: SlackDesk, *files: File, root: str | None = None) -> Any:
    """The message with these files, as the workspace has it."""
    await upload(desk, *files, root=root)
    return desk.bots[-1]


async def sent(desk: SlackDesk, *files: tuple[str, bytes], **how: Any) -> Incoming:
    """What the receiver makes of a person's message with these files."""
    sending = await desk.slack.share(desk.ada, desk.room, files, **how)
    await desk.acknowledged(sending)
    me = (await desk.channel._api.me()).id
    receiver = Receiver(desk.channel.reception(desk.desk.inbox), api=desk.channel._api, me=me)
    return receiver._incoming(sending.payload["event"], desk.room.id)


async def fetched(file: IncomingFile) -> bytes:
    async with asyncio.timeout(20):
        return b"".join([chunk async for chunk in file.read()])


# ── from the app ──────────────────────────────────────────────────────────────────────────────────


async def test_pictures_are_one_message_with_their_captions(desk: SlackDesk) -> None:
    before = len(desk.bots)
    message = await send(desk, *PICTURES)
    assert len(desk.bots) == before + 1
    assert read(message) == "1 · Sidebar\n2 · <!channel>"  # as text: nobody is called
    files = [(each["name"], each["title"], each["alt_txt"]) for each in message["files"]]
    assert files[0] == ("a.png", "1 · Sidebar", "1 · Sidebar")
    assert [content for _, _, content in desk.slack.files] == [PHOTO, b"b"]


async def test_the_caption_of_a_single_picture_is_its_title(desk: SlackDesk) -> None:
    message = await send(desk, PICTURES[0])
    assert (message["files"][0]["title"], message["blocks"]) == ("1 · Sidebar", [])


async def test_a_file_is_read_from_its_path_and_goes_into_the_thread(
    desk: SlackDesk, tmp_path: Path
) -> None:
    (tmp_path / "digest").write_bytes(PHOTO)
    card = await desk.card(await desk.desk.ask(TEXT))
    file = File(name="büild.log", path=str(tmp_path / "digest"), caption="the log")
    message = await send(desk, file, root=card["ts"])
    assert (message["thread_ts"], read(message)) == (card["ts"], "the log")
    assert desk.slack.files == [("büild.log", card["ts"], PHOTO)]


async def test_what_follows_waits_until_slack_shows_the_files(desk: SlackDesk) -> None:
    desk.slack.shows = asyncio.Event()
    sending = asyncio.ensure_future(upload(desk, *PICTURES))
    await desk.slack.until(lambda: len(desk.slack.files) == 2)
    desk.slack.shows.set()
    message = desk.room.messages[(await sending).id]
    assert [each["name"] for each in message["files"]] == ["a.png", "b.png"]


async def test_what_follows_does_not_wait_for_ever(desk: SlackDesk) -> None:
    desk.slack.shows = asyncio.Event()
    sending = asyncio.ensure_future(upload(desk, *PICTURES))
    await desk.slack.until(lambda: len(desk.slack.files) == 2)
    async with asyncio.timeout(20):
        while not sending.done():
            desk.clock.advance(SHOWN_WITHIN)
            await asyncio.wait({sending}, timeout=0.02)
    assert (await sending).id == ""


async def test_a_long_caption_and_a_hostile_name_are_taken(desk: SlackDesk) -> None:
    file = File(name='a"\r\nb;.png', content=b"x", caption="ü" * 5_000, size=(1, 1))
    message = await send(desk, file, file)
    assert message["files"][0]["name"] == 'a" b;.png'
    assert len(message["files"][0]["alt_txt"]) == 1_000


@pytest.mark.parametrize("where", ["files.getUploadURLExternal", "upload"])
async def test_a_pause_that_slack_asks_for_is_kept(desk: SlackDesk, where: str) -> None:
    desk.slack.faults[where] = Fault(status=429, error="ratelimited", headers={"Retry-After": "9"})
    with pytest.raises(RetryLater) as raised:
        await send(desk, *PICTURES)
    assert raised.value.after == 9.0
    assert desk.slack.files == []
    await send(desk, *PICTURES)
    assert len(desk.slack.files) == 2


async def test_an_upload_that_is_cut_off_shows_nothing(desk: SlackDesk) -> None:
    desk.slack.faults["upload"] = Fault(cut=True)
    with pytest.raises(RetryLater, match="cannot be reached"):
        await send(desk, PICTURES[0])
    assert desk.slack.files == []


async def test_what_slack_does_not_take_is_not_tried_again(desk: SlackDesk, tmp_path: Path) -> None:
    with pytest.raises(MessageRejected, match="missing_argument"):
        await send(desk, File(name="empty.txt"))
    with pytest.raises(MessageRejected, match="invalid_arguments"):
        await send(desk, *(File(name="a", content=b"a") for _ in range(11)))
    with pytest.raises(MessageRejected, match="cannot be read"):
        await send(desk, File(name="a", path=str(tmp_path / "gone")))
    desk.slack.faults["upload"] = Fault(status=413)
    with pytest.raises(MessageRejected, match=r"does not take a \(413\)"):
        await send(desk, File(name="a", content=b"a"))
    desk.slack.scopes -= {"files:write"}
    with pytest.raises(ChatRefused, match="lacks the scope files:write"):
        await send(desk, PICTURES[0])
    assert desk.slack.files == []


# ── from a person ─────────────────────────────────────────────────────────────────────────────────


async def test_files_of_a_message_are_fetched_with_the_token_once_they_are_read(
    desk: SlackDesk,
) -> None:
    message = await sent(desk, ("photo.png", PHOTO), ("notes & <b>.txt", b"hi"), text="look")
    assert (message.text, [(each.name, each.size) for each in message.files]) == (
        "look",
        [("photo.png", len(PHOTO)), ("notes & <b>.txt", 2)],
    )
    assert not any(each.voice for each in message.files)
    kept = desk.slack.kept
    fetches = kept.fetches.total()
    assert [await fetched(each) for each in message.files] == [PHOTO, b"hi"]
    assert kept.fetches.total() == fetches + 2
    assert set(kept.tokens) == {f"Bearer {BOT_TOKEN}"}


async def test_a_voice_clip_is_spoken(desk: SlackDesk) -> None:
    message = await sent(desk, ("audio_message.m4a", b"voice"), voice=True)
    (file,) = message.files
    assert (message.text, file.voice) == (None, True)
    assert await fetched(file) == b"voice"


async def test_a_page_of_html_is_a_file_as_any_other(desk: SlackDesk) -> None:
    (file,) = (await sent(desk, ("page.html", b"<html>"), type="text/html")).files
    assert await fetched(file) == b"<html>"


@pytest.mark.parametrize("redirects", [True, False])
async def test_without_the_scope_the_person_is_told_what_to_do(
    desk: SlackDesk, redirects: bool
) -> None:
    desk.slack.scopes -= {"files:read"}
    desk.slack.redirects = redirects
    message = await sent(desk, ("photo.png", PHOTO))
    with pytest.raises(AttachmentError) as raised:
        await fetched(message.files[0])
    assert str(raised.value) == MAY_NOT_READ


LINKED = "That file is only linked in Slack. Upload it, or send it through the inbox."


@pytest.mark.parametrize(
    "file",
    [
        {"id": "F1", "mode": "tombstone"},
        {"id": "F1", "mode": "hidden_by_limit", "name": "old.png", "size": 4},
        {"id": "F1", "mode": "external", "is_external": True, "url_private": "https://a.example/"},
        {"id": "F1", "mode": "hosted", "url_private_download": "https://a.example/download/x"},
        {"id": "F1", "mode": "hosted", "url_private_download": ["https://files.slack.com/x"]},
        {"id": "F1", "url_private_download": "{base}/api/auth.revoke?name=/files-pri/"},
        {"id": "F1", "url_private_download": "{base}/files-pri/../api/auth.revoke"},
        {"id": "F1", "url_private_download": "{base}/files-pri/%2e%2e/api/auth.revoke"},
        {"id": "F1", "url_private_download": "{base}/files-pri/..%2fapi/auth.revoke"},
        None,
    ],
)
async def test_what_slack_does_not_keep_is_refused_and_no_token_leaves(
    desk: SlackDesk, file: object
) -> None:
    message = await sent(desk)
    address = value_at(file, "url_private_download")
    if isinstance(address, str):
        file = {"id": "F1", "url_private_download": address.format(base=desk.slack.base)}
    found = {**message.source, "files": [file]}
    receiver = Receiver(desk.channel.reception(desk.desk.inbox), api=desk.channel._api, me=BOT)
    (refused,) = receiver._incoming(found, desk.room.id).files
    with pytest.raises(AttachmentError, match=LINKED):
        await fetched(refused)


async def test_a_file_that_was_deleted_meanwhile_is_told(desk: SlackDesk) -> None:
    message = await sent(desk, ("photo.png", PHOTO))
    desk.slack.kept.contents.clear()
    with pytest.raises(AttachmentError, match="Slack no longer has that file"):
        await fetched(message.files[0])


async def test_a_fetch_that_is_cut_off_can_be_tried_again(desk: SlackDesk) -> None:
    message = await sent(desk, ("photo.png", PHOTO))
    desk.slack.kept.faults.append(FetchFault(cut=True))
    with pytest.raises(RetryLater):
        await fetched(message.files[0])
    assert await fetched(message.files[0]) == PHOTO


async def test_a_strangers_file_is_never_fetched(desk: SlackDesk) -> None:
    card = await desk.card(await desk.desk.ask(TEXT))
    files = [("photo.png", PHOTO)]
    sending = await desk.slack.share(desk.eve, desk.room, files, thread=card["ts"])
    await desk.acknowledged(sending)
    assert not desk.slack.kept.fetches


# ── as an answer ──────────────────────────────────────────────────────────────────────────────────


async def answer_of(desk: SlackDesk, ask: Ask) -> Answer | None:
    found = (await desk.desk.inbox.ask(ask.id)).answer
    return found.answers[0] if found else None


async def share(desk: SlackDesk, *files: tuple[str, bytes], thread: str | None, **how: Any) -> None:
    await desk.acknowledged(
        await desk.slack.share(desk.ada, desk.room, files, thread=thread, **how)
    )


async def test_files_in_the_thread_answer_with_their_comment(desk: SlackDesk) -> None:
    ask = await desk.desk.ask(TEXT)
    card = await desk.card(ask)
    files = [("photo.png", PHOTO), ("b.txt", b"b")]
    await share(desk, *files, text="look & see", thread=card["ts"])
    answer = await answer_of(desk, ask)
    assert answer is not None
    assert answer.values == ("look & see",)
    assert [each.name for each in answer.attachments] == ["photo.png", "b.txt"]
    assert [each.digest for each in answer.attachments] == [sha256_hex(PHOTO), sha256_hex(b"b")]
    assert desk.slack.kept.fetches.total() == 2


async def test_what_slack_sends_again_during_a_slow_fetch_is_fetched_once(desk: SlackDesk) -> None:
    ask = await desk.desk.ask(TEXT)
    card, kept, hold = await desk.card(ask), desk.slack.kept, asyncio.Event()
    kept.faults.append(FetchFault(hold=hold))
    files = [("photo.png", PHOTO)]
    sending = await desk.slack.share(desk.ada, desk.room, files, thread=card["ts"])
    async with asyncio.timeout(20):
        await kept.begun.wait()
    desk.clock.advance(3.5)
    await desk.slack.until(lambda: sending.attempt)
    hold.set()
    await desk.acknowledged(sending)
    answer = await answer_of(desk, ask)
    assert answer is not None
    assert len(answer.attachments) == 1
    await desk.say("another", to=card)
    assert kept.fetches.total() == 1


async def test_a_voice_clip_beside_the_cards_answers_the_only_question(
    slack: Slack, tmp_path: Path
) -> None:
    assert isinstance(slack.clock, StillClock)
    ada = slack.person("Ada")
    room = slack.direct(ada)
    async with running_channel(tmp_path, slack, slack.clock, room=room, ada=ada) as desk:
        ask = await desk.desk.ask(TEXT)
        await desk.card(ask)
        await share(desk, ("audio_message.m4a", b"voice"), thread=None, voice=True)
        answer = await answer_of(desk, ask)
        assert answer is not None
        assert [each.name for each in answer.attachments] == ["audio_message.m4a"]


async def test_who_sends_a_file_without_the_scope_is_told_in_the_thread(desk: SlackDesk) -> None:
    desk.slack.scopes -= {"files:read"}
    ask = await desk.desk.ask(TEXT)
    card = await desk.card(ask)
    await share(desk, ("photo.png", PHOTO), thread=card["ts"])
    told = await desk.sees("files:read")
    assert (read(told), told["thread_ts"]) == (MAY_NOT_READ, card["ts"])
    assert await answer_of(desk, ask) is None


async def test_a_file_that_slack_says_is_too_large_is_not_fetched(
    desk: SlackDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SampleStore, "largest", 1_000)
    ask = await desk.desk.ask(TEXT)
    card = await desk.card(ask)
    await share(desk, ("photo.png", PHOTO), thread=card["ts"])
    assert (await desk.sees("smaller"))["thread_ts"] == card["ts"]
    assert not desk.slack.kept.fetches
    assert await answer_of(desk, ask) is None
