"""The owner's rules for what may be done without asking (`[[approvals.allow]]`). Pure functions.

A command fits a rule only if it is one simple command: plain words with single spaces between them.
Anything else that a shell interprets (quotes, variables, patterns, several commands) fits none, and
a person is asked. Files are checked elsewhere: here a path is a text below the project's folder.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

EDIT_TOOLS = ("Edit", "MultiEdit", "Write", "NotebookEdit")
COMMAND_TOOL = "Bash"

_WORD = re.compile(r"[A-Za-z0-9_./:,@%+=-]+", re.ASCII)
"""What no shell gives a meaning to. Not among them: all quotes, `~`, `*`, `#`, `!`, `^`."""
_SEGMENT = re.compile(r"[^/\\\[\]{}~\x00-\x1f]+")
STARTERS = frozenset({
    ".", "builtin", "chroot", "command", "doas", "env", "eval", "exec", "nice", "nohup", "parallel",
    "setsid", "source", "ssh", "stdbuf", "su", "sudo", "time", "timeout", "unshare", "watch",
    "xargs",
})  # fmt: skip
"""Programs whose arguments name the program that runs: a prefix says nothing about that."""
ANY_FOLDERS = "**"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    tools: tuple[str, ...]
    project: str  # The folder of the project, and no other: not those below it
    command: tuple[str, ...] = ()  # The first words of a command
    path: str = ""  # A pattern, below the project's folder
    expires: float | None = None

    def is_over(self, now: float) -> bool:
        return self.expires is not None and self.expires <= now

    @property
    def is_wide(self) -> bool:
        """Whether it covers files in every folder of the project, for ever."""
        return self.path.startswith("*") and ANY_FOLDERS in self.path and self.expires is None

    @property
    def what(self) -> str:
        """In words: `npm test …`, `Edit, Write of src/**`."""
        if self.path:
            return f"{', '.join(self.tools)} of {self.path}"
        more = " …" if len(self.command) > 1 else ""
        return f"{' '.join(self.command)}{more}"


def plain_words(command: str) -> tuple[str, ...] | None:
    """The words of a simple command; None if it is anything else. Not `shlex`: what it takes apart
    a shell may read in another way."""
    words = tuple(command.split(" "))
    if not all(map(_WORD.fullmatch, words)) or "=" in words[0]:
        return None
    return words


def check_command(words: Sequence[str]) -> tuple[str, ...]:
    """:raises ValueError: these are not the first words of a simple command, or they would allow
    every other program with it."""
    if not words or plain_words(" ".join(words)) != tuple(words):
        raise ValueError(
            'accepted: the first words of a command, such as "npm test", without quotes, '
            "variables, patterns or anything else that a shell reads"
        )
    program = words[0].rpartition("/")[2]
    if program in STARTERS:
        raise ValueError(f"{program} runs another program. Name that program itself")
    if len(words) > 1 and all(word.startswith("-") for word in words[1:]):
        raise ValueError("after an option anything can follow. Add a word, as in git status")
    return tuple(words)


def check_path(pattern: str) -> str:
    """:raises ValueError: it is no pattern of files below the project's folder."""
    segments = pattern.split("/")
    if not all(_SEGMENT.fullmatch(each) for each in segments):
        raise ValueError("accepted: a pattern below the project's folder, such as src/**")
    if any(each.startswith(".") for each in segments):
        raise ValueError("what begins with a dot is always asked for. Name visible folders")
    if any(ANY_FOLDERS in each and each != ANY_FOLDERS for each in segments):
        raise ValueError("write ** alone between slashes: it matches any number of folders")
    return pattern


def command_fits(rule: Rule, command: str) -> bool:
    """A rule of one word covers that word alone: what a program does is up to its arguments."""
    words, first = plain_words(command), rule.command
    if words is None or not first:
        return False
    return words == first if len(first) == 1 else words[: len(first)] == first


def path_fits(rule: Rule, below: str) -> bool:
    """`below`: the real path, relative to the project's real folder."""
    return bool(rule.path and below) and _fits(rule.path.split("/"), below.split("/"))


def _fits(pattern: Sequence[str], names: Sequence[str]) -> bool:
    """Not one expression for the whole path: with several `**`, a path of very many folders would
    keep the hub busy."""
    last = len(pattern) - 1
    reached = {0}  # how much of the pattern the names so far can stand for
    for name in names:
        after: set[int] = set()
        for place in range(len(pattern)):
            if place not in reached:
                continue
            if pattern[place] == ANY_FOLDERS:
                after.add(place)
                reached.add(place + 1)  # for no folder at all
                if place == last:
                    after.add(place + 1)
            elif re.fullmatch(_part(pattern[place]), name):
                after.add(place + 1)
        reached = after
    return last + 1 in reached


def _part(segment: str) -> str:
    signs = {"*": "[^/]*", "?": "[^/]"}
    return "".join(signs.get(char) or re.escape(char) for char in segment)
