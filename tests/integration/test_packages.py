"""The wheel and the sdist, built here and looked into. `.ci/packages` installs them, too."""

from __future__ import annotations

import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from email.message import Message
from pathlib import Path

import pytest

from chatbridge import __version__
from tests.fakes.program import ROOT
from tests.packages import versions
from tests.packages.licences import HEADING, PAGE, licence_text, needed, requirements, table

NOTES = f"chatbridge_mcp-{__version__}.dist-info/"
USES = """
import sys
from pathlib import Path
import chatbridge
from chatbridge import settings
from chatbridge.__main__ import main
from chatbridge.cli.service import unit_files
from chatbridge.core.errors import SettingsError
assert Path(chatbridge.__file__).is_relative_to(sys.argv[1]), chatbridge.__file__
assert "[Service]" in unit_files.contents()["chatbridge.service"]
try:
    settings.checked({"telegramm": {}}, Path("config.toml"))
except SettingsError as error:
    words = str(error).split()
assert Path(words[words.index("explains") - 1]).read_text().startswith("# chatbridge")
assert main(["tools", "add", "git"]) == 0
assert main(["tools", "check"]) == 0
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with both."""
    folder = tmp_path_factory.mktemp("dist")
    build(ROOT, folder)
    return folder


def build(source: Path, into: Path, *which: str) -> None:
    words = [sys.executable, "-m", "hatchling", "build", "--directory", str(into), *which]
    done = subprocess.run(words, cwd=source, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def wheel(built: Path) -> Mapping[str, bytes]:
    return files_of(built)


def files_of(built: Path) -> Mapping[str, bytes]:
    (path,) = built.glob("*.whl")
    with zipfile.ZipFile(path) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


@pytest.fixture(scope="module")
def sdist(built: Path) -> Mapping[str, bytes]:
    (path,) = built.glob("*.tar.gz")
    found = {}
    with tarfile.open(path) as opened:
        for member in opened.getmembers():
            if file := opened.extractfile(member):  # None: a folder
                found[member.name.partition("/")[2]] = file.read()
    return found


@pytest.fixture(scope="module")
def metadata(wheel: Mapping[str, bytes]) -> Message:
    return email.message_from_bytes(wheel[f"{NOTES}METADATA"])


def files_in(folder: Path) -> dict[str, bytes]:
    """All but byte code, also behind links."""
    return {
        str((Path(place) / name).relative_to(ROOT)): (Path(place) / name).read_bytes()
        for place, _, names in os.walk(folder, followlinks=True)
        for name in names
        if not place.endswith("__pycache__")
    }


def test_the_wheel_has_all_files_of_the_package_and_nothing_else(
    wheel: Mapping[str, bytes],
) -> None:
    package = {name: data for name, data in wheel.items() if not name.startswith(NOTES)}
    assert package.keys() == files_in(ROOT / "chatbridge").keys()
    for name in (
        "py.typed",
        "channels/web/static/inbox.js",
        "channels/web/templates/list.html",
        "cli/service/units/chatbridge.service",
        "commands/definitions/examples/git.json",
        "settings/example.toml",
        "store/sqlite/schema/0001_initial.sql",
    ):
        assert f"chatbridge/{name}" in package


def test_the_sdist_has_the_same_files_and_those_that_they_are_links_to(
    wheel: Mapping[str, bytes], sdist: Mapping[str, bytes]
) -> None:
    package = {name: data for name, data in wheel.items() if not name.startswith(NOTES)}
    assert {name: sdist.get(name) for name in package} == package
    assert files_in(ROOT / "systemd").keys() | files_in(ROOT / "config").keys() <= sdist.keys()
    assert {
        "LICENSE",
        "README.md",
        "pyproject.toml",
        "docs/licences.md",
        ".ci/venv",
    } <= sdist.keys()


def test_an_image_is_built_with_the_same_wheel(wheel: Mapping[str, bytes], tmp_path: Path) -> None:
    """From what .dockerignore lets in."""
    source = tmp_path / "source"
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        if line.startswith("!"):
            (source / line[1:]).parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / line[1:]).is_dir():
                shutil.copytree(ROOT / line[1:], source / line[1:], symlinks=True)
            else:
                shutil.copy(ROOT / line[1:], source / line[1:])
    build(source, tmp_path, "--target", "wheel")
    assert files_of(tmp_path) == wheel


def test_the_wheel_has_its_licence_and_says_which_it_is(
    wheel: Mapping[str, bytes], metadata: Message
) -> None:
    assert (metadata["License-Expression"], metadata["License-File"]) == ("MIT", "LICENSE")
    assert wheel[f"{NOTES}licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()


def test_the_page_on_pypi_has_no_path_that_leads_nowhere_and_says_whose_entry_it_is(
    metadata: Message,
) -> None:
    page = metadata.get_payload()
    assert isinstance(page, str)
    targets = re.findall(r"\]\(([^)\s]+)|\b(?:src|srcset|href)=\"([^\"]+)", page)
    assert [it for it in map("".join, targets) if not re.match("https://|#", it)] == []
    assert f"{versions.source()}/blob/v{__version__}/docs/install.md" in page
    assert f"{versions.source()}/raw/v{__version__}/docs/pictures/" in page
    assert versions.marker() in page


def test_matrix_is_an_extra_and_nothing_of_it_is_needed_without(metadata: Message) -> None:
    assert {"matrix", "all"} <= set(metadata.get_all("Provides-Extra", []))
    always = " ".join(it for it in metadata.get_all("Requires-Dist", []) if "extra ==" not in it)
    assert "python-telegram-bot" in always
    assert not [name for name in requirements("matrix") if name in always]
    assert needed(requirements("dependencies")).isdisjoint(requirements("matrix"))


def test_what_the_wheel_holds_works_without_the_repository(built: Path, tmp_path: Path) -> None:
    (path,) = built.glob("*.whl")
    shutil.unpack_archive(path, tmp_path / "site", format="zip")
    done = subprocess.run(
        [sys.executable, "-c", USES, str(tmp_path / "site")],
        env={"HOME": str(tmp_path), "PYTHONPATH": str(tmp_path / "site")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / ".config/chatbridge/tools/git.json").is_file()


def test_the_page_of_licences_has_every_package_that_chatbridge_needs_to_run() -> None:
    assert PAGE.read_text().partition(HEADING)[2].strip() == table().strip()


def test_every_package_that_chatbridge_needs_to_run_brings_the_text_of_its_licence() -> None:
    every = needed([*requirements("dependencies"), *requirements("matrix")])
    assert [name for name in every if not licence_text(name).strip()] == []


def test_the_locked_versions_name_no_place_to_get_them_from() -> None:
    for file in ("requirements.txt", ".ci/synapse.txt"):
        assert "://" not in (ROOT / file).read_text()
