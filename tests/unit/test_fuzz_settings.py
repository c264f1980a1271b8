"""Whatever stands in the configuration, in a project's file or where a time should be: it is used,
or refused in words; never an exception of another kind, and never more than a project may say."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as few
from hypothesis import strategies as st
from pydantic import BaseModel

from chatbridge.core.errors import SettingsError
from chatbridge.durations import LONGEST, seconds
from chatbridge.projects import MIN_TIMEOUT_SECONDS, ProjectSettings, project_of_user, settings_of
from chatbridge.settings import Settings, checked, parsed

pytestmark = pytest.mark.usefixtures("bare_environment")

PATH = Path("/nowhere/config.toml")


def _keys(model: type[BaseModel]) -> list[str]:
    inner = [field.annotation for field in model.model_fields.values()]
    tables = [it for it in inner if isinstance(it, type) and issubclass(it, BaseModel)]
    return [*model.model_fields, *(key for table in tables for key in _keys(table))]


KEYS = st.sampled_from([*_keys(Settings), "_env_file", "__init__", "", "a.b", "\x1b[2J", "label"])
WORDS = ["8h", "1e9d", "[[", '["ask_user"]', "0.0.0.0:1", "http://a@b", "\x1b]0;x", "@a:b", "99999"]
SCALARS = st.one_of(
    st.booleans(),
    st.integers() | st.just(10**400),
    st.floats(),
    st.sampled_from(WORDS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    st.datetimes(),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=6,
)
TOML = st.text() | st.text("[]{}=.,\"'\n #abe0159_-:TZ", max_size=40)


def told(error: SettingsError) -> None:
    assert str(error).isprintable(), str(error)
    assert str(PATH) in str(error) or "variables" in str(error)


@few(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_any_configuration_is_used_or_refused_by_name(found: dict[str, Any]) -> None:
    try:
        used = checked(found, PATH)
    except SettingsError as error:
        told(error)
    else:
        assert used.min_timeout <= used.default_timeout <= used.max_timeout <= LONGEST
        assert used.approval_channels()


@given(TOML)
def test_any_text_is_a_configuration_or_refused_by_name(text: str) -> None:
    try:
        assert isinstance(parsed(text, PATH), dict)
    except SettingsError as error:
        told(error)


@given(TOML | st.builds("{} = {}".format, st.sampled_from(["label", "enabled"]), TOML))
def test_any_project_file_says_only_what_it_may(text: str) -> None:
    project = project_of_user(1, root="/p", folder="/p", link="l", file=text)
    found = settings_of(project.key)
    assert found.label is None or len(found.label) <= 40
    assert found.default_timeout is None or MIN_TIMEOUT_SECONDS <= found.default_timeout <= LONGEST
    if found != ProjectSettings():
        assert set(tomllib.loads(text)) & set(ProjectSettings.model_fields)


@given(st.text(max_size=8) | st.from_regex(r"\s*\d+(\.\d+)?\s*(s|m|min|h|d)?\s*") | SCALARS)
def test_anything_is_a_time_or_refused(value: object) -> None:
    try:
        found = seconds(value)
    except ValueError:
        return
    if isinstance(value, str):
        assert isinstance(found, float)
        assert found >= 0
        assert not math.isnan(found)
    else:
        assert found is value
