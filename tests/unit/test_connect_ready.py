"""What a client needs beside the entry before nobody is at the computer: a permission, hooks and a
paragraph for agents, each among what its owner has there."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chatbridge.cli.agents.hook import HELP
from chatbridge.cli.connect.catalogue import CATALOGUE, CLIENTS
from chatbridge.cli.connect.document import Document, Paragraph, Part
from chatbridge.cli.connect.hooks import Hooks
from chatbridge.cli.connect.installed import Readiness, connected_in, installed_clients, readiness
from chatbridge.cli.connect.machine import Program, user_folders
from chatbridge.cli.connect.marked_text import BEGIN, END
from chatbridge.cli.connect.plans import plan_folder, write
from chatbridge.core.errors import ChatbridgeError
from tests.fakes.client_home import START, WAIT, Home
from tests.unit.test_connect_jsonc import BLANKS, NAMES, VALUES, written

CLAUDE = CATALOGUE["claude-code"]
WAITS = ("PreToolUse", "PermissionRequest", "Stop")
READY = Readiness(permission=True, hooks=True, hook_timeout=WAIT)
SETTINGS = """\
{
  // mine
  "permissions": {"allow": ["Bash(make:*)"], "deny": ["WebFetch"]},
  "hooks": {
    "Stop": [
      {"hooks": [{"type": "command", "command": "say done"}]}
    ],
    "PreToolUse": [
      {"matcher": "Bash", "hooks": [{"type": "command", "command": "check"}]},
    ]
  },
  "model": "opus"
}
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def settings_file(home: Home) -> Path:
    return home.path / ".claude/settings.json"


def notes(home: Home) -> Path:
    return home.path / ".claude/CLAUDE.md"


def has(path: Path, text: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def told(home: Home) -> Any:
    return json.loads(settings_file(home).read_text())


def is_ready(home: Home, client: str = "claude-code") -> Readiness:
    (found,) = [it for it in installed_clients(home.environ) if it.client.name == client]
    return readiness(found, home.environ)


def contents(home: Home) -> dict[str, bytes]:
    files = [it for it in home.path.rglob("*") if it.is_file() and ".bak" not in it.name]
    return {str(it.relative_to(home.path)): it.read_bytes() for it in files}


# ── what is written ───────────────────────────────────────────────────────────────────────────────


def test_claude_code_gets_the_permission_and_the_hooks_of_the_page(home: Home) -> None:
    home.connect("claude-code")
    expected = json.loads(HELP[HELP.index("  {\n") :])
    for event, (group,) in expected["hooks"].items():
        (hook,) = group["hooks"]
        hook["command"] = f"{START.command} hook"
        if event in WAITS:
            hook["command"] += f" --limit {WAIT:.0f}"
            hook["timeout"] = WAIT
    assert told(home) == {"permissions": {"allow": ["mcp__chatbridge"]}, **expected}
    assert settings_file(home).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("client", "file", "events", "timeout"),
    [
        ("codex", ".codex/hooks.json", ["PostToolUse", "Stop"], 60),
        ("gemini", ".gemini/settings.json", ["AfterTool", "AfterAgent"], 60_000),
    ],
)
def test_others_with_hooks_get_those_for_messages_and_lose_them_again(
    home: Home, client: str, file: str, events: list[str], timeout: int
) -> None:
    theirs = '{"hooks": {"' + events[0] + '": [{"hooks": [{"command": "log-it"}]}]}}\n'
    has(home.path / file, theirs)
    home.connect(client)
    hooks = json.loads((home.path / file).read_text())["hooks"]
    assert list(hooks) == events
    assert hooks[events[0]][0] == {"hooks": [{"command": "log-it"}]}
    for event in events:
        (hook,) = hooks[event][-1]["hooks"]
        assert (hook["command"], hook["timeout"]) == (f"{START.command} hook", timeout)
    assert home.connect(client).changes == ()
    home.disconnect(client)
    assert contents(home) == {file: theirs.encode()}
    home.connect(client, leave_out=["hooks"])
    assert "chatbridge hook" not in (home.path / file).read_text()


@pytest.mark.parametrize("command", ["/opt/chatbridge", "/it's “mine”\\/chatbridge", "/${x}`/c"])
def test_opencode_gets_a_script_of_ours_and_loses_it_again(home: Home, command: str) -> None:
    home.connect("opencode", start=Program(command, ("mcp",)))
    script = home.path / ".config/opencode/plugin/chatbridge.js"
    lines = script.read_text().splitlines()
    assert (lines[0], lines[-1]) == ("// chatbridge:begin", "// chatbridge:end")
    (said,) = [line for line in lines if line.startswith("const COMMAND = ")]
    assert json.loads(said.removeprefix("const COMMAND = ")) == [command, "hook"]
    assert home.connect("opencode", start=Program(command, ("mcp",))).changes == ()
    home.disconnect("opencode")
    assert not script.parent.exists()
    home.connect("opencode", leave_out=["hooks"])
    assert not script.exists()


