"""The table of ntfy: a server, a topic that rings, and whether answers come back."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, SecretStr

from chatbridge.setting_rules import api_address, token

_server = api_address("https://ntfy.example.org")
_token = token(r"[\x21-\x7e]{8,}", problem="this is no access token, such as tk_ and 29 letters")


def _topic(value: str) -> str:
    if not re.fullmatch(r"[-_A-Za-z0-9]{0,64}", value, re.ASCII):
        raise ValueError("a topic has 1 to 64 letters, digits, - or _, such as agents-x7Kq2mPz")
    return value


class Ntfy(BaseModel):
    """Off without a topic."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    server: Annotated[str, AfterValidator(_server)] = "https://ntfy.sh"
    topic: Annotated[str, AfterValidator(_topic)] = ""
    token: Annotated[SecretStr | None, AfterValidator(_token)] = None
    answers: bool = False
    answer_topic: Annotated[str, AfterValidator(_topic)] = ""

    @property
    def answers_to(self) -> str:
        return self.answer_topic or f"{self.topic[:56]}-answers"
