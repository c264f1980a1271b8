"""The bot's cross-signing identity on the real homeserver, with the keys of a real nio device."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from nio.api import Api
from nio.client.async_client import AsyncClient, AsyncClientConfig
from vodozemac import Ed25519PublicKey, Ed25519Signature, SignatureException

from chatbridge.channels.matrix.account.identity import Identity
from chatbridge.channels.matrix.client.api import PREFIX
from tests.fakes.synapse import Account, Synapse

QUERY = "/keys/query"
PUBLISH = "/keys/device_signing/upload"
SIGN = "/keys/signatures/upload"


class Device:
    """A device of the bot, whose keys are on the server, and what it asked the server."""

    def __init__(self, client: AsyncClient) -> None:
        assert client.olm is not None
        self.id: str = client.olm.device_id
        self.ed25519: str = client.olm.account.identity_keys["ed25519"]
        self.asked: list[str] = []
        self.sent: list[str] = []
        self.cut_at = ""
        self._client = client

    async def request(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        if path == self.cut_at:
            raise ConnectionError("cut")
        self.asked.append(path)
        self.sent.append(json.dumps(body))
        headers = {"Authorization": f"Bearer {self._client.access_token}"}
        sending = self._client.send(method, PREFIX + path, json.dumps(body), headers)
        async with await sending as answer:
            return answer.status, await answer.json()

    async def signed(self, folder: Path) -> str | None:
        return await self.identity(folder).sign(self.id, self.ed25519)

    def identity(self, folder: Path) -> Identity:
        return Identity(folder, self._client.user_id, self.request)


@asynccontextmanager
async def device_of(
    bot: Account, synapse: Synapse, folder: Path, *, uploaded: bool = True
) -> AsyncIterator[Device]:
    login = await asyncio.to_thread(synapse.log_in, bot)
    store = folder / login.device_id
    store.mkdir()
    client = AsyncClient(
        synapse.address,
        login.user_id,
        store_path=str(store),
        config=AsyncClientConfig(encryption_enabled=True),
    )
    client.restore_login(login.user_id, login.device_id, login.access_token)
    try:
        if uploaded:
            await client.keys_upload()
        yield Device(client)
    finally:
        await client.close()
        assert client.store is not None
        client.store.database.close()


@pytest.fixture
def bot(synapse: Synapse) -> Account:
    return synapse.register("Bot")


def seen_by(person: Account, synapse: Synapse, user_id: str) -> dict[str, Any]:
    token = synapse.log_in(person).access_token
    return synapse.request("POST", PREFIX + QUERY, {"device_keys": {user_id: []}}, token=token)


def signs(signer: dict[str, Any], content: dict[str, Any]) -> bool:
    """Whether a published key has signed what is published, by another library's arithmetic."""
    (name, key), *more = signer["keys"].items()
    assert not more
    signature = content.get("signatures", {}).get(content["user_id"], {}).get(name)
    if signature is None:
        return False
    bare = {k: v for k, v in content.items() if k not in ("signatures", "unsigned")}
    try:
        Ed25519PublicKey.from_base64(key).verify_signature(
            Api.to_canonical_json(bare).encode(), Ed25519Signature.from_base64(signature)
        )
    except SignatureException:
        return False
    return True


async def test_everybody_can_check_that_the_device_is_the_bots(
    synapse: Synapse, bot: Account, tmp_path: Path
) -> None:
    ada = synapse.register("Ada")
    async with device_of(bot, synapse, tmp_path) as device:
        assert await device.signed(tmp_path) is None

    found = seen_by(ada, synapse, bot.user_id)
    master = found["master_keys"][bot.user_id]
    self_signing = found["self_signing_keys"][bot.user_id]
    assert signs(master, self_signing)
    assert signs(self_signing, found["device_keys"][bot.user_id][device.id])
    user_signing = seen_by(bot, synapse, bot.user_id)["user_signing_keys"][bot.user_id]
    assert signs(master, user_signing)


async def test_a_later_start_looks_and_changes_nothing(
    synapse: Synapse, bot: Account, tmp_path: Path
) -> None:
    async with device_of(bot, synapse, tmp_path) as device:
        assert await device.signed(tmp_path) is None
        assert device.asked == [QUERY, PUBLISH, SIGN]
        before = device.identity(tmp_path).path.read_bytes()
        device.asked.clear()

        assert await device.signed(tmp_path) is None

        assert device.asked == [QUERY]
        assert device.identity(tmp_path).path.read_bytes() == before


async def test_a_new_device_is_signed_by_the_same_identity(
    synapse: Synapse, bot: Account, tmp_path: Path
) -> None:
    async with (
        device_of(bot, synapse, tmp_path) as old,
        device_of(bot, synapse, tmp_path) as new,
    ):
        assert await old.signed(tmp_path) is None
        assert await new.signed(tmp_path) is None
        assert new.asked == [QUERY, SIGN]

    found = seen_by(bot, synapse, bot.user_id)
    devices = found["device_keys"][bot.user_id]
    self_signing = found["self_signing_keys"][bot.user_id]
    assert signs(self_signing, devices[old.id])
    assert signs(self_signing, devices[new.id])