def test_a_script_of_that_name_keeps_what_is_its_owners(home: Home) -> None:
    script = home.path / ".config/opencode/plugin/chatbridge.js"
    has(script, "export const Mine = async () => ({})\n")
    home.connect("opencode")
    assert script.read_text().startswith("export const Mine = async () => ({})\n\n// chatbridge:")
    home.disconnect("opencode")
    assert script.read_text() == "export const Mine = async () => ({})\n"


def test_agents_are_told_when_to_ask_and_what_no_answer_means(home: Home) -> None:
    for client, file, tool in [
        ("claude-code", ".claude/CLAUDE.md", "`ask_user`"),
        ("codex", ".codex/AGENTS.md", "`ask_user`"),
        ("gemini", ".gemini/GEMINI.md", "`ask_human`"),
    ]:
        home.connect(client)
        text = (home.path / file).read_text()
        assert text.startswith(f"{BEGIN}\n")
        assert text.endswith(f"\n{END}\n")
        assert tool in text
        assert "nobody has consented: take the safe way" in text


def test_opencode_has_a_file_of_its_own_unless_that_would_hide_the_one_it_reads(home: Home) -> None:
    own = home.path / ".config/opencode/AGENTS.md"
    has(notes(home), "# Mine\n")
    home.connect("opencode")
    assert not own.exists()
    home.connect("claude-code")
    assert home.connect("opencode").changes == ()
    home.disconnect("claude-code")
    assert notes(home).read_text() == "# Mine\n"
    notes(home).unlink()
    home.connect("opencode")
    assert BEGIN in own.read_text()
    has(notes(home), "# Mine\n")
    home.disconnect("opencode")
    assert not own.exists()


def test_a_claude_code_that_lives_elsewhere_has_everything_there(tmp_path: Path) -> None:
    home = Home(tmp_path / "me", {"CLAUDE_CONFIG_DIR": str(tmp_path / "other")})
    home.connect("claude-code")
    names = sorted(it.name for it in (tmp_path / "other").iterdir())
    assert names == [".claude.json", "CLAUDE.md", "settings.json"]
    assert not home.path.exists()
    assert is_ready(home) == READY


def test_a_project_gets_the_entry_alone(home: Home, tmp_path: Path) -> None:
    project = tmp_path / "shop-api"
    project.mkdir()
    home.connect("claude-code", project=project)
    assert list(contents(home)) == ["shop-api/.mcp.json"]


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (Program("/my tools/it's/chatbridge", ("mcp",)), ["/my tools/it's/chatbridge", "hook"]),
        (
            Program("/usr/bin/python3", ("-m", "chatbridge", "mcp")),
            ["/usr/bin/python3", "-m", "chatbridge", "hook"],
        ),
    ],
)
def test_the_command_is_quoted_for_the_shell_and_known_again(
    home: Home, start: Program, words: list[str]
) -> None:
    home.connect("claude-code", start=start)
    command = told(home)["hooks"]["Notification"][0]["hooks"][0]["command"]
    assert shlex.split(command) == words
    assert home.connect("claude-code", start=start).changes == ()
    home.disconnect("claude-code")
    assert contents(home) == {}


# ── among what is there ───────────────────────────────────────────────────────────────────────────


def test_what_others_have_there_stays_in_its_order_and_to_the_byte(home: Home) -> None:
    has(settings_file(home), SETTINGS)
    has(notes(home), "# Mine\n\nBe brief.")
    home.connect("claude-code")
    new = settings_file(home).read_text()
    assert '"allow": ["Bash(make:*)", "mcp__chatbridge"]' in new
    assert new.startswith('{\n  // mine\n  "permissions"')
    for line in SETTINGS.partition('"hooks"')[2].splitlines():
        assert line in new
    assert new.index("say done") < new.index("chatbridge hook")
    assert notes(home).read_text().startswith(f"# Mine\n\nBe brief.\n{BEGIN}\n")
    once = contents(home)
    assert home.connect("claude-code").changes == ()
    assert contents(home) == once
    assert is_ready(home) == READY
    home.disconnect("claude-code")
    assert contents(home) == {
        ".claude/settings.json": SETTINGS.encode(),
        ".claude/CLAUDE.md": b"# Mine\n\nBe brief.",
    }


