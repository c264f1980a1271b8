"""The table `[attachments]`: how much is taken, and where a person's files go."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

KB, MB, GB = 1_000, 1_000_000, 1_000_000_000
_UNITS = {"": 1, "K": KB, "M": MB, "G": GB}


def parse_size(value: object) -> object:
    """Bytes, of a text such as `20MB`; anything else as it is. :raises ValueError: it is no size"""
    if isinstance(value, bool):
        raise ValueError("true and false are no size")
    if not isinstance(value, str):
        return value
    found = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,9})?)\s*([KMG]?)B?\s*", value, re.IGNORECASE)
    if found is None:
        raise ValueError('give bytes, or a number with a unit such as "500KB", "20MB", "1GB"')
    return int(float(found[1]) * _UNITS[found[2].upper()])


Size = Annotated[int, BeforeValidator(parse_size), Field(ge=1, le=1_000 * GB)]


class AttachmentLimits(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True, frozen=True)

    most: int = Field(default=5, ge=1, le=10)
    """Files with one ask, notice or answer. An album of a chat has ten places at most."""
    largest: Size = 20 * MB
    """Bytes that they may have together."""
    quota: Size = 1 * GB
    """Bytes that all files of agents may take, and as many for those of people."""
    outsider: Size = 2 * MB
    """Bytes that an agent without a project here may send with one call."""
    received: Literal["state", "project"] = "state"
    """Where the agent finds what a person sends."""

    @model_validator(mode="after")
    def _fits(self) -> AttachmentLimits:
        if self.largest > self.quota:
            raise ValueError("quota must be at least as much as largest")
        return self
