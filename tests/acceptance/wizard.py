"""A person who sets chatbridge up: the wizard on a terminal, in a home of its own."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from chatbridge.channels.spec import AccountLock
from chatbridge.hub.process.lock import account_lock_path
from tests.fakes.machine import House, house
from tests.fakes.pty_person import DOWN, ENTER, PtyPerson, at_terminal
from tests.fakes.telegram.people import Phone
from tests.fakes.telegram.server import BotApi

CODE = re.compile(r"start=(p_[0-9A-Z]{8})")


class Desk:
    """A computer that nothing is set up on, and its terminal."""

    def __init__(self, home: House) -> None:
        self.home = home
        self.folder = Path(home.environment["HOME"])
        self.config = self.folder / ".config" / "chatbridge" / "config.toml"

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], **self.home.environment}

    def runs(self, *words: str, columns: int = 80) -> AbstractContextManager[PtyPerson]:
        command = [*self.home.chatbridge, *words]
        return at_terminal(command, env=self.environment, cwd=self.folder, columns=columns)

    def modes(self) -> dict[str, int]:
        """Of every file and folder of this home that is not chatbridge's to leave alone."""
        ours = [*self.config.parent.rglob("*"), self.config.parent, *self.home.state.rglob("*")]
        return {str(it): stat.S_IMODE(it.lstat().st_mode) for it in [*ours, self.home.state]}


@contextmanager
def desk(**settings: str) -> Iterator[Desk]:
    with house(**settings) as home:
        yield Desk(home)


@contextmanager
def telegram_desk() -> Iterator[tuple[Desk, BotApi]]:
    with BotApi.running() as api, desk(CHATBRIDGE_TELEGRAM__API_BASE=api.address) as found:
        yield found, api
        Path(account_lock_path(str(api.bot.id))).unlink(missing_ok=True)


def forget(account: AccountLock) -> None:
    """The file by which hubs find out that it is in use."""
    Path(account_lock_path(account.id)).unlink(missing_ok=True)


def choose(me: PtyPerson, channel: str) -> None:
    """The place to answer that is called so."""
    shown = me.expect("Where do you want to answer?", channel, "Browser only")
    choices = [line.strip(" ❯") for line in shown.rpartition("answer?")[2].splitlines()[1:]]
    (place,) = [i for i, line in enumerate(choices) if line.startswith(f"{channel} ")]
    me.press(*[DOWN] * place, ENTER)


def phone_of(api: BotApi, name: str) -> Phone:
    person = api.person(name, username=name.lower())
    return api.private(person).phone(person)


def code_on(me: PtyPerson) -> str:
    """The payload of the code that is shown."""
    found = CODE.search(me.expect("waiting for Start"))
    assert found, me.screen
    return found[1]


def to_the_end(me: PtyPerson) -> str:
    """With the usual answers to what comes after the chats; the last screen."""
    me.expect("How long may an agent wait for you?")
    me.press(ENTER)
    shown = me.ends(0)
    assert "Ready for tonight?" in me.scrolled
    assert "done. Now try:" in shown
    assert 'chatbridge ask "Deploy?" -o Yes -o No' in shown
    return shown
