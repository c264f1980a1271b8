"""A channel of a plug-in: found by its entry point, and known to all of chatbridge by its spec.

Its hub is in `test_plugin_example`.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.spec_rules import RULES, Rule
from tests.fakes import paper_channel
from tests.fakes.machine import House, house
from tests.fakes.program import ROOT

SPEC = paper_channel.SPEC


def install(folder: Path, *entries: str) -> Path:
    """As an installer leaves a package, with these entry points."""
    source = paper_channel.__file__
    assert source
    folder.mkdir(exist_ok=True)
    shutil.copy(source, folder / "paper_channel.py")
    info = folder / "paper_channel-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: paper-channel\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join(["[chatbridge.channels]", *entries]) + "\n")
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Iterator[House]:
    folder = install(tmp_path / "site", "paper = paper_channel:SPEC")
    with house(
        cold=True,
        PYTHONPATH=f"{folder}:{ROOT}",
        CHATBRIDGE_PAPER__FILE=str(tmp_path / "cards.txt"),
        CHATBRIDGE_PAPER__READERS="bob",
    ) as found:
        yield found


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    return tmp_path / "cards.txt"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_its_spec_takes_the_same_rules(
    rule: Rule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = install(tmp_path / "site", "paper = paper_channel:SPEC")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", f"{folder}:{ROOT}")
    try:
        rule(SPEC, "paper_channel")
    finally:
        sys.modules.pop("paper_channel", None)


def test_setup_has_its_flags_and_its_dialogue(home: House) -> None:
    assert "--paper-file FILE" in home.run("setup", "--help").stdout
    done = home.run("setup", "--non-interactive", "--paper-file", "a.txt")
    assert (done.returncode, done.stdout.partition("\n")[0]) == (0, "Kept: a.txt.")


def test_its_table_is_in_the_settings_and_its_people_are_the_files_alone(home: House) -> None:
    config = Path(home.environment["HOME"]) / ".config" / "chatbridge" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[approvals]\nchannels = ["paper"]\n\n[paper]\nreaders = ["ada"]\n')
    config.chmod(0o600)
    said = [it["what"] for it in doctors(home) if it["name"] == "configuration"]
    assert any("CHATBRIDGE_PAPER__READERS is ignored" in what for what in said), said
    assert home.run("people").stdout == "ID    CHANNEL\nada   Paper\n"
    config.write_text("[paper]\nink = 3\n")
    assert "paper.ink is not a setting" in home.run("people").stderr


def test_those_that_cannot_be_used_are_left_out_and_named(tmp_path: Path, paper: Path) -> None:
    broken = {
        "a = paper_channel:NOTHING": "AttributeError",
        "b = no_such_module:SPEC": "ModuleNotFoundError",
        "c = paper_channel:Paper": "paper_channel:Paper is no ChannelSpec",
        "telegram = chatbridge.channels.telegram.spec:TELEGRAM": "cannot have the name",
    }
    folder = install(tmp_path / "site", "paper = paper_channel:SPEC", *broken)
    with house(cold=True, PYTHONPATH=f"{folder}:{ROOT}", CHATBRIDGE_PAPER__FILE=str(paper)) as home:
        found = doctors(home)
    said = [it["what"] for it in found if "paper-channel" in it["what"]]
    assert len(said) == len(broken)
    for what, why in zip(said, broken.values(), strict=True):
        assert why in what
    assert [it["name"] for it in found if it["name"] == "paper"] == ["paper"]


def doctors(home: House) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(home.run("doctor", "--json").stdout)["checks"]
    return found
