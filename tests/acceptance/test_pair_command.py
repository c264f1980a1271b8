"""`chatbridge pair` and `chatbridge people`: who it was is said at the terminal, and only there."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.acceptance.bridge import until
from tests.acceptance.wizard import Desk, code_on, phone_of, telegram_desk
from tests.fakes.pty_person import ENTER, ESCAPE, PtyPerson
from tests.fakes.scripted_hub import Connection, ScriptedHub, scripted_hub
from tests.fakes.telegram.server import BotApi

PATIENCE = 30.0


@pytest.fixture
def place() -> Iterator[tuple[Desk, BotApi]]:
    """A bot that is set up, and nobody paired."""
    with telegram_desk() as (desk, api):
        secrets = desk.config.parent / "secrets"
        secrets.mkdir(parents=True, mode=0o700)
        (secrets / "chatbridge_telegram__token").write_text(api.token)
        (secrets / "chatbridge_telegram__token").chmod(0o600)
        server = f'api_base = "{api.address}"'
        desk.config.write_text(f"# mine\n[telegram]\n{server}\nchat_id = [-5]  # the team\n")
        yield desk, api


def telegram_of(desk: Desk) -> dict[str, object]:
    """But for its server, which is the tests'."""
    found = dict(tomllib.loads(desk.config.read_text())["telegram"])
    found.pop("api_base", None)
    return found


def yes(me: PtyPerson) -> None:
    me.expect("Is that the person you mean? (y/N)")
    me.enter("y")


def test_only_who_is_confirmed_is_paired_and_others_hear_nothing(
    place: tuple[Desk, BotApi],
) -> None:
    desk, api = place
    eve, ada = phone_of(api, "Eve"), phone_of(api, "Ada")
    with desk.runs("pair") as me:
        first = code_on(me)
        eve.say(f"/start {first}")
        me.expect(
            f"Start pressed by Eve (id {eve.person.id}, @eve)", "Is that the person you mean? (y/N)"
        )
        me.press(ENTER)
        me.expect("Nothing was changed, and they were told nothing.")
        me.expect("Press Enter for a new code.")
        assert "allowed_users" not in telegram_of(desk)
        me.press(ENTER)
        me.expect_gone(first)
        second = code_on(me)
        ada.say(f"/start {second}")
        yes(me)
        me.expect("✓ paired with Ada", "A test question is on your phone.")
        card = ada.sees("Can you see this?")
        ada.tap(card, "No").answered()
        me.expect('You answered "No"')
        me.ends(0)
    assert telegram_of(desk) == {
        "chat_id": [-5, ada.person.id],
        "allowed_users": [ada.person.id],
    }
    assert "# mine" in desk.config.read_text()
    assert "# the team" in desk.config.read_text()
    assert not [it for it in eve.messages if it.from_bot]


def test_a_hub_that_dies_between_start_and_confirmation_makes_no_difference(
    place: tuple[Desk, BotApi],
) -> None:
    desk, api = place
    ada = phone_of(api, "Ada")
    with desk.runs("pair") as me:
        ada.say(f"/start {code_on(me)}")
        me.expect("Is that the person you mean? (y/N)")
        desk.home.kill_hub()
        yes(me)
        me.expect("✓ paired with Ada", "A test question is on your phone.")
        ada.tap(ada.sees("Can you see this?"), "Yes").answered()
        me.ends(0)
    assert [it for it in ada.messages if it.text.startswith("This chat is paired")]


def test_a_hub_that_dies_while_a_code_waits_brings_a_new_code(place: tuple[Desk, BotApi]) -> None:
    desk, api = place
    ada = phone_of(api, "Ada")
    with desk.runs("pair") as me:
        first = code_on(me)
        desk.home.kill_hub()
        me.expect_gone(first)
        second = code_on(me)
        assert "The hub was restarted, so there is a new code." in me.scrolled
        ada.say(f"/start {first}")
        ada.say(f"/start {second}")
        me.expect("Start pressed by Ada")
        me.press(ESCAPE)


def test_in_a_narrow_window_there_is_only_the_link(place: tuple[Desk, BotApi]) -> None:
    desk, api = place
    with desk.runs("pair", columns=38) as me:
        me.expect("Pair a phone. Scan this, then press\nStart in Telegram.", "Esc: later")
        shown = me.expect("waiting for Start", "open  (works once, 10 min)")
        assert f"https://t.me/{api.bot.username}?start=p_" in shown.replace("\n", "")
        assert "█" not in shown
        me.press(ESCAPE)
        me.expect("Nobody was paired.")
        me.ends(1)