def test_what_was_added_since_stays_when_ours_goes(home: Home) -> None:
    has(settings_file(home), SETTINGS)
    has(notes(home), "# Mine\n")
    home.connect("claude-code")
    file = settings_file(home)
    file.write_text(file.read_text().replace('"opus"', '"sonnet"'))
    notes(home).write_text(f"{notes(home).read_text()}More of mine.\n")
    home.disconnect("claude-code")
    assert file.read_text() == SETTINGS.replace('"opus"', '"sonnet"')
    assert notes(home).read_text() == "# Mine\nMore of mine.\n"


def test_hooks_that_were_put_in_by_hand_are_brought_up_to_date_where_they_are(home: Home) -> None:
    old = json.loads(HELP[HELP.index("  {\n") :])
    theirs = {"type": "command", "command": "log-it"}
    ours = old["hooks"]["PermissionRequest"][0]
    ours["matcher"] = "Bash"
    ours["hooks"] = [theirs, {**ours["hooks"][0], "statusMessage": "asking", "timeout": 90_000}]
    has(settings_file(home), json.dumps(old, indent=2))
    home.connect("claude-code")
    hooks = told(home)["hooks"]
    assert [len(hooks[event]) for event in hooks] == [1, 1, 1, 1, 1]
    assert hooks["PermissionRequest"][0] == {
        "matcher": "Bash",
        "hooks": [
            theirs,
            {
                "type": "command",
                "command": f"{START.command} hook --limit 90000",
                "timeout": 90_000,
                "statusMessage": "asking",
            },
        ],
    }
    (hook,) = hooks["PreToolUse"][0]["hooks"]
    assert (hook["command"], hook["timeout"]) == (f"{START.command} hook --limit 28800", WAIT)
    home.disconnect("claude-code")
    assert told(home) == {"hooks": {"PermissionRequest": [{"matcher": "Bash", "hooks": [theirs]}]}}


def test_an_older_paragraph_is_replaced_where_it_is(home: Home) -> None:
    has(notes(home), f"# Mine\r\n\r\n{BEGIN}\r\nold words\r\n{END}\r\nBelow.\r\n")
    home.connect("claude-code")
    text = notes(home).read_bytes().decode()
    assert text.startswith(f"# Mine\r\n\r\n{BEGIN}\r\n## Ask with chatbridge\r\n")
    assert text.endswith(f"\r\n{END}\r\nBelow.\r\n")
    assert text.count("\n") == text.count("\r\n")
    assert "old words" not in text


def test_a_command_that_only_mentions_us_is_not_ours(home: Home) -> None:
    commands = ["chatbridge hook || true", "not-chatbridge hook", "echo chatbridge hooked"]
    group = {"hooks": [{"type": "command", "command": it} for it in commands]}
    has(settings_file(home), json.dumps({"hooks": {"Stop": [group]}}))
    before = contents(home)
    home.connect("claude-code")
    assert len(told(home)["hooks"]["Stop"]) == 2
    home.disconnect("claude-code")
    assert contents(home) == before


def test_a_hook_of_ours_that_is_there_twice_goes_twice(home: Home) -> None:
    ours, theirs = ({"type": "command", "command": it} for it in ("chatbridge hook", "say done"))
    groups = [{"hooks": [ours, ours]}, {"hooks": [ours, theirs, ours]}]
    has(settings_file(home), json.dumps({"hooks": {"Stop": groups}}))
    home.disconnect("claude-code")
    assert told(home) == {"hooks": {"Stop": [{"hooks": [theirs]}]}}


# ── left out ──────────────────────────────────────────────────────────────────────────────────────


def test_parts_can_be_left_out_and_are_offered_again(home: Home) -> None:
    home.connect("claude-code", leave_out=["hooks", "instructions"])
    assert told(home) == {"permissions": {"allow": ["mcp__chatbridge"]}}
    assert not notes(home).exists()
    expected = Readiness(permission=True, hooks=False, hook_timeout=None)
    assert is_ready(home) == expected
    home.connect("claude-code", leave_out=["hooks"])
    assert notes(home).exists()
    home.connect("claude-code")
    assert is_ready(home) == READY
    assert home.connect("claude-code", leave_out=["hooks", "instructions"]).changes == ()
    assert is_ready(home) == READY
    settings_file(home).unlink()
    assert [it.path for it in home.plan("claude-code").changes] == [settings_file(home)]
    home.disconnect("claude-code")
    assert contents(home) == {}


