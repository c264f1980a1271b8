"""The journal on the disk: each answer one file, nothing overwritten, no link followed."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from chatbridge.core.model import Project
from chatbridge.tools.journal.journal import Entry, Journal, canonical

GOLDEN = Path(__file__).parents[1] / "golden" / "questions"
AT = 1_749_130_245.123  # 2025-06-05 13:30:45.123 UTC
DOCUMENTED = Entry.of(at=AT, question="What is your preferred approach?", answer="Option A")
NAME = "20250605_133045_question.yaml"


class Desk:
    """A project and a state directory."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "shop"
        self.root.mkdir()
        self.state = folder / "state"
        self.state.mkdir()
        self.project = Project(key=str(self.root), name="shop")

    def journal(self, folder: str = ".chatbridge/questions") -> Journal:
        return Journal(folder=folder, state=self.state)

    def save(self, entry: Entry = DOCUMENTED, **more: float) -> str:
        return self.journal().save(self.project, entry, **more)

    def files(self) -> list[str]:
        """All YAML files, relative to the folder of both."""
        return sorted(
            str(p.relative_to(self.root.parent)) for p in self.root.parent.rglob("*.yaml")
        )


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path.resolve())


def test_an_answer_is_saved_as_the_documented_file_inside_the_project(desk: Desk) -> None:
    saved_to = desk.save()
    assert saved_to == f".chatbridge/questions/{NAME}"
    assert (desk.root / saved_to).read_bytes() == (GOLDEN / NAME).read_bytes()
    assert desk.journal().where(desk.project) == ".chatbridge/questions"


def test_a_new_folder_is_kept_out_of_git_and_one_that_was_there_is_left_alone(desk: Desk) -> None:
    desk.save()
    assert (desk.root / ".chatbridge/questions/.gitignore").read_text() == "*\n"
    (desk.root / ".chatbridge/answers").mkdir()
    saved_to = desk.journal(".chatbridge/answers").save(desk.project, DOCUMENTED)
    assert saved_to == f".chatbridge/answers/{NAME}"
    assert not (desk.root / ".chatbridge/answers/.gitignore").exists()


def test_a_folder_of_swissarmyhammer_that_is_there_is_used_instead(desk: Desk) -> None:
    (desk.root / ".swissarmyhammer/questions").mkdir(parents=True)
    assert desk.save() == f".swissarmyhammer/questions/{NAME}"
    assert desk.journal().where(desk.project) == ".swissarmyhammer/questions"
    assert desk.journal("notes").save(desk.project, DOCUMENTED) == f"notes/{NAME}"


def test_a_second_answer_in_the_same_second_gets_a_name_of_its_own(desk: Desk) -> None:
    first = desk.save()
    later = Entry.of(at=AT + 0.5, question=DOCUMENTED.question, answer="Option B")
    second = desk.save(later)
    third = desk.save(Entry.of(at=AT, question="Another?", answer="Option A"))
    assert first == f".chatbridge/questions/{NAME}"
    assert second == ".chatbridge/questions/20250605_133045_2_question.yaml"
    assert third == ".chatbridge/questions/20250605_133045_3_question.yaml"
    assert set(desk.journal().read(desk.project).entries) > {DOCUMENTED, later}


def test_the_same_answer_is_saved_once_however_often_it_is_tried(desk: Desk) -> None:
    assert {desk.save() for _ in range(3)} == {f".chatbridge/questions/{NAME}"}
    assert desk.files() == [f"shop/.chatbridge/questions/{NAME}"]


def test_the_same_words_since_the_form_was_handed_out_are_the_same_answer(desk: Desk) -> None:
    first = desk.save(since=AT - 60)
    again = Entry.of(at=AT + 30, question=DOCUMENTED.question, answer=DOCUMENTED.answer)
    assert desk.save(again, since=AT - 60) == first
    assert desk.save(again, since=AT + 10) != first
    assert len(desk.files()) == 2


def test_an_existing_file_is_never_changed_not_even_an_empty_one(desk: Desk) -> None:
    folder = desk.root / ".chatbridge/questions"
    folder.mkdir(parents=True)
    (folder / NAME).touch()
    assert desk.save() == ".chatbridge/questions/20250605_133045_2_question.yaml"
    assert (folder / NAME).read_bytes() == b""


def test_answers_saved_at_the_same_moment_are_all_there(desk: Desk) -> None:
    entries = [Entry.of(at=AT, question=f"Number {i}?", answer="yes") for i in range(20)]
    threads = [threading.Thread(target=desk.save, args=(entry,)) for entry in entries]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(desk.journal().read(desk.project).entries) == set(entries)
    assert len(desk.files()) == 20


@pytest.mark.parametrize("link", [".chatbridge", ".chatbridge/questions"])
def test_a_link_on_the_way_is_not_followed_and_the_state_directory_used(
    desk: Desk, link: str
) -> None:
    elsewhere = desk.root.parent / "elsewhere"
    (elsewhere / "questions").mkdir(parents=True)
    (desk.root / link).parent.mkdir(exist_ok=True)
    (desk.root / link).symlink_to(elsewhere)
    saved_to = desk.save()
    assert os.path.dirname(os.path.dirname(saved_to)) == str(desk.state / "journal")
    assert desk.files() == [str(Path(saved_to).relative_to(desk.root.parent))]
    assert desk.save() == saved_to


