"""Shell completion, made from the commands' own parsers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import shtab

from chatbridge.cli import COMMANDS
from chatbridge.cli.completion import whole_parser
from chatbridge.cli.setup.commands import SHELLS, completion

ASK_BASH = """
chatbridge() {{
    [ "$*" = "pending --ids" ] && echo 3f9a2c 81ab00
    [ "$*" = "agents --names" ] && echo shop-api bank
}}
source "$1"
COMP_WORDS=({words}) COMP_CWORD={at}
_shtab_chatbridge "" "${{COMP_WORDS[COMP_CWORD]}}"
echo "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "chatbridge.bash"
    path.write_text(shtab.complete(whole_parser(), "bash"))
    return path


@pytest.mark.process
@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["pend"], {"pending"}),
        (["pending", "--w"], {"--watch"}),
        (["notify", "--level", "w"], {"warn", "warning"}),
        (["answer", "3f"], {"3f9a2c"}),
        (["cancel", ""], {"3f9a2c", "81ab00"}),
        (["tell", "sh"], {"shop-api"}),
        (["completion", "f"], {"fish"}),
        (["connect", "cl"], {"claude-code", "cline"}),
        (["connect", "codex", "--pr"], {"--project", "--print"}),
        (["disconnect", "go"], {"goose"}),
    ],
)
def test_bash_completes_commands_options_and_ids(
    script: Path, words: list[str], found: set[str]
) -> None:
    line = " ".join(f"'{word}'" for word in ["chatbridge", *words])
    program = ASK_BASH.format(words=line, at=len(words))
    done = subprocess.run(
        ["bash", "-c", program, "bash", str(script)], capture_output=True, text=True, timeout=30
    )
    assert found <= set(done.stdout.split()), done.stderr
    other = set(done.stdout.split()) - found
    assert not {it for it in other if not it.startswith("-")}


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_gets_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert completion([shell]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in COMMANDS)
