"""How a command runs: its arguments, error messages and exit codes. Standard library only.

The first sentence of an error says what happened, the rest what to do.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from itertools import groupby
from typing import Any, NoReturn

from chatbridge.core.errors import ChatbridgeError, HubUnreachable

FAILED, WRONG_USAGE, UNREACHABLE = 1, 2, 4
INTERRUPTED, BROKEN_PIPE = 130, 141
"""What a shell calls a command that Ctrl-C, or a closed pipe, has ended."""
MAX_WIDTH = 100
HELP_WIDTH = 80


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
            return BROKEN_PIPE
        full = error.errno == errno.ENOSPC
        complain(f"{error.strerror}. Free some space, then try again" if full else str(error))
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED


def _open_standard_files() -> None:
    """Open those that are closed to nowhere, so that no pipe of ours gets their numbers. Escape
    what the terminal's character set lacks, rather than fail."""
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
    """Say what happened and, on a line of its own, what to do."""
    what, full_stop, then = text.partition(". ")
    if what.split(" ")[0].isalpha():  # and no key or path, which is spelt as it is
        what = what[:1].upper() + what[1:]
    say(what + full_stop.strip(), *([then] if then else []))


def say(*lines: str) -> None:
    """To standard error: standard output is for what a script wants."""
    with suppress(OSError):
        told = printable("\n".join(lines)).split("\n")
        if sys.stderr.isatty():
            width = min(columns(), MAX_WIDTH)
            told = [piece for line in told for piece in wrapped(line, width) or [""]]
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


def is_interactive() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def allows_colours() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def prints_colours() -> bool:
    return sys.stdout.isatty() and allows_colours()


def wrapped(text: str, width: int, *, indent: str = "", hanging: str = "") -> list[str]:
    """Lines of this width, broken between words only."""
    import textwrap

    whole = textwrap.TextWrapper(
        width,
        initial_indent=indent,
        subsequent_indent=hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return whole.wrap(text)


class Help(argparse.HelpFormatter):
    """Help that fits into 80 columns and into a narrower terminal. Lines that begin with a space
    stay lines of their own; the other lines of a paragraph are refilled."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=min(columns(), HELP_WIDTH))

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return filled(text, width, indent=indent)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrapped(text, width)

    def _format_usage(self, *given: Any) -> str:
        usage = super()._format_usage(*given).rstrip("\n")
        return (
            "\n".join(it for line in usage.split("\n") for it in _kept(line, self._width)) + "\n\n"
        )


def filled(text: str, width: int, *, indent: str = "") -> str:
    """See `Help`."""
    lines: list[str] = []
    for kept, group in groupby(text.splitlines(), lambda line: line[:1] in ("", " ")):
        if kept:
            lines += [it for line in group for it in _kept(line, width)]
        else:
            lines += wrapped(" ".join(group), width, indent=indent, hanging=indent)
    return "\n".join(lines) + "\n"


def fitted(text: str) -> str:
    """Its lines, broken between words where the terminal is narrower."""
    if not sys.stdout.isatty():
        return text
    return "\n".join(it for line in text.split("\n") for it in _kept(line, columns()))


def _kept(line: str, width: int) -> list[str]:
    """As it is where it fits; else what follows goes below the second column, if there is one."""
    if len(line) <= width:
        return [line]
    begin = len(line) - len(line.lstrip())
    column = re.match(r" *\S.*?  +(?=\S)|usage: ", line)
    hanging = column.end() if column and column.end() <= 0.65 * width else begin + 4 if begin else 0
    return wrapped(line[begin:], width, indent=" " * begin, hanging=" " * hanging)


class Parser(argparse.ArgumentParser):
    """Says what was probably meant by a mistyped word."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        say(f"{self.prog}: {message}")
        sys.exit(WRONG_USAGE)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            from chatbridge.core.text import did_you_mean

            known = list(map(str, action.choices))
            near = did_you_mean(value, known, before=", ")
            raise argparse.ArgumentError(
                action, f"there is no {value!r}{near or '.'} There are: {', '.join(known)}"
            )

    def refuse(self, words: list[str]) -> NoReturn:
        """These arguments are none."""
        from chatbridge.core.text import did_you_mean

        near = did_you_mean(words[0].partition("=")[0], self._option_string_actions, before=", ")
        self.error(f"there is no argument {' '.join(words)}{near}")


class WrongUsage(Exception):
    """Raised by a command whose arguments cannot be used. The text is the parser's error."""


Argument = tuple[tuple[str, ...], dict[str, Any]]


def argument(*names: str, **options: Any) -> Argument:
    """What `add_argument` takes."""
    return names, options


def flag(*names: str, help: str, **options: Any) -> Argument:
    return names, {"action": "store_true", "help": help, **options}


ATTACH = argument(
    "--attach",
    action="append",
    default=[],
    metavar="FILE",
    help="a file to show with it, repeated",
)


class Command:
    """Parses a command's arguments, then imports its work, `module:function`, and runs it."""

    def __init__(
        self,
        name: str,
        description: str,
        *arguments: Argument | list[Argument],
        work: str,
        extend: Callable[[argparse.ArgumentParser], object] = lambda parser: None,
        passes_on: bool = False,
        **options: Any,
    ) -> None:
        """Of the arguments in a list only one can be given; `extend` adds what cannot be listed,
        such as subcommands. What is not known is an error, unless the work `passes_on` it as
        `rest`."""
        options |= {"prog": f"chatbridge {name}", "description": description}
        self._make = partial(Parser, formatter_class=Help, allow_abbrev=False, **options)
        self._arguments, self._extend = arguments, extend
        self._work, self._passes_on = work, passes_on

    def parser(self) -> Parser:
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
            parser.refuse(rest)
        given.argv, given.rest = argv, rest
        module, _, name = self._work.partition(":")
        try:
            return run(lambda: int(getattr(import_module(module), name)(given)))
        except WrongUsage as error:
            parser.error(str(error))
