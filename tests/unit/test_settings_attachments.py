"""The table [attachments]: sizes as people write them, and values that cannot be meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbridge.attachments.settings import AttachmentLimits, parse_size
from chatbridge.core.errors import SettingsError
from chatbridge.settings import load

pytestmark = pytest.mark.usefixtures("bare_environment")


@pytest.mark.parametrize(
    ("given", "size"),
    [
        ("20MB", 20_000_000),
        ("1.5 gb", 1_500_000_000),
        ("500k", 500_000),
        ("64 B", 64),
        ("64", 64),
        (64, 64),
    ],
)
def test_a_size_is_bytes_or_has_a_unit(given: object, size: int) -> None:
    assert AttachmentLimits.model_validate({"outsider": given}).outsider == size


@pytest.mark.parametrize("given", ["", "MB", "20 MiB", "-1MB", "1e6", "20MB 5KB", True, "9" * 400])
def test_what_is_no_size_is_refused_with_an_example(given: object) -> None:
    with pytest.raises(ValueError, match=r"such as|no size"):
        parse_size(given)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("most = 0", "attachments.most"),
        ("most = 11", "attachments.most"),
        ('largest = "0MB"', "attachments.largest"),
        ('largest = "2GB"', "quota must be at least as much as largest"),
        ('quota = "5000GB"', "attachments.quota"),
        ("outsider = true", "true and false are no size"),
        ('received = "home"', "'state' or 'project'"),
        ('recieved = "state"', "did you mean received"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_by_name(
    tmp_path: Path, table: str, said: str
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f"[attachments]\n{table}\n")
    with pytest.raises(SettingsError) as refused:
        load(path)
    assert said in str(refused.value)
