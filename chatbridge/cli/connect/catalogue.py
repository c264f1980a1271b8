"""The clients: where each keeps its MCP servers, and what an entry looks like there.

Each client's page in `docs/` says how certain this is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chatbridge.cli.connect.document import ListItems
from chatbridge.cli.connect.editing import Keys
from chatbridge.cli.connect.hooks import Hook
from chatbridge.cli.connect.machine import Program, UserFolders
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.text import did_you_mean
from chatbridge.tool_names import TOOLS
from chatbridge.tools.clients import KNOWN

NAME = "chatbridge"
PLUGIN = "chatbridge@chatbridge"
"""Our plug-in for Claude Code, `.claude-plugin/` in our repository, as its users name it."""
PLUGIN_SECONDS = 12 * 3600.0
"""How long its hooks may wait: a night. What is asked has a time-out of its own."""
DAY_AND_MORE = 100_000.0
"""Claude Code's own limit, about 28 hours: an entry must not shorten it."""
TIMER = 2_147_483.0
"""Almost 25 days. JavaScript's timers go off at once if they are given more."""
ASK_TOOLS = tuple(name for name in TOOLS if name != "approve_tool_use")
"""What an agent may call without asking for permission first: it is the asking."""
WHOLE = f"mcp__{NAME}"
ALLOWED = frozenset({WHOLE, f"{WHOLE}__*"})
"""Either allows every tool of ours in Claude Code."""


class UnknownClient(ChatbridgeError):
    """There is no client of this name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    name: str
    title: str
    known_as: str | None = None
    """Its name in `tools/clients.py`, where that differs."""
    folder: Callable[[UserFolders], Path]
    """The client is installed if this folder exists."""
    place: str | Callable[[UserFolders], Path]
    """The file with its MCP servers: its name below the folder, or where it is."""
    project: tuple[str, ...] = ()
    """Candidates for its file in a project. The first that exists counts."""
    format: str = "json"
    servers: str = "mcpServers"
    """The key of the MCP servers in the file."""
    shape: Callable[[Program], dict[str, Any]]
    first: dict[str, Any] = field(default_factory=dict)
    """Written with a new entry only: the owner may think differently."""
    permission: str | None = None
    """The key of `first` that lets agents use our tools without being asked."""
    settings: str | None = None
    """The file below the folder, in JSON, that has the next three."""
    allow: ListItems | None = None
    """Lets agents use our tools without being asked."""
    hooks: tuple[Hook, ...] = ()
    hook_unit: int = 1
    """How many units of a hook's time-out are a second."""
    hook_script: str | None = None
    """A file below the folder, in JavaScript, that calls our hook where the client has none."""
    plugin: Keys | None = None
    """Where its settings say that our plug-in is switched on, which brings all of this."""
    instructions: str | Callable[[UserFolders], Path] | None = None
    """The file with the owner's words to every agent: its name below the folder, or where it is."""
    instructions_else: str | None = None
    """Read below the home folder as long as that one is missing: a new one would hide it."""
    ask_tool: str = "ask_user"
    """What our tool is called there."""
    on: tuple[str, bool] | None = None
    """What says that the entry is switched on, if it says anything."""
    timeout: str | None = None
    """The key of how long one call may take."""
    unit: int = 1
    """How many of the time-out's units are a second."""
    tells_limit: bool = False
    """Whether the link is told of the time-out: a call is given up then, whatever happens."""
    floor: float = 0.0
    ceiling: float | None = None
    timeout_of_all: str | None = None
    """What holds for every server without its own."""
    at_least: dict[str, int] = field(default_factory=dict)
    """Further numbers, in the entry's own units, that may be larger."""
    restart: str

    def file(self, at: UserFolders) -> Path:
        return self._placed(self.place, at)

    def instructions_file(self, at: UserFolders) -> Path | None:
        return None if self.instructions is None else self._placed(self.instructions, at)

    def reads_other_instructions(self, at: UserFolders) -> bool:
        """Whether its agents read a file that a new one for instructions would hide."""
        own, other = self.instructions_file(at), self.instructions_else
        is_new = own is not None and not own.exists()
        return is_new and other is not None and (at.home / other).exists()

    def _placed(self, where: str | Callable[[UserFolders], Path], at: UserFolders) -> Path:
        return self.folder(at) / where if isinstance(where, str) else where(at)

    @property
    def keys(self) -> Keys:
        return (self.servers, NAME)

    @property
    def default(self) -> float | None:
        """How long one call may take if nothing is said, in seconds."""
        return KNOWN[self.known_as or self.name].limit

    def numbers(self, wait: float) -> dict[str, int]:
        """The time-outs that an entry needs at least, in its own units."""
        if self.timeout is None:
            return dict(self.at_least)
        seconds = min(max(wait, self.floor), self.ceiling or math.inf)
        return {self.timeout: int(seconds * self.unit), **self.at_least}

    def with_limit(self, entry: dict[str, Any]) -> dict[str, Any]:
        """The entry with its time-out among the link's arguments, which tell the hub."""
        if self.timeout is None or not self.tells_limit:
            return entry
        others = []
        words = iter(entry["args"])
        for word in words:
            if word == "--limit":
                next(words, None)
            elif not str(word).startswith("--limit="):
                others.append(word)
        after = others.index("mcp") + 1 if "mcp" in others else len(others)
        seconds = min(entry[self.timeout] / self.unit, self.ceiling or math.inf)
        return entry | {"args": [*others[:after], "--limit", str(int(seconds)), *others[after:]]}


