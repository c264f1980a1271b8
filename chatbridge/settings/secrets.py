"""The folder `secrets/` beside `config.toml`: one file for each secret, for its owner alone.

Owns names and modes. The names are those of systemd credentials, so that a file can become one:
`chatbridge_telegram__token`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic_settings import BaseSettings, NestedSecretsSettingsSource
from pydantic_settings import SettingsError as Unreadable

from chatbridge.atomic_write import write_atomically
from chatbridge.core.errors import SettingsError

PREFIX = "chatbridge_"
FOLDER = "secrets"
OTHERS = 0o077


def folder_of(config: Path) -> Path:
    """Beside the name of the configuration: where that is a link into a shared folder, secrets do
    not go there."""
    return config.parent / FOLDER


def file_of(config: Path, *key: str) -> Path:
    """Where the secret of this key is: `("telegram", "token")`."""
    return folder_of(config) / (PREFIX + "__".join(key))


def place_of(config: Path, table: str, *settings: str, shown: Callable[[Path], str] = str) -> str:
    """Where the owner finds secrets that do not work. `shown` writes a path."""
    files = {setting: file_of(config, table, setting) for setting in settings}
    places = [shown(file) for file in files.values() if file.exists()]
    if others := [f"{table}.{setting}" for setting, file in files.items() if not file.exists()]:
        variables = "its variable" if len(others) == 1 else "their variables"
        places.append(f"{' and '.join(others)} in {shown(config)}, or {variables}")
    return " and ".join(places)


class _Source(NestedSecretsSettingsSource):
    """Reads files of this prefix alone: a container's folder of secrets has others in it, too."""

    @classmethod
    def load_secrets(cls, path: Path) -> dict[str, str]:
        ours = (it for it in sorted(path.glob("*")) if it.name.lower().startswith(PREFIX))
        inside = (it for it in ours if it.is_file() and path in it.resolve().parents)
        return {it.name: _text(it) for it in inside}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8"
        raise SettingsError(
            f"the secret {path} cannot be read ({why}). It has to be a text that the hub's user "
            f"can read: uid {os.getuid()}"
        ) from None


def source(settings: type[BaseSettings], folder: str | Path) -> NestedSecretsSettingsSource:
    """Settings from a folder of files."""
    return _Source(
        settings,  # type: ignore[arg-type]  # which it takes as well, as its own comment says
        secrets_dir=folder,
        secrets_dir_missing="ok",
        secrets_prefix=PREFIX,
        secrets_nested_delimiter="__",
    )


def read(settings: type[BaseSettings], config: Path) -> Mapping[str, object]:
    """What the folder says, as nested tables.
    :raises SettingsError: others can read it, or it cannot be read."""
    folder = folder_of(config)
    try:
        _check(folder)
        return source(settings, folder)()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, Unreadable) as error:
        what = getattr(error, "strerror", None) or "it has to be a folder of small text files"
        raise SettingsError(f"the secrets in {folder} cannot be read: {what}") from None


def keep(config: Path, *key: str, value: str) -> Path:
    """Write one secret: 0600 in a folder of 0700, and after a crash the old one or the new one.
    :raises SettingsError: it cannot be written. The old one is still there."""
    path = file_of(config, *key)
    try:
        for folder in (config.parent, path.parent):
            folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        path.parent.chmod(0o700)
        write_atomically(path, f"{value}\n".encode())
    except OSError as error:
        problem = f"{path} cannot be written ({error.strerror}). Nothing changed"
        raise SettingsError(problem) from error
    return path


def _check(folder: Path) -> None:
    """:raises SettingsError: with what to run. :raises FileNotFoundError: there is no folder."""
    found = folder.stat()
    if not stat.S_ISDIR(found.st_mode):
        raise SettingsError(f"{folder} has to be a folder. Rename what is there")
    if found.st_mode & OTHERS:
        raise SettingsError(
            f"others can read the folder {folder} (mode {stat.S_IMODE(found.st_mode):04o}). "
            f"Run: chmod 700 '{folder}'"
        )
    for path in sorted(it for it in folder.iterdir() if it.name.startswith(PREFIX)):
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            raise SettingsError(
                f"{path} is a link and would not be read. Put the file itself there"
            )
        if mode & OTHERS:
            raise SettingsError(
                f"others can read the secret {path} (mode {stat.S_IMODE(mode):04o}). "
                f"Run: chmod 600 '{path}'. If others use this computer, get a new secret, too"
            )