# ── what cannot be done ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("settings.json", b"{", "settings.json, line 1 cannot be understood"),
        ("settings.json", b'{"hooks": []}', "“hooks” is not an object"),
        ("settings.json", b'{"hooks": {"Stop": {}}}', "“hooks.Stop” is not a list"),
        ("settings.json", b'{"permissions": {"allow": "x"}}', "“permissions.allow” is not a list"),
        ("settings.json", b'{"disableAllHooks": true}', "Without them: --no-hooks"),
        (
            "settings.json",
            b'{"permissions": {"deny": ["mcp__chatbridge"]}}',
            "“permissions.deny” has mcp__chatbridge",
        ),
        ("CLAUDE.md", b"caf\xe9\n", "CLAUDE.md, line 1 cannot be understood: it is not UTF-8"),
        ("CLAUDE.md", f"a\n{BEGIN}\nb\n".encode(), "CLAUDE.md, line 2 cannot be understood"),
        ("CLAUDE.md", f"a\n{END}\n{BEGIN}\n".encode(), "do not match"),
    ],
)
def test_one_file_that_cannot_be_changed_means_that_nothing_is_written(
    home: Home, name: str, content: bytes, reason: str
) -> None:
    has(home.path / ".claude" / name, content)
    with pytest.raises(ChatbridgeError) as refused:
        home.connect("claude-code")
    assert reason in str(refused.value)
    assert "chatbridge connect claude-code --print" in str(refused.value)
    assert contents(home) == {f".claude/{name}": content}


@pytest.mark.parametrize("name", ["settings.json", "CLAUDE.md"])
def test_a_broken_file_without_anything_of_ours_does_not_keep_us_in_the_others(
    home: Home, name: str
) -> None:
    home.connect("claude-code")
    has(home.path / ".claude" / name, "{ café".encode("latin-1"))
    home.disconnect("claude-code")
    assert contents(home) == {f".claude/{name}": "{ café".encode("latin-1")}


@pytest.mark.parametrize(("said", "limit"), [("1e400", 315360000), ("86400.5", 86400)])
def test_a_time_out_beyond_measure_stays_and_the_hub_is_told_what_it_takes(
    home: Home, said: str, limit: int
) -> None:
    hook = f'{{"type": "command", "command": "chatbridge hook", "timeout": {said}}}'
    has(settings_file(home), f'{{"hooks": {{"PermissionRequest": [{{"hooks": [{hook}]}}]}}}}')
    home.connect("claude-code")
    text = settings_file(home).read_text()
    assert f"chatbridge hook --limit {limit}" in text
    assert said in text


def test_one_file_that_may_not_be_written_means_that_nothing_is(home: Home) -> None:
    has(notes(home), "# Mine\n")
    notes(home).chmod(0o444)
    with pytest.raises(ChatbridgeError, match="read-only"):
        home.connect("claude-code")
    assert contents(home) == {".claude/CLAUDE.md": b"# Mine\n"}


# ── what doctor is told ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_that_was_connected_lacks_nothing(home: Home, client: str) -> None:
    home.connect(client)
    found = is_ready(home, client)
    assert False not in (found.permission, found.hooks)
    assert (found.hooks, found.hook_timeout) in [(None, None), (True, WAIT)]
    known = CATALOGUE[client]
    assert (found.permission is None) == (known.permission is None and known.allow is None)


@pytest.mark.parametrize(
    ("client", "content"),
    [
        ("codex", b'[mcp_servers.chatbridge]\ndefault_tools_approval_mode = "prompt"\n'),
        ("gemini", b'{"mcpServers": {"chatbridge": {"trust": 1.5}}}'),
        ("cline", b'{"mcpServers": {"chatbridge": {"autoApprove": ["ask_user"]}}}'),
        ("gemini", b"{"),
    ],
)
def test_a_permission_that_the_owner_took_back_is_missing(
    home: Home, client: str, content: bytes
) -> None:
    home.has(client, content)
    assert is_ready(home, client).permission is False


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"permissions": {"allow": ["mcp__chatbridge__*"]}}, (True, True, WAIT)),
        ({"permissions": {"allow": ["mcp__chatbridge__ask_user"]}}, (False, True, WAIT)),
        (
            {"permissions": {"allow": ["mcp__chatbridge"], "deny": ["mcp__chatbridge"]}},
            (False, True, WAIT),
        ),
        ({"disableAllHooks": True}, (True, False, None)),
        ({"hooks": {}}, (True, False, None)),
        ({"hooks": "none"}, (True, False, None)),
        ({"hooks": {"PreToolUse": [1, {"hooks": 1}, {"hooks": [1]}]}}, (True, False, None)),
    ],
)
def test_settings_that_the_owner_changed_count_as_they_are(
    home: Home, change: dict[str, Any], expected: tuple[bool, bool, float | None]
) -> None:
    home.connect("claude-code")
    settings_file(home).write_text(json.dumps(told(home) | change))
    found = is_ready(home)
    assert (found.permission, found.hooks, found.hook_timeout) == expected


