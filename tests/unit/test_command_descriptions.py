"""What models are told about a command's tool."""

from __future__ import annotations

import re
from typing import Any

import pytest

from chatbridge.commands.tools.tool import description_of
from tests.fakes.made_commands import made


def of(**fields: Any) -> str:
    return description_of(made(**{"description": "Build the program", **fields}))


def test_an_asynchronous_tool_says_what_it_does_and_how_to_go_on_meanwhile() -> None:
    text = of(hints=["Write the release notes.", "Read the diff"], timeout=1800)
    assert text.split("\n") == [
        "Build the program.",
        "Runs in the background: the call returns an operationId at once. Go on with other work; "
        "do not wait. The result is pushed to you when it ends, and status, which never waits, "
        "shows it at any time. Call await only for the final validation, when nothing else is left "
        "to do.",
        "Meanwhile: Write the release notes; Read the diff.",
        "It is ended after 30 min.",
    ]


def test_a_client_that_takes_no_pushes_is_not_promised_any() -> None:
    text = description_of(made(), pushed=False)
    assert "pushed" not in text
    assert "Look at the result with status, which never waits." in text


def test_a_synchronous_tool_has_not_a_word_about_operations_or_waiting() -> None:
    for approve in ("never", "always", "once-per-session"):
        text = of(synchronous=True, hints=["Read the diff"], approve=approve, destructive=True)
        assert text.startswith("Build the program.\n")
        assert not re.search(
            "operation|wait|status|background|meanwhile|push|notif|later|Read the diff",
            text,
            re.IGNORECASE,
        )
    assert of(synchronous=True) == "Build the program."


@pytest.mark.parametrize("synchronous", [True, False])
def test_an_approval_says_that_a_person_is_asked_and_when(synchronous: bool) -> None:
    always = of(approve="always", synchronous=synchronous)
    assert "A person is asked on their phone before each run, and may deny it." in always
    once = of(approve="once-per-session", synchronous=synchronous)
    assert "before the first run of a session" in once
    assert "phone" not in of(synchronous=synchronous)


def test_what_cannot_be_taken_back_says_so() -> None:
    assert "cannot be taken back" in of(destructive=True)
    assert "cannot be taken back" not in of()


@pytest.mark.parametrize(
    ("seconds", "spoken"),
    [
        (45, "45 s"),
        (0.5, "0.5 s"),
        (90, "1 min 30 s"),
        (600, "10 min"),
        (7200, "2 h"),
        (604800, "7 d"),
    ],
)
def test_the_time_out_is_in_the_units_that_people_use(seconds: float, spoken: str) -> None:
    assert of(timeout=seconds).endswith(f"It is ended after {spoken}.")


def test_the_guidance_is_short() -> None:
    added = of(approve="always", destructive=True).removeprefix("Build the program.")
    assert len(added.split()) < 90
