"""Every place that names this version of chatbridge or where its repository is. `make release` runs
it: `python -m tests.packages.versions [TAG]` says what does not fit, and prints the version.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from chatbridge import __version__

ROOT = Path(__file__).resolve().parents[2]
SERVER = ".mcp/server.json"
PLUGIN = ".claude-plugin/chatbridge/.claude-plugin/plugin.json"
ACTION = ".github/actions/ask/action.yml"
ACTION_PAGE = "docs/github-action.md"
CHANGELOG = "docs/changelog.md"


def source() -> str:
    """The repository's address. Only pyproject.toml decides it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["urls"]["Source"])


def server() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / SERVER).read_text(encoding="utf-8"))
    return found


def versions() -> Iterator[tuple[str, str]]:
    """Each place beside the package itself, and the version that it names."""
    yield SERVER, server()["version"]
    for package in server()["packages"]:
        yield f"{SERVER}, packages", package["version"]
    yield PLUGIN, json.loads((ROOT / PLUGIN).read_text(encoding="utf-8"))["version"]
    action = yaml.safe_load((ROOT / ACTION).read_text(encoding="utf-8"))
    yield f"{ACTION}, version", str(action["inputs"]["version"]["default"])
    page = (ROOT / ACTION_PAGE).read_text(encoding="utf-8")
    for found in re.findall(r"\.github/actions/ask@v(\S+)", page):
        yield ACTION_PAGE, found


def mistakes() -> list[str]:
    wrong = [f"{place}: {found}" for place, found in versions() if found != __version__]
    if marker() not in (ROOT / "README.md").read_text(encoding="utf-8"):
        wrong.append(f"README.md: has no <!-- {marker()} -->")
    return wrong


def marker() -> str:
    """By which the MCP registry knows that package and entry belong together."""
    return f"mcp-name: {server()['name']}"


def is_in_changelog(version: str, changelog: str) -> bool:
    """Whether it has a heading of its own, with a date."""
    heading = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$"
    return re.search(heading, changelog, re.MULTILINE) is not None


def main(tag: str | None = None) -> int:
    wrong = mistakes()
    if not is_in_changelog(__version__, (ROOT / CHANGELOG).read_text(encoding="utf-8")):
        wrong.append(f"{CHANGELOG}: has no heading `## [{__version__}] - YEAR-MONTH-DAY`")
    if tag is not None and tag != f"v{__version__}":
        wrong.append(f"the tag: {tag}")
    if wrong:
        lines = "\n".join(f"  {line}" for line in wrong)
        sys.stderr.write(
            f"chatbridge/__init__.py says {__version__}. This does not fit:\n{lines}\n"
        )
        return 1
    sys.stdout.write(f"{__version__}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
