"""What the person writes to agents: each message has a key that no other has.

Owns the words of a message, and how one is told from the rest of a result.
"""

from __future__ import annotations

import json
import re
from typing import Any

Json = dict[str, Any]

MESSAGE = re.compile(r"m\d{4}z")
BEGINS = "Message from the owner of this computer, sent "


def words(project: str, number: int) -> tuple[str, str]:
    """The key of a message, and what it says."""
    key = f"m{number:04d}z"
    return key, f"{project} should know {key}"


def heard(response: Json) -> list[tuple[str, str]]:
    """The messages in a response: their keys, and all of their words."""
    blocks = response.get("result", {}).get("content", ())
    texts = (block.get("text", "") for block in blocks)
    ours = [text for text in texts if text.startswith(BEGINS)]
    return [(found[0] if (found := MESSAGE.search(text)) else "", text) for text in ours]


def without(response: Json) -> Json:
    """The response as it would be if nobody had written. With a message it has no structured
    content; the same is in its text."""
    if not heard(response):
        return response
    result: Json = response["result"]
    own = [it for it in result["content"] if not it.get("text", "").startswith(BEGINS)]
    found: Any = None
    for block in own:
        try:
            found = json.loads(block.get("text", ""))
        except ValueError:
            continue
    told = {"structuredContent": found} if isinstance(found, dict) else {}
    return {**response, "result": {**result, "content": own, **told}}
