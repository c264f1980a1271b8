"""Every built-in channel's spec, against the rules that a plug-in's takes as well."""

from __future__ import annotations

from typing import Any

import pytest

from chatbridge.channels.registry import BUILT_IN, RESERVED
from chatbridge.channels.spec import ChannelSpec
from chatbridge.settings import Settings, settings_type
from tests.contract.spec_rules import RULES, Rule


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("spec", BUILT_IN, ids=lambda spec: spec.name)
def test_a_built_in_channel(spec: ChannelSpec[Any], rule: Rule) -> None:
    rule(spec, f"chatbridge.channels.{spec.name}.spec")


def test_the_settings_have_a_table_for_each_channel_and_nothing_with_a_channels_name() -> None:
    tables = settings_type().model_fields.keys() - Settings.model_fields.keys()
    assert tables == {spec.name for spec in BUILT_IN}
    # Other settings have an underscore, which no channel's name has.
    assert {name for name in Settings.model_fields if "_" not in name} <= RESERVED
