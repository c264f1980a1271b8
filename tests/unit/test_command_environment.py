"""A command's environment: the usual, what its definition names, and no secret."""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.commands.arguments.environment import environment_of, is_forbidden
from chatbridge.commands.arguments.executable import Programs

OWN = {
    "CHATBRIDGE_TELEGRAM__TOKEN": "123:abc",
    "CHATBRIDGE_STATE_DIR": "/state",
    "CREDENTIALS_DIRECTORY": "/run/credentials",
    "NOTIFY_SOCKET": "/run/notify",
    "LISTEN_FDS": "3",
    "WATCHDOG_USEC": "1",
    "INVOCATION_ID": "1",
}
HOME = pwd.getpwuid(os.geteuid()).pw_dir
USUAL = {
    "HOME": HOME,
    "USER": "me",
    "LANG": "C.UTF-8",
    "LC_TIME": "de_DE.UTF-8",
    "TZ": "UTC",
    "TMPDIR": "/tmp",
    "XDG_RUNTIME_DIR": "/run/user/1000",
}
OTHERS = {
    "SSH_AUTH_SOCK": "/run/agent",
    "AWS_SECRET_ACCESS_KEY": "x",
    "LD_PRELOAD": "/tmp/evil.so",
    "PYTHONPATH": ".",
    "XDG_SESSION_ID": "1",
    "XDG_CONFIG_HOME": "/shop/.cfg",
    "GIT_DIR": "/elsewhere",
    "EDITOR": "vi",
    "CI": "true",
}


def of(
    base: dict[str, str],
    *names: str,
    secrets: Sequence[str] = (),
    path: Sequence[str] = ("/bin",),
    own: dict[str, str] | None = None,
) -> dict[str, str]:
    return environment_of(names, secrets=secrets, path=path, own=own or {}, base=base)


def test_the_usual_variables_are_passed_on_and_no_other() -> None:
    found = of({**USUAL, **OTHERS, **OWN, "PATH": "/bin"})
    assert found.items() >= USUAL.items()
    assert not found.keys() & (OTHERS.keys() | OWN.keys())


def test_what_the_definition_names_is_passed_on_but_never_what_is_chatbridges() -> None:
    found = of({**OTHERS, **OWN}, "SSH_AUTH_SOCK", "MISSING", *OWN)
    assert found["SSH_AUTH_SOCK"] == "/run/agent"
    assert "MISSING" not in found
    assert not found.keys() & OWN.keys()
    assert all(is_forbidden(name) for name in OWN)
    assert not is_forbidden("SSH_AUTH_SOCK")


def test_a_value_with_a_secret_in_it_is_passed_on_under_no_name() -> None:
    given = {"LANG": "C", "URL": "https://123:abc@host"}
    found = of(given, "URL", secrets=("123:abc", ""))
    assert not any("123:abc" in value for value in found.values())
    assert found["LANG"] == "C"  # an empty secret, of a setting that is not set, hides none


def test_nobody_is_there_to_be_asked() -> None:
    found = of({})
    assert (found["TERM"], found["NO_COLOR"], found["GIT_TERMINAL_PROMPT"]) == ("dumb", "1", "0")
    assert of({"TERM": "xterm"}, "TERM")["TERM"] == "xterm"
    assert of({"TERM": "xterm"})["TERM"] == "dumb"


def test_the_path_is_the_one_that_was_made_for_it_whatever_the_hubs_is() -> None:
    base = {"PATH": "/shop/.venv/bin:/usr/bin"}
    assert of(base, path=("/own/bin", "/bin"))["PATH"] == "/own/bin:/bin"
    assert of(base, "PATH", own=base)["PATH"] == "/bin"
    assert of(base, path=())["PATH"] == "/nonexistent"  # empty, it would mean where it runs


def test_what_the_owner_has_set_comes_before_the_hubs_and_only_where_it_is_named() -> None:
    own = {"SSH_AUTH_SOCK": "/run/owners", "HOME": "/elsewhere", "CHATBRIDGE_STATE_DIR": "/x"}
    found = of({**USUAL, **OTHERS}, "SSH_AUTH_SOCK", "CHATBRIDGE_STATE_DIR", own=own)
    assert found["SSH_AUTH_SOCK"] == "/run/owners"
    assert found["HOME"] == USUAL["HOME"]
    assert "CHATBRIDGE_STATE_DIR" not in found
    assert "SSH_AUTH_SOCK" not in of(USUAL, own=own)


def test_no_variable_of_the_hubs_says_where_programs_have_their_settings(tmp_path: Path) -> None:
    names = ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR")
    for folder in (str(tmp_path), ".cfg", f"/run/..{tmp_path}", "/run"):
        base = dict.fromkeys(names, folder)
        for found in (of(base), of(base, *names)):
            assert {name: found.get(name) for name in names} == dict.fromkeys(names) | {
                "HOME": HOME
            }
    own = dict.fromkeys(names, "/owners")
    assert of({}, *names, own=own).items() >= own.items()


def test_a_user_whom_the_system_does_not_know_keeps_their_home(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert of({"HOME": "/config"})["HOME"] == "/config"
    assert "HOME" not in of({})


@pytest.mark.process
def test_git_takes_no_alias_from_a_repository_that_set_its_variables(
    tmp_path: Path,
) -> None:
    forged = '[alias]\n\tforged = "!echo forged"\n'
    for file in (tmp_path / ".gitconfig", tmp_path / ".cfg" / "git" / "config"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(forged)
    base = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / ".cfg")}
    environment = environment_of(base, secrets=(), path=Programs().path(), base=base)
    told = subprocess.run(
        ["git", "forged"], cwd=tmp_path, env=environment, capture_output=True, timeout=30
    )
    assert b"'forged' is not a git command" in told.stderr


@given(
    st.dictionaries(
        st.sampled_from([*USUAL, *OTHERS, *OWN, "PATH", "LC_ALL", "CHATBRIDGE_X"]),
        st.text(alphabet="secrt:/.", max_size=12),
    ),
    st.lists(st.sampled_from([*OTHERS, *OWN, "CHATBRIDGE_X"])),
    st.lists(st.text(alphabet="secrt", max_size=3)),
)
def test_whatever_is_named_no_secret_and_nothing_of_chatbridges_gets_through(
    base: dict[str, str], names: list[str], secrets: list[str]
) -> None:
    found = environment_of(names, secrets=secrets, path=["/bin"], base=base)
    assert not any(is_forbidden(name) for name in found)
    for name in found.keys() & base.keys() - {"PATH", "TERM"}:
        assert not any(secret in found[name] for secret in secrets if secret)
    assert all(os.path.isabs(each) for each in found["PATH"].split(":"))


@pytest.mark.process
def test_git_that_wants_an_editor_or_a_password_fails_instead_of_waiting(tmp_path: Path) -> None:
    environment = {**environment_of((), secrets=(), path=Programs().path()), "HOME": str(tmp_path)}

    def git(*words: str, told: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        person = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org")
        return subprocess.run(
            ["git", *person, *words],
            cwd=tmp_path,
            env=environment,
            input=told,
            capture_output=True,
            timeout=30,
        )

    assert git("init", "-q").returncode == 0
    commit = git("commit", "--allow-empty")
    assert commit.returncode != 0
    assert b"empty commit message" in commit.stderr
    password = git("credential", "fill", told=b"protocol=https\nhost=example.org\n\n")
    assert password.returncode != 0
    assert b"terminal prompts disabled" in password.stderr
