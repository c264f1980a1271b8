"""`chatbridge pair`: a code on the screen, Start pressed on a phone, and the owner who confirms.

Owns what `pair` and `setup` show for it, and whom it lets in once the person at the terminal has
said who it was. The hub makes the codes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chatbridge.cli.config_file import config_file
from chatbridge.cli.hub.control import restart_hub
from chatbridge.cli.hub.hub_client import HubClient, ask_hub, connected
from chatbridge.cli.people import add_people, people_in
from chatbridge.cli.ui import prompts
from chatbridge.cli.ui.qr import coloured, qr_lines
from chatbridge.cli.ui.running import columns
from chatbridge.core.errors import ChatbridgeError, HubUnreachable
from chatbridge.core.text import one_line

if TYPE_CHECKING:
    from chatbridge.channels.spec import ChannelSpec

Json = dict[str, Any]

HUB_SECONDS = 40.0
"""A hub that has just started reaches its bot within half of this, or says why not."""
TROUBLE_CHECK_SECONDS = 5.0
"""How often to check whether the bot still receives anything."""
INVERT = "i"
MIN_WIDTH = 40
WAITING = "  … waiting for "


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
            who, person = one_line(str(claim["name"])), claim["person"]
            username = f", @{one_line(str(claim['username']))}" if claim["username"] else ""
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


def allow(path: Path, spec: ChannelSpec[Any], claim: Json) -> None:
    """Who brought a code may answer."""
    # Without any chats, the own one of each person is used.
    is_listed = people_in(path, spec).chats and claim["chat"] is not None
    add_people(path, spec, [claim["person"]], [claim["chat"]] if is_listed else ())


def _greet(channel: str, who: str, person: int | str) -> None:
    """With a hub that knows them."""
    try:
        restart_hub()
        ask_hub("greet", start=True, within=HUB_SECONDS, channel=channel, chat=person)
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
                code = line.event(within=HUB_SECONDS)
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
    look_at = time.monotonic() + TROUBLE_CHECK_SECONDS
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
            look_at = time.monotonic() + TROUBLE_CHECK_SECONDS


def _trouble(channel: str) -> str | None:
    """Why nothing that is pressed would arrive."""
    try:
        channels = ask_hub("status")["channels"]
    except ChatbridgeError:
        return None
    said = next((it["trouble"] for it in channels if it["name"] == channel), None)
    return None if said is None or "allowed_users is empty" in said else one_line(said)


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
        inverts = self._width >= MIN_WIDTH and not self._trouble
        keys = ["i: invert   Esc: later"] if inverts else []
        waiting = WAITING + ("the code" if self._send else "Start")
        print(prompts.with_key(waiting, *keys, prompts.LATER), end="\r", flush=True)

    def _lines(self) -> list[tuple[str, bool]]:
        """Each line, and whether it is one of the picture."""
        picture = qr_lines(self._link, inverted=self._inverted)
        fits = self._width >= max(MIN_WIDTH, len(picture[0]) + 4)
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
