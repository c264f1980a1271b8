"""Which program is started: never one that a project or another user has put in the way."""

from __future__ import annotations

import os
import pwd
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from chatbridge.commands.arguments.argv import argv_of
from chatbridge.commands.arguments.executable import Programs, refusal
from chatbridge.core.errors import CommandUnusable
from tests.fakes.made_commands import made


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    user = SimpleNamespace(pw_dir=str(folder))
    monkeypatch.setattr(pwd, "getpwuid", lambda _uid: user)
    monkeypatch.setenv("PATH", "")
    return folder


def program(folder: Path, name: str = "tool", *, mode: int = 0o755, first: str = "/bin/sh") -> str:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(f"#!{first}\n")
    file.chmod(mode)
    return str(file)


def repository(folder: Path) -> Path:
    (folder / ".git").mkdir(parents=True)
    return folder


def programs(*own: Path, known: tuple[Path, ...] = ()) -> Programs:
    return Programs(own, projects=lambda: {str(each) for each in known})


def refused(found: Programs, name: str, *, project: Path | None = None) -> str:
    with pytest.raises(CommandUnusable) as error:
        found.find(name, project=project)
    return str(error.value)


def test_the_first_that_may_be_run_is_found(tmp_path: Path) -> None:
    program(tmp_path / "a", mode=0o644)
    (tmp_path / "b" / "tool").mkdir(parents=True)
    third = program(tmp_path / "c")
    program(tmp_path / "d")
    assert programs(*(tmp_path / each for each in "abcd")).find("tool") == third


def test_the_hubs_own_path_is_not_searched_and_not_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = repository(tmp_path / "shop") / ".venv" / "bin"
    program(folder, "sh")
    monkeypatch.setenv("PATH", f"{folder}:.::bin")
    monkeypatch.chdir(folder)
    found = programs()
    assert found.find("sh") == os.path.realpath("/bin/sh")
    assert str(folder) not in found.path()
    assert all(os.path.isabs(each) for each in found.path())
    assert "was not found" in refused(found, "tool-of-nobody")


def test_a_link_is_found_as_what_it_leads_to(tmp_path: Path) -> None:
    file = program(tmp_path / "opt", "tool-2.1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tool").symlink_to("../opt/tool-2.1")
    assert programs(tmp_path / "bin").find("tool") == file


def test_nothing_is_run_from_a_project_even_if_the_owner_names_it(tmp_path: Path) -> None:
    shop = repository(tmp_path / "shop")
    file = program(shop / ".venv" / "bin")
    (tmp_path / "alias").symlink_to(shop / ".venv")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tool").symlink_to(file)
    why = f"it lies in the project {shop}, where agents can write"
    for folder in (shop / ".venv" / "bin", tmp_path / "alias" / "bin"):
        found = programs(folder)
        assert str(folder) not in found.path()
        assert found.refused()[str(folder)].why == why
        assert f"It is in {folder}, which is not used: {why}" in refused(found, "tool")
    assert why in refused(programs(tmp_path / "bin"), "tool")
    for named in (file, str(tmp_path / "alias" / "bin" / "tool")):
        assert why in refused(programs(), named)


def test_a_link_inside_a_project_is_not_followed_to_a_program_outside(tmp_path: Path) -> None:
    shop = repository(tmp_path / "shop")
    program(tmp_path / "bin")
    (shop / "tool").symlink_to(tmp_path / "bin" / "tool")
    assert "it lies in the project" in refused(programs(), str(shop / "tool"))


def test_a_known_project_stays_one_when_its_mark_is_gone(tmp_path: Path) -> None:
    shop = repository(tmp_path / "shop")
    file = program(shop / "bin")
    shutil.rmtree(shop / ".git")
    assert programs().find(file) == file
    assert f"the project {shop}" in refused(programs(known=(shop,)), file)


def test_the_agents_own_folder_counts_without_a_mark_unless_it_is_the_home(
    tmp_path: Path, home: Path
) -> None:
    file = program(tmp_path / "scratch")
    own = program(home / "bin")
    assert "it lies in the project" in refused(programs(), file, project=tmp_path / "scratch")
    for everywhere in (home, tmp_path, Path("/")):
        assert programs().find(own, project=everywhere) == own


def test_a_project_that_a_client_calls_the_home_stays_a_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = tmp_path / "shop"
    file = program(shop / "bin")
    hidden = program(repository(shop / ".nvm") / "bin")
    monkeypatch.setenv("HOME", str(shop))
    for found in (file, hidden):
        assert f"the project {shop}" in refused(programs(known=(shop,)), found)
    assert f"the project {shop}/.nvm" in refused(programs(), hidden)
    assert programs(shop / "bin", known=(shop,)).path() == programs().path()


def test_version_managers_and_dotfiles_in_the_home_are_no_projects_unless_agents_work_there(
    home: Path,
) -> None:
    repository(home)
    manager = repository(home / ".nvm")
    file = program(manager / "versions" / "bin", "node")
    assert programs(manager / "versions" / "bin").find("node") == file
    assert "it lies in the project" in refused(programs(known=(manager,)), file)
    assert programs(known=(home, Path("/"))).find(file) == file  # else nothing could be run


@pytest.mark.parametrize("mode", [0o775, 0o757, 0o1777])
def test_a_folder_that_others_can_write_to_is_not_used(tmp_path: Path, mode: int) -> None:
    program(tmp_path / "open" / "bin")
    (tmp_path / "open" / "bin").chmod(mode)
    found = programs(tmp_path / "open" / "bin")
    said = refused(found, "tool")
    assert f"others can write to {tmp_path}/open/bin (mode {mode:04o})" in said
    assert f"chmod go-w {tmp_path}/open/bin" in said
    assert str(tmp_path / "open" / "bin") not in found.path()


