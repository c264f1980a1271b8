"""Whatever gets into a line that a command or the hub prints, the line can be read and does nothing
else: no colour, no cursor, no title, no link, nothing in the clipboard, no second line."""

from __future__ import annotations

import io
import logging
import sys
import unicodedata
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from chatbridge.channels.checks import from_error
from chatbridge.cli.connect.command import show_diffs, show_summaries
from chatbridge.cli.connect.machine import UserFolders
from chatbridge.cli.connect.plans import Change
from chatbridge.cli.doctor.screen import drawn
from chatbridge.cli.ui import prompts, tables, wording
from chatbridge.cli.ui.running import complain, printable, say
from chatbridge.core.text import isolated, one_line, visible
from chatbridge.hub.process.log import Format
from chatbridge.redaction import Secrets
from tests import strategies as some

OURS = "\u2068\u2069"
"""Around names, in sentences of chatbridge."""
KEPT = "\n\t\u200c\u200d"
"""Joiners: where `visible` leaves them, a script or an emoji needs them."""
STEERING = ("Cc", "Cf", "Cs", "Zl", "Zp")
ESCAPES = st.sampled_from(
    [
        "\x1b[2J\x1b[1;1H",
        "\x1b]0;title\x07",
        "\x1b]8;;http://evil\x1b\\safe\x1b]8;;\x1b\\",
        "\x1b]52;c;ZXZpbA==\x07",
        "\x9b2J\x9d0;x\x9c\x90q\x85",
        "\r✓ hub  runs",
        "\x08\x7f\x0b\x0c",
        "\U000e0041\U000e007f",
        "a" + "\u0301" * 50,
    ]
)


def _table(text: str) -> None:
    row = [wording.cell(text), wording.cell(text)]
    columns = (tables.Column(title="A"), tables.Column(title="B", gives_way=True))
    tables.write(tables.Table(columns=columns, rows=[row]))


def _diff(text: str) -> None:
    folder = Path("/home/a") / text.replace("/", "|").replace("\0", "0")
    change = Change(
        path=folder / "c.json",
        shown_as=UserFolders(Path("/home/a"), {}).display_path(folder / "c.json"),
        before=None,
        after=text.encode("utf-8", "replace"),
        private=False,
        base=folder,
    )
    show_diffs([change])
    show_summaries([change])


def _log_line(text: str) -> None:
    record = logging.LogRecord("chatbridge.x", logging.INFO, "x", 1, "said %s", (text,), None)
    sys.stderr.write(Format(Secrets(), journal=False).format(record))


PRINTERS: dict[str, Callable[[str], object]] = {
    "say": say,
    "complain": complain,
    "prompts.say": prompts.say,
    "prompts.good": prompts.good,
    "prompts.bad": lambda text: prompts.bad(text, text),
    "prompts.explain": prompts.explain,
    "table": _table,
    "finding": lambda text: sys.stdout.write(drawn(from_error("hub", text), width=80)),
    "diff": _diff,
    "log": _log_line,
}


@settings(max_examples=40)
@given(st.lists(ESCAPES | some.texts, max_size=4).map("".join))
def test_no_printed_line_steers_a_terminal(text: str) -> None:
    for name, printer in PRINTERS.items():
        out = io.StringIO()
        with redirect_stdout(out), redirect_stderr(out):
            printer(text)
        printed = out.getvalue().translate({ord(sign): None for sign in OURS})
        assert visible(printed) == printed, name
        plain = set(printed) - set(KEPT)
        assert {unicodedata.category(char) for char in plain}.isdisjoint(STEERING), name


@given(some.texts)
def test_what_is_printed_keeps_our_isolates_and_shows_all_else(text: str) -> None:
    sentence = f"There is no option {isolated(one_line(text))}."
    assert printable(sentence) == sentence
    bare = text.replace("\u2068", "").replace("\u2069", "")
    assert printable(bare) == visible(bare)
