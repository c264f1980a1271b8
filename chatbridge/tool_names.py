"""The names under which clients are offered our tools, where they cannot use the usual one.

Gemini CLI drops every tool called `ask_user`, of whatever server, when it runs headless or inside
an editor, because it switches a tool of its own off by that name. Standard library only: a link
without a hub lists a tool, too.
"""

from __future__ import annotations

import re

ASK_USER = "ask_user"
ASK_HUMAN = "ask_human"


def offered_name(tool: str, client: str) -> str:
    """Under which name this client is offered the tool."""
    return ASK_HUMAN if tool == ASK_USER and _drops_ask_user(client) else tool


def resolve_name(name: str, client: str) -> str:
    """Which tool this client means. It may use the usual name as well."""
    return ASK_USER if name == ASK_HUMAN and _drops_ask_user(client) else name


def replace_names(client: str, text: str) -> str:
    """The text with the names that this client knows."""
    return re.sub(rf"\b{ASK_USER}\b", offered_name(ASK_USER, client), text)


def _drops_ask_user(client: str) -> bool:
    return client.lower().startswith("gemini-cli")
