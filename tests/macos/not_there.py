"""Tests that do not apply under the mask, each with its reason. A pytest plug-in, for `make macos`.

An entry that fits no test is an error, so that the list does not outlive what it is about.
"""

from __future__ import annotations

import pytest

NOT_THERE = {
    "tests/acceptance/test_command_line_tell.py::test_what_cannot_be_told_is_refused_with_what_to_do"
    "[words6-1---attach '/proc/self/stat': ]": "a file without a size, of /proc",
    "tests/acceptance/test_sandboxed_hub.py::test_doctor_sees_from_outside_that_the_hub_has_another"
    "_network": "networks of their own for processes",
    "tests/unit/test_docs_clients.py::test_a_clients_row_has_its_files_and_its_keys[vscode]": (
        "the page shows the paths of Linux"
    ),
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    fits = {name: [it for it in items if it.nodeid.startswith(name)] for name in NOT_THERE}
    for name, found in fits.items():
        for item in found:
            item.add_marker(pytest.mark.skip(reason=NOT_THERE[name]))
    if unknown := [name for name, found in fits.items() if not found and _is_whole(config)]:
        raise pytest.UsageError(f"tests/macos/not_there.py names no test: {', '.join(unknown)}")


def _is_whole(config: pytest.Config) -> bool:
    """Whether all tests are collected that `make macos` runs."""
    whole = {"tests/unit", "tests/contract", "tests/acceptance"}
    return whole <= set(config.args) and not config.option.keyword
