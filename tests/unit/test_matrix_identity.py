"""What the bot's identity makes of answers that a homeserver should not give."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.matrix.account.identity import Body, Identity, Key

USER = "@bot:localhost"
DEVICE = "BOTDEVICE"
KEY = Key(bytes(32))


def device() -> Body:
    """A device as a homeserver shows it, with its own signature."""
    keys = {f"ed25519:{DEVICE}": KEY.public}
    content: Body = {"user_id": USER, "device_id": DEVICE, "keys": keys}
    signed = KEY.signed(content)
    (signature,) = signed["signatures"][USER].values()
    return {**content, "signatures": {USER: {f"ed25519:{DEVICE}": signature}}}


def answers(*given: tuple[int, Any]) -> Any:
    rest = list(given)

    async def request(method: str, path: str, body: Body) -> tuple[int, Any]:
        return rest.pop(0)

    return request


SHOWN = (200, {"device_keys": {USER: {DEVICE: device()}}})


async def test_a_homeserver_that_wants_a_password_first_is_told_with_the_way_out(
    tmp_path: Path,
) -> None:
    wants = (401, {"flows": [{"stages": ["m.login.password"]}], "session": "x"})
    said = await Identity(tmp_path, USER, answers(SHOWN, wants)).sign(DEVICE, KEY.public)
    assert said is not None
    assert "(401)" in said
    assert f"/verify {DEVICE} {KEY.public}" in said


async def test_a_signature_that_is_not_taken_is_told(tmp_path: Path) -> None:
    failure = {"errcode": "M_INVALID_SIGNATURE", "error": "No\nway"}
    failed = (200, {"failures": {USER: {DEVICE: failure}}})
    said = await Identity(tmp_path, USER, answers(SHOWN, (200, {}), failed)).sign(
        DEVICE, KEY.public
    )
    assert said is not None
    assert "M_INVALID_SIGNATURE" in said
    assert "\n" not in said


async def test_a_signature_by_the_right_name_and_another_key_counts_for_nothing(
    tmp_path: Path,
) -> None:
    other = Key(bytes(31) + b"\1")
    forged = device()
    (signature,) = other.signed(forged)["signatures"][USER].values()
    forged["signatures"][USER][f"ed25519:{DEVICE}"] = signature
    shown = (200, {"device_keys": {USER: {DEVICE: forged}}})
    identity = Identity(tmp_path, USER, answers(shown))
    said = await identity.sign(DEVICE, KEY.public)
    assert said == f"the homeserver does not have the keys of the bot's device {DEVICE}"
    assert not identity.path.exists()


async def test_a_file_that_cannot_be_read_is_told_and_not_replaced(tmp_path: Path) -> None:
    identity = Identity(tmp_path, USER, answers(SHOWN))
    identity.path.mkdir()
    said = await identity.sign(DEVICE, KEY.public)
    assert said is not None
    assert str(identity.path) in said


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(), inside, max_size=3),
    max_leaves=5,
)


@given(
    part=st.sampled_from(["master_keys", "self_signing_keys", "user_signing_keys", "device_keys"]),
    depth=st.integers(0, 4),
    status=st.sampled_from([200, 401, 500]),
    junk=anything,
)
async def test_no_answer_is_an_exception(part: str, depth: int, status: int, junk: Any) -> None:
    names = [part, USER, "keys" if part != "device_keys" else DEVICE, "signatures"][:depth]
    shown = junk
    for name in reversed(names):
        shown = {name: shown}
    if isinstance(shown, dict) and part != "device_keys":
        shown = SHOWN[1] | shown
    with tempfile.TemporaryDirectory() as folder:
        request = answers((200, shown), (status, junk), (status, junk))
        said = await Identity(Path(folder), USER, request).sign(DEVICE, KEY.public)
    assert said is None or said.startswith("the ")
