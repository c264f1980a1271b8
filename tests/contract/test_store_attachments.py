"""Which files every store knows, as long as the asks and notices that they belong to are there."""

from __future__ import annotations

from dataclasses import replace

from chatbridge.core.model import (
    Agent,
    Answer,
    Ask,
    Attachment,
    AttachmentKind,
    CallName,
    Draft,
    Entry,
    Notice,
    Option,
    Outcome,
    Project,
    Question,
    VoiceMessage,
)
from chatbridge.core.store_port import Store
from tests.contract.asks import OWNER, an_ask, answered, keep

PICTURE = Attachment(
    digest="a" * 64,
    name="layout.png",
    type="image/png",
    size=2_000_000,
    kind=AttachmentKind.PICTURE,
    caption="With a sidebar",
    width=800,
    height=600,
)
LOG = Attachment(
    digest="b" * 64,
    name="build.log",
    type="text/plain",
    size=12,
    kind=AttachmentKind.TEXT,
    excerpt="FAILED\n2 tests",
)
SENT = replace(LOG, digest="c" * 64, ask_id="ask", path="/state/received/ask/cc.txt")
NOTICE = Notice(
    id="n-1",
    call=CallName(link="link-1", request="7"),
    project=Project(key="/src/shop", name="shop"),
    agent=Agent(client="claude-code", name="Claude Code"),
    message="It is done.",
    at=1000.0,
    attachments=(LOG, PICTURE),
)


def with_files() -> Ask:
    options = (Option(label="A", image=PICTURE), Option(label="B"))
    return an_ask(questions=(Question(id="q", text="?", options=options),), attachments=(LOG,))


async def test_files_of_asks_options_and_notices_come_back_as_they_were(store: Store) -> None:
    ask = with_files()
    await keep(store, ask, NOTICE)
    assert await store.ask(ask.id) == ask
    assert list(await store.notices(since=0.0, limit=1)) == [NOTICE]


async def test_what_a_person_has_attached_comes_back_with_the_draft_and_the_answer(
    store: Store,
) -> None:
    entry = Entry(attachments=(SENT,))
    draft = Draft(entries=(entry,), voice=VoiceMessage(recording=SENT, text="Take B"))
    ask = replace(with_files(), draft=draft)
    await keep(store, ask)
    assert await store.ask(ask.id) == ask
    given = Outcome(at=2000.0, answers=(Answer(values=("A",), attachments=(SENT,)),), by=OWNER)
    ended = replace(answered(ask), outcome=given)
    assert await store.write(lambda tx: tx.save_ask(ended, was=ask.status))
    assert await store.ask(ask.id) == ended


async def test_a_file_is_known_as_long_as_an_ask_or_a_notice_has_it(store: Store) -> None:
    assert await store.attachment_digests() == frozenset()
    first, second = answered(with_files()), answered(with_files(), at=3000.0)
    await keep(store, first, second)
    assert await store.attachment_digests() == {PICTURE.digest, LOG.digest}
    await store.sweep(before=2500.0)
    assert await store.ask(first.id) is None
    assert await store.attachment_digests() == {PICTURE.digest, LOG.digest}
    await store.sweep(before=3500.0)
    assert await store.attachment_digests() == frozenset()


async def test_the_files_of_a_notice_go_with_it(store: Store) -> None:
    await keep(store, NOTICE)
    assert await store.attachment_digests() == {PICTURE.digest, LOG.digest}
    await store.sweep(before=2000.0)
    assert await store.attachment_digests() == frozenset()


async def test_a_notice_that_is_sent_twice_has_its_files_once(store: Store) -> None:
    other = replace(PICTURE, digest="d" * 64)
    await keep(store, replace(NOTICE, attachments=(LOG,)))
    again = replace(NOTICE, id="n-2", attachments=(other,))
    await store.write(lambda tx: tx.add_notice(again))
    assert await store.attachment_digests() == {LOG.digest}


async def test_stored_ids_are_those_that_are_there_open_or_ended(store: Store) -> None:
    first, second = an_ask(), answered(an_ask())
    await keep(store, first, second)
    assert await store.stored_ids([first.id, second.id, "none", "' OR 1"]) == {first.id, second.id}
    assert await store.stored_ids([]) == frozenset()
