"""doctor looks at Telegram, against a Bot API server that answers as the real one does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatbridge.channels.checks import Mark
from chatbridge.channels.telegram import spec
from chatbridge.channels.telegram.client.errors import Polled
from chatbridge.channels.telegram.doctor import names
from chatbridge.channels.telegram.settings import Telegram
from chatbridge.cli.doctor.computer import clock
from chatbridge.cli.doctor.run import Check, channel_check
from chatbridge.core.model import ChannelState
from chatbridge.settings import secrets
from chatbridge.store.sqlite.store import SqliteStore
from tests.fakes.chat_settings import telegram_settings
from tests.fakes.clock import StillClock
from tests.fakes.doctor import Machine, screen
from tests.fakes.impostor import impostor, self_signed
from tests.fakes.telegram.chats import User
from tests.fakes.telegram.people import Chat
from tests.fakes.telegram.server import BotApi

TELEGRAM = channel_check(spec.TELEGRAM)
CLOCK = Check("clock", clock)
TOKEN = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"


@pytest.fixture
def api() -> Iterator[BotApi]:
    with BotApi.running() as api:
        yield api
        # Whatever was looked at: that is the hub's alone, and would take its messages away.
        assert not api.calls("getUpdates")
        assert not api.calls("sendMessage")


@pytest.fixture
def ada(api: BotApi) -> User:
    return api.person("Ada")


@pytest.fixture
def private(machine: Machine, api: BotApi, ada: User) -> Chat:
    """Ada's chat with the bot, which is where questions go."""
    machine.set(**telegram_settings(api, ada))
    return api.private(ada)


def in_group(machine: Machine, api: BotApi, ada: User, *, large: bool = True) -> Chat:
    chat = api.group("team", ada, supergroup=large)
    machine.set(**telegram_settings(api, ada, chats=(chat.id,)))
    return chat


async def test_without_a_token_there_is_nothing_to_say(machine: Machine) -> None:
    assert await machine.look(TELEGRAM) == []


async def test_a_bot_that_can_write_is_fine(machine: Machine, api: BotApi, private: Chat) -> None:
    assert screen(await machine.look(TELEGRAM)) == (
        f"✓ telegram         @{api.bot.username} can write to 1 chat\n"
    )


async def test_names_are_what_telegram_says_and_cannot_steer_a_terminal(api: BotApi) -> None:
    ada, evil = api.person("Ada", username="ada"), api.person("\x1b[2J\nRoot\u202e" + "x" * 99)
    for person in (ada, evil):
        api.private(person)
    table = Telegram.model_validate({"token": api.token, "api_base": api.address})
    found = await names(table, [ada.id, evil.id, 7])
    assert found.keys() == {ada.id, evil.id}, "the third has never pressed Start"
    assert found[ada.id] == ("Ada", "ada")
    assert found[evil.id].name.startswith("⟨U+001B⟩[2J Root⟨U+202E⟩")
    assert len(found[evil.id].name) <= 40


async def test_a_token_that_telegram_rejects_is_a_problem(
    machine: Machine, api: BotApi, private: Chat
) -> None:
    api.revoke_token()
    assert screen(await machine.look(TELEGRAM)) == (
        "✗ telegram         telegram rejected the bot token (401)\n"
        "                   → Check telegram.token in ~/config.toml, or its variable,\n"
        "                     then: chatbridge doctor\n"
    )


async def test_a_rejected_token_that_setup_has_kept_is_named_by_its_file(
    machine: Machine, api: BotApi, ada: User
) -> None:
    machine.configure(f'[telegram]\napi_base = "{api.address}"\nallowed_users = [{ada.id}]\n')
    secrets.keep(machine.config, "telegram", "token", value=api.token)
    api.revoke_token()
    (found,) = await machine.look(TELEGRAM)
    kept = "~/secrets/chatbridge_telegram__token"
    assert found.fix == (f"Check {kept}, then: chatbridge doctor",)


