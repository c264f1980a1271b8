"""`chatbridge setup` for Telegram, as a person at a terminal with a phone in the other hand."""

from __future__ import annotations

import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatbridge.settings import secrets
from tests.acceptance.wizard import Desk, code_on, phone_of, telegram_desk, to_the_end
from tests.fakes.link_client import PATIENCE
from tests.fakes.pty_person import CTRL_C, DOWN, ENTER, ESCAPE, PtyPerson
from tests.fakes.telegram.people import Phone
from tests.fakes.telegram.server import BotApi

FROM_BOT_FATHER = """\
Done! Congratulations on your new bot.

Use this token to access the HTTP API:
{token}
Keep your token secure and store it safely."""


@pytest.fixture
def place() -> Iterator[tuple[Desk, BotApi]]:
    with telegram_desk() as found:
        yield found


def holds(file: Path, token: str) -> bool:
    return token.partition(":")[2].encode() in file.read_bytes()


def choose_telegram(me: PtyPerson) -> None:
    me.expect("Where do you want to answer?", "❯ Telegram        free, needs the app")
    me.press(ENTER)


def give_token(me: PtyPerson, text: str) -> None:
    me.asks("Paste the token (not shown):")
    me.paste(text)
    me.press(ENTER)


def pair(me: PtyPerson, phone: Phone) -> None:
    phone.say(f"/start {code_on(me)}")
    me.expect("Start pressed by", "Is that you? (y/N)")
    me.enter("y")


def answer_the_test(me: PtyPerson, phone: Phone) -> None:
    me.expect("A test question is on your phone. Answer it there.")
    phone.tap(phone.sees("Can you see this?"), "Yes").answered()
    me.expect('✓ You answered "Yes", ', " s after it was sent")


def test_from_nothing_to_a_paired_phone_and_an_answered_question(
    place: tuple[Desk, BotApi],
) -> None:
    desk, api = place
    phone = phone_of(api, "Ada")
    with desk.runs("setup") as me:
        me.expect("It takes three minutes.", "nothing is lost.")
        choose_telegram(me)
        me.expect("1. In Telegram, open a chat with @BotFather and send  /newbot")
        give_token(me, FROM_BOT_FATHER.format(token=api.token))
        me.expect(f"t.me/{api.bot.username}?", "(works once, 10 min)", "Esc: later")
        pair(me, phone)
        answer_the_test(me, phone)
        to_the_end(me)
        shown = me.scrolled
        written = me.written.decode(errors="replace")
    assert f"✓ @{api.bot.username} answers" in shown
    assert "✓ phone            Ada answered on Telegram " in shown
    assert f"Start pressed by Ada (id {phone.person.id}, @ada)" in shown
    config = tomllib.loads(desk.config.read_text())
    assert config == {
        "default_timeout": "8h",
        "max_timeout": "16h",
        "telegram": {"allowed_users": [phone.person.id], "api_base": api.address},
    }
    greeting, card = (it for it in phone.messages if it.from_bot)
    assert greeting.text.startswith("This chat is paired with ")
    assert "delivered" in card.text
    # The secret is in one file, and nowhere else: neither the screen's history nor the log.
    secret = desk.config.parent / "secrets" / "chatbridge_telegram__token"
    assert secret.read_text() == f"{api.token}\n"
    assert api.token not in written
    holding = [it for it in desk.folder.rglob("*") if it.is_file() and holds(it, api.token)]
    assert holding == [secret]
    for path, mode in desk.modes().items():
        assert mode & 0o077 == 0, f"{path} has mode {mode:04o}"


