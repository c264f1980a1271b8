"""The plug-in of docs/plugins.md: built and installed as a package of its own, and used."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chatbridge_notebook.channel import Notebook
from chatbridge_notebook.spec import NOTEBOOK

from tests.contract.spec_rules import RULES, Rule
from tests.fakes.link_client import PATIENCE
from tests.fakes.machine import COLOURS, House, house
from tests.fakes.program import ROOT

SOURCE = ROOT / "docs" / "notebook"
INSTALL = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
INSTALL += ["--no-build-isolation", "--disable-pip-version-check", "--target"]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[House]:
    """Where the package is installed by pip, as anybody's would be."""
    copy = shutil.copytree(SOURCE, tmp_path / "source")
    subprocess.run([*INSTALL, str(tmp_path / "site"), str(copy)], check=True, timeout=PATIENCE)
    with house(
        cold=True,
        PYTHONPATH=f"{tmp_path / 'site'}:{ROOT}",
        CHATBRIDGE_NOTEBOOK__FILE=str(tmp_path / "notebook.jsonl"),
        CHATBRIDGE_NOTEBOOK__ALLOWED_USERS="ada, bob",
    ) as found:
        yield found


def until(file: Path, words: str) -> dict[str, Any]:
    """The line that has these words, once it is there."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for line in file.read_text().splitlines() if file.exists() else ():
            if words in line:
                found: dict[str, Any] = json.loads(line)
                return found
        time.sleep(0.05)
    raise AssertionError(f"no line has {words!r}")


def write(file: Path, text: str) -> None:
    with file.open("a") as opened:
        opened.write(text + "\n")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_its_spec_takes_the_rules_of_every_channel(
    rule: Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{SOURCE}:{ROOT}")
    rule(NOTEBOOK, "chatbridge_notebook.spec")


def test_a_hub_asks_in_the_file_and_a_line_answers_also_after_a_restart(
    home: House, tmp_path: Path
) -> None:
    for source in SOURCE.glob("*/*.py"):  # the contract suite runs over these
        installed = tmp_path / "site" / source.relative_to(SOURCE)
        assert installed.read_text() == source.read_text()
    file = tmp_path / "notebook.jsonl"
    with home.service() as pid:
        home.until_hub(pid)
        with home.agent() as agent:
            agent.initialize()
            agent.ask(1)
            card = until(file, "Which colour?")
            eve = {"by": "eve", "to": card["id"], "tap": card["buttons"][0][1]}
            write(file, json.dumps(eve))
            blue = next(data for label, data in card["buttons"] if "blue" in label)
            write(file, json.dumps({"by": "ada", "to": card["id"], "tap": blue}))
            assert agent.result()["answers"][0]["values"] == ["blue"]
            until(file, "Answered")
        status = json.loads(home.run("status", "--json").stdout)
        assert {"name": "notebook", "trouble": None} in status["channels"]
        (found,) = [it for it in doctors(home) if it["name"] == "notebook"]
        assert (found["result"], found["what"]) == ("ok", f"writes to {file}")
    with home.service() as pid:
        home.until_hub(pid)
        with home.agent() as agent:
            agent.initialize()
            (question,) = COLOURS["questions"]
            agent.ask(2, {"questions": [{**question, "question": "And now?"}]})
            card = until(file, "And now?")
            write(file, json.dumps({"by": "ada", "to": card["id"], "text": "2"}))
            assert agent.result()["answers"][0]["values"] == ["blue"]
    assert home.run("people").stdout == "ID    CHANNEL\nada   Notebook\nbob   Notebook\n"


def test_lines_that_mean_nothing_are_passed_over_and_a_half_one_waits(tmp_path: Path) -> None:
    file = tmp_path / "notebook.jsonl"
    notebook = Notebook(file)
    for line in ("no json", "[1]", "7", "[" * 5_000, "{}", '{"id": 1}', "\x00", '{"by": "ada"}'):
        write(file, line)
    with file.open("ab") as opened:
        opened.write(b'\xff\n{"by": "bob"')
    ((place, deed),) = notebook.deeds(after=0)
    assert deed == {"by": "ada"}
    write(file, "}")
    assert [later for _, later in notebook.deeds(after=int(place))] == [{"by": "bob"}]


def doctors(home: House) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(home.run("doctor", "--json").stdout)["checks"]
    return found
