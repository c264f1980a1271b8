"""What is said of the address of a database that cannot be used. No server is needed for it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from chatbridge.core.errors import StoreError
from chatbridge.store.database import ConnectionLost
from chatbridge.store.postgres.addresses import createdb
from chatbridge.store.postgres.connection import Address, connect

SECRET = "correct-horse"
VERIFIED = "sslmode=verify-full&sslrootcert"


async def refused(dsn: str) -> StoreError:
    with pytest.raises(StoreError) as raised:
        await connect(Address(dsn, given_in="--to"))
    assert SECRET not in str(raised.value)
    return raised.value


@pytest.mark.parametrize(
    ("rest", "says"),
    [
        ("@host:abc/team", "the port is no number up to 65535"),
        ("@127.0.0.1:70000/team", "the port is no number up to 65535"),
        ("@/team?host=a&port=abc", "the port is no number up to 65535"),
        ("@[::1]/team?sslmode=verify-ful", "sslmode is none of disable, allow"),
        ("@host/team?sslmode=verify-full", "sslmode=verify-full needs the file of an authority"),
        ("@host/team?target_session_attrs=write", "target_session_attrs is none of any"),
        ("@host/team?sslmode", "what follows the ? is not name=value"),
    ],
)
async def test_an_address_that_cannot_be_read_is_said_with_the_part_that_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rest: str, says: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # without an authority of its own
    error = await refused(f"postgresql://chatbridge:{SECRET}{rest}")
    assert f"the address in --to cannot be read: {says}" in str(error)
    assert not isinstance(error, ConnectionLost)


async def test_the_file_of_the_authority_is_named_if_it_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    error = await refused(f"postgresql://a:{SECRET}@127.0.0.1:1/team?{VERIFIED}={path}")
    says = rf"the file of sslrootcert cannot be read: {re.escape(str(path))} \(\[Errno 2\] No such"
    assert re.search(says, str(error))
    path.write_text("no certificate")
    assert str(path) in str(await refused(f"postgresql://127.0.0.1:1/team?{VERIFIED}={path}"))


async def test_what_the_system_says_comes_before_what_to_do() -> None:
    error = await refused(f"postgresql://a:{SECRET}@127.0.0.1:1/team")
    says = r"the server cannot be reached \(\[Errno \d+\] .*\)\. Check that it runs, and the "
    assert re.search(f"{says}address in --to$", str(error))


@pytest.mark.parametrize(
    ("dsn", "owner", "name"),
    [
        ("postgresql://ada@host/team", "ada", "team"),
        ("postgresql://ada@host", "ada", "ada"),
        ("postgresql://host/the%20team", "USER", "'the team'"),
    ],
)
def test_the_command_that_makes_a_database_has_the_names_of_the_address(
    dsn: str, owner: str, name: str
) -> None:
    assert createdb(dsn) == (
        f"sudo -u postgres createdb --owner {owner} --encoding UTF8 --template template0 {name}"
    )