def test_i_inverts_the_picture_in_its_place(place: tuple[Desk, BotApi]) -> None:
    desk, _ = place
    with desk.runs("pair") as me:
        code = code_on(me)
        top = "█" * 33
        assert top in me.screen
        me.press("i")
        me.expect_gone(top)
        assert code_on(me) == code
        me.press("i")
        assert me.expect(top, "waiting for Start").count(code) == 1
        me.press(ESCAPE)
        me.ends(1)


def test_another_program_that_polls_the_bot_is_said_while_the_code_waits(
    place: tuple[Desk, BotApi],
) -> None:
    desk, api = place
    with desk.runs("pair") as me:
        code_on(me)
        api.another_poller(on=True)
        me.expect("! telegram: another program polls this bot (409).", within=60.0)
        me.press(ESCAPE)
        me.ends(1)


def offer_code(hub: ScriptedHub) -> Connection:
    """A terminal comes and is shown a code."""
    terminal, preface = hub.accept()
    assert preface["chatbridge"] == "terminal"
    assert terminal.receive() == {"do": "pair", "channel": "telegram"}
    link = "https://t.me/example_bot?start=p_7Q4K2MXD"
    terminal.send({"event": {"code": "7Q4K2MXD", "link": link, "until": 0}})
    return terminal


def test_after_ten_minutes_enter_shows_a_new_code(place: tuple[Desk, BotApi]) -> None:
    desk, _ = place
    with scripted_hub(str(desk.home.state)) as hub, desk.runs("pair") as me:
        terminal = offer_code(hub)
        me.expect("or open  https://t.me/example_bot?start=p_7Q4K2MXD      (works once, 10 min)")
        terminal.send({"event": {"over": True}})
        me.expect("✗ Nobody pressed Start within 10 minutes.", "Press Enter for a new code.")
        me.press(ENTER)
        terminal.close()
        with closing(offer_code(hub)) as again:
            me.expect("waiting for Start")
            me.press(ESCAPE)
            assert again.is_closed()
        me.expect("Nobody was paired.")
        me.ends(1)


def test_where_the_link_does_not_bring_the_code_it_is_sent(place: tuple[Desk, BotApi]) -> None:
    desk, _ = place
    with scripted_hub(str(desk.home.state)) as hub, desk.runs("pair", "slack") as me:
        terminal, _ = hub.accept()
        assert terminal.receive() == {"do": "pair", "channel": "slack"}
        said = {"code": "7Q4K2MXD", "link": "https://slack.com/app_redirect?app=A1", "until": 0}
        terminal.send({"event": said | {"send": "p_7Q4K2MXD"}})
        me.expect("Open the app in Slack", "then send  p_7Q4K2MXD", "waiting for the code")
        person = {"channel": "slack", "person": "U0000007", "chat": "U0000007"}
        terminal.send({"event": {"claimed": person | {"name": "Ada", "username": None}}})
        me.expect("The code was sent by Ada (id U0000007)", "Is that the person you mean? (y/N)")
        me.press(ENTER)
        me.expect("Nothing was changed", "Press Enter for a new code.")
        me.press(ESCAPE)
        me.ends(1)
        terminal.close()


def test_nobody_is_paired_where_no_code_is_used(place: tuple[Desk, BotApi]) -> None:
    desk, _ = place
    with desk.runs("pair", "matrix") as me:
        me.ends(1)
        assert "Nobody is paired by a code on 'matrix', but on telegram or slack" in me.screen


def test_a_refusal_of_the_hub_is_said(place: tuple[Desk, BotApi]) -> None:
    desk, _ = place
    with scripted_hub(str(desk.home.state)) as hub, desk.runs("pair") as me:
        terminal, _ = hub.accept()
        assert terminal.receive() == {"do": "pair", "channel": "telegram"}
        terminal.send({"error": "3 pairing codes are open. Wait.", "kind": "TooManyCodes"})
        me.ends(1)
        assert "3 pairing codes are open." in me.screen
        assert "Scan this" not in me.screen, "there is no code"
        terminal.close()


@pytest.mark.parametrize("words", [("pair",), ("people", "remove", "7")])
def test_without_a_terminal_nobody_is_paired_or_removed_whatever_is_piped_in(
    place: tuple[Desk, BotApi], words: tuple[str, ...]
) -> None:
    desk, _ = place
    desk.config.write_text("[telegram]\nallowed_users = [7]\n")
    done = subprocess.run(
        [*desk.home.chatbridge, *words],
        input="y\ny\n",
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**desk.environment, "PATH": os.environ["PATH"]},
        start_new_session=True,  # as an agent's tool runs it: without a controlling terminal
    )
    assert done.returncode == 1
    assert "This needs a terminal, and a person at it.\nRun chatbridge " in done.stderr
    assert telegram_of(desk) == {"allowed_users": [7]}