def test_a_project_that_is_itself_behind_a_link_is_not_written_to(desk: Desk) -> None:
    alias = desk.root.parent / "alias"
    alias.symlink_to(desk.root)
    desk.project = Project(key=str(alias), name="alias")
    assert desk.save().startswith(str(desk.state))
    assert not (desk.root / ".chatbridge").exists()


@pytest.mark.parametrize("target", ["nowhere.yaml", "../target.yaml"])
def test_a_link_with_the_files_name_is_not_written_through(desk: Desk, target: str) -> None:
    folder = desk.root / ".chatbridge/questions"
    folder.mkdir(parents=True)
    (folder / NAME).symlink_to(target)
    assert desk.save() == ".chatbridge/questions/20250605_133045_2_question.yaml"
    assert not (folder / target).exists()


def test_where_the_project_cannot_be_written_it_goes_to_the_state_directory(desk: Desk) -> None:
    (desk.root / ".chatbridge").write_text("in the way")
    saved_to = desk.save()
    assert Path(saved_to).is_absolute()
    assert Path(saved_to).read_bytes() == (GOLDEN / NAME).read_bytes()
    assert saved_to.startswith(str(desk.state / "journal"))
    assert desk.journal().read(desk.project).entries == [DOCUMENTED]


def test_agents_without_a_project_have_journals_of_their_own(desk: Desk) -> None:
    desk.project = Project(key="link:1", name="no project")
    saved_to = desk.save()
    assert saved_to.startswith(str(desk.state / "journal"))
    assert desk.journal().where(desk.project) == os.path.dirname(saved_to)
    assert desk.journal().read(desk.project).entries == [DOCUMENTED]
    other = Project(key="link:2", name="no project")
    assert desk.journal().read(other).entries == []


def test_what_can_be_saved_nowhere_is_an_error_that_says_why(desk: Desk) -> None:
    (desk.root / ".chatbridge").write_text("in the way")
    (desk.state / "journal").write_text("in the way")
    with pytest.raises(OSError, match="Not a directory"):
        desk.save()


def test_a_disk_that_fills_up_leaves_no_half_file(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        desk.save()
    assert desk.files() == []


def test_files_by_hand_are_read_and_broken_ones_named(desk: Desk) -> None:
    folder = desk.root / ".chatbridge/questions"
    folder.mkdir(parents=True)
    (folder / "by_hand.yml").write_text("question: By hand?\nanswer: yes\n")
    os.utime(folder / "by_hand.yml", (AT, AT))
    (folder / "20240101_120000_question.yaml").write_text("question: Named?\nanswer: so\n")
    (folder / "notes.txt").write_text("question: No?\nanswer: no\n")
    (folder / "broken.yaml").write_text("question: [\n")
    (folder / "latin.yaml").write_bytes(b"question: \xe4\nanswer: \xf6\n")
    (folder / "huge.yaml").write_bytes(b"question: a\nanswer: " + b"b" * 1_000_000)
    (folder / "link.yaml").symlink_to(desk.root / "secret")
    (desk.root / "secret").write_text("question: Secret?\nanswer: told\n")
    os.mkfifo(folder / "pipe.yaml")
    (folder / "folder.yaml").mkdir()
    pages = desk.journal().read(desk.project)
    assert sorted(pages.entries) == [
        Entry(timestamp="2024-01-01T12:00:00.000Z", question="Named?", answer="so"),
        Entry(timestamp="2025-06-05T13:30:45.123Z", question="By hand?", answer="yes"),
    ]
    assert sorted(pages.skipped) == [
        ("broken.yaml", "not YAML"),
        ("folder.yaml", "not a file"),
        ("huge.yaml", "larger than 1 MB"),
        ("latin.yaml", "not UTF-8"),
        ("link.yaml", "a symbolic link"),
        ("pipe.yaml", "not a file"),
    ]


def test_both_folders_and_the_state_directory_are_read_and_nothing_twice(desk: Desk) -> None:
    desk.save()
    (desk.root / ".swissarmyhammer/questions").mkdir(parents=True)
    old = desk.root / ".swissarmyhammer/questions" / NAME
    old.write_bytes((GOLDEN / NAME).read_bytes())
    (old.parent / "older.yaml").write_text("timestamp: 2020-01-01\nquestion: Old?\nanswer: yes\n")
    before = canonical("2020-01-01") or ""
    assert sorted(desk.journal().read(desk.project).entries) == [
        Entry(timestamp=before, question="Old?", answer="yes"),
        DOCUMENTED,
    ]


def test_a_project_without_a_journal_has_nothing_in_it(desk: Desk) -> None:
    pages = desk.journal().read(desk.project)
    assert (pages.entries, pages.skipped) == ([], [])
    assert list(desk.root.iterdir()) == []


def test_of_a_folder_with_too_much_in_it_the_newest_files_are_read(desk: Desk) -> None:
    """A repository can bring along what it likes, and the hub must not hold all of it."""
    folder = desk.root / ".chatbridge/questions"
    folder.mkdir(parents=True)
    huge = "x" * 990_000
    for day in range(35):
        content = f"question: {day}\nanswer: {huge}\n"
        (folder / f"202506{day:02}_120000_question.yaml").write_text(content)
    pages = desk.journal().read(desk.project)
    read = {int(entry.question) for entry in pages.entries}
    assert read == set(range(35 - len(read), 35))
    assert {why for _, why in pages.skipped} == {"too much in this folder"}
    assert len(read) + len(pages.skipped) == 35