def test_each_thing_that_goes_wrong_is_said_with_the_next_step_and_leaves_no_trace(
    place: tuple[Desk, BotApi],
) -> None:
    desk, api = place
    api.set_webhook("https://elsewhere.example.org/hook")
    with desk.runs("setup") as me:
        choose_telegram(me)
        give_token(me, "I do not have one")
        me.expect("✗ That contains no token.")
        give_token(me, f"{api.bot.id}:{'x' * 35}")
        me.expect("✗ Telegram does not know this token.")
        me.expect("Copy it again from @BotFather, from the digits to the last letter.")
        api.go_down()
        give_token(me, f"  {api.token[:20]} {api.token[20:]}  ")
        me.expect("✗ 127.0.0.1 cannot be reached.")
        me.expect("Check the network or proxy, then press Enter to try again.")
        api.come_back()
        me.press(ENTER)
        me.expect("✗ This bot has a webhook, so its messages go elsewhere.", "Remove it? (y/N)")
        me.enter("n")
        give_token(me, api.token)
        me.asks("Remove it? (y/N)")
        me.press(CTRL_C)
        me.expect("Stopped. Nothing was changed. Continue any time: chatbridge setup")
        me.ends(130)
    assert not desk.config.parent.exists()
    assert api.service.updates.webhook


def test_a_webhook_is_removed_if_the_person_says_so_and_esc_leaves_pairing_for_later(
    place: tuple[Desk, BotApi],
) -> None:
    desk, api = place
    api.set_webhook("https://elsewhere.example.org/hook")
    with desk.runs("setup") as me:
        choose_telegram(me)
        give_token(me, api.token)
        me.expect("Remove it? (y/N)")
        me.enter("y")
        code_on(me)
        assert not api.service.updates.webhook
        me.press(ESCAPE)
        me.expect("To do it later: chatbridge pair")
        to_the_end(me)
    assert tomllib.loads(desk.config.read_text())["telegram"] == {"api_base": api.address}


def test_running_it_again_shows_what_is_there_and_changes_nothing(
    place: tuple[Desk, BotApi],
) -> None:
    desk, api = place
    phone = phone_of(api, "Ada")
    (desk.folder / "token").write_text(api.token)
    done = desk.home.run(
        "setup",
        "--non-interactive",
        "--telegram-token-file",
        str(desk.folder / "token"),
        "--telegram-user",
        str(phone.person.id),
        "--wait",
        "45m",
    )
    assert done.returncode == 0, done.stderr
    before = desk.config.read_bytes()
    called = f"{phone.person.name} (@{phone.person.username})"
    with desk.runs("setup") as me:
        me.expect("Set up now:", f"bot {api.bot.id}, paired: {called}")
        me.expect("❯ As it is        nothing changes")
        me.press(ENTER)
        me.expect("How long may an agent wait for you?", "❯ 45 min, as it is")
        to_the_end(me)
    assert desk.config.read_bytes() == before
    with desk.runs("setup") as me:
        me.expect("❯ As it is")
        me.press(DOWN, ENTER)
        me.expect(f"Keep the bot @{api.bot.username}? (Y/n)")
        me.press(ENTER)
        me.expect(f"Paired: {called}", "Pair another phone? (y/N)")
        me.press(ENTER)
        me.expect("Send a test question? (Y/n)")
        me.press(ENTER)
        answer_the_test(me, phone)
        to_the_end(me)
    assert desk.config.read_bytes() == before


def test_ctrl_c_midway_keeps_what_works_and_says_what(place: tuple[Desk, BotApi]) -> None:
    desk, api = place
    phone = phone_of(api, "Ada")
    with desk.runs("setup") as me:
        choose_telegram(me)
        give_token(me, api.token)
        code_on(me)
        me.press(CTRL_C)
        me.expect("Stopped. Kept: the bot's token. Continue any time: chatbridge setup")
        me.ends(130)
    with desk.runs("setup") as me:
        me.expect("nobody is paired", "❯ As it is")
        me.press(DOWN, ENTER)
        me.expect("Keep the bot")
        me.press(ENTER)
        pair(me, phone)
        me.expect("A test question is on your phone.")
        card = phone.sees("Can you see this?")
        me.press(CTRL_C)
        me.expect("Stopped. Kept: the phone of Ada.")
        me.ends(130)
        phone.until(card, lambda it: "Cancelled" in it.text)
    assert tomllib.loads(desk.config.read_text())["telegram"]["allowed_users"] == [phone.person.id]


