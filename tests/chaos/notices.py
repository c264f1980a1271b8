"""What agents tell the person without asking: each notice has a key that no other has.

Owns the words of a notice, and what a result of `notify_user` says.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tests.chaos import messages

Json = dict[str, Any]

NOTICE = re.compile(r"n\d{4}z")
CHATS = ("telegram", "matrix", "discord")
"""What keeps every notice; the inbox lists the newest."""
LISTED = 20


class Ending(StrEnum):
    """How a call ended."""

    TAKEN = "taken"
    ERROR = "error"
    LINK_GONE = "link gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    status: Ending
    sent: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    text: str = ""


def words(agent: str, number: int) -> tuple[str, str]:
    """The key of a notice, and what it says."""
    key = f"n{number:04d}z"
    return key, f"{agent} goes on with {key}"


def read(response: Json) -> Result:
    if "error" in response:
        return Result(status=Ending.ERROR, text=str(response["error"]))
    result = messages.without(response)["result"]
    text = "\n".join(block.get("text", "") for block in result.get("content", ()))
    if result.get("isError"):
        return Result(status=Ending.ERROR, text=text)
    told = json.loads(text)
    return Result(
        status=Ending.TAKEN, sent=tuple(told["sent"]), waiting=tuple(told["waiting"]), text=text
    )
