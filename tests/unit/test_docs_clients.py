"""The two tables about clients are those of the code."""

from __future__ import annotations

import re

import pytest

from chatbridge.cli.connect.catalogue import CATALOGUE
from chatbridge.cli.connect.machine import user_folders
from chatbridge.tools.clients import Clients
from tests.documents.pages import pages

ENTRY = re.compile(r"^\| \[`([\w-]+)`\]\([^)]+\) \|(.*)\|$", re.MULTILINE)
LIMIT = re.compile(r"^\| [^|]+ \| `([^`…]+)…?` \|(.*)\|$", re.MULTILINE)
ENTRIES = dict(ENTRY.findall(pages()["docs/connect.md"]))
LIMITS = dict(LIMIT.findall(pages()["docs/clients.md"]))
UNITS = {1: "s", 1000: "ms"}


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.split("|")]


def test_every_client_is_in_the_table() -> None:
    assert set(ENTRIES) == set(CATALOGUE)


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_a_clients_row_has_its_files_and_its_keys(name: str) -> None:
    client = CATALOGUE[name]
    file, project, under, key, unit, _ = cells(ENTRIES[name])
    assert str(client.file(user_folders({"HOME": "/home/you"}))).replace("/home/you", "~") in file
    assert (project == "–") == (not client.project)
    assert all(f"`{it}`" in project or it.endswith(".jsonc") for it in client.project)
    assert under == f"`{client.servers}`"
    assert (key, unit) == (f"`{client.timeout}`", UNITS[client.unit]) or client.timeout is None


@pytest.mark.parametrize("name", sorted(LIMITS))
def test_a_ticket_comes_when_the_table_says(name: str) -> None:
    client = Clients().of(name)
    _, _, gives_notice, ticket = cells(LIMITS[name])
    silent, heard = client.patience(progress=False), client.patience(progress=True)
    if silent is None:
        assert ticket == "none"
    elif name != "chatbridge-hook":
        said = re.findall(r"(\d+) (h|min|s)\b", ticket.split("without progress")[-1])
        units = {"h": 3600, "min": 60, "s": 1}
        assert sum(int(n) * units[unit] for n, unit in said) == silent
        assert ticket.startswith("none;") == (heard is None)
    assert gives_notice == "no" or client.cancels