def test_a_folder_of_the_systems_that_others_can_write_to_is_named(tmp_path: Path) -> None:
    program(tmp_path / "local")
    (tmp_path / "local").chmod(0o2775)  # as /usr/local/bin was in older Debians
    found = Programs(system=[str(tmp_path / "local")])
    assert f"It is in {tmp_path}/local, which is not used: others can" in refused(found, "tool")
    assert found.refused() == {}


def test_a_program_below_a_folder_that_others_can_write_to_is_not_run(tmp_path: Path) -> None:
    file = program(tmp_path / "open" / "bin")
    (tmp_path / "open").chmod(0o777)
    assert f"others can write to {tmp_path}/open (mode 0777)" in refused(programs(), file)
    (tmp_path / "open").chmod(0o1777)  # where nobody can replace what is the owner's
    assert programs().find(file) == file
    Path(file).chmod(0o775)
    assert f"others can write to {file}" in refused(programs(), file)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a second user")
def test_what_belongs_to_another_user_is_not_run(tmp_path: Path) -> None:
    file = program(tmp_path / "bin")
    os.chown(tmp_path / "bin", 12345, 12345)
    assert f"{tmp_path}/bin belongs to another user (uid 12345)" in refused(programs(), file)


def test_the_interpreter_of_a_script_is_held_to_the_same(tmp_path: Path) -> None:
    shop = repository(tmp_path / "shop")
    python = program(shop / ".venv" / "bin", "python3")
    script = program(tmp_path / "bin", first=python)
    said = refused(programs(), script)
    assert said.startswith(f"{script} cannot be run, as its first line says: the program {python}")
    assert f"the project {shop}" in said
    for first in ("/usr/bin/env nowhere-3", "/usr/bin/env -S A=1 nowhere-3 -u notes.txt"):
        script = program(tmp_path / "bin", first=first)
        assert "the program nowhere-3 was not found" in refused(programs(), script)
        interpreter = program(tmp_path / "own", "nowhere-3")
        assert programs(tmp_path / "own").find(script) == script
        os.unlink(interpreter)
    assert programs().find(program(tmp_path / "bin", first="/usr/bin/env sh"))


def test_what_the_interpreter_gets_is_no_program(tmp_path: Path) -> None:
    script = program(tmp_path / "bin", first="/bin/sh -e")
    assert programs(tmp_path / "bin").find("tool") == script


def test_a_whole_path_is_taken_with_the_owners_home(home: Path) -> None:
    file = program(home / "bin")
    assert programs().find(file) == file
    assert programs().find("~/bin/tool") == file
    named = ("~/bin/tool", "tool", "/bin//tool")
    told = [argv_of(made(program=each), {}, project=home)[0] for each in named]
    assert told == [file, "tool", "/bin//tool"]


@pytest.mark.parametrize("name", ["bin/tool", "./tool", "../tool", "~nobody-of-that-name/tool"])
def test_a_relative_path_is_looked_up_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    program(tmp_path / "bin")
    program(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert "Write its whole path in the definition" in refused(programs(tmp_path), name)


def test_a_missing_program_says_where_it_was_looked_for_and_what_to_set(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Programs([tmp_path], system=["/usr/bin"])
    assert refused(found, "tool") == (
        f"the program tool was not found. Looked in {tmp_path}, /usr/bin. Nothing was started. "
        "Install it, write its whole path in the command's definition, or add its folder to "
        "commands.path in config.toml"
    )
    elsewhere = tmp_path / "opt" / "bin"
    program(elsewhere)
    monkeypatch.setenv("PATH", f"{repository(tmp_path / 'shop')}:{elsewhere}")
    program(tmp_path / "shop")
    assert f'add "{elsewhere}" to commands.path in config.toml' in refused(found, "tool")
    program(home / ".cargo" / "bin")
    assert f'add "{home}/.cargo/bin" to commands.path in config.toml' in refused(found, "tool")
    gone = f"{tmp_path}/gone is not there, or is no file that may be run"
    assert gone in refused(found, f"{tmp_path}/gone")


def test_a_folder_whose_name_would_be_two_in_a_path_is_not_used(tmp_path: Path) -> None:
    program(tmp_path / "a:b")
    found = programs(tmp_path / "a:b")
    assert not any(":" in each for each in found.path())
    assert "colon" in refused(found, "tool")


@pytest.mark.parametrize(
    "first", ["venv/bin/python3", "python3", "/usr/bin/env -S{0}", "/usr/bin/env -S nice {0}"]
)
def test_no_first_line_leads_into_a_project(tmp_path: Path, first: str) -> None:
    python = program(repository(tmp_path / "shop") / "venv" / "bin", "python3")
    assert "Nothing was started" in refused(
        programs(), program(tmp_path / "bin", first=first.format(python))
    )


def test_what_env_takes_away_is_no_program(tmp_path: Path) -> None:
    assert programs().find(program(tmp_path / "bin", first="/usr/bin/env -S -u FOO A=1 sh"))


def test_a_link_that_cannot_be_read_is_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "tool"
    link.symlink_to(program(tmp_path / "elsewhere"))

    monkeypatch.setattr(os.path, "realpath", lambda path: path)

    def gone(path: str) -> str:
        raise OSError(f"{path} has just been replaced")

    monkeypatch.setattr(os, "readlink", gone)
    with pytest.raises(OSError, match="replaced"):
        refusal(str(link))
