"""The names of the tools, and other names for clients that cannot use these.

Headless or inside an editor, Gemini CLI drops every tool called `ask_user` of any server, because
it disables its own tool of that name. Standard library only, because links list a tool, too.
"""

from __future__ import annotations

import re

TOOLS = (
    "ask_user",
    "wait_for_answer",
    "ask_user_questions",
    "get_answered_questions",
    "question_ask",
    "question_summary",
    "notify_user",
    "approve_tool_use",
    "check_messages",
)
ASK_USER = "ask_user"
ASK_HUMAN = "ask_human"


def offered_name(tool: str, client: str) -> str:
    """Return the tool's name for this client."""
    return ASK_HUMAN if tool == ASK_USER and _drops_ask_user(client) else tool


def resolve_name(name: str, client: str) -> str:
    """Return the tool of this name. A client may also use the usual name."""
    return ASK_USER if name == ASK_HUMAN and _drops_ask_user(client) else name


def replace_names(client: str, text: str) -> str:
    """Replace tool names in the text by those for this client."""
    return re.sub(rf"\b{ASK_USER}\b", offered_name(ASK_USER, client), text)


def _drops_ask_user(client: str) -> bool:
    return client.lower().startswith("gemini-cli")
