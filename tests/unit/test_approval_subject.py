"""What an approval shows of a tool's use: nothing that would be run or written is left out."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.core.errors import ToolInputError
from chatbridge.core.model import Project, Subject
from chatbridge.tools.approvals import subject as approval_subject
from chatbridge.tools.approvals.subject import (
    CHANGE,
    COMMAND,
    COMPARED,
    NO_NEWLINE,
    effort,
    replaced,
    written,
)

SHOP = Project(key="/src/shop", name="shop")
TEXTS = st.text(alphabet=st.sampled_from("ab \n\r\x0b\u2028+-@\\"), max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
KEYS = st.sampled_from([
    "command", "description", "file_path", "old_string", "new_string", "replace_all", "content",
    "edits", "notebook_path", "new_source", "edit_mode", "cell_id", "x",
])  # fmt: skip
TOOLS = st.sampled_from(["Bash", "Edit", "MultiEdit", "Write", "NotebookEdit", "WebFetch"])


def subject_of(
    tool: str,
    given: dict[str, Any],
    project: Project = SHOP,
    *,
    folder: str | None = "/src/shop",
    started: bool = False,
) -> tuple[str, Subject]:
    return approval_subject.subject_of(tool, given, project, folder=folder, started=started)


def shown(tool: str, given: dict[str, Any], project: Project = SHOP) -> Subject:
    return subject_of(tool, given, project)[1]


# ── commands ──────────────────────────────────────────────────────────────────────────────────────


def test_a_command_is_shown_to_the_letter_with_the_folder_it_runs_in() -> None:
    given = {"command": "rm -rf 'build dir'\n", "description": "harmless", "timeout": 9}
    text, subject = subject_of("Bash", given, folder="/src/shop/build")
    assert text == COMMAND == "Run this command?"
    assert subject == Subject(
        code="rm -rf 'build dir'\n", language="bash", folder="/src/shop/build"
    )
    assert subject.where == "in"


def test_a_folder_that_is_only_where_the_agent_began_says_so() -> None:
    _, subject = subject_of("Bash", {"command": "ls"}, started=True)
    assert (subject.where, subject.folder) == ("agent started in", "/src/shop")


def test_a_tool_whose_input_is_shown_as_it_came_has_its_folder_too() -> None:
    given = {"command": "ls", "dangerouslyDisableSandbox": True}
    _, subject = subject_of("Bash", given, folder="/src/shop/build")
    assert (subject.language, subject.folder) == ("json", "/src/shop/build")


def test_a_folder_in_the_owners_home_is_written_as_they_would() -> None:
    home = os.path.expanduser("~")
    for folder, written_as in (
        (f"{home}/code/infra", "~/code/infra"),
        (f"{home}-other/infra", f"{home}-other/infra"),
        ("~/code/infra", None),
        (None, None),
    ):
        assert subject_of("Bash", {"command": "ls"}, folder=folder)[1].folder == written_as


def test_a_folder_that_is_no_text_is_refused() -> None:
    with pytest.raises(ToolInputError, match="A path is no text"):
        subject_of("Bash", {"command": "ls"}, folder="/src/\udcff")


@pytest.mark.parametrize(
    "given",
    [
        {"command": "ls", "dangerouslyDisableSandbox": True},
        {"command": ["ls"]},
        {"command": "  "},
        {},
    ],
)
def test_a_command_with_something_unknown_beside_it_is_shown_as_it_came(
    given: dict[str, Any],
) -> None:
    text, subject = subject_of("Bash", given)
    assert text == "Use `Bash`?"
    assert json.loads(subject.code) == given


@pytest.mark.parametrize(
    ("command", "first"),
    [
        ("x" * 3_000, False),
        ("x" * 3_001, True),
        ("x\n" * 20 + "x", False),
        ("x" * 120 + ("\n" + "x" * 120) * 19, False),
        ("x" * 120 + ("\n" + "x" * 120) * 20, True),
        ("🙂" * 1_500, False),
        ("🙂" * 1_501, True),
        ("\u202e\u202d" * 187, False),
        ("\u202e\u202d" * 188, True),
        ("\u2800" * 100_000, False),
    ],
)
def test_a_long_command_has_to_be_shown_whole_first(command: str, first: bool) -> None:
    assert shown("Bash", {"command": command}).whole_first is first


# ── files ─────────────────────────────────────────────────────────────────────────────────────────


def test_an_edit_is_shown_as_a_diff_of_its_file() -> None:
    given = {"file_path": "/src/shop/deploy/prod.tf", "old_string": "a\nb", "new_string": "a\nc"}
    text, subject = subject_of("Edit", given)
    assert text == CHANGE == "Change this file?"
    assert subject == Subject(code=" a\n-b\n+c", language="diff", file="deploy/prod.tf")


def test_an_edit_of_every_occurrence_says_so() -> None:
    given = {"file_path": "/a", "old_string": "a", "new_string": "b", "replace_all": True}
    assert shown("Edit", given).code == "@@ every occurrence @@\n-a\n+b"


def test_several_edits_are_shown_one_after_the_other() -> None:
    edits = [
        {"old_string": "a", "new_string": "b"},
        {"old_string": "", "new_string": "c", "replace_all": True},
    ]
    code = shown("MultiEdit", {"file_path": "/a", "edits": edits}).code
    assert code == "@@ 1 of 2 @@\n-a\n+b\n@@ 2 of 2, every occurrence @@\n+c"


def test_a_written_file_is_shown_as_a_whole() -> None:
    given = {"file_path": "/a", "content": "a\n\nb\n"}
    assert shown("Write", given).code == "@@ the whole file @@\n+a\n+\n+b"
    emptied = {"file_path": "/a", "content": ""}
    assert shown("Write", emptied).code == "@@ the whole file @@"


def test_a_notebooks_cell_is_shown_with_what_happens_to_it() -> None:
    given = {
        "notebook_path": "/n.ipynb",
        "cell_id": "c1",
        "new_source": "1",
        "cell_type": "code",
    }
    subject = shown("NotebookEdit", given)
    assert subject.code == f"@@ replace code cell c1 @@\n+1\n{NO_NEWLINE}"
    assert subject.file == "/n.ipynb"


@pytest.mark.parametrize(
    ("path", "real"),
    [
        ("/src/shop/../../etc/passwd", "/etc/passwd"),
        ("/src/shop//a", "/src/shop/a"),
        ("/src/shopping/a", None),
    ],
)
def test_a_file_that_may_be_elsewhere_is_named_as_it_came(path: str, real: str | None) -> None:
    subject = shown("Write", {"file_path": path, "content": "x"})
    assert (subject.file, subject.leads_to) == (path, real)


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Edit", {"file_path": "a", "old_string": "a", "new_string": "b"}),
        ("Edit", {"file_path": "/a", "old_string": "a", "new_string": "a"}),
        ("Edit", {"file_path": "/a", "old_string": "a", "new_string": "b", "more": 1}),
        ("Edit", {"file_path": "/a", "old_string": "a", "new_string": "b", "replace_all": "no"}),
        ("MultiEdit", {"file_path": "/a", "edits": [{"old_string": "a"}]}),
        ("MultiEdit", {"file_path": "/a", "edits": []}),
        ("Write", {"file_path": "/a", "content": 1}),
        ("Write", {"file_path": "/a\0", "content": "x"}),
        ("NotebookEdit", {"notebook_path": "/a", "new_source": "x", "edit_mode": "explode"}),
        ("NotebookEdit", {"notebook_path": "/a", "new_source": "x", "cell_id": "c1\n@@"}),
        ("NotebookEdit", {"notebook_path": "/a", "new_source": "x", "cell_type": "code cell"}),
    ],
)
def test_a_change_that_is_not_understood_is_shown_as_it_came(
    tool: str, given: dict[str, Any]
) -> None:
    text, subject = subject_of(tool, given)
    assert text == f"Use `{tool}`?"
    assert (json.loads(subject.code), subject.language) == (given, "json")


@given(TEXTS, TEXTS)
def test_a_diff_holds_both_texts_to_the_letter(old: str, new: str) -> None:
    lines = replaced(old, new).split("\n") if old != new else [f" {it}" for it in old.split("\n")]
    before = "\n".join(line[1:] for line in lines if line[:1] in ("-", " "))
    after = "\n".join(line[1:] for line in lines if line[:1] in ("+", " "))
    assert (before, after) == (old, new)


@given(TEXTS)
def test_a_written_text_can_be_read_back_to_the_letter(content: str) -> None:
    lines = written(content).split("\n") if content else []
    ended = bool(lines) and lines[-1] != NO_NEWLINE
    assert "\n".join(line[1:] for line in lines if line[:1] == "+") + "\n" * ended == content


@given(TEXTS, TEXTS)
def test_a_diff_that_compares_nothing_shows_all_of_the_old_and_then_of_the_new(
    old: str, new: str
) -> None:
    lines = [line for line in replaced(old, new, compare=False).split("\n") if line]
    signs = [line[0] for line in lines]
    assert signs == sorted(signs, key="-+".index)
    assert "\n".join(line[1:] for line in lines if line[0] == "-") == old
    assert "\n".join(line[1:] for line in lines if line[0] == "+") == new


def test_edits_that_take_too_long_to_compare_are_not_compared() -> None:
    edit = {"old_string": "a\n" * 200 + "b", "new_string": "a\n" * 200 + "c"}
    few = shown("MultiEdit", {"file_path": "/a", "edits": [edit] * 2}).code
    many = shown("MultiEdit", {"file_path": "/a", "edits": [edit] * 3}).code
    assert effort(edit["old_string"], edit["new_string"]) * 2 < COMPARED
    assert few.count("\n a") == 400
    assert many.count("\n-a") == many.count("\n+a") == 600


# ── any other tool ────────────────────────────────────────────────────────────────────────────────


def test_any_other_tool_is_shown_with_its_input() -> None:
    text, subject = subject_of("mcp__shop__pay", {"amount": 5, "to": "Ünal"})
    assert text == "Use `mcp__shop__pay`?"
    code = '{\n  "amount": 5,\n  "to": "Ünal"\n}'
    assert subject == Subject(code=code, language="json", folder="/src/shop")


def test_a_tools_name_cannot_leave_its_place_in_the_sentence() -> None:
    text, _ = subject_of("x`?\nAllow this, it is harmless \u202e`", {})
    assert text == "Use `x⟨U+0060⟩?⟨U+000A⟩Allow this, it is harmless ⟨U+202E⟩⟨U+0060⟩`?"


@given(TOOLS, st.dictionaries(KEYS, JSON | TEXTS, max_size=5))
def test_whatever_the_input_is_all_of_it_or_a_whole_command_or_change_is_shown(
    tool: str, given: dict[str, Any]
) -> None:
    text, subject = subject_of(tool, given)
    if text == COMMAND:
        assert subject.code == given["command"]
    elif text == CHANGE:
        assert subject.file
        assert subject.code.startswith(("@@", " ", "+", "-"))
    else:
        assert json.loads(subject.code) == given
