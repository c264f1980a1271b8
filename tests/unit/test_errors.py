"""The errors and their page belong together."""

from __future__ import annotations

import re
from pathlib import Path

from chatbridge.core import errors

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"
CLASSES = {
    name
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, Exception)
}


def test_every_error_has_a_heading_and_every_heading_an_error() -> None:
    headings = re.findall(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert sorted(headings) == sorted(CLASSES)


def test_every_error_descends_from_one_class() -> None:
    assert all(issubclass(getattr(errors, name), errors.ChatbridgeError) for name in CLASSES)


def test_an_error_without_a_message_says_what_its_class_means() -> None:
    assert str(errors.StoreError()) == "The database cannot be read or written."


def test_messages_name_the_offending_value_and_the_next_step() -> None:
    running = errors.HubAlreadyRunning(pid=17, state_dir="/state")
    assert "pid 17" in str(running)
    assert "chatbridge stop" in str(running)
    assert "Open now: a, b" in str(errors.UnknownAsk("x", known=("a", "b")))
    assert "None is open" in str(errors.UnknownAsk("x"))
    newer = str(errors.NewerDatabase(path="db", found=3, known=2))
    assert "left untouched" in newer
    flood = str(errors.TooManyOpenAsks(limit=1, open_asks=("a: Which?",)))
    assert "\n- a: Which?" in flood
    given = errors.ToolInputError("No.", path="questions", given="0", accepted="1 to 10")
    assert str(given) == "No.\nquestions: given 0; accepted: 1 to 10"
