"""The plug-in for Claude Code in `.claude-plugin/`: what `chatbridge connect claude-code` writes,
and a skill. Its JSON is written anew by `python -m tests.documents.claude_plugin`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from chatbridge import __version__
from chatbridge.cli.connect.catalogue import PLUGIN_SECONDS, client_of
from chatbridge.cli.connect.hooks import Hooks
from chatbridge.cli.connect.jsonc import Jsonc
from chatbridge.cli.connect.machine import Program
from chatbridge.cli.connect.plans import entry_of
from tests.documents.pages import ROOT

FOLDER = ROOT / ".claude-plugin"
MARKETPLACE = FOLDER / "marketplace.json"
PLUGIN = FOLDER / "chatbridge"
MANIFEST = PLUGIN / ".claude-plugin" / "plugin.json"
SKILL = PLUGIN / "skills" / "asking" / "SKILL.md"
ANYWHERE = Program("chatbridge", ("mcp",))
"""The files are the same on every computer, so that the program has to be on PATH."""
DESCRIPTION = "Your agents ask you on your phone, and you write to them from there."


def files() -> dict[Path, Any]:
    """What is generated, as JSON."""
    client = client_of("claude-code")
    entry = entry_of(client, PLUGIN_SECONDS, ANYWHERE)
    hooks = Hooks(
        hooks=client.hooks, command=(*ANYWHERE.instead("hook"), "--plugin"), wait=PLUGIN_SECONDS
    )
    named = {"name": "chatbridge", "description": DESCRIPTION}
    owner = {"name": "the chatbridge authors"}
    return {
        MARKETPLACE: {
            **named,
            "owner": owner,
            "plugins": [{**named, "source": f"./{PLUGIN.relative_to(ROOT)}"}],
        },
        MANIFEST: {
            **named,
            "version": __version__,
            "author": owner,
            "license": "MIT",
            "mcpServers": {entry.keys[-1]: entry.shape | entry.numbers},
            **Jsonc().load(hooks.add(Jsonc(), "{}")),
        },
    }


def main() -> None:
    for path, content in files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{json.dumps(content, indent=2)}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
