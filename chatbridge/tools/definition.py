"""How a tool describes itself to clients: what all of ours have in common."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from mcp_types import Icon, Tool, ToolAnnotations

_SVG = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'><path fill='#0A6A50' d='M4 3h16a2 "
    "2 0 0 1 2 2v10a2 2 0 0 1-2 2h-8l-5 4v-4H4a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2z'/></svg>"
)
ICON = Icon(
    src=f"data:image/svg+xml;base64,{b64encode(_SVG.encode()).decode()}",
    mime_type="image/svg+xml",
    sizes=["any"],
)


def described(
    name: str,
    *,
    title: str,
    description: str,
    schema: dict[str, Any],
    read_only: bool = False,
    destructive: bool = False,
    idempotent: bool = False,
    open_world: bool = True,
) -> Tool:
    """Only a command of the owner's can be destructive."""
    return Tool(
        name=name,
        title=title,
        description=description,
        input_schema=schema,
        annotations=ToolAnnotations(
            title=title,
            read_only_hint=read_only,
            destructive_hint=destructive,
            idempotent_hint=idempotent,
            open_world_hint=open_world,
        ),
        icons=[ICON],
    )
