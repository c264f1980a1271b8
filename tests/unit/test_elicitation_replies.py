"""Replies to forms of an earlier hub: each is given once, to what its call asks now."""

from __future__ import annotations

from typing import Any

import mcp_types as types

from chatbridge.hub.links.session import PendingElicitations

LEFT: dict[str, Any] = {"action": "accept", "content": {"answer": "left"}}


def given(forms: PendingElicitations) -> list[tuple[types.RequestId | None, Any]]:
    """What the SDK is given, as request and result."""
    found: list[tuple[types.RequestId | None, Any]] = []
    while not forms.replies.empty():
        message = forms.replies.get_nowait()
        assert isinstance(message, types.JSONRPCResponse)
        found.append((message.id, message.result))
    return found


def test_a_reply_answers_the_request_that_its_call_has_open() -> None:
    forms = PendingElicitations()
    assert not forms.answered("7", 1)
    assert not forms.answered("8", 2)
    assert forms.reply("7", LEFT) == 1
    assert given(forms) == [(1, LEFT)]


def test_a_reply_that_comes_first_answers_the_request_that_follows_and_no_other() -> None:
    forms = PendingElicitations()
    assert forms.reply("7", LEFT) is None
    assert given(forms) == []
    assert not forms.answered("8", 1)
    assert forms.answered("7", 2)
    assert given(forms) == [(2, LEFT)]
    assert not forms.answered("7", 3)


def test_a_second_reply_of_a_call_does_not_answer_the_same_request_again() -> None:
    forms = PendingElicitations()
    assert not forms.answered("7", 1)
    assert forms.reply("7", LEFT) == 1
    assert forms.reply("7", LEFT) is None
    assert given(forms) == [(1, LEFT)]


def test_a_request_that_the_client_answered_itself_takes_no_reply() -> None:
    forms = PendingElicitations()
    assert not forms.answered("7", 1)
    forms.closed(1)
    assert forms.reply("7", LEFT) is None
    assert given(forms) == []


def test_nothing_is_left_of_a_call_that_has_ended() -> None:
    forms = PendingElicitations()
    assert not forms.answered("7", 1)
    forms.forget("7")
    assert forms.reply("7", LEFT) is None
    forms.forget("7")
    assert not forms.answered("7", 2)
