"""The homeserver of the tests refuses, limits, ends and comes back as a true one does."""

from __future__ import annotations

import pytest

from tests.fakes.synapse import Login, Refused, Synapse

WHO_AM_I = "/_matrix/client/v3/account/whoami"


def post(server: Synapse, login: Login, room: str, messages: int) -> None:
    for number in range(messages):
        path = f"/_matrix/client/v3/rooms/{room}/send/m.room.message/{number}"
        body = {"msgtype": "m.text", "body": "hello"}
        server.request("PUT", path, body, token=login.access_token)


def make_room(server: Synapse, login: Login) -> str:
    made = server.request("POST", "/_matrix/client/v3/createRoom", {}, token=login.access_token)
    room: str = made["room_id"]
    return room


def test_a_soft_log_out_ends_the_token_and_keeps_the_device(synapse: Synapse) -> None:
    ada = synapse.register("Ada")
    login = synapse.log_in(ada)
    synapse.request("GET", WHO_AM_I, token=login.access_token)
    synapse.soft_log_out(login.access_token)
    with pytest.raises(Refused) as refusal:
        synapse.request("GET", WHO_AM_I, token=login.access_token)
    assert (refusal.value.errcode, refusal.value.body["soft_logout"]) == ("M_UNKNOWN_TOKEN", True)
    assert synapse.log_in(ada, login.device_id).device_id == login.device_id


def test_a_log_out_ends_the_token_for_good(synapse: Synapse) -> None:
    login = synapse.log_in(synapse.register("Ada"))
    synapse.log_out(login.access_token)
    with pytest.raises(Refused) as refusal:
        synapse.request("GET", WHO_AM_I, token=login.access_token)
    assert (refusal.value.errcode, refusal.value.body["soft_logout"]) == ("M_UNKNOWN_TOKEN", False)


def test_only_who_is_limited_is_told_to_wait(synapse: Synapse) -> None:
    slow, free = (synapse.log_in(synapse.register(name)) for name in ("Slow", "Free"))
    rooms = {login: make_room(synapse, login) for login in (slow, free)}
    synapse.limit_rate_of(slow.user_id, per_second=1, burst=1)
    with pytest.raises(Refused) as refusal:
        post(synapse, slow, rooms[slow], 20)
    assert refusal.value.errcode == "M_LIMIT_EXCEEDED"
    assert refusal.value.body["retry_after_ms"] > 0
    post(synapse, free, rooms[free], 20)
