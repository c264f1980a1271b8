"""What a client carries from call to call: taken back only as it was given out."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.tools.elicitation import FormState, States, about, key_in

STATE = FormState(about=about("/src/shop", "Which?"), ask="an-ask", at=1_749_130_245.25)
OURS = States(lambda: b"k" * 32)
SIGNED = OURS.signed(STATE)


def test_a_state_of_ours_is_opened_as_it_was() -> None:
    assert OURS.opened(SIGNED) == STATE
    orphaned = FormState(about="x", ask=None, at=0.0)
    assert OURS.opened(OURS.signed(orphaned)) == orphaned


def test_a_state_of_another_key_is_none() -> None:
    assert States(lambda: b"o" * 32).opened(SIGNED) is None


@given(st.integers(0, len(SIGNED) - 1), st.characters(codec="utf-8"))
def test_a_state_with_one_character_changed_is_none(at: int, other: str) -> None:
    altered = SIGNED[:at] + other + SIGNED[at + 1 :]
    assert (OURS.opened(altered) is None) == (altered != SIGNED)


@given(st.text() | st.from_regex(r"[A-Za-z0-9_-]+=*\.[A-Za-z0-9_-]+=*"))
def test_a_made_up_state_is_none(text: str) -> None:
    assert OURS.opened(text) is None


def test_a_signature_without_its_payload_is_none() -> None:
    payload, _, signature = SIGNED.partition(".")
    assert OURS.opened(payload) is None
    assert OURS.opened(f"{payload}.") is None
    assert OURS.opened(f".{signature}") is None


def test_a_form_is_about_one_question_in_one_project() -> None:
    assert len({about("/a", "b"), about("/a", "c"), about("/b", "b"), about("/a\0b", "")}) == 4


def test_the_key_is_made_once_and_readable_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "form-key"
    key = key_in(path)
    assert len(key) == 32
    assert key_in(path) == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_key_file_that_a_crash_left_empty_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "form-key"
    path.touch(mode=0o600)
    key = key_in(path)
    assert len(key) == 32
    assert path.read_bytes() == key


def test_a_key_file_that_is_too_long_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "form-key"
    path.write_bytes(b"k" * 5_000)
    assert len(key_in(path)) == 32


def test_no_link_leads_to_another_key(tmp_path: Path) -> None:
    path = tmp_path / "form-key"
    (tmp_path / "known").write_bytes(b"k" * 32)
    path.symlink_to(tmp_path / "known")
    with pytest.raises(OSError, match="symbolic links"):
        key_in(path)


def test_the_key_is_read_once_and_only_when_it_is_needed() -> None:
    reads: list[bytes] = []

    def key() -> bytes:
        reads.append(b"k" * 32)
        return reads[-1]

    states = States(key)
    assert not reads
    assert states.opened(states.signed(STATE)) == STATE
    assert len(reads) == 1