async def test_without_a_network_it_ends_with_what_cannot_be_reached(
    machine: Machine, api: BotApi, private: Chat
) -> None:
    api.go_down()
    found = await machine.look(TELEGRAM, CLOCK)
    assert found[0].mark is Mark.PROBLEM
    assert found[0].what == "127.0.0.1 cannot be reached: httpx.ConnectError"
    assert found[0].fix == ("check the network or proxy",)
    assert found[1].mark is Mark.FINE
    assert found[1].what.startswith("not compared with a chat service")
    api.come_back()


async def test_of_a_webhook_only_the_host_is_shown(
    machine: Machine, api: BotApi, private: Chat
) -> None:
    api.set_webhook("https://hooks.example.org/s3cr3t-path?token=abc")
    assert screen(await machine.look(TELEGRAM)) == (
        "✗ telegram         This bot has a webhook, so its messages go elsewhere\n"
        "                   (hooks.example.org)\n"
        "                   → remove it: chatbridge setup\n"
    )


async def test_somebody_who_has_blocked_the_bot_is_told_what_to_press(
    machine: Machine, private: Chat, ada: User
) -> None:
    private.phone(ada).block()
    assert screen(await machine.look(TELEGRAM)) == (
        "✗ telegram         The bot may not write to you (403)\n"
        "                   → Open the chat in Telegram and press Start or Unblock.\n"
    )


async def test_a_chat_that_telegram_does_not_know_is_a_problem(
    machine: Machine, api: BotApi, ada: User
) -> None:
    machine.set(**telegram_settings(api, ada))
    (found,) = await machine.look(TELEGRAM)
    assert (found.what, found.fix) == (
        "The phone's chat was deleted or left",
        ("chatbridge pair",),
    )


async def test_a_group_that_threw_the_bot_out_is_a_problem(
    machine: Machine, api: BotApi, ada: User
) -> None:
    chat = in_group(machine, api, ada)
    chat.kick_bot()
    (found,) = await machine.look(TELEGRAM)
    assert found.mark is Mark.PROBLEM
    assert f"may not write to the chat {chat.id} (403" in found.what


@pytest.mark.parametrize("everybody", [False, True])
async def test_a_group_where_the_bot_may_not_write_is_a_problem(
    machine: Machine, api: BotApi, ada: User, everybody: bool
) -> None:
    chat = in_group(machine, api, ada)
    assert [found.mark for found in await machine.look(TELEGRAM)] == [Mark.FINE]
    chat.mute_bot(everybody=everybody)
    (found,) = await machine.look(TELEGRAM)
    assert found.what == f"the bot may not write to the supergroup {chat.id}"
    assert found.fix == ("ask an administrator to allow it",)


async def test_a_group_with_a_new_number_is_told_and_found_if_the_hub_knows_it(
    machine: Machine, api: BotApi, ada: User
) -> None:
    old = in_group(machine, api, ada, large=False)
    new = old.migrate()
    (found,) = await machine.look(TELEGRAM)
    assert (found.mark, found.fix) == (Mark.REMARK, (f"put {new.id} into telegram.chat_id",))
    machine.state.mkdir(mode=0o700)
    store = await SqliteStore.open(machine.state / "chatbridge.db")
    key = f"chat:telegram:{old.id}"
    note = ChannelState(channel="telegram", key=key, value=str(new.id), at=1.0)
    await store.write(lambda tx: tx.save_note(note))
    await store.close()
    assert [found.mark for found in await machine.look(TELEGRAM)] == [Mark.FINE]


async def test_nobody_who_may_answer_is_a_problem(machine: Machine, api: BotApi) -> None:
    machine.set(**telegram_settings(api))
    (found,) = await machine.look(TELEGRAM)
    assert found.mark is Mark.PROBLEM
    assert found.what == "telegram.allowed_users is empty, so nobody can answer there"


async def test_a_bot_that_reads_everything_in_a_group_is_a_remark(machine: Machine) -> None:
    with BotApi.running(reads_all=True) as api:
        in_group(machine, api, api.person("Ada"))
        (found,) = await machine.look(TELEGRAM)
    assert found.mark is Mark.REMARK
    assert "receives everything that is said in its groups" in found.what


