"""The owner's rules in `config.toml`: what one says, and what a mistake in one is answered with."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import pytest

from chatbridge.core.approval_rules import Rule
from chatbridge.core.errors import SettingsError
from chatbridge.settings import load


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


BASH, EDIT = "tool = 'Bash'\nproject = '/a'\n", "tool = 'Edit'\nproject = '/a'\n"
WRONG = [
    ("tool = 'Bash'\ncommand = 'npm test'", ".project: "),
    ("project = '/a'\ncommand = 'npm test'", ".tool: "),
    (f"{BASH}command = 'npm test'\nfolder = '/b'", ".folder is not a setting"),
    ("tool = 'Bash'\ncommand = 'npm test'\nproject = 'shop'", ".project: accepted: whole paths"),
    ("tool = 'Bash'\ncommand = 'npm test'\nproject = '*'", ".project: accepted: whole paths"),
    ("tool = 'Read'\npath = '**'\nproject = '/a'", ".tool.1: accepted: Bash, Edit, MultiEdit"),
    ("tool = []\npath = '**'\nproject = '/a'", ".tool: "),
    (BASH, ": needs a command or a path, and not both"),
    (f"{EDIT}command = 'ls'\npath = '**'", ": needs a command or a path, and not both"),
    (f"{EDIT}command = 'npm test'", ": a command is for Bash, a path for Edit"),
    (f"{BASH}path = 'src/**'", ": a command is for Bash, a path for Edit"),
    *((f"{BASH}command = {words}", ".command: accepted: the first words of") for words in (
        "''", "[]", "' '", "'npm  test'", "'npm test; x'", "'npm \"test\"'", "'A=1 npm'", "'npm *'",
        "['npm test', 'x']", "['npm', '']", "'npm tést'", "'~/x y'",
    )),
    *((f"{BASH}command = '{words}'", ".command: after an option anything") for words in (
        "bash -c", "python -m", "git -c", "node -e", "python -I -m",
    )),
    *((f"{BASH}command = '{words}'", f".command: {program} runs another program") for
        words, program in (("sudo npm test", "sudo"), ("/bin/env x", "env"), ("xargs rm", "xargs"))
    ),
    *((f"{EDIT}path = '{path}'", ".path: accepted: a pattern below") for path in (
        "", "/etc/**", "src//x", "~/x", "src/", "src/[ab]", "src\\\\x",
    )),
    *((f"{EDIT}path = '{path}'", ".path: what begins with a dot") for path in (
        "../x", "src/../x", ".git/**", "src/.env", "./src",
    )),
    (f"{EDIT}path = 'src**'", ".path: write ** alone between slashes"),
    (f"{EDIT}path = 1", ".path: "),
    *((f"{EDIT}path = '**'\nexpires = {when}", ".expires: accepted: a day or a time") for when in (
        "1", "true", "'tomorrow'", "'2026-13-01'", "9999-12-31", "08:00:00", "[]",
    )),
]  # fmt: skip


def test_a_rule_is_read_with_its_words_and_its_last_moment(file: Path) -> None:
    file.write_text(
        """
        [[approvals.allow]]
        tool = "Bash"
        command = ["npm", "test"]
        project = "~/shop"

        [[approvals.allow]]
        tool = ["Edit", "Write"]
        path = "src/**"
        project = "/src/shop"
        expires = 2026-12-31
        """
    )
    first, second = load(file).approvals.rules()
    assert first == Rule(
        tools=("Bash",), project=os.path.expanduser("~/shop"), command=("npm", "test")
    )
    assert (second.tools, second.path) == (("Edit", "Write"), "src/**")
    midnight = datetime(2027, 1, 1).astimezone().timestamp()
    assert second.expires == midnight
    for written in ("2027-01-01T00:00:00", "'2026-12-31'", "'2027-01-01T00:00:00'"):
        file.write_text(f"[[approvals.allow]]\n{EDIT}path = 'a'\nexpires = {written}")
        assert load(file).approvals.rules()[0].expires == midnight, written


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_a_mistake_in_a_rule_is_said_with_its_key(file: Path, text: str, said: str) -> None:
    file.write_text(f"[[approvals.allow]]\n{text}")
    with pytest.raises(SettingsError) as refused:
        load(file)
    assert str(refused.value).startswith(f"approvals.allow.1{said}"), refused.value


def test_rules_are_a_list_of_what_is_allowed(file: Path) -> None:
    for text, said in [
        ("[[approvals.deny]]\ntool = 'Bash'", "approvals.deny is not a setting"),
        ("[approvals]\nallow = 'Bash'", "approvals.allow: "),
    ]:
        file.write_text(text)
        with pytest.raises(SettingsError, match=said):
            load(file)