def _stdio(program: Program) -> dict[str, Any]:
    return {"type": "stdio", "command": program.command, "args": list(program.args)}


def _plain(program: Program) -> dict[str, Any]:
    return {"command": program.command, "args": list(program.args)}


def _opencode(program: Program) -> dict[str, Any]:
    return {"type": "local", "command": [program.command, *program.args], "enabled": True}


def _goose(program: Program) -> dict[str, Any]:
    command = {"cmd": program.command, "args": list(program.args)}
    return {"enabled": True, "type": "stdio", "name": NAME, **command}


def _opencode_folder(at: UserFolders) -> Path:
    return at.moved("OPENCODE_CONFIG_DIR") or at.config / "opencode"


def _opencode_file(at: UserFolders) -> Path:
    folder = _opencode_folder(at)
    names = ("opencode.jsonc", "opencode.json", "config.json")
    return next((folder / it for it in names if (folder / it).exists()), folder / "opencode.json")


def _cline_file(at: UserFolders) -> Path:
    name = "settings/cline_mcp_settings.json"
    if given := at.moved("CLINE_MCP_SETTINGS_PATH"):
        return given
    data = at.moved("CLINE_DATA_DIR") or (at.moved("CLINE_DIR") or at.home / ".cline") / "data"
    older = at.electron / "Code/User/globalStorage/saoudrizwan.claude-dev"
    return older / name if older.is_dir() and not data.is_dir() else data / name


def _zed_folder(at: UserFolders) -> Path:
    if at.mac:
        return at.home / ".config/zed"  # whatever the variables say
    return (at.moved("FLATPAK_XDG_CONFIG_HOME") or at.config) / "zed"


def _goose_folder(at: UserFolders) -> Path:
    root = at.moved("GOOSE_PATH_ROOT")
    return root / "config" if root else at.config / "goose"


