"""What doctor shows: lines of one form, whatever is in them."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.checks import Finding, Mark, fine, from_error, problem, remark
from chatbridge.cli.doctor.screen import MARGIN, drawn, summed_up

SAMPLE = """\
✓ configuration    ~/.config/chatbridge/config.toml, mode 0600
✓ database         412 questions, integrity ok
✓ hub              running for 3 d, version 1.0.0, links 2
! link             one older link (0.9.4) in shop-api: restart that agent
✗ telegram         another program polls this bot (409)
                   → stop it: look for a second chatbridge, or another bridge
                     with the same token; or make a new bot: chatbridge setup
✓ web inbox        http://127.0.0.1:8787
! codex            gives up after 300 s; your questions may wait 1 h
                   → chatbridge connect codex    (sets it to 3600)
✓ service          enabled, lingering on

1 problem, 2 warnings. Details: chatbridge doctor --json
"""


def test_the_screen_is_the_designs() -> None:
    stop = (
        "stop it: look for a second chatbridge, or another bridge with the same token; or make a "
        "new bot: chatbridge setup"
    )
    findings = [
        fine("configuration", "~/.config/chatbridge/config.toml, mode 0600"),
        fine("database", "412 questions, integrity ok"),
        fine("hub", "running for 3 d, version 1.0.0, links 2"),
        remark("link", "one older link (0.9.4) in shop-api: restart that agent"),
        problem("telegram", "another program polls this bot (409).", stop),
        fine("web inbox", "http://127.0.0.1:8787"),
        remark(
            "codex",
            "gives up after 300 s; your questions may wait 1 h",
            "chatbridge connect codex    (sets it to 3600)",
        ),
        fine("service", "enabled, lingering on"),
    ]
    shown = "".join(drawn(finding, width=80) for finding in findings)
    assert f"{shown}\n{summed_up(findings)}" == SAMPLE


@pytest.mark.parametrize(
    ("marks", "said"),
    [
        ([Mark.FINE], "All is well.\n"),
        ([], "All is well.\n"),
        ([Mark.REMARK], "1 warning. Details: chatbridge doctor --json\n"),
        ([Mark.PROBLEM, Mark.PROBLEM], "2 problems. Details: chatbridge doctor --json\n"),
    ],
)
def test_the_last_line_counts_what_is_not_fine(marks: list[Mark], said: str) -> None:
    assert summed_up([Finding(mark=mark, name="x", what="y") for mark in marks]) == said


def test_an_address_is_never_broken_in_two() -> None:
    address = "http://" + "a" * 90
    assert address in drawn(fine("web inbox", f"it is at {address} now"), width=80)


def test_an_error_says_first_what_is_wrong_and_below_what_to_do() -> None:
    error = "matrix: the bot is not in the room !a:b. Invite @bot:b there"
    assert drawn(from_error("matrix", error), width=80) == (
        "✗ matrix           the bot is not in the room !a:b\n"
        "                   → Invite @bot:b there\n"
    )


@given(name=st.text(max_size=30), what=st.text(max_size=300), fix=st.text(max_size=300))
def test_no_text_can_add_a_line_of_its_own_or_move_the_cursor(
    name: str, what: str, fix: str
) -> None:
    shown = drawn(remark(name, what, fix), width=80)
    first, *rest = shown.removesuffix("\n").split("\n")
    assert first[0] == "!"
    assert all(line.startswith(MARGIN) or not line for line in rest)
    controls = ("Cc", "Cs", "Zl", "Zp")
    assert not any(unicodedata.category(c) in controls for c in shown.replace("\n", ""))


@given(what=st.text(max_size=300))
def test_json_has_the_same_harmless_text(what: str) -> None:
    finding = problem("hub", what, what, more={"deep": [what]})
    said = finding.json()
    for text in (said["what"], *said["fix"], *said["details"]["more"]["deep"]):
        assert not any(unicodedata.category(c) == "Cc" for c in text)