async def test_the_private_keys_stay_in_a_file_for_the_owner_alone(
    synapse: Synapse, bot: Account, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    async with device_of(bot, synapse, tmp_path) as device:
        assert await device.signed(tmp_path) is None
        path = device.identity(tmp_path).path
    assert path.stat().st_mode & 0o777 == 0o600
    secrets = json.loads(path.read_text()).values()
    assert len(set(secrets)) == 3
    for secret in secrets:
        assert all(secret not in body for body in device.sent)
        assert secret not in caplog.text


async def test_an_identity_that_somebody_else_has_made_is_left_alone(
    synapse: Synapse, bot: Account, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    async with (
        device_of(bot, synapse, tmp_path) as theirs,
        device_of(bot, synapse, tmp_path) as ours,
    ):
        assert await theirs.signed(elsewhere) is None
        before = seen_by(bot, synapse, bot.user_id)

        said = await ours.signed(tmp_path)

        assert said is not None
        assert f"/verify {ours.id} {ours.ed25519}" in said
        assert ours.asked == [QUERY]
        assert not ours.identity(tmp_path).path.exists()
        after = seen_by(bot, synapse, bot.user_id)
        assert after["master_keys"] == before["master_keys"]
        assert not signs(
            after["self_signing_keys"][bot.user_id], after["device_keys"][bot.user_id][ours.id]
        )

        # The person has followed the sentence.
        assert await theirs.identity(elsewhere).sign(ours.id, ours.ed25519) is None
        assert await ours.signed(tmp_path) is None


async def test_an_identity_that_replaced_the_bots_own_is_left_alone(
    synapse: Synapse, bot: Account, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    async with (
        device_of(bot, synapse, tmp_path) as ours,
        device_of(bot, synapse, tmp_path) as theirs,
    ):
        ours.cut_at = PUBLISH
        with pytest.raises(ConnectionError):
            await ours.signed(tmp_path)
        assert await theirs.signed(elsewhere) is None
        ours.cut_at = ""
        ours.asked.clear()

        said = await ours.signed(tmp_path)

        assert said is not None
        assert "/verify" in said
        assert ours.asked == [QUERY]


@pytest.mark.parametrize("rest", ["", '{"master": "', "[]", "null", '{"master": 1}', "\xff"])
async def test_a_damaged_file_is_replaced_if_nothing_was_published(
    synapse: Synapse, bot: Account, tmp_path: Path, rest: str
) -> None:
    async with device_of(bot, synapse, tmp_path) as device:
        device.identity(tmp_path).path.write_text(rest)
        assert await device.signed(tmp_path) is None
    found = seen_by(bot, synapse, bot.user_id)
    assert signs(
        found["self_signing_keys"][bot.user_id], found["device_keys"][bot.user_id][device.id]
    )


async def test_a_file_damaged_after_publishing_makes_no_second_identity(
    synapse: Synapse, bot: Account, tmp_path: Path
) -> None:
    async with (
        device_of(bot, synapse, tmp_path) as old,
        device_of(bot, synapse, tmp_path) as new,
    ):
        assert await old.signed(tmp_path) is None
        path = old.identity(tmp_path).path
        path.write_bytes(path.read_bytes()[:-20])
        damaged = path.read_bytes()

        assert await old.signed(tmp_path) is None  # nothing is needed of it
        said = await new.signed(tmp_path)

        assert said is not None
        assert "/verify" in said
        assert new.asked == [QUERY]
        assert path.read_bytes() == damaged


@pytest.mark.parametrize("step", [PUBLISH, SIGN])
async def test_what_was_cut_short_is_finished_with_the_same_keys(
    synapse: Synapse, bot: Account, tmp_path: Path, step: str
) -> None:
    async with device_of(bot, synapse, tmp_path) as device:
        device.cut_at = step
        with pytest.raises(ConnectionError):
            await device.signed(tmp_path)
        made = device.identity(tmp_path).path.read_bytes()
        device.cut_at = ""

        assert await device.signed(tmp_path) is None

        assert device.identity(tmp_path).path.read_bytes() == made
        device.asked.clear()
        assert await device.signed(tmp_path) is None
        assert device.asked == [QUERY]


async def test_a_device_whose_keys_are_not_on_the_server_is_not_signed(
    synapse: Synapse, bot: Account, tmp_path: Path
) -> None:
    async with device_of(bot, synapse, tmp_path, uploaded=False) as device:
        said = await device.signed(tmp_path)
        assert said is not None
        assert device.id in said
        assert device.asked == [QUERY]


async def test_a_device_with_another_key_under_the_bots_name_is_not_signed(
    synapse: Synapse, bot: Account, tmp_path: Path
) -> None:
    async with (
        device_of(bot, synapse, tmp_path) as device,
        device_of(bot, synapse, tmp_path) as other,
    ):
        said = await device.identity(tmp_path).sign(device.id, other.ed25519)
        assert said is not None
        assert device.asked == [QUERY]


async def test_two_accounts_in_one_folder_have_two_identities(
    synapse: Synapse, bot: Account, tmp_path: Path
) -> None:
    other = synapse.register("Other")
    async with (
        device_of(bot, synapse, tmp_path) as first,
        device_of(other, synapse, tmp_path) as second,
    ):
        assert await first.signed(tmp_path) is None
        assert await second.signed(tmp_path) is None
        keys = [device.identity(tmp_path).path.read_bytes() for device in (first, second)]
        assert keys[0] != keys[1]