async def test_what_is_true_of_several_groups_is_said_once(machine: Machine) -> None:
    with BotApi.running(reads_all=True) as api:
        ada = api.person("Ada")
        groups = [api.group(name, ada, supergroup=True).id for name in ("team", "night")]
        machine.set(**telegram_settings(api, ada, chats=(*groups,)))
        assert [found.mark for found in await machine.look(TELEGRAM)] == [Mark.REMARK]


async def test_a_second_poller_is_what_the_hub_says(
    machine: Machine, api: BotApi, private: Chat
) -> None:
    said = str(Polled("Conflict: terminated by other getUpdates request"))
    with machine.hub(channels=[{"name": "telegram", "trouble": said}]):
        shown = screen(await machine.look(TELEGRAM))
    assert shown == (
        "✗ telegram         another program polls this bot (409)\n"
        "                   → stop it: look for a second chatbridge, or another bridge\n"
        "                     with the same token; or make a new bot: chatbridge setup\n"
    )


async def test_other_trouble_that_only_the_hub_has_is_told_in_its_words(
    machine: Machine, api: BotApi, private: Chat
) -> None:
    trouble = "another hub of yours (pid 7) receives the messages of this bot. Stop it"
    with machine.hub(channels=[{"name": "telegram", "trouble": trouble}]):
        (found,) = await machine.look(TELEGRAM)
    assert (found.mark, found.fix) == (Mark.PROBLEM, ("Stop it",))


async def test_a_server_that_never_answers_ends_all_the_same(
    machine: Machine, api: BotApi, private: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatbridge.channels.telegram.doctor.ANSWER_SECONDS", 0.2)
    hold = api.hold("getMe")
    (found,) = await machine.look(TELEGRAM)
    hold.release()
    assert found.mark is Mark.PROBLEM
    assert "cannot be reached: telegram did not answer in time" in found.what


async def test_a_certificate_that_nobody_vouches_for_is_named_with_what_to_do(
    machine: Machine, tmp_path: Path
) -> None:
    async with impostor(self_signed(tmp_path)) as (port, _):
        base = f"https://localhost:{port}"
        machine.configure(
            f'[telegram]\ntoken = "{TOKEN}"\nallowed_users = [1]\napi_base = "{base}"\n'
        )
        (found,) = await machine.look(TELEGRAM)
    assert found.what.startswith("localhost cannot be reached: telegram's certificate is not tr")
    assert found.what.endswith("certificate)")
    assert found.fix[0].startswith("Check this computer's clock and telegram.api_base; ")


async def test_no_finding_has_the_token(machine: Machine, api: BotApi, private: Chat) -> None:
    secret = api.token.partition(":")[2]
    api.set_webhook(f"https://{secret[:20].lower().replace('_', 'a')}.example.org/{api.token}")
    for broken in (lambda: None, api.revoke_token, api.go_down):
        await asyncio.to_thread(broken)
        found = await machine.look(TELEGRAM, CLOCK)
        assert secret not in screen(found) + str([finding.json() for finding in found])
    api.come_back()


# ── the clock ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("off", [0.0, 59.0, -59.0])
async def test_a_clock_that_is_about_right_is_fine(
    machine: Machine, api: BotApi, private: Chat, off: float
) -> None:
    machine.set(TZ="Europe/Berlin")
    (found,) = await machine.look(CLOCK, clock=StillClock(time.time() + off))
    assert (found.mark, found.what) == (Mark.FINE, "correct, Europe/Berlin")


async def test_the_zone_of_the_settings_is_that_of_the_cards_whatever_the_computers_is(
    machine: Machine,
) -> None:
    machine.set(TZ="UTC", CHATBRIDGE_QUIET__ZONE="Europe/Berlin")
    (found,) = await machine.look(CLOCK)
    assert found.what == "not compared with a chat service, Europe/Berlin"


@pytest.mark.parametrize(("off", "said"), [(200.0, "3 min ahead of"), (-7300.0, "2 h behind")])
async def test_a_wrong_clock_is_a_problem_because_deadlines_are_times_of_day(
    machine: Machine, api: BotApi, private: Chat, off: float, said: str
) -> None:
    (found,) = await machine.look(CLOCK, clock=StillClock(time.time() + off))
    assert found.mark is Mark.PROBLEM
    assert found.what == f"{said} 127.0.0.1: questions end at the wrong time"
