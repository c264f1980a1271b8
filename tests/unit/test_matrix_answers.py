"""What a homeserver's answers mean."""

from __future__ import annotations

import math
from typing import Any

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nio.exceptions import LocalProtocolError
from nio.responses import ErrorResponse

from chatbridge.channels.errors import LONGEST_PAUSE
from chatbridge.channels.matrix.client.errors import (
    LoggedOut,
    Refusal,
    Rejected,
    checked,
    meaning_of,
)
from chatbridge.core.errors import ChatbridgeError, ChatRefused, RetryLater

BOT, ROOM = "@bot:example.org", "!room:example.org"


class Transport:
    """What is known of the answer beside its body."""

    def __init__(self, status: int, headers: dict[str, str] | None = None) -> None:
        self.status = status
        self.headers = headers or {}


def meaning(error: Exception, *, room: str | None = ROOM, inside: bool = True) -> Exception:
    return meaning_of(error, user=BOT, hint="matrix.access_token", room=room, inside=inside)


def refused(
    body: dict[str, Any],
    *,
    status: int = 400,
    headers: dict[str, str] | None = None,
    room: str | None = ROOM,
    inside: bool = True,
) -> Exception:
    answer = ErrorResponse.from_dict(body)
    answer.transport_response = Transport(status, headers)  # type: ignore[assignment]
    with pytest.raises(Refusal) as caught:
        checked(answer)
    return meaning(caught.value, room=room, inside=inside)


@pytest.mark.parametrize(
    ("body", "headers", "pause"),
    [
        ({"retry_after_ms": 2500}, {}, 2.5),
        ({"retry_after_ms": 2500}, {"Retry-After": "3"}, 3.0),
        ({}, {}, 1.0),
        ({}, {"Retry-After": "soon"}, 1.0),
        ({}, {"Retry-After": "nan"}, 1.0),
        ({"retry_after_ms": 0}, {}, 1.0),
        ({}, {"Retry-After": "-5"}, 0.1),
        ({}, {"Retry-After": "inf"}, LONGEST_PAUSE),
        ({"retry_after_ms": 10**12}, {}, LONGEST_PAUSE),
    ],
)
def test_a_pause_that_a_server_asks_for_is_taken_within_reason(
    body: dict[str, Any], headers: dict[str, str], pause: float
) -> None:
    limited = {"errcode": "M_LIMIT_EXCEEDED", "error": "Too Many Requests", **body}
    meant = refused(limited, status=429, headers=headers)
    assert isinstance(meant, RetryLater)
    assert meant.after == pause


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("code", ["M_UNKNOWN_TOKEN", "M_MISSING_TOKEN", "M_USER_DEACTIVATED"])
def test_a_token_that_does_not_count_says_where_it_is_set(code: str, soft: bool) -> None:
    meant = refused({"errcode": code, "error": "no", "soft_logout": soft}, status=401)
    assert isinstance(meant, LoggedOut)
    assert meant.soft is soft
    assert f"({code}). Check matrix.access_token, then run: chatbridge restart" in str(meant)


@pytest.mark.parametrize(
    ("body", "inside", "kind", "said"),
    [
        ("You don't have permission to post that", True, ChatRefused, "raise the bot's power"),
        ("User @bot:example.org not in room", True, ChatRefused, f"Invite {BOT} there"),
        ("No known servers", False, ChatRefused, f"Invite {BOT} there"),
    ],
)
def test_a_room_that_is_closed_to_the_bot_says_what_to_do(
    body: str, inside: bool, kind: type[Exception], said: str
) -> None:
    meant = refused({"errcode": "M_FORBIDDEN", "error": body}, status=403, inside=inside)
    assert isinstance(meant, kind)
    assert said in str(meant)
    assert ROOM in str(meant)


def test_what_is_not_about_a_room_is_no_closed_room() -> None:
    meant = refused({"errcode": "M_FORBIDDEN", "error": "Invalid password"}, room=None)
    assert isinstance(meant, Rejected)
    assert meant.code == "M_FORBIDDEN"


@pytest.mark.parametrize("status", [500, 502, 504])
def test_a_server_or_a_gateway_that_fails_is_tried_again(status: int) -> None:
    for body in ({"errcode": "M_UNKNOWN", "error": "Internal server error"}, {"html": "no"}):
        meant = refused(body, status=status)
        assert isinstance(meant, RetryLater)
        assert meant.after is None


@pytest.mark.parametrize(
    "error",
    [
        TimeoutError(),
        aiohttp.ServerDisconnectedError(),
        aiohttp.ClientPayloadError("Bearer syt_secret"),
        ConnectionResetError("to https://example.org?access_token=syt_secret"),
        LocalProtocolError("syt_secret"),
        ValueError("syt_secret"),
        KeyError("syt_secret"),
    ],
)
def test_no_answer_or_an_unreadable_one_is_tried_again_and_nothing_of_it_is_quoted(
    error: Exception,
) -> None:
    meant = meaning(error)
    assert isinstance(meant, RetryLater)
    assert "syt_secret" not in str(meant)


def test_a_bug_stays_a_bug() -> None:
    bug = AssertionError()
    assert meaning(bug) is bug
    known = ChatRefused("no")
    assert meaning(known) is known


@given(
    body=st.dictionaries(
        st.sampled_from(["errcode", "error", "retry_after_ms", "soft_logout", "other"]),
        st.none()
        | st.booleans()
        | st.integers()
        | st.text(max_size=20)
        | st.sampled_from(["M_LIMIT_EXCEEDED", "M_FORBIDDEN", "M_UNKNOWN_TOKEN"]),
    ),
    status=st.sampled_from([200, 400, 401, 403, 404, 429, 500, 502]),
    header=st.none() | st.text(max_size=8) | st.floats().map(str),
    room=st.none() | st.just(ROOM),
    inside=st.booleans(),
)
def test_any_refusal_means_something(
    body: dict[str, Any], status: int, header: str | None, room: str | None, inside: bool
) -> None:
    headers = {} if header is None else {"Retry-After": header}
    meant = refused(body, status=status, headers=headers, room=room, inside=inside)
    assert isinstance(meant, ChatbridgeError)
    if isinstance(meant, RetryLater) and meant.after is not None:
        assert math.isfinite(meant.after)
        assert 0 < meant.after <= LONGEST_PAUSE