def test_who_is_in_the_settings_is_said_also_when_the_greeting_does_not_arrive(
    place: tuple[Desk, BotApi],
) -> None:
    desk, api = place
    phone = phone_of(api, "Ada")
    with desk.runs("setup") as me:
        choose_telegram(me)
        give_token(me, api.token)
        phone.say(f"/start {code_on(me)}")
        me.expect("Is that you? (y/N)")
        phone.block()
        me.enter("y")
        me.ends(1)
        said = " ".join(me.screen.split())
    assert "! Ada is in the settings now and may answer." in said
    assert f"chatbridge people remove {phone.person.id}" in said
    assert "Kept: the bot's token, the phone of Ada." in said
    assert tomllib.loads(desk.config.read_text())["telegram"]["allowed_users"] == [phone.person.id]


def test_a_test_question_that_is_refused_does_not_end_the_wizard(
    place: tuple[Desk, BotApi],
) -> None:
    desk, api = place
    secrets.keep(desk.config, "telegram", "token", value=api.token)
    desk.config.write_text(
        f'tools = ["notify_user"]\n[telegram]\nallowed_users = [7]\napi_base = "{api.address}"\n'
    )
    with desk.runs("setup") as me:
        me.expect("❯ As it is")
        me.press(DOWN, ENTER)
        me.expect("Keep the bot")
        me.press(ENTER)
        me.expect("Pair another phone? (y/N)")
        me.press(ENTER)
        me.expect("Send a test question? (Y/n)")
        me.press(ENTER)
        me.expect("✗ The test question could not be asked.")
        to_the_end(me)


def test_without_a_terminal_it_names_the_way_for_scripts(place: tuple[Desk, BotApi]) -> None:
    desk, _ = place
    done = subprocess.run(
        [*desk.home.chatbridge, "setup"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=desk.environment,
        start_new_session=True,  # whoever runs the tests may have a terminal
    )
    assert done.returncode == 2
    assert "--non-interactive" in done.stderr
    assert "--telegram-token-file" in done.stderr
    assert not desk.config.parent.exists()


def test_a_broken_configuration_is_told_and_left_alone(place: tuple[Desk, BotApi]) -> None:
    desk, _ = place
    desk.config.parent.mkdir(parents=True)
    desk.config.write_text("[telegram\n")
    with desk.runs("setup") as me:
        me.ends(1)
        assert "config.toml cannot be" in me.screen
    assert desk.config.read_text() == "[telegram\n"


def test_a_paste_that_nobody_announces_is_read_line_by_line_and_never_shown(
    place: tuple[Desk, BotApi],
) -> None:
    """As terminals do that know no bracketed paste; and somebody pastes while nothing is asked."""
    desk, api = place
    with desk.runs("setup") as me:
        choose_telegram(me)
        me.asks("Paste the token (not shown):")
        me.type(FROM_BOT_FATHER.format(token=api.token).replace("\n", "\r") + "\r")
        me.expect(f"✓ @{api.bot.username} answers")
        me.type(api.token)
        code_on(me)
        me.press(CTRL_C)
        me.ends(130)
        assert api.token.partition(":")[2] not in me.written.decode(errors="replace")


def test_before_the_night_a_test_question_is_offered_and_shows_that_the_phone_is_reached(
    place: tuple[Desk, BotApi],
) -> None:
    desk, api = place
    phone = phone_of(api, "Ada")
    phone.say("hello")
    desk.config.parent.mkdir(parents=True, exist_ok=True)
    desk.config.write_text(
        f'[telegram]\ntoken = "{api.token}"\napi_base = "{api.address}"\n'
        f"allowed_users = [{phone.person.id}]\n"
    )
    desk.config.chmod(0o600)
    with desk.runs("doctor", "--tonight") as me:
        me.expect("Send a test question to your phone now? (Y/n)")
        me.press(ENTER)
        answer_the_test(me, phone)
        me.expect("Ready for tonight?", "✓ phone            Ada answered on Telegram ")
        me.ends(1)  # nobody has said how long questions may wait
