"""What every `ChannelSpec` promises. A plug-in runs the same rules over its own spec:

from tests.contract.spec_rules import RULES

@pytest.mark.parametrize("rule", RULES)
def test_spec(rule: Rule) -> None:
    rule(SPEC, "my_package.spec")
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from chatbridge.channels.registry import NAME, RESERVED
from chatbridge.channels.spec import ChannelSpec, SetupSpec, load_reference
from chatbridge.link.preface import is_compared
from chatbridge.settings.authority import variable_of

Spec = ChannelSpec[Any]
Rule = Callable[[Spec, str], None]
HEAVY = {"telegram", "nio", "slack_sdk", "aiohttp", "httpx"}
HEAVY |= {"starlette", "uvicorn", "jinja2", "mcp"}
IMPORTED = "import sys, importlib; importlib.import_module(sys.argv[1]); print(*sys.modules)"


def has_a_name_that_can_be_a_table(spec: Spec, module: str) -> None:
    assert NAME.fullmatch(spec.name)
    assert spec.name not in RESERVED
    assert spec.title


def cannot_be_changed(spec: Spec, module: str) -> None:
    with pytest.raises(AttributeError):
        spec.name = "other"  # type: ignore[misc]


def is_off_or_works_without_any_setting(spec: Spec, module: str) -> None:
    table = spec.settings()
    assert spec.is_on(table) is not spec.is_chat
    assert spec.people_in(table) == ()


def refuses_settings_that_it_does_not_know(spec: Spec, module: str) -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        spec.settings.model_validate({"no_such_setting": 1})


def hides_values_in_errors_and_secrets_in_texts(spec: Spec, module: str) -> None:
    assert spec.settings.model_config.get("hide_input_in_errors") is True
    for name, field in spec.settings.model_fields.items():
        named = any(word in name for word in ("token", "password", "secret", "key"))
        if named and "Path" not in str(field.annotation):  # where a file is, is no secret
            assert name in spec.secrets(), f"{name} has to be a SecretStr"
    for name in spec.secrets():
        made = spec.settings.model_construct(**{name: SecretStr("hidden-value")})
        assert "hidden-value" not in repr(made)


def names_only_settings_that_it_has(spec: Spec, module: str) -> None:
    single = [name for name in (spec.people, spec.chats) if name]
    listed = (*spec.named_by, *spec.file_default, *spec.limits, *spec.watched_settings)
    assert {*single, *listed, *spec.link_settings} <= {*spec.settings.model_fields}


def keeps_who_may_answer_to_the_file(spec: Spec, module: str) -> None:
    for name in filter(None, (spec.people, spec.chats)):
        assert name in spec.limits, f"a variable could widen {name}"


def compares_what_links_tell(spec: Spec, module: str) -> None:
    for name in spec.link_settings:
        assert is_compared(variable_of((spec.name, name))), name


def has_references_that_resolve(spec: Spec, module: str) -> None:
    assert callable(load_reference(spec.build))
    assert iscoroutinefunction(load_reference(spec.check))
    if spec.setup is not None:
        assert callable(load_reference(spec.setup.ask))
        assert callable(load_reference(spec.setup.plan))


def has_flags_under_its_own_name(spec: Spec, module: str) -> None:
    if spec.setup is not None:
        names = flags_of(spec.setup)
        assert spec.setup.flag in names
        assert all(name.startswith(f"--{spec.name}-") for name in names)


def flags_of(setup: SetupSpec) -> list[str]:
    parser = argparse.ArgumentParser(add_help=False)
    setup.add_flags(parser.add_argument_group())
    return [name for action in parser._actions for name in action.option_strings]


def imports_no_client_library(spec: Spec, module: str) -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTED, module], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert HEAVY.isdisjoint(done.stdout.split())


RULES: tuple[Rule, ...] = (
    has_a_name_that_can_be_a_table,
    cannot_be_changed,
    is_off_or_works_without_any_setting,
    refuses_settings_that_it_does_not_know,
    hides_values_in_errors_and_secrets_in_texts,
    names_only_settings_that_it_has,
    keeps_who_may_answer_to_the_file,
    compares_what_links_tell,
    has_references_that_resolve,
    has_flags_under_its_own_name,
    imports_no_client_library,
)
