"""`chatbridge people`: who may answer, and removing somebody again. And `chatbridge pair`: a code
on the screen, Start pressed on a phone, and the owner who confirms.

Owns what `pair` and `setup` show for it, and what is changed once the person at the terminal has
said who it was: the channel's `allowed_users`, and in `[[people]]` the ids of who is removed. The
codes are the hub's.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from chatbridge.cli.config_file import Key, Value, change, config_file, settings_with, table_in
from chatbridge.cli.hub.control import restart_hub
from chatbridge.cli.hub.hub_client import HubClient, ask_hub, connected
from chatbridge.cli.ui import prompts, tables
from chatbridge.cli.ui.running import columns, fitted
from chatbridge.cli.ui.tables import Column, Table
from chatbridge.core.errors import ChatbridgeError, HubUnreachable
from chatbridge.core.people.team import Member, Role
from chatbridge.core.text import title_of

if TYPE_CHECKING:
    from chatbridge.channels.spec import ChannelSpec, PersonName
    from chatbridge.settings import Settings

Json = dict[str, Any]

UP_WITHIN = 40.0
"""A hub that has just started reaches its bot within half of it, or says why not."""
LOOK_EVERY = 5.0
"""How often it is looked whether the bot still receives anything."""
INVERT = "i"
NAMES_WITHIN = 4.0
"""How long a service may take to say what people are called."""


class Removal(NamedTuple):
    """What takes somebody out of the file, and the settings without them."""

    spec: ChannelSpec[Any]
    changes: dict[Key, Value]
    after: Settings


class Listed(NamedTuple):
    """A channel's people and chats, as the file has them."""

    allowed: tuple[Any, ...]
    chats: tuple[Any, ...]


def people(given: argparse.Namespace) -> int:
    if given.command == "remove":
        return _remove(given.id)
    from chatbridge import settings

    found = settings.load()
    if found.people:
        return _team(found)
    rows = []
    for spec in _with_people():
        names = names_of(spec, found.table(spec))
        rows += [(str(it), called(name), spec.title) for it, name in names.items()]
    if not rows:
        print("Nobody is paired. Run: chatbridge setup, or if you have a bot: chatbridge pair")
        return 0
    titles = ("ID", "NAME", "CHANNEL") if any(name for _, name, _ in rows) else ("ID", "CHANNEL")
    shown = [row if "NAME" in titles else (row[0], row[2]) for row in rows]
    tables.write(Table(columns=tuple(map(Column, titles)), rows=shown))
    if sys.stdout.isatty():
        print(fitted("\nAdd: chatbridge pair     Remove: chatbridge people remove ID"))
    return 0


def _team(found: Settings) -> int:
    """With their names and roles; whoever is only in a channel's list has all of them."""
    team, rows = found.team(), list[tuple[str, ...]]()
    for member in team.members:
        roles = ", ".join(role for role in Role if role in member.roles)
        for channel, person in member.identities or (("", ""),):
            rows.append((person, member.name, title_of(channel) if channel else "", roles))
    named = {identity for member in team.members for identity in member.identities}
    for spec in _with_people():
        for other in spec.people_in(found.table(spec)):
            if (spec.name, str(other)) not in named:
                rows.append((str(other), "", spec.title, "answer, approve"))
    titles = ("ID", "NAME", "CHANNEL", "ROLES")
    tables.write(Table(columns=tuple(map(Column, titles)), rows=rows))
    if sys.stdout.isatty():
        change_it = "\nAdd or change: [[people]] in config.toml"
        print(fitted(f"{change_it}     Remove: chatbridge people remove ID"))
    return 0


def names_of(spec: ChannelSpec[Any], table: Any) -> dict[object, PersonName | None]:
    """Who may answer there, and what the service calls them; None: it does not say."""
    import asyncio

    people, known = spec.people_in(table), {}
    if spec.names is not None and people and spec.is_on(table):

        async def ask() -> dict[object, PersonName]:
            async with asyncio.timeout(NAMES_WITHIN):
                return dict(await spec.load(str(spec.names))(table, people))

        with suppress(ChatbridgeError, OSError):  # the ids have to do
            known = asyncio.run(ask())
    return {person: known.get(person) for person in people}


def called(name: PersonName | None) -> str:
    if name is None:
        return ""
    return f"{name.name} (@{name.username})" if name.username else name.name