def test_people_are_listed_and_who_is_taken_out_can_do_nothing_any_more(
    place: tuple[Desk, BotApi],
) -> None:
    desk, api = place
    ada, ben = phone_of(api, "Ada"), phone_of(api, "Ben")
    desk.config.write_text(
        f'[telegram]\napi_base = "{api.address}"\n'
        f"allowed_users = [{ada.person.id}, {ben.person.id}]  # both\n"
    )
    listed = desk.home.run("people").stdout
    rows = [re.split(" {3,}", line) for line in listed.splitlines()]
    assert rows[0] == ["ID", "NAME", "CHANNEL"]
    assert rows[1] == [str(ada.person.id), "Ada (@ada)", "Telegram"]
    with desk.home.agent() as agent:
        agent.initialize()
        agent.ask(1)
        card, other = ada.sees("Which colour?"), ben.sees("Which colour?")
        with desk.runs("people", "remove", str(ben.person.id)) as me:
            me.expect(f"Remove Ben ({ben.person.id})? (y/N)")
            me.enter("y")
            me.expect(f"✓ Ben ({ben.person.id}) is removed")
            me.expect("Cards that are in that chat stay there, but do nothing any more.")
            me.ends(0)
        assert telegram_of(desk) == {"allowed_users": [ada.person.id]}
        assert ben.tap(other, "red").answered() == ""
        ada.tap(card, "blue").answered()
        assert agent.result()["answers"][0]["values"] == ["blue"]


def test_whoever_is_in_the_list_of_people_is_removed_there_too(
    place: tuple[Desk, BotApi],
) -> None:
    desk, api = place
    people = "".join(
        f'[[people]]\nname = "{name}"\ntelegram = {person}\nslack = "U0000{person}"\n'
        for name, person in (("Ann", 4242), ("Bob", 4243))
    )
    telegram = f'[telegram]\napi_base = "{api.address}"\nchat_id = [-5]\n'
    desk.config.write_text(f"{telegram}allowed_users = [4242, 4243]\n{people}")
    with desk.runs("people", "remove", "4243") as me:
        me.expect("Bob (4243) will no longer answer on Telegram. Whoever is in a chat of")
        me.expect("Remove Bob (4243)? (y/N)")
        me.enter("y")
        me.expect("✓ Bob (4243) is removed", "Bob is still let in on Slack (U00004243).")
        me.ends(0)
    ids = [row.split()[0] for row in desk.home.run("people").stdout.splitlines()]
    assert ids == ["ID", "4242", "U00004242", "U00004243"]
    assert telegram_of(desk) == {"allowed_users": [4242], "chat_id": [-5]}


def test_nobody_is_called_removed_whom_another_program_has_let_in_again(
    place: tuple[Desk, BotApi],
) -> None:
    desk, api = place
    before = f'[telegram]\napi_base = "{api.address}"\nallowed_users = [4242, 4243]\n'
    desk.config.write_text(before)
    with desk.home.agent() as agent:
        agent.initialize()
        agent.ask(1)  # so that a hub runs, which takes its time to start again
        with desk.runs("people", "remove", "4243") as me:
            me.expect("Remove 4243? (y/N)")
            me.enter("y")
            until(lambda: "4243" not in desk.config.read_text() or None, "it is written")
            desk.config.write_text(before)
            me.expect("4243 still counts:", "run again: chatbridge people remove 4243")
            me.ends(1)
        assert "is removed" not in me.scrolled


def test_taking_somebody_out_is_no_unless_it_is_said(place: tuple[Desk, BotApi]) -> None:
    desk, api = place
    server = f'[telegram]\napi_base = "{api.address}"\n'
    desk.config.write_text(f"{server}allowed_users = [7]\nchat_id = [7]\n")
    with desk.runs("people", "remove", "7") as me:
        me.expect("Nobody else is paired on Telegram: no questions will arrive there.")
        me.expect("Remove 7? (y/N)")
        me.press(ENTER)
        me.expect("Nothing was changed.")
        me.ends(1)
    with desk.runs("people", "remove", "8") as me:
        me.ends(1)
        assert "8 is not among those who may answer" in me.screen
    assert telegram_of(desk) == {"allowed_users": [7], "chat_id": [7]}
    desk.config.write_text('[telegram]\nallowed_users = ["@ada"]\n')
    with desk.runs("people", "remove", "7") as me:
        me.ends(1)
        assert me.scrolled.startswith("telegram.allowed_users: people are given by their numbers")
