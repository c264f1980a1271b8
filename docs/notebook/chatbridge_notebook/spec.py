"""What chatbridge knows of this channel. Every command imports it, so it imports nothing heavy."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict
from pydantic_settings import NoDecode

from chatbridge.channels.spec import ChannelSpec
from chatbridge.setting_rules import is_same, is_within, listed


class Settings(BaseModel):
    """The table `[notebook]`. Off without a file."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    file: Path | None = None
    allowed_users: Annotated[tuple[str, ...], NoDecode, BeforeValidator(listed)] = ()


NOTEBOOK: ChannelSpec[Settings] = ChannelSpec(
    name="notebook",
    table="chatbridge_notebook.spec:Settings",
    is_on=lambda table: table.file is not None,
    build="chatbridge_notebook.channel:NotebookChannel",
    check="chatbridge_notebook.channel:check",
    people="allowed_users",
    account=lambda table: str(table.file),
    # An agent of yours could write an answer into the file.
    approvals=False,
    is_elsewhere=lambda table: False,
    limits={"file": is_same, "allowed_users": is_within},
)
