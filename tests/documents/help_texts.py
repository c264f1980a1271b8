"""The help texts on the command line's pages, each below its heading. Written anew by
`python -m tests.documents.help_texts`."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from tests.documents.pages import ROOT

PAGES = sorted((ROOT / "docs").glob("command-line*.md"))
BLOCK = re.compile(
    r"^#+ (.+)\n(?:(?!#).*\n)*?```\n((?:usage: |chatbridge carries )[^`]*)```$", re.MULTILINE
)


def help_of(*command: str) -> str:
    shown = subprocess.run(
        [sys.executable, "-m", "chatbridge", *command, "--help"],
        capture_output=True,
        text=True,
        env=os.environ | {"COLUMNS": "80"},
    )
    assert shown.returncode == 0
    return shown.stdout + shown.stderr


def main() -> None:
    for page in PAGES:
        page.write_text(BLOCK.sub(_written, page.read_text()))


def _written(found: re.Match[str]) -> str:
    heading = found[1].removeprefix("chatbridge ")
    command = () if heading == found[1] else heading.split()
    return found[0].replace(found[2], help_of(*command).strip("\n") + "\n")


if __name__ == "__main__":
    main()
