"""The set-up of a bot that has tokens, people who may answer, and chats.

Owns the steps, at a terminal and by a script. A channel describes its bot as a `BotSetup`, whose
`ask` and `plan` are what its spec names.
"""

from __future__ import annotations

import argparse
import asyncio
import re
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic
from urllib.parse import urlsplit

from pydantic import SecretStr, ValidationError

from chatbridge.channels.spec import ChannelSpec, Table
from chatbridge.cli.config_file import Key, Value, change
from chatbridge.cli.hub.control import restart_hub
from chatbridge.cli.pairing import pair
from chatbridge.cli.people import add_people, listed_names
from chatbridge.cli.setup.state import (
    Setup,
    Work,
    ask_on_the_phone,
    name_of,
    read_secret,
)
from chatbridge.cli.ui import prompts
from chatbridge.cli.ui.running import WrongUsage
from chatbridge.core.errors import ChatbridgeError, ChatRefused, RetryLater, TokenRejected
from chatbridge.core.text import one_line
from chatbridge.setting_rules import first_problem
from chatbridge.settings import secrets

Finder = Callable[[str], str | None]
Look = Callable[[Table], Coroutine[Any, Any, str]]
Mend = Callable[[], Coroutine[Any, Any, None]]


class Mendable(ChatbridgeError):
    """A sentence about what keeps a bot from being used. `mend` ends it, if the person says yes to
    `question`."""

    def __init__(self, what: str, *, question: str, mend: Mend) -> None:
        super().__init__(what)
        self.question, self.mend = question, mend


@dataclass(frozen=True, slots=True, kw_only=True)
class Token(Generic[Table]):
    setting: str
    find: Finder
    """The token in what was pasted; None: there is none, or more than one."""
    look: Look[Table]
    """What answers with this token. :raises ChatbridgeError: what keeps it from being used."""
    again: str
    """What to do if the service does not know it, or it is not in what was pasted."""
    called: str = "token"


def only(form: str) -> Finder:
    """Finds the one token of this form, also among other words."""
    pattern = re.compile(rf"(?<![A-Za-z0-9_=.-]){form}")

    def find(text: str) -> str | None:
        found = set(pattern.findall(text))
        return found.pop() if len(found) == 1 else None

    return find