def listed_names(spec: ChannelSpec[Any], table: Any) -> str:
    """`Ada (@ada), Ben (4243), 4244`."""
    return ", ".join(
        called(name) if name and name.username else with_id(person, name)
        for person, name in names_of(spec, table).items()
    )


def with_id(person: object, name: PersonName | None) -> str:
    return f"{name.name} ({person})" if name else str(person)


def _remove(id: str) -> int:
    from chatbridge import settings

    path = config_file()
    spec, _, after = removal(path, id)
    prompts.take_terminal("people remove")
    found = settings.load()
    member = next((it for it in found.team().members if (spec.name, id) in it.identities), None)
    if member:
        who = f"{member.name} ({id})"
    else:
        names = names_of(spec, found.table(spec))
        who = next((with_id(it, name) for it, name in names.items() if str(it) == id), id)
    left = after.table(spec)
    if spec.chats_in(left):
        chats = f"{spec.name}.{spec.chats}"
        reads = f". Whoever is in a chat of {chats} still reads new questions there."
    else:
        reads = ", nor read new questions there."
    prompts.wrapped(f"{who} will no longer answer on {spec.title}{reads}")
    if not spec.people_in(left):
        prompts.wrapped(f"Nobody else is paired on {spec.title}: no questions will arrive there.")
    if not prompts.confirm(f"Remove {who}?", default=False):
        prompts.say("Nothing was changed.")
        return 1
    change(path, removal(path, id).changes)  # by the file as it is now
    try:
        restart_hub(start=False)
    except BaseException:
        prompts.remark(f"{who} is out of {path}, but counts until chatbridge restart has worked.")
        raise
    if _is_let_in(settings.load(), spec, id):
        raise ChatbridgeError(
            f"{who} still counts: {path} was changed meanwhile. "
            f"Look at it, then run again: chatbridge people remove {id}"
        )
    prompts.good(f"{who} is removed")
    prompts.wrapped("    Cards that are in that chat stay there, but do nothing any more.")
    if member:
        prompts.wrapped(f"    {_what_stays(member, (spec.name, id))}")
    if found.server() is not None:
        prompts.wrapped(
            "    Each hub on the same database goes by its own list: run this there, too."
        )
    return 0


def _what_stays(member: Member, removed: tuple[str, str]) -> str:
    others = [f"{title_of(it[0])} ({it[1]})" for it in member.identities if it != removed]
    if others:
        return f"{member.name} is still let in on {', '.join(others)}."
    return f"{member.name} stays in [[people]], without an id."


def removal(path: Path, id: str) -> Removal:
    """:raises ChatbridgeError: a change of the file does not remove them."""
    from chatbridge import settings

    found, specs = settings.load(path), _with_people()
    for spec in specs:
        listed = people_in(path, spec)
        changes: dict[Key, Value] = {}
        if id in map(str, listed.allowed):
            left = [each for each in listed.allowed if str(each) != id]
            changes[spec.name, spec.people or ""] = left
        for at, person in enumerate(found.people):
            if str(person.identity(spec)) == id:
                changes["people", str(at), spec.name] = None
        if not changes:
            continue
        if spec.chats and id in map(str, listed.chats):
            chats = [each for each in listed.chats if str(each) != id]
            changes[spec.name, spec.chats] = chats or None
        after = settings_with(path, changes)
        if not _is_let_in(after, spec, id):
            return Removal(spec, changes, after)
    if any(_is_let_in(found, spec, id) for spec in specs):
        raise ChatbridgeError(
            f"{id} is let in by a variable, a credential or a file in secrets, whatever {path} "
            "says. Nothing was changed. Remove it there first"
        )
    raise ChatbridgeError(f"{id} is not among those who may answer. List them: chatbridge people")


def _is_let_in(found: Settings, spec: ChannelSpec[Any], id: str) -> bool:
    return id in map(str, spec.people_in(found.table(spec)))


def people_in(path: Path, spec: ChannelSpec[Any]) -> Listed:
    """:raises SettingsError: the file cannot be read, or not be used."""
    table = table_in(path, spec.name)
    names = [name for name in (spec.people, spec.chats) if name in table]
    listed = spec.settings.model_validate({name: table[name] for name in names})
    return Listed(spec.people_in(listed), spec.chats_in(listed))