_ALL = (
    Client(
        name="claude-code",
        title="Claude Code",
        folder=lambda at: at.moved("CLAUDE_CONFIG_DIR") or at.home / ".claude",
        place=lambda at: (at.moved("CLAUDE_CONFIG_DIR") or at.home) / ".claude.json",
        project=(".mcp.json",),
        shape=_stdio,
        timeout="timeout",
        unit=1000,
        ceiling=TIMER,
        floor=DAY_AND_MORE,
        settings="settings.json",
        allow=ListItems(
            keys=("permissions", "allow"),
            words=[WHOLE],
            covered_by=ALLOWED,
            refused_in=("permissions", "deny"),
        ),
        hooks=(
            Hook("PreToolUse", "AskUserQuestion", asks=True),
            Hook("PermissionRequest", "*", asks=True),
            Hook("Notification", "idle_prompt"),
            Hook("PostToolUse", "*"),
            Hook("Stop", waits=True),
        ),
        plugin=("enabledPlugins", PLUGIN),
        instructions="CLAUDE.md",
        restart="Restart Claude Code; /mcp then shows chatbridge.",
    ),
    Client(
        name="codex",
        title="Codex",
        folder=lambda at: at.moved("CODEX_HOME") or at.home / ".codex",
        place="config.toml",
        project=(".codex/config.toml",),
        format="toml",
        servers="mcp_servers",
        shape=_plain,
        first={"default_tools_approval_mode": "approve"},
        permission="default_tools_approval_mode",
        settings="hooks.json",
        hooks=(Hook("PostToolUse", "*"), Hook("Stop")),
        instructions="AGENTS.md",
        on=("enabled", True),
        timeout="tool_timeout_sec",
        tells_limit=True,
        at_least={"startup_timeout_sec": 30},
        restart="Restart Codex; it asks whether to trust new hooks, and /mcp shows chatbridge.",
    ),
    Client(
        name="cursor",
        title="Cursor",
        folder=lambda at: at.home / ".cursor",
        place="mcp.json",
        project=(".cursor/mcp.json",),
        shape=_stdio,
        restart="Restart Cursor, and switch chatbridge on in its settings under MCP.",
    ),
    Client(
        name="vscode",
        title="VS Code",
        known_as="visual-studio-code",
        folder=lambda at: at.electron / "Code",
        place="User/mcp.json",
        project=(".vscode/mcp.json",),
        servers="servers",
        shape=_stdio,
        restart="In VS Code run “MCP: List Servers”, choose chatbridge, and start it.",
    ),
    Client(
        name="gemini",
        title="Gemini CLI",
        known_as="gemini-cli",
        folder=lambda at: (at.moved("GEMINI_CLI_HOME") or at.home) / ".gemini",
        place="settings.json",
        project=(".gemini/settings.json",),
        shape=_plain,
        first={"trust": True},
        permission="trust",
        settings="settings.json",
        hooks=(Hook("AfterTool", "*"), Hook("AfterAgent")),
        hook_unit=1000,
        instructions="GEMINI.md",
        ask_tool="ask_human",
        timeout="timeout",
        tells_limit=True,
        unit=1000,
        ceiling=TIMER,
        restart="Restart Gemini CLI; /mcp then shows chatbridge.",
    ),
    Client(
        name="opencode",
        title="opencode",
        folder=_opencode_folder,
        place=_opencode_file,
        project=("opencode.json", "opencode.jsonc"),
        servers="mcp",
        shape=_opencode,
        hook_script="plugin/chatbridge.js",
        instructions=lambda at: at.config / "opencode/AGENTS.md",
        instructions_else=".claude/CLAUDE.md",
        on=("enabled", True),
        timeout="timeout",
        unit=1000,
        ceiling=TIMER,
        restart="Restart opencode.",
    ),
    Client(
        name="cline",
        title="Cline",
        folder=lambda at: _cline_file(at).parent.parent,
        place=_cline_file,
        shape=_stdio,
        first={"autoApprove": list(ASK_TOOLS)},
        permission="autoApprove",
        on=("disabled", False),
        timeout="timeout",
        tells_limit=True,
        ceiling=3600.0,
        restart="Cline notices by itself; its list of MCP servers shows chatbridge.",
    ),
    Client(
        name="zed",
        title="Zed",
        folder=_zed_folder,
        place="settings.json",
        project=(".zed/settings.json",),
        servers="context_servers",
        shape=_plain,
        on=("enabled", True),
        timeout="timeout",
        tells_limit=True,
        ceiling=600.0,
        timeout_of_all="context_server_timeout",
        restart="Zed notices by itself; Settings, AI, MCP Servers shows chatbridge.",
    ),
    Client(
        name="goose",
        title="Goose",
        folder=_goose_folder,
        place="config.yaml",
        format="yaml",
        servers="extensions",
        shape=_goose,
        on=("enabled", True),
        first={"description": "Asks you on your phone"},
        timeout="timeout",
        tells_limit=True,
        restart="Start a new session in Goose.",
    ),
    Client(
        name="windsurf",
        title="Windsurf",
        folder=lambda at: at.home / ".codeium/windsurf",
        place="mcp_config.json",
        shape=_plain,
        on=("disabled", False),
        restart="In Windsurf press Refresh in the list of MCP servers.",
    ),
)
CATALOGUE = {client.name: client for client in _ALL}
CLIENTS = tuple(CATALOGUE)


def client_of(name: str) -> Client:
    """:raises UnknownClient:"""
    if name not in CATALOGUE:
        raise UnknownClient(
            f"There is no client {name!r}{did_you_mean(name, CLIENTS, before=', ') or '.'} "
            f"There are: {', '.join(CLIENTS)}. "
            "For any other: chatbridge connect --print"
        )
    return CATALOGUE[name]
