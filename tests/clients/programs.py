"""The programs of `.ci/clients.txt`: how each is led to the model, connected and run."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / ".clients"
LIST = ROOT / ".ci" / "clients.txt"
LIMIT = 600
"""Seconds that a call of a framework may take, where the scene is not about that."""
PROMPT = "Ask your owner with chatbridge."
BIN = "$program/node_modules/.bin"


@dataclass(frozen=True, kw_only=True)
class Program:
    """In its texts `$program` is where it is installed, `$home` the home folder of a run, `$limit`
    the seconds that a call may take, and `$model` the address of the model."""

    name: str
    shown: str
    package: str
    """Its line in the list."""
    connect: tuple[str, ...]
    """The words after `chatbridge connect`."""
    entries: tuple[str, ...]
    """The files that these write, below the home folder."""
    words: tuple[str, ...]
    variables: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)
    """Written before it is connected, below the home folder: where its model is."""
    permissions: bool = False
    """Its permissions come to the owner, too."""
    asks_itself: bool = False
    """So does its own tool for questions."""
    look: tuple[str, dict[str, str]] | None = None
    """A tool of its own that needs no permission, where messages come after each tool."""
    goes_on: bool = False
    """A message makes it go on when it would end."""
    asks_what_next: bool = False
    known: Mapping[str, str] = field(default_factory=dict)
    """Scenes that it plays in another way, which is not chatbridge's fault."""

    @property
    def folder(self) -> Path:
        return HOME / self.package

    @property
    def version(self) -> str:
        return re.split(r"[@=]+", packages()[self.package][1])[-1]

    @property
    def installed(self) -> bool:
        note = self.folder / ".made-of"
        return note.exists() and " ".join(packages()[self.package]) in note.read_text()

    def at(self, home: Path, model: str, limit: int | None) -> Program:
        """The same with its places filled in."""
        given = {"program": self.folder, "home": home, "model": model, "limit": limit or LIMIT}

        def fill(text: str) -> str:
            return Template(text).safe_substitute(given)

        return replace(
            self,
            words=tuple(map(fill, self.words)),
            variables={name: fill(text) for name, text in self.variables.items()},
            files={name: fill(text) for name, text in self.files.items()},
        )


def limited(entry: str, seconds: int) -> str:
    """An entry with another limit than `connect` has written: in seconds, in milliseconds, and for
    chatbridge."""
    entry = re.sub(r"\b(3600|100000)000\b", str(seconds * 1000), entry)
    entry = re.sub(r"(?<== )3600\b|(?<=\")3600(?=\")", str(seconds), entry)
    if "--limit" in entry:
        return entry
    return re.sub(r'"mcp"(\s*\])', rf'"mcp", "--limit", "{seconds}"\1', entry)


@cache
def packages() -> dict[str, list[str]]:
    """The words of each line of the list: where it is from, and what is installed."""
    lines = [line.split() for line in LIST.read_text().splitlines()]
    return {line[0]: line[1:] for line in lines if line and line[0] != "#"}


# ── programs that `connect` knows ─────────────────────────────────────────────────────────────────

CODEX = """model = "pretend"
model_provider = "pretend"

[model_providers.pretend]
name = "pretend"
base_url = "$model/v1"
env_key = "PRETEND_KEY"
wire_api = "responses"
"""
SEES = {"input": ["text", "image"], "output": ["text"]}
OPENCODE = {
    "model": "pretend/pretend",
    "autoupdate": False,
    "provider": {
        "pretend": {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": "$model/v1", "apiKey": "none"},
            "models": {"pretend": {"attachment": True, "tool_call": True, "modalities": SEES}},
        }
    },
}
PLUGIN_LOCK = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}
"""Where there is a plug-in, opencode fetches its own package for them before anything else. It has
done so before."""
GEMINI = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "privacy": {"usageStatisticsEnabled": False},
}
CLAUDE: dict[str, Any] = {
    "package": "claude-code",
    "entries": (".claude.json", ".claude/settings.json"),
    "permissions": True,
    "variables": {
        "ANTHROPIC_BASE_URL": "$model",
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "ENABLE_TOOL_SEARCH": "false",
        "MCP_CONNECTION_NONBLOCKING": "0",
    },
}
APPROVE = ("--permission-prompt-tool", "mcp__chatbridge__approve_tool_use")