def add_people(
    path: Path, spec: ChannelSpec[Any], people: Collection[object], chats: Collection[object] = ()
) -> None:
    """To those whom the file lists now: who was taken out while a wizard waited stays out."""
    listed = people_in(path, spec)
    lists = {
        (spec.name, str(spec.people)): list(dict.fromkeys([*listed.allowed, *people])),
        (spec.name, str(spec.chats)): list(dict.fromkeys([*listed.chats, *chats])),
    }
    # An empty list would keep a variable from naming people.
    change(path, {key: ids for key, ids in lists.items() if ids})


def allow(path: Path, spec: ChannelSpec[Any], claim: Json) -> None:
    """Who brought a code may answer."""
    # Without any chats, the own one of each person is used.
    is_listed = people_in(path, spec).chats and claim["chat"] is not None
    add_people(path, spec, [claim["person"]], [claim["chat"]] if is_listed else ())


def _with_people() -> list[ChannelSpec[Any]]:
    from chatbridge.channels.registry import channel_specs

    return [spec for spec in channel_specs() if spec.people is not None]


def pair_command(given: argparse.Namespace) -> int:
    from chatbridge import settings
    from chatbridge.cli.setup.state import ask_on_the_phone

    prompts.take_terminal("pair")
    spec = settings.load().pairing_channel(given.channel)
    assert spec.setup is not None
    about, question = f"Pair a phone. {spec.setup.pair_hint}", "Is that the person you mean?"
    if not pair(spec, about=about, question=question, written=lambda _: None):
        prompts.say("Nobody was paired. Again: chatbridge pair")
        return 1
    ask_on_the_phone(spec)
    return 0


def pair(
    spec: ChannelSpec[Any], *, about: str, question: str, written: Callable[[str], None]
) -> bool:
    """Until somebody is paired; False: the person at the terminal does it later. `about` stands
    above the first code; `question` is what they are asked about who brought it; `written` hears
    whose name is in the settings, which counts whatever happens next.
    :raises ChatbridgeError: there is no bot, or its hub does not work."""
    while True:
        claim = _claim(spec.name, about)
        about = ""
        if claim is None:
            return False
        if claim:
            who, person = prompts.shown(str(claim["name"])), claim["person"]
            username = f", @{prompts.shown(str(claim['username']))}" if claim["username"] else ""
            how = "The code was sent by" if claim.get("typed") else "Start pressed by"
            prompts.good(f"{how} {who} (id {person}{username})")
            if prompts.confirm(question, default=False):
                allow(config_file(), spec, claim)
                written(who)
                _greet(spec.name, who, person)
                return True
            prompts.say("  Nothing was changed, and they were told nothing.")
        again = partial(prompts.say_with_later, "  Press Enter for a new code.")
        if not prompts.enter_or_escape(again):
            return False


def _greet(channel: str, who: str, person: int | str) -> None:
    """With a hub that knows them."""
    try:
        restart_hub()
        ask_hub("greet", start=True, within=UP_WITHIN, channel=channel, chat=person)
    except BaseException:
        prompts.say()
        prompts.remark(
            f"{who} is in the settings now and may answer. To remove them: "
            f"chatbridge people remove {person}"
        )
        raise
    prompts.good(f"paired with {who}")


def _claim(channel: str, about: str) -> Json | None:
    """Who brought the code; {} nobody did in time; None: later."""
    while True:
        with connected(start=True) as line:
            try:
                line.begin("pair", channel=channel)
                code = line.event(within=UP_WITHIN)
                if code is None:
                    raise ChatbridgeError("The hub did not answer. Its log says more")
                if about:
                    prompts.explain(about)
                    about = ""
                with prompts.keys():
                    screen = Screen(str(code["link"]), send=code.get("send"))
                    try:
                        outcome = _waited(line, screen, channel)
                    finally:
                        screen.end()
            except HubUnreachable:
                prompts.remark("The hub was restarted, so there is a new code.")
                continue
        if outcome is None:
            return None
        if "claimed" in outcome:
            return dict(outcome["claimed"]) | {"typed": "send" in code}
        if "send" in code:
            prompts.bad("Nobody sent the code within 10 minutes.")
        else:
            prompts.bad("Nobody pressed Start within 10 minutes.")
        return {}


