"""`chatbridge show`: the files of a question, its answer or a message. Also what `--attach` names.

Only what a program for pictures, texts, recordings or PDFs can show is opened, under a name that
says so: nothing that an agent or a person sent is ever run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from typing import Any

from chatbridge.cli.hub.hub_client import ask_hub, is_set_up
from chatbridge.cli.ui.running import FAILED, WrongUsage, complain, say
from chatbridge.core.errors import ChatbridgeError

Json = dict[str, Any]

MAX_DATA_BYTES = 2_500_000
"""Of files that go to the hub as base64, in a line of 4 MiB."""
OPENED_TYPES = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
    "text/plain": ".txt",
    "text/x-diff": ".txt",
    "application/pdf": ".pdf",
    "audio/ogg": ".ogg",
    "audio/mpeg": ".mp3",
    "audio/mp4": ".m4a",
    "audio/wav": ".wav",
    "audio/webm": ".webm",
    "audio/flac": ".flac",
}
"""The types that are opened, and the endings by which programs know them, whatever a file's own
name is."""
MAX_NAME = 100
_UNSAFE = re.compile(r"[^\w.-]+", re.ASCII)


def show(given: argparse.Namespace) -> int:
    files = ask_hub("files", start=is_set_up(), id=given.id)["files"]
    if given.json:
        print(json.dumps(files, indent=2))
        return 0
    if not files:
        print("It has no files.")
        return 0
    if given.number is not None and given.number > len(files):
        complain(f"There is no file {given.number}, the last one is {len(files)}")
        return FAILED
    numbered = list(enumerate(files, start=1))
    chosen = [file for number, file in numbered if given.number in (None, number)]
    if given.save is not None:
        return _save(chosen, given.save)
    _print([each for each in numbered if given.number in (None, each[0])])
    if not (given.open or sys.stdout.isatty()):
        return 0
    if len(chosen) > 1:
        say(f"To open one: chatbridge show {given.id} NUMBER")
        return 0
    return _open(chosen[0])


def _print(files: list[tuple[int, Json]]) -> None:
    from chatbridge.cli.ui import tables
    from chatbridge.cli.ui.tables import Column, Table
    from chatbridge.cli.ui.wording import cell, display_path
    from chatbridge.core.cards.attached import format_size

    columns = (
        Column(title=""),
        Column(title="NAME", most=40),
        Column(title="TYPE", most=30),
        Column(title="SIZE", right=True),
        Column(title="OF", most=12),
        Column(title="WHERE", gives_way=True, most=200),
    )
    rows = [
        (
            str(number),
            cell(file["name"]),
            cell(file["type"]),
            format_size(file["size"]),
            cell(file["from"]),
            cell(display_path(file["path"])) if file["path"] else "in the inbox",
        )
        for number, file in files
    ]
    tables.write(Table(columns=columns, rows=rows))


def _content(file: Json) -> bytes:
    """:raises ChatbridgeError: it is not there, or not for this user."""
    if file["path"] is None:
        raise ChatbridgeError(f"{file['name']} cannot be read from here. See it in the inbox")
    try:
        with open(file["path"], "rb") as content:
            return content.read()
    except OSError as error:
        raise ChatbridgeError(
            f"{file['name']} cannot be read: {error.strerror}. See it in the inbox"
        ) from None


def _open(file: Json) -> int:
    import shlex
    import subprocess
    from shutil import which
    from tempfile import mkdtemp

    end = OPENED_TYPES.get(file["type"])
    if end is None:
        complain(f"A file of the type {file['type']} is not opened. Copy it with: --save FOLDER")
        return FAILED
    program = shlex.split(os.environ.get("BROWSER", "").partition(":")[0])
    if which("xdg-open"):
        program = ["xdg-open"]
    if not program:
        complain("There is no program to open it with (xdg-open). Copy it with: --save FOLDER")
        return FAILED
    path = _create(mkdtemp(prefix="chatbridge-"), f"file{end}", _content(file))
    quiet: Any = subprocess.DEVNULL
    try:
        subprocess.Popen(
            [*program, path], stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True
        )
    except OSError as error:
        complain(f"{program[0]} cannot be run: {error.strerror}. Copy it with: --save FOLDER")
        return FAILED
    return 0


def _save(files: list[Json], folder: str) -> int:
    if not os.path.isdir(folder):
        complain(f"There is no folder {folder}. Make it, or choose another one")
        return FAILED
    for file in files:
        print(_create(folder, saved_name(file["name"]), _content(file)))
    return 0


def saved_name(name: str) -> str:
    """A name from outside as one that is safe in any folder."""
    safe = _UNSAFE.sub("_", os.path.basename(name)).lstrip(".-_")
    stem, end = os.path.splitext(safe)
    return f"{stem[:MAX_NAME]}{end[:10]}" or "file"


def _create(folder: str, name: str, content: bytes) -> str:
    """A new file; one that is there already is left alone."""
    stem, end = os.path.splitext(name)
    for number in range(1, 1_000):
        path = os.path.join(folder, name if number == 1 else f"{stem}-{number}{end}")
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except FileExistsError:
            continue
        with open(file, "wb") as out:
            out.write(content)
        return path
    raise ChatbridgeError(
        f"there are too many files called {name} in {folder}. Choose another folder"
    )


def readable(paths: list[str]) -> list[str]:
    """What `--attach` names, as whole paths."""
    for path in paths:
        try:
            if not os.path.isfile(path):
                there = os.path.exists(path)
                raise WrongUsage(f"--attach {path!r}: {'not a file' if there else 'not found'}")
            os.close(os.open(path, os.O_RDONLY))
        except OSError as error:
            raise WrongUsage(f"--attach {path!r}: {error.strerror}") from None
    return [os.path.abspath(path) for path in paths]


def attachments(paths: list[str], limits: Json) -> Json:
    """The argument of a tool call. The machine's hub, and one elsewhere, cannot read our files."""
    if not paths:
        return {}
    how = limits.get("attach")
    if how is None:
        raise ChatbridgeError(
            "the hub that runs is of an earlier version and takes no files. Run: chatbridge restart"
        )
    if how == "path":
        return {"attachments": [{"path": path} for path in paths]}
    from base64 import b64encode

    found, left = [], MAX_DATA_BYTES
    for path in paths:
        with open(path, "rb") as content:
            data = content.read(left + 1)
        if len(data) > left:
            raise ChatbridgeError(
                f"{path} is too large to be sent to the hub. Attach a smaller file, or a part of it"
            )
        left -= len(data)
        found.append({"data": b64encode(data).decode(), "name": os.path.basename(path)})
    return {"attachments": found}


def refusal(text: str, paths: list[str]) -> str:
    """Why the hub refused a call, in the words of the command line if it was for one of `paths`."""
    field = re.search(r"^attachments\[(\d+)\]", text, re.MULTILINE)
    if field is None or int(field[1]) >= len(paths):
        return text
    problem = text.partition("\n")[0].removeprefix("Validation error: ")
    return f"--attach {paths[int(field[1])]!r}: {problem}"


def file_line(file: Json) -> str:
    """`photo.jpg (image/jpeg, 1.2 MB): /path`."""
    from chatbridge.core.cards.attached import format_size
    from chatbridge.core.text import one_line

    where = f": {file['path']}" if file.get("path") else ""
    return f"{one_line(file['name'])} ({file['type']}, {format_size(file['size'])}){where}"
