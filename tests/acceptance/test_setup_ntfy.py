"""`chatbridge setup` for ntfy, to a test question that is answered by a tap on its notification."""

from __future__ import annotations

import tomllib

from tests.acceptance.wizard import choose, desk
from tests.fakes.ntfy_server import NtfyServer
from tests.fakes.pty_person import ENTER


def test_from_nothing_to_an_answered_question_though_the_server_is_away_at_first() -> None:
    with NtfyServer.running() as server, desk(CHATBRIDGE_NTFY__SERVER=server.address) as here:
        server.down = True
        with here.runs("setup") as me:
            choose(me, "ntfy")
            shown = me.expect("subscribe there to", "Take answers there, too? (y/N)")
            topic = shown.partition("subscribe there to  ")[2].split()[0]
            me.enter("y")
            me.expect("internal server error (500). Nothing was written.", "Press Enter to try")
            server.down = False
            me.press(ENTER)
            me.expect("A test question is on your phone.")
            phone = server.phone(topic)  # the one that it was subscribed to
            phone.tap(phone.sees("Can you see this?"), "Yes")
            me.expect('You answered "Yes"', "How long may an agent wait for you?")
            me.press(ENTER)
            me.expect("somebody answered on ntfy", "done. Now try:")
            me.ends(0)
        written = tomllib.loads(here.config.read_text())["ntfy"]
        assert written == {"topic": topic, "answers": True, "server": server.address}
