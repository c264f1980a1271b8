"""The journal's YAML: to the letter as documented, and equal again whatever a text contains."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.tools.journal import yaml_text
from chatbridge.tools.journal.journal import Entry, canonical, stamp
from chatbridge.tools.journal.yaml_text import listed, parsed, summary, written

GOLDEN = Path(__file__).parents[1] / "golden" / "questions"
NOON = "2025-06-05T12:00:00.000Z"
DOCUMENTED = Entry(
    timestamp="2025-06-05T13:30:45.123Z",
    question="What is your preferred approach?",
    answer="Option A",
)
TRICKY = Entry(
    timestamp="2025-06-05T13:30:45.000Z",
    question='Say "yes": # or no?\n- {a: 1} &x *y !!z %TAG\t\\n',
    answer="true — grün \0 \u2028",
)
texts = st.text() | st.text(st.characters(categories=["Cc", "Cf", "Zl", "Zp", "Po", "So"]))
entries = st.builds(Entry.of, at=st.floats(0, 4_000_000_000), question=texts, answer=texts)


@pytest.mark.parametrize(
    ("entry", "name"),
    [(DOCUMENTED, "20250605_133045_question.yaml"), (TRICKY, "tricky_question.yaml")],
)
def test_a_saved_answer_is_the_documented_file_to_the_letter(entry: Entry, name: str) -> None:
    golden = (GOLDEN / name).read_text(encoding="utf-8")
    assert written(entry) == golden
    assert parsed(golden, otherwise_at=NOON) == entry


@given(entries)
def test_what_is_saved_is_read_back_equal_by_us_and_by_any_yaml_reader(entry: Entry) -> None:
    file = written(entry)
    file.encode()  # can be stored
    assert len(file.splitlines()) >= 4
    assert parsed(file, otherwise_at=NOON) == entry
    assert yaml.safe_load(file) == {
        "timestamp": entry.timestamp,
        "question": entry.question,
        "answer": entry.answer,
    }


@given(st.lists(entries, max_size=5), st.lists(st.tuples(texts, st.just("why")), max_size=25))
def test_a_summary_is_valid_yaml_whatever_the_texts_and_file_names_contain(
    given: list[Entry], skipped: list[tuple[str, str]]
) -> None:
    text = summary([listed(e) for e in given], total=9, generated=NOON, skipped=skipped)
    assert yaml.safe_load(text) == {
        "entries": [
            {"timestamp": e.timestamp, "question": e.question, "answer": e.answer} for e in given
        ]
    }
    assert text.splitlines()[2] == "# Total Q&A Pairs: 9"


@given(st.text())
def test_any_text_is_an_entry_or_refused_with_a_reason(text: str) -> None:
    try:
        found = parsed(text, otherwise_at=NOON)
    except ValueError as error:
        why = str(error)
        found = None
    assert found.timestamp if found else why


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no question and answer"),
        ("- a\n- b\n", "no question and answer"),
        ("question: [1\n", "not YAML"),
        ("answer: yes\n", "no question"),
        ("question: Which?\n", "no answer"),
        ("question: Which?\nanswer: [a, b]\n", "no answer"),
        ("question: !!python/name:os.system\nanswer: {}\n", "no answer"),
        ("question: a\n---\nanswer: b\n", "no question and answer"),
        ("? [a]\n: b\n", "no question and answer"),
        ("question: &a x\nanswer: *a\n", "no answer"),
        ("question: a\nanswer: b\nmore:\n" + "  - c: d\n" * 1_000, "too much beside .*"),
        ("[" * 100_000, "no question and answer"),
        ("a: " + "{b: " * 100_000, "too much beside .*"),
    ],
    ids=lambda value: value[:20],
)
def test_a_file_that_is_no_answer_is_refused_with_what_is_wrong(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=f"^{why}$"):
        parsed(text, otherwise_at=NOON)


@pytest.mark.parametrize(
    ("timestamp", "found"),
    [
        ("timestamp: 2025-06-05T13:30:45Z\n", "2025-06-05T13:30:45.000Z"),
        ('timestamp: "2025-06-05T15:30:45.123456789+02:00"\n', "2025-06-05T13:30:45.123Z"),
        ("timestamp: 2025-06-05 13:30:45\n", "2025-06-05T13:30:45.000Z"),
        ("timestamp: 2025-06-05 13:30:45 UTC\n", "2025-06-05T13:30:45.000Z"),
        ("timestamp: 2025-06-05\n", "2025-06-05T00:00:00.000Z"),
        ("timestamp: last tuesday\n", NOON),
        ("timestamp: 0001-01-01T00:00:00+14:00\n", NOON),
        ("timestamp: [a]\n", NOON),
        ("", NOON),
    ],
    ids=str,
)
def test_a_time_written_by_hand_is_understood_and_a_missing_one_made_up_for(
    timestamp: str, found: str
) -> None:
    by_hand = f"{timestamp}question: Deploy?\nanswer: yes\n"
    entry = parsed(by_hand, otherwise_at=NOON)
    assert entry == Entry(timestamp=found, question="Deploy?", answer="yes")


def test_times_are_utc_with_milliseconds_in_the_order_of_their_texts() -> None:
    assert stamp(1_749_130_245.1239) == "2025-06-05T13:30:45.123Z"
    assert canonical("2025-06-05T13:30:45.123Z") == "2025-06-05T13:30:45.123Z"


@pytest.mark.parametrize("loader", [yaml_text._Loader, yaml.BaseLoader], ids=["usual", "slow"])
@pytest.mark.parametrize("character", [r"\UFFFFFFFF", r"\U00110000", r"\uD800"])
def test_a_character_that_there_is_not_refuses_a_file_and_fails_nothing(
    monkeypatch: pytest.MonkeyPatch, loader: object, character: str
) -> None:
    """Also where PyYAML was built without its C part."""
    monkeypatch.setattr(yaml_text, "_Loader", loader)
    try:
        found = parsed(f'question: "{character}"\nanswer: b\n', otherwise_at=NOON)
    except ValueError:
        return
    assert listed(found).isascii()