def _waited(line: HubClient, screen: Screen, channel: str) -> Json | None:
    """What the hub says next; None: the person does it later.
    :raises HubUnreachable: it has gone, and the code with it."""
    look_at = time.monotonic() + LOOK_EVERY
    while True:
        key = prompts.key(max(0.0, look_at - time.monotonic()), until=line.fileno())
        if key == prompts.ESCAPE:
            return None
        if key == INVERT:
            screen.invert()
        if (event := line.event(within=0.0)) is not None:
            return event
        if time.monotonic() >= look_at:
            screen.trouble(_trouble(channel))
            look_at = time.monotonic() + LOOK_EVERY


def _trouble(channel: str) -> str | None:
    """Why nothing that is pressed would arrive."""
    try:
        channels = ask_hub("status")["channels"]
    except ChatbridgeError:
        return None
    said = next((it["trouble"] for it in channels if it["name"] == channel), None)
    return None if said is None or "allowed_users is empty" in said else prompts.shown(said)


NARROWEST = 40
WAITING = "  … waiting for "


class Screen:
    """The code, until `end`. The last line is left open: it goes when the wait is over."""

    def __init__(self, link: str, *, send: str | None = None) -> None:
        """`send` is what the person sends there, if the link does not bring it."""
        self._link = link
        self._send = send
        self._inverted = False
        self._trouble: str | None = None
        self._width = columns()
        self._rows = 0
        self._show()

    def _show(self) -> None:
        lines = self._lines()
        # A link that is wider than the window takes more rows than one.
        self._rows = sum(max(1, -(-len(text) // self._width)) for text, _ in lines)
        for text, is_picture in lines:
            if is_picture:
                print(f"    {coloured(text)}")
            else:
                prompts.say(text)
        self._wait()

    def invert(self) -> None:
        self._inverted = not self._inverted
        self._trouble = None  # it goes with the rest, and is said again
        print(f"\x1b[{self._rows}A\r\x1b[J", end="")
        self._show()

    def trouble(self, text: str | None) -> None:
        """Said once."""
        if text is not None and text != self._trouble:
            self._trouble = text
            print("\x1b[2K", end="")
            self._rows += prompts.remark(text)
            self._wait()

    def end(self) -> None:
        print("\x1b[2K", end="\r", flush=True)

    def _wait(self) -> None:
        inverts = self._width >= NARROWEST and not self._trouble
        keys = ["i: invert   Esc: later"] if inverts else []
        waiting = WAITING + ("the code" if self._send else "Start")
        print(prompts.with_key(waiting, *keys, prompts.LATER), end="\r", flush=True)

    def _lines(self) -> list[tuple[str, bool]]:
        """Each line, and whether it is one of the picture."""
        picture = qr_lines(self._link, inverted=self._inverted)
        fits = self._width >= max(NARROWEST, len(picture[0]) + 4)
        how = "or open" if fits else "open"
        lines = [("", False), *((line, True) for line in picture if fits)]
        once = "(works once, 10 min)"
        if self._send:
            sent = [("", False), (f"  then send  {self._send}      {once}", False), ("", False)]
            return [*lines, (f"  {how}  {self._link}", False), *sent]
        in_a_row = f"  {how}  {self._link}      {once}"
        if len(in_a_row) < self._width:
            return [*lines, (in_a_row, False), ("", False)]
        return [*lines, (f"  {how}  {once}", False), (self._link, False), ("", False)]


MARGIN = 2
LIGHT_AND_DARK = {(True, True): "█", (True, False): "▀", (False, True): "▄", (False, False): " "}


def qr_lines(text: str, *, inverted: bool = False) -> list[str]:
    """As rows of characters of one width. Light modules are drawn, for a dark terminal; `inverted`
    draws the dark ones."""
    import segno

    code = segno.make(text, error="l", micro=False, boost_error=False)
    light = [
        [bool(module) == inverted for module in row] for row in code.matrix_iter(border=MARGIN)
    ]
    if len(light) % 2:
        light.append([not inverted] * len(light[0]))
    return [
        "".join(LIGHT_AND_DARK[pair] for pair in zip(upper, lower, strict=True))
        for upper, lower in zip(light[::2], light[1::2], strict=True)
    ]


def coloured(line: str) -> str:
    """White on black, so that it is right on a light terminal, too."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return line if plain else f"\x1b[97;40m{line}\x1b[0m"
