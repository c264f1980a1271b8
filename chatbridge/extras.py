"""Optional dependencies, and the command that adds them to this installation.

Owns how this chatbridge was installed. Imports nothing that it looks for.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import Any, NamedTuple

from chatbridge.core.errors import ExtraMissing

NAME = "chatbridge-mcp"
"""The distribution, which is what installers know."""


class Extra(NamedTuple):
    name: str
    """As in `pyproject.toml`."""
    modules: tuple[str, ...]
    package: str
    """The package that requires all others of the extra; several are parted by spaces."""
    title: str | None = None
    """As people spell it, if that is not the name with a capital."""


def need(extra: Extra) -> None:
    """:raises ExtraMissing: with the command that adds it."""
    if any(find_spec(name) is None for name in extra.modules):
        raise ExtraMissing(extra.title or extra.name.capitalize(), command=command(extra))


def command(extra: Extra) -> str:
    """What adds the extra to this very chatbridge, without fetching another one by its name. Tools
    that keep each program apart have a way of their own, which their upgrades keep to."""
    from shlex import join

    packages = extra.package.split()
    if os.path.exists(os.path.join(sys.prefix, "pipx_metadata.json")):
        words = ["pipx", "inject", NAME, *packages]
    elif os.path.exists(os.path.join(sys.prefix, "uv-receipt.toml")) or is_temporary():
        words = ["uv", "tool", "install", "--with", ",".join(packages), *_own_requirement()]
    elif find_spec("pip") is None:
        words = ["uv", "pip", "install", "--python", sys.executable, *packages]
    else:
        words = [sys.executable, "-m", "pip", "install", *packages]
    return join(words)


def is_temporary() -> bool:
    """Whether uvx runs this, from a folder in uv's cache that is removed some day."""
    return os.path.basename(os.path.dirname(sys.prefix)).startswith("archive-v")


def uvx_command() -> list[str]:
    """What runs this very chatbridge again with uvx, before the words of a command."""
    from shutil import which

    return [which("uvx") or "uvx", "--from", _own_requirement()[-1], "chatbridge"]


def lasting_command() -> str:
    """What installs this very chatbridge where it stays."""
    from shlex import join

    return join(["uv", "tool", "install", *_own_requirement()])


def _own_requirement() -> list[str]:
    """Return the arguments that name the source of this installation."""
    import json
    import re
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import unquote, urlsplit

    try:  # the metadata that installers store if the source was not an index
        stored = json.loads(distribution(NAME).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        stored = {}
    found: dict[str, Any] = stored if isinstance(stored, dict) else {}
    # Do not show the user name and password of an address.
    url = re.sub(r"//[^/@]*@", "//", str(found.get("url", "")))
    if isinstance(folder := found.get("dir_info"), dict):
        flags = ["--editable"] if folder.get("editable") else []
        return [*flags, unquote(urlsplit(url).path)]
    if isinstance(control := found.get("vcs_info"), dict):
        revision = control.get("requested_revision")
        url = f"{control.get('vcs')}+{url}{f'@{revision}' if revision else ''}"
    return [f"{NAME} @ {url}" if url else NAME]
