"""The inbox's API over a real socket, with the real broker and store behind it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from chatbridge import __version__
from chatbridge.core.errors import SettingsError
from tests.fakes.inbox import CONFIRM, MULTI, OPTIONAL, SELECT, TEXT
from tests.fakes.web import TROUBLE, Web


def answer(question: str, *values: str, **more: Any) -> dict[str, Any]:
    return {"answers": [{"questionId": question, "values": list(values), **more}]}


async def test_open_asks_are_listed_with_everything_a_script_needs(web: Web) -> None:
    ask = await web.desk.ask(SELECT, title="Tests", timeout=300)
    response = await web.script.get("/api/asks?status=open")
    assert response.status_code == 200
    assert response.json() == [
        {
            "id": ask.id,
            "title": "Tests",
            "status": "open",
            "createdAt": "2026-11-15T22:41:00.000Z",
            "deadline": "2026-11-15T22:46:00.000Z",
            "priority": "normal",
            "agent": {
                "name": "Claude Code",
                "client": "claude-code",
                "project": "shop-api",
                "label": None,
            },
            "revision": 1,
            "questions": [
                {
                    "id": "q_db",
                    "question": "Which database should the integration tests use?",
                    "type": "select",
                    "options": [
                        {
                            "label": "PostgreSQL in Docker (recommended)",
                            "description": "About 9 s more",
                        },
                        {"label": "SQLite"},
                    ],
                    "required": True,
                }
            ],
            "delivered": False,
            "kept": False,
        }
    ]


async def test_asks_come_nearest_deadline_first(web: Web) -> None:
    later = await web.desk.ask(TEXT, timeout=900)
    sooner = await web.desk.ask(SELECT, timeout=60)
    listed = (await web.script.get("/api/asks")).json()
    assert [ask["id"] for ask in listed] == [sooner.id, later.id]


async def test_an_answer_settles_the_ask_and_says_who_gave_it(web: Web) -> None:
    ask = await web.desk.ask(SELECT)
    response = await web.script.post(f"/api/asks/{ask.id}/answer", json=answer("q_db", "SQLite"))
    assert response.status_code == 200
    assert response.json()["status"] == "answered"
    assert "late" not in response.json()
    shown = (await web.script.get(f"/api/asks/{ask.id}")).json()
    assert shown["outcome"] == {
        "answers": [{"questionId": "q_db", "values": ["SQLite"]}],
        "at": "2026-11-15T22:41:00.000Z",
        "by": "a script",
        "channel": "terminal",
    }
    assert (await web.script.get("/api/asks")).json() == []


async def test_an_answer_wakes_the_waiting_call(web: Web) -> None:
    ask = await web.desk.ask(CONFIRM)
    waiting = asyncio.create_task(web.desk.broker.ended(ask.id))
    await web.script.post(f"/api/asks/{ask.id}/answer", json=answer("q_go", "yes"))
    ended = await asyncio.wait_for(waiting, 5)
    assert ended.outcome
    assert ended.outcome.answers[0].values == ("yes",)


async def test_all_question_types_take_their_answers(web: Web) -> None:
    ask = await web.desk.ask(TEXT, SELECT, MULTI, CONFIRM, OPTIONAL)
    body = {
        "answers": [
            {"questionId": "q_checks", "values": ["Load test", "Unit tests"], "customText": "Fuzz"},
            {"questionId": "q_text", "values": ["feat: bridge"]},
            {"questionId": "q_db", "values": [], "customText": "DuckDB"},
            {"questionId": "q_go", "values": ["no"]},
        ]
    }
    response = await web.script.post(f"/api/asks/{ask.id}/answer", json=body)
    assert response.status_code == 200, response.text
    assert response.json()["ask"]["outcome"]["answers"] == [
        {"questionId": "q_text", "values": ["feat: bridge"]},
        {"questionId": "q_db", "values": [], "customText": "DuckDB"},
        {"questionId": "q_checks", "values": ["Unit tests", "Load test"], "customText": "Fuzz"},
        {"questionId": "q_go", "values": ["no"]},
        {"questionId": "q_more", "values": []},
    ]


async def test_of_two_answers_at_once_one_wins_and_the_other_learns_how_it_ended(web: Web) -> None:
    ask = await web.desk.ask(CONFIRM)
    path = f"/api/asks/{ask.id}/answer"
    responses = await asyncio.gather(
        *(web.script.post(path, json=answer("q_go", value)) for value in ("yes", "no") * 5)
    )
    won = [r for r in responses if r.status_code == 200]
    lost = [r for r in responses if r.status_code == 409]
    assert (len(won), len(lost)) == (1, 9)
    given = won[0].json()["ask"]["outcome"]
    assert all(r.json()["status"] == "answered" and r.json()["outcome"] == given for r in lost)


async def test_a_timed_out_ask_takes_one_late_answer_beside_its_status(web: Web) -> None:
    ask = await web.desk.time_out(await web.desk.ask(CONFIRM, timeout=60))
    path = f"/api/asks/{ask.id}/answer"
    first = await web.script.post(path, json=answer("q_go", "yes"))
    second = await web.script.post(path, json=answer("q_go", "no"))
    assert (first.status_code, first.json()["late"]) == (200, True)
    assert second.status_code == 409
    shown = (await web.script.get(f"/api/asks/{ask.id}")).json()
    assert (shown["status"], shown["kept"]) == ("timed_out", True)
    assert shown["outcome"]["answers"] == []
    assert shown["late"]["answers"] == [{"questionId": "q_go", "values": ["yes"]}]


async def test_a_cancellation_keeps_its_reason(web: Web) -> None:
    ask = await web.desk.ask(TEXT)
    path = f"/api/asks/{ask.id}/cancel"
    response = await web.script.post(path, json={"reason": " not today "})
    assert (response.status_code, response.json()["status"]) == (200, "cancelled")
    assert response.json()["ask"]["outcome"]["reason"] == "not today"
    again = await web.script.post(path)
    assert (again.status_code, again.json()["outcome"]["reason"]) == (409, "not today")


async def test_a_cancellation_needs_no_body(web: Web) -> None:
    ask = await web.desk.ask(TEXT)
    response = await web.script.post(f"/api/asks/{ask.id}/cancel")
    assert response.status_code == 200
    assert "reason" not in response.json()["ask"]["outcome"]


@pytest.mark.parametrize("path", ["answer", "cancel", ""])
async def test_an_unknown_ask_is_404(web: Web, path: str) -> None:
    method = "POST" if path else "GET"
    url = f"/api/asks/no-such-id/{path}".rstrip("/")
    body: dict[str, object] = {"answers": []} if path == "answer" else {}
    response = await web.script.request(method, url, json=body)
    assert response.status_code == 404
    assert "no-such-id" in response.json()["error"]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "answers"),
        ({"answers": "yes"}, "answers"),
        ({"answers": ["yes"]}, "answers[0]"),
        ({"answers": [], "more": 1}, "more"),
        ({"answers": [{}]}, "answers[0].questionId"),
        ({"answers": [{"questionId": 7}]}, "answers[0].questionId"),
        (answer("nope", "SQLite"), "answers[0].questionId"),
        (answer("q_db", "MySQL"), "answers[0].values[0]"),
        (answer("q_db"), "answers[0]"),
        (answer("q_db", "SQLite", customText="x"), "answers[0].values"),
        (answer("q_db", customText=7), "answers[0].customText"),
        (answer("q_db", customText=" "), "answers[0].customText"),
        (answer("q_db", "SQLite", note="x"), "answers[0].note"),
        ({"answers": [{"questionId": "q_db", "values": "SQLite"}]}, "answers[0].values"),
        ({"answers": [{"questionId": "q_db", "values": [True]}]}, "answers[0].values[0]"),
        ({"answers": [{"questionId": "q_db", "values": ["SQLite"]}] * 2}, "answers[1].questionId"),
        ({"answers": []}, "answers"),
    ],
)
async def test_a_body_that_does_not_fit_is_422_with_the_fields_path(
    web: Web, body: object, path: str
) -> None:
    ask = await web.desk.ask(SELECT)
    response = await web.script.post(f"/api/asks/{ask.id}/answer", json=body)
    assert (response.status_code, response.json()["path"]) == (422, path)
    assert (await web.desk.inbox.ask(ask.id)).open


async def test_a_wrong_method_is_405_and_another_status_422(web: Web) -> None:
    assert (await web.script.delete("/api/asks")).status_code == 405
    assert (await web.script.get("/api/asks/x/answer")).status_code == 405
    response = await web.script.get("/api/asks?status=nonsense")
    assert (response.status_code, response.json()["path"]) == (422, "status")


async def test_health_says_nothing(web: Web) -> None:
    response = await web.stranger.get("/healthz")
    assert (response.status_code, response.content) == (200, b"")


async def test_a_taken_port_that_was_set_is_an_error_that_names_the_setting(web: Web) -> None:
    from chatbridge.channels.web.server import listen

    with pytest.raises(SettingsError, match=r"web\.port"):
        listen("127.0.0.1", web.port)


async def test_without_a_port_the_next_free_one_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    from chatbridge.channels.web import server

    with server.listen("127.0.0.1", 0) as taken:
        first = taken.getsockname()[1]
        monkeypatch.setattr(server, "FIRST_PORT", first)
        with server.listen("127.0.0.1", None) as found:
            assert first < found.getsockname()[1] < first + server.PORTS_TO_TRY


async def test_the_status_names_each_channel_and_what_is_wrong_with_it(web: Web) -> None:
    assert (await web.stranger.get("/api/status")).status_code == 401
    status = (await web.script.get("/api/status")).json()
    assert status == {
        "version": __version__,
        "agents": ["shop-api"],
        "channels": [
            {"name": "telegram", "ok": False, "trouble": TROUBLE},
            {"name": "web", "ok": True},
        ],
    }


async def test_a_channel_that_does_not_work_is_a_banner_on_the_page(web: Web) -> None:
    assert TROUBLE in (await web.browser.get("/")).text