PROGRAMS = [
    Program(
        name="claude-code",
        shown="Claude Code, `-p` with the permission tool",
        connect=("claude-code", "--no-hooks"),
        words=(f"{BIN}/claude", "-p", PROMPT, *APPROVE),
        asks_itself=True,
        **CLAUDE,
    ),
    Program(
        name="claude-code-hooks",
        shown="Claude Code, `-p` with hooks",
        connect=("claude-code",),
        words=(f"{BIN}/claude", "-p", PROMPT),
        look=("Bash", {"command": "ls", "description": "Lists files"}),
        goes_on=True,
        asks_what_next=True,
        **CLAUDE,
    ),
    Program(
        name="codex",
        shown="Codex, `exec`",
        package="codex",
        connect=("codex",),
        entries=(".codex/config.toml",),
        words=(f"{BIN}/codex", "exec", "--skip-git-repo-check", PROMPT),
        variables={"PRETEND_KEY": "none"},
        files={".codex/config.toml": CODEX},
    ),
    Program(
        name="opencode",
        shown="opencode, `run`",
        package="opencode",
        connect=("opencode",),
        entries=(".config/opencode/opencode.json",),
        words=(f"{BIN}/opencode", "run", PROMPT),
        variables={"OPENCODE_DISABLE_MODELS_FETCH": "1"},
        files={
            ".config/opencode/opencode.json": json.dumps(OPENCODE, indent=2),
            ".config/opencode/package-lock.json": json.dumps(PLUGIN_LOCK),
            ".config/opencode/node_modules/.package-lock.json": json.dumps(PLUGIN_LOCK),
        },
        look=("bash", {"command": "ls", "description": "Lists files"}),
    ),
    Program(
        name="gemini",
        shown="Gemini CLI, `-p`",
        package="gemini",
        connect=("gemini",),
        entries=(".gemini/settings.json",),
        words=(f"{BIN}/gemini", "-m", "gemini-2.5-flash", "-p", PROMPT),
        variables={
            "GEMINI_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": "$model",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GEMINI_CLI_NO_RELAUNCH": "true",  # else a signal ends the launcher alone
        },
        files={".gemini/settings.json": json.dumps(GEMINI, indent=2)},
        look=("list_directory", {"dir_path": "."}),
        goes_on=True,
    ),
]


# ── frameworks ────────────────────────────────────────────────────────────────────────────────────

ADAPTERS = str(Path(__file__).with_name("adapters.py"))
FRAMEWORKS = {
    "openai-agents": "OpenAI Agents SDK",
    "pydantic-ai": "Pydantic AI",
    "langchain": "LangChain, langchain-mcp-adapters",
    "google-adk": "Google ADK",
    "agno": "agno",
    "llama-index": "LlamaIndex",
    "autogen": "AutoGen",
}
ONLY_PATH = {"picture": "only its path"}
"""It makes a text of every result, or leaves pictures out."""
KNOWN = {
    "google-adk": ONLY_PATH,
    "llama-index": ONLY_PATH,
    "autogen": ONLY_PATH,
    "langchain": {"unknown": "no further result: it ended with 1"},
}

PROGRAMS += [
    Program(
        name=name,
        shown=shown,
        package=name,
        connect=("--print",),
        entries=("entry.json",),
        words=("$program/bin/python", ADAPTERS, name, PROMPT, "$limit", "$home/entry.json"),
        variables={
            "OPENAI_BASE_URL": "$model/v1",
            "OPENAI_API_KEY": "none",
            "GOOGLE_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": "$model",
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
            "AGNO_TELEMETRY": "false",
        },
        known=KNOWN.get(name, {}),
    )
    for name, shown in FRAMEWORKS.items()
]
