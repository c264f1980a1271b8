"""The Containerfile and the compose file: rules that need no container. `make container` builds and
tries the image."""

from __future__ import annotations

import json
import re
import shlex
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel, SecretStr

from chatbridge.settings import load, secrets, settings_type
from tests.documents.pages import ROOT
from tests.documents.parsing import chatbridge

FOLDER = ROOT / "config/container"
PLACES = {"CHATBRIDGE_CONFIG", "CHATBRIDGE_STATE_DIR"}
WITHOUT_COMMENTS = re.sub(r"(?m)^#.*\n", "", (FOLDER / "Containerfile").read_text())
INSTRUCTIONS = [
    line.split(maxsplit=1) for line in re.sub(r"\\\n\s*", "", WITHOUT_COMMENTS).splitlines() if line
]
COMPOSE: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text())
SERVICE: dict[str, Any] = COMPOSE["services"]["chatbridge"]
WITH_POSTGRES: dict[str, Any] = yaml.safe_load((FOLDER / "compose.postgres.yaml").read_text())


def given(word: str) -> list[str]:
    return [rest for each, rest in INSTRUCTIONS if each == word]


def environment() -> dict[str, str]:
    (pairs,) = given("ENV")
    return dict(pair.split("=", 1) for pair in shlex.split(pairs))


def words_of(rest: str) -> list[str]:
    found: list[str] = json.loads(rest[rest.index("[") :])
    return found


def kind_of(setting: list[str]) -> Any:
    """The annotation of a setting. :raises KeyError: there is none of that name."""

    def step(table: Any, name: str) -> Any:
        assert issubclass(table, BaseModel)
        return table.model_fields[name].annotation

    return reduce(step, setting, settings_type())


def setting_of(variable: str) -> list[str]:
    return variable.removeprefix("CHATBRIDGE_").lower().split("__")


def test_two_named_stages_come_from_one_base() -> None:
    assert given("FROM") == ["${BASE} AS build", "${BASE} AS run"]
    assert len([rest for rest in given("ARG") if rest.startswith("BASE=")]) == 1


def test_the_image_runs_as_a_number_and_not_as_root() -> None:
    """A name could not be checked by who runs it."""
    (user,) = given("USER")
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", user)
    assert f"-o {user.replace(':', ' -g ')} /data" in given("RUN")[-1]


def test_everything_that_is_written_is_in_the_one_volume() -> None:
    (volume,) = given("VOLUME")
    assert {environment()[name] for name in (*PLACES, "HOME")} == {
        volume,
        f"{volume}/config.toml",
        f"{volume}/state",
    }
    assert COMPOSE["volumes"].keys() == {"data"}
    assert SERVICE["volumes"] == [f"data:{volume}"]


def test_the_commands_are_such_as_chatbridge_takes() -> None:
    (entry,), (default,), (health,) = given("ENTRYPOINT"), given("CMD"), given("HEALTHCHECK")
    assert words_of(entry) == ["chatbridge"]
    chatbridge(words_of(default))
    program, *words = words_of(health)
    assert program == "chatbridge"
    chatbridge(words)
    assert SERVICE["healthcheck"]["test"] == ["CMD", program, *words]


def test_every_variable_is_a_setting_and_none_is_a_secret() -> None:
    named = {*environment(), *SERVICE["environment"]} - PLACES
    for variable in filter(lambda name: name.startswith("CHATBRIDGE_"), named):
        assert "SecretStr" not in str(kind_of(setting_of(variable))), variable
    assert not any("token" in rest.lower() for rest in (*given("ARG"), *given("ENV")))


def test_the_secret_of_the_compose_file_is_read_where_it_is_put() -> None:
    assert environment()["CREDENTIALS_DIRECTORY"] == "/run/secrets"
    (secret,) = SERVICE["secrets"]
    assert secret["source"] in COMPOSE["secrets"]
    assert secret["target"].startswith(secrets.PREFIX)
    setting = secret["target"].removeprefix(secrets.PREFIX).split("__")
    assert kind_of(setting) == SecretStr | None


def test_the_compose_file_gives_no_more_than_is_needed() -> None:
    assert SERVICE["read_only"] is True
    assert SERVICE["cap_drop"] == ["ALL"]
    assert SERVICE["security_opt"] == ["no-new-privileges:true"]
    exposed = given("EXPOSE")[0].split()
    assert SERVICE["ports"] == [f"127.0.0.1:{port}:{port}" for port in exposed]
    assert (FOLDER / SERVICE["build"]["context"]).resolve() == ROOT
    assert (ROOT / SERVICE["build"]["dockerfile"]).is_file()


def test_the_settings_of_the_compose_file_with_postgresql_name_its_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bare_environment: None
) -> None:
    ours, server = (WITH_POSTGRES["services"][name] for name in ("chatbridge", "postgres"))
    (secret,) = ours["secrets"]
    (tmp_path / secret["target"]).write_text("a password\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    for variable, value in ours["environment"].items():
        monkeypatch.setenv(variable, value)
    found = load(tmp_path / "none.toml").server()
    assert found is not None
    address, password = found
    user, database = server["environment"]["POSTGRES_USER"], server["environment"]["POSTGRES_DB"]
    assert (address, password) == (f"postgresql://{user}@postgres/{database}", "a password")
    assert ours["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    assert f"--username={user}" in server["healthcheck"]["test"]


def test_postgresql_has_the_same_secret_as_a_file_a_volume_and_no_port() -> None:
    ours, server = (WITH_POSTGRES["services"][name] for name in ("chatbridge", "postgres"))
    (name,) = server["secrets"]
    assert server["environment"]["POSTGRES_PASSWORD_FILE"] == f"/run/secrets/{name}"
    assert name == ours["secrets"][0]["source"]
    assert WITH_POSTGRES["secrets"] == {name: {"file": f"./secrets/{name}"}}
    assert not any(
        "password" in it.lower()
        for it in map(str, server["environment"].values())
        if not it.startswith("/run/secrets/")
    )
    assert WITH_POSTGRES["volumes"].keys() == {"postgres"}
    assert "ports" not in server
    assert server["security_opt"] == ["no-new-privileges:true"]
