"""How a command runs: its error messages and exit codes. Standard library only.

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
from importlib import import_module
from typing import Any, NoReturn, cast

from chatbridge.core.errors import ChatbridgeError, HubUnreachable
from chatbridge.core.text import visible

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
            import shutil
            import textwrap

            width = min(shutil.get_terminal_size().columns, WIDEST)
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
    parts = re.split("([\u2068\u2069])", text)
    return "".join(part if i % 2 else visible(part) for i, part in enumerate(parts))


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


def new_parser(name: str, description: str, **options: Any) -> argparse.ArgumentParser:
    """With line breaks where they were written, unless it is `flowing`."""
    kind = options.pop("kind", argparse.ArgumentParser)
    if not options.pop("flowing", False):
        options |= {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}
    made: argparse.ArgumentParser = kind(
        prog=f"chatbridge {name}", description=description, **options
    )
    return made


Work = Callable[[argparse.Namespace], int]


class Command:
    """Parses a command's arguments and runs its work, which returns the exit code. The work may be
    named, as `module:function`, and is imported then."""

    def __init__(self, work: Work | str, parser: Callable[[], argparse.ArgumentParser]) -> None:
        self.work, self.parser = work, parser

    def __call__(self, argv: list[str]) -> int:
        parser = self.parser()
        given = parser.parse_args(argv)
        given.argv = argv
        try:
            work = _found(self.work)[1] if isinstance(self.work, str) else self.work
            return run(lambda: int(work(given)))
        except WrongUsage as error:
            parser.error(str(error))


def command(
    name: str,
    description: str,
    *arguments: Argument | list[Argument],
    extend: Callable[[argparse.ArgumentParser], object] = lambda parser: None,
    **options: Any,
) -> Callable[[Work | str], Command]:
    """Make a function a command. Of the arguments in a list only one can be given; `extend` adds
    what cannot be listed, such as subcommands."""

    def parser() -> argparse.ArgumentParser:
        made = new_parser(name, description, **options)
        for given in arguments:
            if isinstance(given, tuple):
                made.add_argument(*given[0], **given[1])
                continue
            group = made.add_mutually_exclusive_group()
            for names, details in given:
                group.add_argument(*names, **details)
        extend(made)
        return made

    return lambda work: Command(work, parser)


def parser_of(place: str) -> Callable[[], argparse.ArgumentParser] | None:
    """That of the command at `module:name`. None: it reads its arguments by itself."""
    module, found = _found(place)
    make = getattr(found, "parser", None) or getattr(module, "parser", None)
    return cast("Callable[[], argparse.ArgumentParser] | None", make)


def _found(place: str) -> tuple[object, Any]:
    module, _, name = place.partition(":")
    found = import_module(module)
    return found, getattr(found, name or "main")
