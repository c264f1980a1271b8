"""What an approval is about reaches the page to the letter, however it is laid out."""

from __future__ import annotations

import html
import re
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from chatbridge.channels.web.render import SPLIT_UP_TO, diff_html
from chatbridge.channels.web.render import command_html as command
from chatbridge.core.cards.phrases import format_change
from chatbridge.core.exact_text import exact
from chatbridge.core.model import Subject

SHELL = st.text(st.sampled_from("ab -='\"\\\n\t<>&$|;") | st.characters(), max_size=60)
LINES = st.lists(st.sampled_from(["+a", "-b", " c", "@@ -1 +1 @@", "--- x", "+++ y", "<b>", ""]))


def diff(code: str, *, whole_first: bool = False) -> tuple[Markup, Markup, Markup, int]:
    return diff_html(Subject(code=code, language="diff", whole_first=whole_first))


def read(shown: Markup) -> str:
    """What a person sees, and copies."""
    assert not re.search(r"<(?!/?span)", shown)
    return html.unescape(re.sub(r"</?span[^>]*>", "", shown))


@given(SHELL)
def test_a_command_is_shown_to_the_letter(code: str) -> None:
    assert read(command(code)) == code


ARGUMENTS = st.lists(
    st.text(
        st.sampled_from("a-= '\"\\`\n\r\t<>&$\u202e\u200d") | st.characters(codec="utf-8"),
        max_size=20,
    )
    | st.sampled_from(["</code></pre>", "a\n\n$ git status", "", " " * 100, "it's", "'\"'\"'"]),
    min_size=1,
    max_size=6,
)


@given(ARGUMENTS)
def test_a_commands_arguments_are_a_piece_each_whatever_is_in_them(argv: list[str]) -> None:
    shown = command(exact(shlex.join(argv)))
    pieces = [html.unescape(a) for a in re.findall(r"<span>(.*?)</span>", shown, re.DOTALL)]
    assert pieces == [exact(shlex.quote(each)) for each in argv]


def test_a_very_long_command_too() -> None:
    code = "echo <b> & " * SPLIT_UP_TO
    assert read(command(code)) == code


@given(LINES.map("\n".join) | SHELL)
def test_a_diff_is_shown_to_the_letter(code: str) -> None:
    head, middle, tail, hidden = diff(code)
    assert read(head) + read(middle) + read(tail) == code
    assert middle.count("<span") == hidden


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        ("git push --force", ["git", "push", "--force"]),
        ("echo 'a b' \"c d\"", ["echo", "'a b'", '"c d"']),
        ("a\\ b c", ["a\\ b", "c"]),
        ("--name='x y'z", ["--name='x y'z"]),
        ("it's fine", ["it's", "fine"]),
        ("one\n  two", ["one", "two"]),
    ],
)
def test_each_argument_stays_in_one_piece(code: str, arguments: list[str]) -> None:
    assert [html.unescape(a) for a in re.findall(r"<span>(.*?)</span>", command(code))] == arguments


def test_every_line_of_a_change_says_what_it_does() -> None:
    shown = diff("@@ 1 of 2 @@\n--- a comment of SQL\n+++ more\n same\n")[0]
    assert shown == (
        '<span class="place">@@ 1 of 2 @@\n</span>'
        '<span class="removed">--- a comment of SQL\n</span>'
        '<span class="added">+++ more\n</span>'
        '<span class="same"> same\n</span>'
    )


def test_an_empty_last_line_takes_no_room() -> None:
    last = exact("-a\n+b\n ").rpartition("\n")[2]
    assert diff(exact("-a\n+b\n "))[0].endswith(f'<span class="same end">{last}</span>')
    for code in ("-a\n+", "-a\n-", " a\n \n b", " "):
        assert " end" not in diff(exact(code))[0]


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("--- a comment of SQL\n-x\n+++ y\n+z", "2 lines added, 2 removed"),
        ("--- a comment of SQL\n+++ y\n@@ 2 of 2 @@\n+z", "2 lines added, 1 removed"),
        ("+++ y\n c", "1 line added"),
        ("--- x", "1 line removed"),
    ],
)
def test_lines_that_look_like_names_of_files_count(code: str, count: str) -> None:
    assert format_change(code) == count


def test_only_a_long_diff_is_cut_and_its_ends_are_seen() -> None:
    short, long = ("\n".join(f"+{i}" for i in range(n)) for n in (30, 60))
    assert diff(short)[3] == 0
    head, _, tail, hidden = diff(long)
    assert hidden == 60 - 14 - 8
    assert read(head).startswith("+0\n")
    assert read(tail).endswith("+59")


def test_a_diff_that_has_to_be_read_is_not_cut() -> None:
    code = "\n".join(f"+{i}" for i in range(60))
    head, *_, hidden = diff(code, whole_first=True)
    assert (read(head), hidden) == (code, 0)
