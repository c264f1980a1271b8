"""The action that asks a person in a workflow: its steps run as they stand in its file, as GitHub's
runner runs them, against a real hub."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from chatbridge import __version__
from tests.acceptance.bridge import PATIENCE, new_home
from tests.acceptance.served import Served, served
from tests.fakes.program import ROOT

ACTION = ROOT / ".github/actions/ask/action.yml"
EXPRESSION = re.compile(r"\$\{\{\s*inputs\.([a-z]+)\s*\}\}")
BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail")
"""How the runner calls `shell: bash`, before the script's name."""
OUTPUT = re.compile(r"(\w+)(?:=(.*)\n|<<(.+)\n((?s:.*?))\n\3\n)")
Json = dict[str, Any]


@pytest.fixture(scope="module")
def hub() -> Iterator[Served]:
    with new_home(MIN_TIMEOUT="1s") as here, served(here) as it:
        yield it


@pytest.fixture(scope="module")
def token(hub: Served) -> str:
    return hub.token("ci")


def action() -> Json:
    found: Json = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
    return found


@dataclass
class Runner:
    """What GitHub's runner does with a step of a composite action."""

    folder: Path
    inputs: dict[str, str]
    path: str = str(Path(sys.executable).parent)
    """Where chatbridge is."""

    @property
    def output(self) -> Path:
        return self.folder / "GITHUB_OUTPUT"

    @contextmanager
    def step(self, name: str) -> Iterator[subprocess.Popen[str]]:
        (step,) = (it for it in action()["runs"]["steps"] if it["name"] == name)
        assert step["shell"] == "bash"
        script = self.folder / "step.sh"
        script.write_text(step["run"], encoding="utf-8")
        environment = {
            "HOME": str(self.folder),
            "PATH": f"{self.path}:{os.environ['PATH']}",
            "RUNNER_TEMP": str(self.folder),
            "GITHUB_OUTPUT": str(self.output),
            **{variable: self._filled(value) for variable, value in step["env"].items()},
        }
        process = subprocess.Popen(
            [*BASH, script],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def run(self, name: str) -> tuple[int, str]:
        with self.step(name) as process:
            log, _ = process.communicate(timeout=PATIENCE)
            return process.returncode, log

    def outputs(self) -> dict[str, str]:
        found = OUTPUT.finditer(self.output.read_text(encoding="utf-8"))
        return {it[1]: it[2] if it[3] is None else it[4] for it in found}

    def _filled(self, value: str) -> str:
        inputs = {it: details.get("default", "") for it, details in action()["inputs"].items()}
        return EXPRESSION.sub(lambda found: {**inputs, **self.inputs}[found[1]], value)


NASTY = """Say "this" and 'that', $(touch hacked) `touch hacked` ${HOME} %s \\n & ; | > hacked
::set-output name=answer::hacked"""
OPTIONS = ("$(touch hacked)", "--json", 'it\'s "fine"', "-", "* ? [a]")
ANSWER = "two lines\nstatus=hacked\nend-0"


def test_no_input_can_become_a_part_of_the_command(hub: Served, token: str, tmp_path: Path) -> None:
    asked = {
        "question": NASTY,
        "options": "\n".join(OPTIONS),
        "title": "-t \"$(touch hacked)\" 'x'",
        "timeout": "20min",
    }
    runner = Runner(tmp_path, {**asked, "url": hub.url, "token": token})
    with runner.step("Ask") as process:
        question = hub.home.person.sees(NASTY, project="ci")
        assert question["title"] == asked["title"]
        labels = [option["label"] for option in question["questions"][0]["options"]]
        assert labels == list(OPTIONS)
        hub.home.person.answer(question, {"values": [], "customText": ANSWER})
        log, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, log
    assert runner.outputs() == {"status": "answered", "answer": ANSWER}
    assert token not in log
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize(
    ("inputs", "values", "answer"),
    [
        ({"confirm": "true"}, ["yes"], "yes"),
        ({"multi": "true", "options": "a\n\nb\nc\n"}, ["a", "c"], "a\nc"),
    ],
    ids=["confirm", "multi"],
)
def test_each_kind_of_question_gives_its_answer(
    hub: Served, token: str, tmp_path: Path, inputs: dict[str, str], values: list[str], answer: str
) -> None:
    text = f"Which of {sorted(inputs)}?"
    runner = Runner(tmp_path, {**inputs, "question": text, "url": hub.url, "token": token})
    with runner.step("Ask") as process:
        question = hub.home.person.sees(text, project="ci")
        hub.home.person.answer(question, {"values": values})
        process.communicate(timeout=PATIENCE)
    assert runner.outputs() == {"status": "answered", "answer": answer}


def test_a_cancelled_question_fails_the_step_and_says_so(
    hub: Served, token: str, tmp_path: Path
) -> None:
    runner = Runner(tmp_path, {"question": "Cancel me?", "url": hub.url, "token": token})
    with runner.step("Ask") as process:
        question = hub.home.person.sees("Cancel me?", project="ci")
        hub.home.person.cancel(question["id"], reason="not now")
        log, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 5
    assert "Cancelled: not now" in log
    assert runner.outputs() == {"status": "cancelled", "answer": ""}


def test_a_strangers_token_fails_the_step_and_is_not_shown(hub: Served, tmp_path: Path) -> None:
    runner = Runner(tmp_path, {"question": "Hello?", "url": hub.url, "token": "cb_stranger"})
    code, log = runner.run("Ask")
    assert (code, runner.outputs()["status"]) == (1, "refused")
    assert "This token is not known" in log
    assert "stranger" not in log


def test_where_chatbridge_is_installed_nothing_is(tmp_path: Path) -> None:
    runner = Runner(tmp_path, {})
    assert runner.run("Install chatbridge") == (0, "")
    assert not (tmp_path / "chatbridge").exists()


def test_where_it_is_not_this_very_version_is_installed_for_the_next_step(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "python3").write_text(
        '#!/bin/sh\nmkdir -p "$3/bin"\ncp "$0.pip" "$3/bin/pip"\n', encoding="utf-8"
    )
    (tools / "python3.pip").write_text('#!/bin/sh\necho "$*" >called\n', encoding="utf-8")
    for file in tools.iterdir():
        file.chmod(0o755)
    for name in ("bash", "mkdir", "cp", "sh"):
        (tools / name).symlink_to(shutil.which(name) or name)
    runner = Runner(tmp_path, {}, path=str(tools))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(tools))
        assert runner.run("Install chatbridge") == (0, "")
    assert (tmp_path / "called").read_text().split()[-1] == f"chatbridge-mcp=={__version__}"
    assert (tmp_path / "chatbridge/bin/pip").exists()
