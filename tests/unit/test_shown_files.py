"""Files that commands copy and open: names that are safe, and types that nothing runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.attachments.content_type import EXTENSIONS
from chatbridge.cli.questions.files import OPENED_TYPES, attachments, saved_name
from chatbridge.core.errors import ChatbridgeError


@pytest.mark.parametrize(
    ("name", "saved"),
    [
        ("build.log", "build.log"),
        ("../../.bashrc", "bashrc"),
        ("a b;rm -rf.txt", "a_b_rm_-rf.txt"),
        ("-rf", "rf"),
        ("..", "file"),
        ("", "file"),
        ("Größe.png", "Gr_e.png"),
        ("x" * 300 + ".png", "x" * 100 + ".png"),
    ],
)
def test_a_name_from_outside_is_made_safe(name: str, saved: str) -> None:
    assert saved_name(name) == saved


@given(name=st.text())
def test_no_name_leads_out_of_the_folder_or_hides(name: str) -> None:
    saved = saved_name(name)
    assert saved == os.path.basename(saved)
    assert saved.isascii()
    assert saved[0] not in ".-"
    assert len(saved) <= 110


def test_only_pictures_texts_sound_and_pdf_are_opened_under_names_that_say_so() -> None:
    for kind in ("text/html", "image/svg+xml", "application/zip", "application/octet-stream"):
        assert kind not in OPENED_TYPES
    assert set(OPENED_TYPES) <= set(EXTENSIONS)
    runs = (".html", ".htm", ".svg", ".sh", ".desktop", ".diff", "")
    assert not set(OPENED_TYPES.values()) & set(runs)


def test_what_is_too_large_for_the_machines_hub_is_said_before_it_is_sent(tmp_path: Path) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_bytes(b"x")
    large.write_bytes(b"x" * 2_500_000)
    sent = attachments([str(small)], {"attach": "data"})
    assert sent == {"attachments": [{"data": "eA==", "name": "small"}]}
    with pytest.raises(ChatbridgeError, match="large is too large"):
        attachments([str(small), str(large)], {"attach": "data"})


def test_a_hub_from_before_files_is_not_asked_with_one() -> None:
    assert attachments([], {}) == {}
    with pytest.raises(ChatbridgeError, match="chatbridge restart"):
        attachments(["/a"], {})
