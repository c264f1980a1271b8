"""Whether the words of a command are such as its program takes, without running it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from functools import cache

from chatbridge.cli import COMMANDS
from chatbridge.cli.completion import parser_of
from tests.documents.pages import ASSIGNED, ROOT
from tests.documents.stand_ins import Refused, accepts

PUNCTUATION = {"|", "||", "&&", ";", ">", "<"}


def check(command: str) -> None:
    """:raises Refused: one of its programs does not take its words."""
    for program, *words in simple_commands(command):
        if program == "chatbridge":
            chatbridge(words)
        elif program == "make":
            _make(words)
        elif words[:1] == ["-m"] and words[1].startswith("tests."):
            _in_its_help(words[1], words[2:])
        else:
            accepts(program, words)


def simple_commands(command: str) -> list[list[str]]:
    """The parts of a pipeline, without what becomes root and sets variables."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    parts: list[list[str]] = [[]]
    for word in lexer:
        if word in PUNCTUATION:
            parts.append([])
        elif parts[-1] or not (word == "sudo" or ASSIGNED.fullmatch(word)):
            parts[-1].append(word)
    return [part for part in parts if part]


def chatbridge(words: list[str]) -> None:
    """:raises Refused: the command is not there, or does not take these."""
    name, *rest = words
    if name.startswith("-"):
        return
    if name not in COMMANDS:
        raise Refused(f"chatbridge has no command {name}")
    make = parser_of(name)
    if make is None:
        if rest:
            raise Refused(f"chatbridge {name} has no parser to try {rest} with: run it")
        return
    try:
        make().parse_args(rest)
    except SystemExit as end:
        raise Refused(f"chatbridge {' '.join(words)} is refused ({end.code})") from end


def _in_its_help(module: str, words: list[str]) -> None:
    for word in words:
        if word not in _help_of(module):
            raise Refused(f"{module} --help does not know {word}")


@cache
def _help_of(module: str) -> str:
    words = [sys.executable, "-m", module, "--help"]
    shown = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60)
    if shown.returncode:
        raise Refused(shown.stderr)
    return shown.stdout


def _make(words: list[str]) -> None:
    """`-n` runs nothing. The variables are those of a make that runs this test."""
    clean = {name: it for name, it in os.environ.items() if "MAKE" not in name}
    tried = subprocess.run(
        ["make", "-n", *words], cwd=ROOT, env=clean, capture_output=True, text=True, timeout=60
    )
    if tried.returncode:
        raise Refused(tried.stderr)
