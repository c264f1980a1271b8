"""`chatbridge setup` without a chat, and what it writes into agents' own settings."""

from __future__ import annotations

import json
import re
import tomllib
import urllib.request

from chatbridge import lock_file
from tests.acceptance.wizard import Desk, desk
from tests.fakes.pty_person import DOWN, ENTER, PATIENCE, SPACE, UP, PtyPerson

CODEX = '# mine\nmodel = "o5"\n'


def agents_on(here: Desk) -> None:
    (here.folder / ".codex").mkdir()
    (here.folder / ".codex" / "config.toml").write_text(CODEX)
    (here.folder / ".claude.json").write_text('{"theme": "dark"}\n')


def to_the_agents(me: PtyPerson) -> None:
    """The browser, half an hour."""
    me.expect("Where do you want to answer?")
    me.press(UP, ENTER)
    me.expect("Open this link (works once, 10 minutes):", "/login/")
    me.expect(
        "How long may an agent wait for you?",
        "❯ 8 hours, through the night",
        "1 hour",
        "30 minutes",
    )
    me.press(DOWN, DOWN, ENTER)
    me.expect("Which agents should use it?", "Claude Code", "Codex")


def test_the_link_still_logs_in_after_setup_has_restarted_the_hub() -> None:
    with desk() as here:
        with here.runs("setup") as me:
            me.expect("Where do you want to answer?")
            me.press(UP, ENTER)
            shown = me.expect("/login/", "❯ 8 hours, through the night")
            me.press(DOWN, ENTER)
            me.expect("✓ done.")
            me.ends(0)
        (code,) = re.findall(r"http://\S+/login/(\S+)", shown)
        now = lock_file.read(str(here.home.state))  # another test's hub may have taken the port
        assert now is not None
        assert now.web
        address = now.web
        request = urllib.request.Request(
            f"{address}/login", data=f"code={code}".encode(), headers={"Origin": address}
        )
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with browser.open(request, timeout=PATIENCE) as page:
            assert page.url == f"{address}/"


def test_the_browser_alone_and_the_agents_that_are_here() -> None:
    with desk() as here:
        agents_on(here)
        with here.runs("setup") as me:
            to_the_agents(me)
            me.press(ENTER)
            me.expect("~/.claude.json", "~/.codex/config.toml", "backup: config.toml.bak")
            me.expect("~/.claude/settings.json", "~/.claude/CLAUDE.md", "~/.codex/AGENTS.md")
            me.asks("Write these? (Y/n)")
            me.press(ENTER)
            me.expect("✓ done. Restart the agents, then try:")
            me.ends(0)
        codex = (here.folder / ".codex" / "config.toml").read_text()
        assert codex.startswith(CODEX)
        assert "chatbridge" in tomllib.loads(codex)["mcp_servers"]
        claude = json.loads((here.folder / ".claude.json").read_text())
        assert claude["theme"] == "dark"
        assert "chatbridge" in claude["mcpServers"]
        settings = json.loads((here.folder / ".claude" / "settings.json").read_text())
        assert settings["hooks"]["PreToolUse"][0]["hooks"][0]["timeout"] == 3600
        assert "chatbridge" in (here.folder / ".claude" / "CLAUDE.md").read_text()
        assert tomllib.loads(here.config.read_text()) == {
            "default_timeout": "30m",
            "max_timeout": "1h",
        }


def test_nothing_is_written_into_an_agents_settings_that_is_not_wanted() -> None:
    with desk() as here:
        agents_on(here)
        with here.runs("setup", "--no-instructions") as me:
            to_the_agents(me)
            me.press(SPACE, ENTER)  # not the first of them
            me.expect("~/.codex/config.toml")
            screen = me.asks("Write these? (Y/n)")
            assert ".claude.json" not in screen
            assert "AGENTS.md" not in screen
            me.enter("n")
            assert "done. Now try:" in me.ends(0)
            assert "To do it later: chatbridge connect" in me.scrolled
        assert (here.folder / ".codex" / "config.toml").read_text() == CODEX
        assert (here.folder / ".claude.json").read_text() == '{"theme": "dark"}\n'


def test_a_variable_that_counts_over_what_is_written_is_named() -> None:
    with desk(CHATBRIDGE_MAX_TIMEOUT="9h") as here, here.runs("setup") as me:
        me.expect("! Set in this terminal, and overriding what is written here:")
        me.expect("CHATBRIDGE_MAX_TIMEOUT", "Where do you want to answer?")