@dataclass(frozen=True, slots=True, kw_only=True)
class BotSetup(Generic[Table]):
    spec: ChannelSpec[Table]
    about: str
    """How the person comes by a bot and its tokens; `to_paste` and `then` follow."""
    to_paste: str = ""
    then: str = ""
    tokens: Sequence[Token[Table]]
    """What answers with the first one is the bot's name."""
    before_pairing: Callable[[Table], bool] = lambda table: True
    """A step of this service alone; False: the person does it later."""
    keep: str = "Keep the bot {}?"
    paired: str = "account"
    """What is paired."""

    def ask(self, setup: Setup) -> None:
        """Go to a paired person and an answered question, or as far as the person wants."""
        spec = self.spec
        assert spec.setup is not None
        table = setup.settings.table(spec)
        name = self._name(table) if spec.is_on(table) else None
        if name is None or not prompts.confirm(self.keep.format(name), default=True):
            prompts.explain(self.about)
            if self.to_paste:
                prompts.say(self.to_paste)  # not fitted to the window: its lines must not be broken
                prompts.explain(self.then)
            for token in self.tokens:
                table = self._asked(token, table)
            self._keep(setup, table)
        elif spec.people_in(table):
            prompts.say(f"  Paired: {listed_names(spec, table)}")
            if not prompts.confirm(f"Pair another {self.paired}?", default=False):
                if prompts.confirm("Send a test question?", default=True):
                    restart_hub()
                    ask_on_the_phone(spec)
                return
        restart_hub()
        if not self.before_pairing(table):
            prompts.say("  To do it later: chatbridge setup")
            return
        if pair(
            spec,
            about=f"\nNow pair your {self.paired}. {spec.setup.pair_hint}",
            question="Is that you?",
            written=lambda who: setup.keeps(f"the {self.paired} of {who}"),
        ):
            ask_on_the_phone(spec)
        else:
            prompts.say(f"  To do it later: chatbridge pair {spec.name}")

    def plan(self, setup: Setup, given: argparse.Namespace) -> list[Work]:
        spec, name = self.spec, self.spec.name
        flags = ["token_file", "user", str(spec.chats).removesuffix("_id")]
        file, people, chats = (getattr(given, f"{name}_{flag}") for flag in flags)
        table = setup.settings.table(spec)
        if file is None and not spec.is_on(table):
            raise WrongUsage(f"there is no bot yet: --{name}-token-file FILE is needed, too")
        try:
            # In the file's own form: numbers, and each once.
            new = spec.settings.model_validate({spec.people: people, spec.chats: chats})
        except ValidationError as error:
            problem = first_problem(error)
            raise WrongUsage(f"--{name}-user, --{name}-{flags[-1]}: {problem}") from None
        with_tokens = self._from_file(file, table) if file is not None else None

        def work() -> None:
            if with_tokens is not None:
                self._keep(setup, with_tokens)
            if people or chats:
                add_people(setup.path, spec, spec.people_in(new), spec.chats_in(new))
                setup.keeps(f"who may answer on {spec.title}")

        return [work]

    def _name(self, table: Table) -> str | None:
        """The bot's if it can be used; else what is wrong is said."""
        found = [self.check(token, table) for token in self.tokens]
        return None if None in found else found[0]

    def check(self, token: Token[Table], table: Table) -> str | None:
        """What answers with this token; None: what is wrong is said."""
        while True:
            try:
                name = one_line(asyncio.run(token.look(table)))
            except TokenRejected:
                prompts.bad(self._unknown(token), token.again)
                return None
            except RetryLater as error:
                tell = partial(self._unreachable, table, one_line(str(error)))
                if not prompts.enter_or_escape(tell):
                    raise KeyboardInterrupt from None
            except Mendable as error:
                prompts.bad(str(error))
                if not prompts.confirm(error.question, default=False):
                    return None
                asyncio.run(error.mend())
            except ChatRefused as error:  # that a scope is missing, for instance
                prompts.bad(one_line(str(error)).partition(". ")[0], token.again)
                return None
            except ChatbridgeError as error:
                what, _, fix = one_line(str(error)).partition(". ")
                prompts.bad(what, fix)
                return None
            else:
                prompts.good(f"{name} answers")
                return name

    def _unknown(self, token: Token[Table]) -> str:
        if len(self.tokens) == 1:
            return f"{self.spec.title} does not know this token."
        return f"{self.spec.title} does not know the {token.called}."

    def _unreachable(self, table: Table, said: str) -> None:
        fix = "Check the network or proxy, then press Enter to try again."
        if ". " in said:  # it says what to do: about a certificate, for instance
            fix = f"{said}. Then press Enter to try again."
        prompts.bad(f"{urlsplit(self.spec.server(table)).hostname} cannot be reached.", fix)

    def _asked(self, token: Token[Table], table: Table) -> Table:
        """With a token that can be used."""
        while True:
            found = token.find(prompts.hidden(f"Paste the {token.called} (not shown):"))
            if found is None:
                prompts.bad(f"That contains no {token.called}.", token.again)
                continue
            prompts.forget_typed()
            pasted = table.model_copy(update={token.setting: SecretStr(found)})
            if self.check(token, pasted) is not None:
                return pasted

    def _from_file(self, file: str, table: Table) -> Table:
        """With the tokens of this file, which can be used. :raises ChatbridgeError:"""
        text = read_secret(file)
        for token in self.tokens:
            if (found := token.find(text)) is None:
                missing = f"There is no {token.called} in {name_of(file)}"
                raise ChatbridgeError(f"{missing}. {token.again}")
            table = table.model_copy(update={token.setting: SecretStr(found)})
        for token in self.tokens:
            try:
                asyncio.run(token.look(table))
            except TokenRejected:
                raise ChatbridgeError(f"{self._unknown(token)} {token.again}") from None
            except Mendable as error:
                how = "Run chatbridge setup in a terminal to mend it"
                raise ChatbridgeError(f"{error} Nothing was written. {how}") from None
            except ChatbridgeError as error:
                raise ChatbridgeError(f"{error}. Nothing was written") from None
        return table

    def _keep(self, setup: Setup, table: Table) -> None:
        """The tokens, in the files of secrets."""
        name = self.spec.name
        # They may be in the file by hand, and their server in a variable, which counts no more
        # once they are ours.
        changes: dict[Key, Value] = {}
        for token in self.tokens:
            secret = getattr(table, token.setting).get_secret_value()
            secrets.keep(setup.path, name, token.setting, value=secret)
            changes[name, token.setting] = None
        setup.keeps("the bot's token" if len(self.tokens) == 1 else "the bot's tokens")
        server = self.spec.server(table)
        if server != self.spec.settings.model_fields["api_base"].default:
            changes[name, "api_base"] = server
        change(setup.path, changes)
