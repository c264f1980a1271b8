"""Changes single keys of `config.toml` and leaves everything else as its owner wrote it.

Writes the file for its owner alone, whole or not at all, and follows a link to the real file.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chatbridge import runtime_paths
from chatbridge.atomic_write import write_atomically
from chatbridge.core.errors import SettingsError

if TYPE_CHECKING:
    from chatbridge.settings import Settings

Key = tuple[str, ...]
"""In a list of tables, digits are a place: `("people", "0", "telegram")`."""
Value = str | int | bool | Sequence[str] | Sequence[int] | None
"""None takes the key out."""

EXAMPLE = Path(__file__).parents[1] / "settings" / "example.toml"
TEMPLATE = f"""\
# chatbridge's settings. What each key means: {EXAMPLE}
# Secrets are not in here but in the folder "secrets" beside this file.
# After a change by hand: chatbridge restart. Agents that wait do not notice.
"""


def config_file() -> Path:
    return Path(runtime_paths.config_path())


def table_in(path: Path, name: str) -> dict[str, Any]:
    """A table as the file alone has it now, without what counts over it.
    :raises SettingsError: the file cannot be read, or not be used."""
    from chatbridge import settings

    found = settings.read(path)
    settings.checked(found, path)
    return dict(found.get(name, {}))


def settings_with(path: Path, changes: Mapping[Key, Value]) -> Settings:
    """Those that would be in force with these keys set. Nothing is written.
    :raises SettingsError: the file cannot be read, or not be used with them."""
    from chatbridge import settings

    after = changed(settings.text(path) or "", changes, path=path)
    return settings.checked(tomllib.loads(after), path)


def change(path: Path, changes: Mapping[Key, Value]) -> None:
    """Set these keys, such as `("telegram", "chat_id")`. What comes of it is checked before
    anything is written. :raises SettingsError: the file cannot be read or written, or could not be
    used afterwards. It is as it was."""
    from chatbridge import settings
    from chatbridge.channels.registry import channel_specs
    from chatbridge.settings.authority import variable_of

    before = settings.text(path)
    if before is None:
        before = TEMPLATE
    after = changed(before, changes, path=path)
    now = settings.checked(tomllib.loads(after), path)
    # Variables cannot change these settings once the file names the chat.
    fixed = [(spec.name, name) for spec in channel_specs() for name in spec.file_default]
    lost = [key for key in fixed if key not in changes and variable_of(key) in now.ignored]
    if kept := _so_far(before, path, lost):
        after = changed(after, kept, path=path)
    if after == before and path.exists():
        return
    real = Path(os.path.realpath(path))  # a link stays one
    try:
        real.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
        write_atomically(real, after.encode())
    except OSError as error:
        raise SettingsError(
            f"{real} cannot be written ({error.strerror}). It is as it was"
        ) from error


def _so_far(before: str, path: Path, keys: Sequence[Key]) -> Mapping[Key, Value]:
    """What variables have said of these keys until now, to be written down."""
    from chatbridge import settings
    from chatbridge.settings.authority import variable_of

    if not keys:
        return {}
    try:
        so_far = settings.checked(tomllib.loads(before), path)
    except SettingsError:
        return {}
    return {
        (table, name): getattr(getattr(so_far, table), name)
        for table, name in keys
        if variable_of((table, name)) not in so_far.ignored
    }


def changed(text: str, changes: Mapping[Key, Value], *, path: Path) -> str:
    """The text with these keys set. :raises SettingsError: it is no TOML."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    from chatbridge import settings

    try:
        settings.parsed(text, path)
        document = tomlkit.parse(text)
    except (SettingsError, TOMLKitError) as error:
        why = error if isinstance(error, SettingsError) else f"{path} cannot be changed: {error}"
        raise SettingsError(
            f"{why}. It was not changed. Correct it, or rename it to start over"
        ) from None
    for key, value in changes.items():
        _set(document, key, value, path=path)
    return tomlkit.dumps(document)


def _set(table: Any, key: Key, value: Value, *, path: Path) -> None:
    import tomlkit

    for name, inner in pairwise(key):
        if isinstance(table, list):
            table = table[int(name)]
            continue
        if name not in table:
            if value is None:
                return
            table[name] = tomlkit.table()
        table = table[name]
        if not isinstance(table, list if inner.isdecimal() else dict):
            raise SettingsError(f"{name} in {path} has to be a table: [{name}]. Correct it")
    last = key[-1]
    if value is None:
        table.pop(last, None)
    elif isinstance(value, list | tuple) and isinstance(table.get(last), list):
        _set_items(table, last, list(value))
    elif table.get(last) != value:
        table[last] = value


def _set_items(table: dict[str, Any], last: str, wanted: list[Any]) -> None:
    """One by one, so that remarks beside the others stay."""
    items = table[last]
    for item in [item for item in items if item not in wanted]:
        items.remove(item)
    for item in wanted:
        if item not in items:
            items.append(item)
    if list(items) != wanted:
        table[last] = wanted
