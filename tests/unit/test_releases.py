"""What is published beside the package: the entry of the MCP registry, the version in every place,
and the workflow that publishes. The rules for the entry are those of the registry's schema of
2025-12-11 that concern it, and those that clients need. mcp-publisher has the whole schema, and
checks the entry again before it is published."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
import yaml

from chatbridge import extras
from chatbridge.channels.telegram.settings import Telegram
from tests.packages.versions import ROOT, is_in_changelog, mistakes, server, source, versions

Json = dict[str, Any]
FILES = sorted([*ROOT.glob(".github/workflows/*.yml"), *ROOT.glob(".github/actions/*/action.yml")])
PINNED = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40}")


def loaded(name: str) -> Json:
    found: Json = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))
    return found


def test_every_place_names_this_version_and_the_readme_the_entry() -> None:
    assert len(list(versions())) >= 5
    assert mistakes() == []


@pytest.mark.parametrize(
    ("changelog", "there"),
    [
        ("## [Unreleased]\n", False),
        ("## [1.2.0] - 2026-01-31\n", True),
        ("## [1.2.0]\n", False),
        ("## [1x2.0] - 2026-01-31\n", False),
    ],
)
def test_a_version_is_in_the_changelog_with_its_date(changelog: str, there: bool) -> None:
    assert is_in_changelog("1.2.0", f"# Changelog\n\n{changelog}") is there


def test_the_entry_of_the_registry_is_what_its_schema_allows() -> None:
    entry = server()
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", entry["name"])
    assert 1 <= len(entry["description"]) <= 100
    assert 1 <= len(entry["title"]) <= 100
    assert entry["repository"] == {"url": source(), "source": "github"}
    assert re.fullmatch(r"\d+\.\d+\.\d+", entry["version"])
    (package,) = entry["packages"]
    assert (package["registryType"], package["transport"]) == ("pypi", {"type": "stdio"})
    assert "registryBaseUrl" not in package  # a client takes it for uv's index, which it is not
    known = {"name", "description", "isSecret", "isRequired", "placeholder"}
    assert all(known >= variable.keys() for variable in package["environmentVariables"])


def test_the_entrys_namespace_is_that_of_the_repositorys_account() -> None:
    owner, name = source().removeprefix("https://github.com/").split("/")
    assert server()["name"] == f"io.github.{owner}/{name}"


def test_a_client_that_reads_the_entry_starts_the_link() -> None:
    """Clients run `uvx IDENTIFIER==VERSION ARGUMENTS`, and uvx the command of that name."""
    (package,) = server()["packages"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert package["identifier"] == project["name"] == extras.NAME
    assert package["runtimeHint"] == "uvx"
    assert "runtimeArguments" not in package
    assert package["packageArguments"] == [{"type": "positional", "value": "mcp"}]
    assert project["scripts"][package["identifier"]] == project["scripts"]["chatbridge"]


def test_the_entrys_variables_are_settings_and_tokens_are_secrets() -> None:
    (package,) = server()["packages"]
    for variable in package["environmentVariables"]:
        name = variable["name"].removeprefix("CHATBRIDGE_").lower()
        if name != "label":
            assert name.removeprefix("telegram__") in Telegram.model_fields
        assert variable.get("isSecret", False) is ("token" in name)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name + "/" + file.name)
def test_no_script_has_an_expression_in_it_and_actions_of_others_are_pinned(file: Any) -> None:
    found = yaml.safe_load(file.read_text(encoding="utf-8"))
    jobs = found["jobs"].values() if "jobs" in found else [found["runs"]]
    steps = [step for job in jobs for step in job["steps"]]
    assert steps
    assert not [step for step in steps if "${{" in step.get("run", "")]
    assert not [step for step in steps if "uses" in step and not PINNED.fullmatch(step["uses"])]


def test_only_the_jobs_that_publish_can_prove_who_they_are_and_they_build_nothing() -> None:
    jobs = loaded(".github/workflows/release.yml")["jobs"]
    proves = {name for name, job in jobs.items() if "id-token" in job["permissions"]}
    assert proves == {"pypi", "registry"}
    assert jobs["pypi"]["environment"]["name"] == "pypi"
    assert all("uses" in step for step in jobs["pypi"]["steps"])
    assert (jobs["pypi"]["needs"], jobs["registry"]["needs"]) == ("build", "pypi")
    assert loaded(".github/workflows/release.yml")["permissions"] == {}
