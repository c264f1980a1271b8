"""Approvals in a room: what a tap, a word or a stranger does to one, and what is left of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from chatbridge.core.cards.phrases import UNSENT, clock_time
from chatbridge.core.model import Answer, Status, Subject, View
from tests.fakes.inbox import COMMAND, LONG_COMMAND, TEXT
from tests.fakes.matrix_desk import Matrix, running_matrix
from tests.fakes.matrix_person import Person as Somebody
from tests.fakes.relay import Relay
from tests.fakes.synapse import Synapse
from tests.matrix_asks import plain

CODE = "terraform apply -var-file=prod.tfvars plan.out"
ALLOWED, DENIED = (Answer(values=(value,)) for value in ("allow", "deny"))
DECIDES = "Nothing was decided. Reply allow, deny, “deny:” and why, or more."
DESTRUCTIVE = replace(
    COMMAND, subject=Subject(code="rm -r build", language="bash", destructive=True)
)


# ── reactions ─────────────────────────────────────────────────────────────────────────────────────


async def test_neither_a_stranger_nor_a_late_tap_nor_another_sign_allows_anything(
    matrix: Matrix, tmp_path: Path, synapse: Synapse
) -> None:
    async with Somebody.online(synapse, "Eve", tmp_path / "eve") as eve:
        await matrix.ada.invite(matrix.room, eve.user_id)
        await eve.join(matrix.room)
        ask = await matrix.desk.ask(COMMAND, timeout=60)
        card = await matrix.card(ask)
        await eve.react(matrix.room, card.event_id, "👍")
        hers = [
            await eve.in_thread(matrix.room, "allow", root=card.event_id),
            await eve.reply(matrix.room, "deny", to=card.event_id),
        ]
        await matrix.tap(ask, "✅")
        assert (await matrix.told(DECIDES)).thread == card.event_id
        assert await matrix.now(ask) == ask
        ended = await matrix.desk.time_out(ask)
        shown = await matrix.root(ended)
        at = clock_time(ask.deadline or 0)
        assert plain(shown.body).startswith("⌛ Denied · shop-api\nRun this command?\n")
        assert plain(shown.body).endswith(f"\nNobody answered by {at}.")
        await matrix.ada.react(matrix.room, card.event_id, "👍")
        await matrix.say(ask, "allow")
        await matrix.say(ask, "anyway")
        await matrix.told(f"Timed out at {at}.")
        assert await matrix.now(ask) == ended
        assert not [m for m in eve.messages(matrix.room) if m.in_reply_to in hers]


# ── words ─────────────────────────────────────────────────────────────────────────────────────────


async def test_a_destructive_command_takes_words_and_no_reaction_is_enough(matrix: Matrix) -> None:
    ask = await matrix.desk.ask(DESTRUCTIVE)
    root = await matrix.card(ask)
    assert matrix.buttons(root) == "👎"
    assert "Reply run it to allow it once. 👎 denies it." in root.body
    await matrix.tap(ask, "👍")
    await matrix.told("Nothing was decided. Reply run it, deny, or “deny:” and why.")
    await matrix.say(ask, "session")
    assert await matrix.now(ask) == ask
    await matrix.say(ask, "run it")
    assert await matrix.answers(ask) == (ALLOWED,)


async def test_a_destructive_command_half_allowed_takes_the_words_too(matrix: Matrix) -> None:
    ask = await matrix.desk.ask(DESTRUCTIVE)
    root = await matrix.card(ask)
    await matrix.say(ask, "allow")
    asked = await matrix.card(ask)
    assert asked.thread == root.event_id
    assert "Really run this command?" in asked.body
    assert matrix.buttons(asked) == "👎 ↩️"
    await matrix.tap(ask, "👍")
    await matrix.say(ask, "allow")
    assert (await matrix.now(ask)).draft.view is View.CONFIRM_DESTRUCTIVE
    await matrix.say(ask, "run it")
    assert await matrix.answers(ask) == (ALLOWED,)
    assert "Allowed once" in (await matrix.root(ask)).body
    assert matrix.ada.message(matrix.room, asked.event_id).body == "Allowed once."
    denied = await matrix.desk.ask(DESTRUCTIVE)
    await matrix.card(denied)
    await matrix.tap(denied, "👎")
    assert await matrix.answers(denied) == (DENIED,)


async def test_a_message_beside_the_cards_decides_nothing(matrix: Matrix) -> None:
    approval = await matrix.desk.ask(COMMAND)
    await matrix.card(approval)
    for words in ("allow", "run it", "deny", "deny: no", "session"):
        await matrix.ada.say(matrix.room, words)
    await matrix.dealt_with()
    assert await matrix.now(approval) == approval
    text = await matrix.desk.ask(TEXT)
    await matrix.card(text)
    await matrix.ada.say(matrix.room, "allow")
    await matrix.dealt_with()
    assert await matrix.now(approval) == approval
    assert await matrix.answers(text) == (Answer(values=("allow",)),)


# ── long ones ─────────────────────────────────────────────────────────────────────────────────────


async def test_what_no_event_has_room_for_is_shown_on_pages(matrix: Matrix) -> None:
    assert LONG_COMMAND.subject
    code = "\n".join(f"echo line {i:05} of the script" for i in range(2_000))
    subject = replace(LONG_COMMAND.subject, code=code)
    ask = await matrix.desk.ask(replace(LONG_COMMAND, subject=subject))
    root = await matrix.card(ask)
    await matrix.say(ask, "all")
    whole = await matrix.card(ask)
    assert "All of it is in this thread, page by page." in whole.body
    said = [m for m in matrix.ada.messages(matrix.room) if m.body.startswith("Page ")]
    assert [m.body.split(",")[0] for m in said] == [
        f"Page {i} of {len(said)}" for i in range(1, len(said) + 1)
    ]
    assert {(m.msgtype, m.thread) for m in said} == {("m.notice", root.event_id)}
    shown = "".join(m.body for m in said)
    assert all(f"line {i:05}" in shown for i in range(2_000))
    await matrix.ada.reply(matrix.room, "allow", to=said[0].event_id)
    await matrix.dealt_with()
    assert await matrix.answers(ask) == (ALLOWED,)


async def test_a_long_change_is_allowed_only_after_all_its_pages_are_out(
    tmp_path: Path, synapse: Synapse
) -> None:
    lines = "\n".join(f"+line {i:05} of the file" for i in range(1_000))
    subject = Subject(code=lines, language="diff", file="src/shop.py")
    question = replace(COMMAND, text="Change this file?", subject=subject)
    message = "PUT .*/send/m.room.message"
    async with (
        Relay.running(synapse.port) as relay,
        running_matrix(tmp_path, synapse, address=relay.address) as matrix,
    ):
        root, page = relay.hold(message), relay.hold(message)
        ask = await matrix.desk.ask(question)
        await root.came()
        root.go.set()
        await page.came()
        card = await matrix.ada.sees(lambda m: UNSENT in m.body, room=matrix.room)
        assert "allow," not in card.body
        await matrix.ada.in_thread(matrix.room, "allow", root=card.event_id)
        await matrix.ada.sees(lambda m: m.body == UNSENT, room=matrix.room)
        await matrix.ada.react(matrix.room, card.event_id, "👍")
        await matrix.told("take your reaction back first")
        assert await matrix.now(ask) == ask
        page.go.set()
        whole = await matrix.card(ask)
        assert "All of it is in this thread, page by page." in whole.body
        assert matrix.buttons(whole) == "👍 👎"
        said = "".join(m.body for m in matrix.ada.messages(matrix.room) if "Page " in m.body)
        assert all(f"+line {i:05}" in said for i in range(1_000))
        await matrix.say(ask, "allow")
        assert await matrix.answers(ask) == (ALLOWED,)


# ── encrypted ─────────────────────────────────────────────────────────────────────────────────────


async def test_an_encrypted_room_takes_the_same_words_and_taps(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with running_matrix(tmp_path, synapse, encrypted=True) as matrix:
        tapped, typed = [await matrix.desk.ask(COMMAND) for _ in range(2)]
        card = await matrix.card(tapped)
        assert (card.readable, card.encrypted) == (True, True)
        assert CODE in card.body
        await matrix.tap(tapped, "👍")
        await matrix.say(typed, "deny: not now")
        assert await matrix.answers(tapped) == (ALLOWED,)
        assert await matrix.answers(typed) == (replace(DENIED, custom_text="not now"),)
        assert (await matrix.now(typed)).status is Status.ANSWERED
        assert "The agent was told: “" in (await matrix.root(typed)).body
