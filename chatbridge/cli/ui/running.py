"""How a command runs: its arguments, error messages and exit codes. Standard library only.

The first sentence of an error says what happened, the rest what to do.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any, NoReturn

from chatbridge.core.errors import ChatbridgeError, HubUnreachable

FAILED, UNREACHABLE = 1, 4
WRONG_USAGE = 64
INTERRUPTED, NOBODY_READS = 130, 141
"""What a shell calls a command that Ctrl-C, or a closed pipe, has ended."""
WIDEST = 100


def run(work: Callable[[], int]) -> int:
    """The command's exit code, whatever happens to it."""
    _open_standard_files()
    try:
        code = work()
        sys.stdout.flush()
        return code
    except ChatbridgeError as error:
        complain(str(error))
        usual = UNREACHABLE if isinstance(error, HubUnreachable) else FAILED
        return int(getattr(error, "exit_code", usual))
    except OSError as error:
        # What is still to be written goes nowhere: Python would complain about it at its end.
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if isinstance(error, BrokenPipeError):
            return NOBODY_READS
        complain(str(error))
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED


def _open_standard_files() -> None:
    """What whoever started us has closed is open to nowhere: none of our pipes shall be taken for
    it. And what a terminal's character set lacks is spelt out, not a reason to fail."""
    while (spare := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(spare)
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, closefd=False)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def complain(text: str) -> None:
    """First what happened, then, on a line of its own, what to do."""
    what, full_stop, then = text.partition(". ")
    if what.split(" ")[0].isalpha():  # and no key or path, which is spelt as it is
        what = what[:1].upper() + what[1:]
    say(what + full_stop.strip(), *([then] if then else []))


def say(*lines: str) -> None:
    """To standard error: standard output is for what a script wants."""
    with suppress(OSError):
        told = printable("\n".join(lines)).split("\n")
        if sys.stderr.isatty():
            import textwrap

            width = min(columns(), WIDEST)
            wrapper = textwrap.TextWrapper(
                width, break_long_words=False, break_on_hyphens=False, replace_whitespace=False
            )
            told = [piece for line in told for piece in wrapper.wrap(line) or [""]]
        sys.stderr.write("".join(f"{line}\n" for line in told))
        sys.stderr.flush()


def printable(text: str) -> str:
    """Escape what could steer the terminal. The isolates around names in our sentences stay."""
    if text.isascii() and text.isprintable():
        return text
    from chatbridge.core.text import visible

    parts = re.split("([\u2068\u2069])", text)
    return "".join(part if i % 2 else visible(part) for i, part in enumerate(parts))


def columns() -> int:
    """The width of the terminal, as shutil tells it, which is slow to import."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(1).columns or 80
    except OSError:
        return 80


def colourful() -> bool:
    """Whether what is printed may have colours."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not plain


class ScriptsParser(argparse.ArgumentParser):
    """For commands whose exit codes scripts go by: 2, with which argparse ends, is taken there."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(WRONG_USAGE, f"{self.prog}: {message}\n")


class WrongUsage(Exception):
    """Raised by a command whose arguments do not go together. The text is the parser's error."""


Argument = tuple[tuple[str, ...], dict[str, Any]]


def argument(*names: str, **options: Any) -> Argument:
    """What `add_argument` takes."""
    return names, options


def flag(*names: str, help: str, **options: Any) -> Argument:
    return names, {"action": "store_true", "help": help, **options}


class Command:
    """Parses a command's arguments, then imports its work, `module:function`, and runs it."""

    def __init__(
        self,
        name: str,
        description: str,
        *arguments: Argument | list[Argument],
        work: str,
        extend: Callable[[argparse.ArgumentParser], object] = lambda parser: None,
        flowing: bool = False,
        kind: type[argparse.ArgumentParser] = argparse.ArgumentParser,
        passes_on: bool = False,
        **options: Any,
    ) -> None:
        """Of the arguments in a list only one can be given; `extend` adds what cannot be listed,
        such as subcommands. Line breaks are where they were written, unless it is `flowing`. What
        is not known is an error, unless the work `passes_on` it as `rest`."""
        looks = argparse.HelpFormatter if flowing else argparse.RawDescriptionHelpFormatter
        options["formatter_class"] = lambda prog: looks(prog, width=columns() - 2)
        options |= {"prog": f"chatbridge {name}", "description": description}
        self._make = partial(kind, allow_abbrev=flowing, **options)
        self._arguments, self._extend = arguments, extend
        self._work, self._passes_on = work, passes_on

    def parser(self) -> argparse.ArgumentParser:
        made = self._make()
        for given in self._arguments:
            if isinstance(given, tuple):
                made.add_argument(*given[0], **given[1])
                continue
            group = made.add_mutually_exclusive_group()
            for names, details in given:
                group.add_argument(*names, **details)
        self._extend(made)
        return made

    def __call__(self, argv: list[str]) -> int:
        parser = self.parser()
        given, rest = parser.parse_known_args(argv)
        if rest and not self._passes_on:
            parser.error(f"unrecognized arguments: {' '.join(rest)}")
        given.argv, given.rest = argv, rest
        module, _, name = self._work.partition(":")
        try:
            return run(lambda: int(getattr(import_module(module), name)(given)))
        except WrongUsage as error:
            parser.error(str(error))