def test_the_shortest_hook_that_asks_counts_and_ten_minutes_where_it_says_nothing(
    home: Home,
) -> None:
    home.connect("claude-code")
    tree = told(home)
    tree["hooks"]["PreToolUse"][0]["hooks"][0]["timeout"] = 700
    settings_file(home).write_text(json.dumps(tree))
    assert is_ready(home).hook_timeout == 700
    del tree["hooks"]["PermissionRequest"][0]["hooks"][0]["timeout"]
    settings_file(home).write_text(json.dumps(tree))
    assert is_ready(home).hook_timeout == 600


def test_a_project_counts_with_the_permissions_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, project = Home(tmp_path / "me"), tmp_path / "shop-api"
    project.mkdir()
    monkeypatch.setenv("HOME", str(home.path))
    home.connect("claude-code", project=project)
    (found,) = connected_in(project, home.environ)
    assert readiness(found, home.environ).permission is False
    write(plan_folder(project, wait=WAIT, removal=False))
    assert readiness(found, home.environ).permission is True


# ── any file ──────────────────────────────────────────────────────────────────────────────────────

GROUPS = st.lists(
    st.fixed_dictionaries(
        {"hooks": st.lists(VALUES, max_size=2)}, optional={"matcher": st.sampled_from(["", "*"])}
    ),
    max_size=2,
)


@st.composite
def settings_texts(draw: st.DrawFn) -> str:
    tree = draw(st.dictionaries(NAMES, VALUES, max_size=3))
    if draw(st.booleans()):
        events = st.sampled_from(["Stop", "PreToolUse", "SessionStart"])
        tree["hooks"] = draw(st.dictionaries(events, GROUPS, max_size=3))
    if draw(st.booleans()):
        tree["permissions"] = {"allow": draw(st.lists(NAMES, max_size=2))}
    return f"{draw(BLANKS)}{draw(written(tree))}{draw(BLANKS)}"


def documents(content: bytes, *, wait: float = WAIT) -> Document:
    assert CLAUDE.allow is not None
    hooks = Hooks(hooks=CLAUDE.hooks, command=START.instead("hook"), wait=wait)
    parts: list[Part] = [CLAUDE.allow, hooks]
    return Document(path=Path("x"), format="json", content=content, parts=parts, way_out="")


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(settings_texts())
def test_any_settings_come_back_to_the_byte(text: str) -> None:
    before = text.encode()
    new = documents(before).connected()
    assert new is not None
    assert documents(new).connected() == new
    longer = documents(new, wait=WAIT * 2).connected()
    assert longer is not None
    assert documents(new).disconnected([before]) == before
    assert documents(longer).disconnected([before]) == before
    without = documents(new).disconnected([])
    if without is not None:
        assert "mcp__chatbridge" not in without.decode()
        assert "chatbridge hook" not in without.decode()


TEXTS = st.lists(
    st.sampled_from(["# Mine", "", "words", "\n", "\r\n", "\r", "\n\n", " ", "é", "<!--"]),
    max_size=8,
).map("".join)


@given(TEXTS, TEXTS)
def test_any_text_comes_back_to_the_byte_with_and_without_a_copy(before: str, later: str) -> None:
    def document(content: bytes | None) -> Document:
        parts = [Paragraph(text="Ask.\n")]
        return Document(path=Path("x"), format="text", content=content, parts=parts, way_out="")

    new = document(before.encode()).connected()
    assert new is not None
    assert document(new).connected() == new
    assert document(new).disconnected([before.encode()]) == before.encode()
    assert document(new).disconnected([]) == (before.encode() or None)
    more = document(new + later.encode()).disconnected([before.encode()])
    assert (more or b"").decode().split() == f"{before}\n{later}".split()


def test_every_client_with_instructions_says_where_they_are() -> None:
    here = user_folders({"HOME": "/home/you"})
    files = {name: it.instructions_file(here) for name, it in CATALOGUE.items()}
    assert {name: str(path) for name, path in files.items() if path} == {
        "claude-code": "/home/you/.claude/CLAUDE.md",
        "codex": "/home/you/.codex/AGENTS.md",
        "gemini": "/home/you/.gemini/GEMINI.md",
        "opencode": "/home/you/.config/opencode/AGENTS.md",
    }
