"""What a notification says whatever an agent wrote, who can read it, and where it may be sent."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from py_vapid import Vapid02
from pydantic import ValidationError
from pywebpush import WebPusher

from chatbridge.channels.web.push.messages import (
    MOST_BYTES,
    SIZES,
    encrypted,
    notification,
    payload,
    signed,
)
from chatbridge.channels.web.push.settings import SERVICES, Detail, Push
from chatbridge.channels.web.push.subscriptions import Keys, Subscription, decode, encode, name_of
from chatbridge.channels.web.push.surface import PushSurface
from chatbridge.core.cards.build import build_card
from chatbridge.core.model import Ask, Notice
from chatbridge.core.nights.nights import Nights
from tests.fakes.clock import START, StillClock
from tests.fakes.push_service import PushService, Refused
from tests.telegram_strategies import approvals, asks, notices

KEYS = Keys(bytes(31) + b"\x07")
ORIGIN = "https://inbox.example.org"
SERVICE = PushService()
BROWSER = SERVICE.browser(KEYS.public)
SERVICE.now = lambda: START


def subscription(id: str = "0011223344556677") -> Subscription:
    given = BROWSER.subscription
    return Subscription(
        id=id,
        endpoint=given["endpoint"],
        session="",
        origin=ORIGIN,
        name="Chrome on Android",
        since=0.0,
        **given["keys"],
    )


def a_surface(detail: Detail) -> PushSurface:
    inbox, nobody = SimpleNamespace(nights=Nights()), cast("Any", None)
    return PushSurface(
        subscription(), nobody, nobody, cast("Any", inbox), detail=detail, clock=StillClock()
    )


SURFACES = {detail: a_surface(detail) for detail in ("all", "project", "nothing")}
details = st.sampled_from(list(SURFACES))
told: st.SearchStrategy[Ask | Notice] = asks() | approvals() | notices


def sent(about: Ask | Notice, detail: str) -> bytes:
    surface = SURFACES[cast("Detail", detail)]
    if isinstance(about, Ask):
        new = surface.drawn(build_card(about, channel="web"))
    else:
        new = surface.drawn_notice(about)
    return payload(surface.content(new, KEYS, badge=3))


# ── what it says ──────────────────────────────────────────────────────────────────────────────────


@given(told, details)
def test_whatever_an_agent_wrote_it_is_json_that_fits_and_has_its_address(
    about: Ask | Notice, detail: str
) -> None:
    raw = sent(about, detail)
    assert len(raw) in SIZES
    shown = json.loads(raw.decode())["notification"]
    assert shown["title"]
    assert shown["tag"] == about.id
    assert shown["navigate"].startswith(f"{ORIGIN}/")
    assert len(shown["body"]) <= 120


@given(st.text(st.characters(), max_size=5000), st.text(st.characters(), max_size=5000))
def test_texts_of_any_length_are_cut_until_they_fit(title: str, body: str) -> None:
    actions = [{"action": "0", "title": title, "navigate": ORIGIN}] * 2
    content = notification(tag="1", title=title, body=body, page=ORIGIN, badge=1, actions=actions)
    raw = payload(content)
    assert len(raw) <= MOST_BYTES
    assert json.loads(raw.decode())["notification"]["navigate"] == ORIGIN


SECRET = "Zx9Secret"


@given(asks() | approvals())
def test_what_the_owner_keeps_back_is_nowhere_in_it(ask: Ask) -> None:
    project = replace(ask.project, name="Qy7Project", key="/code/Qy7Project")
    questions = tuple(
        replace(
            question,
            text=f"{question.text} {SECRET}",
            options=tuple(replace(it, label=f"{it.label} {SECRET}") for it in question.options),
        )
        for question in ask.questions
    )
    hidden = replace(ask, project=project, questions=questions, title=SECRET)
    for detail, names_it in (("project", True), ("nothing", False)):
        text = sent(hidden, detail).decode()
        assert SECRET not in text
        assert names_it or "Qy7Project" not in text
        shown = json.loads(text)["notification"]
        assert shown["actions"] == []
        assert shown["data"] == {"ask": ask.id}
    assert (shown["title"], shown["body"]) == ("chatbridge", "")


@given(notices)
def test_a_notice_is_kept_back_likewise(notice: Notice) -> None:
    hidden = replace(notice, message=f"{SECRET} {notice.message}", title=SECRET)
    assert SECRET not in sent(hidden, "project").decode()
    named = replace(hidden, project=replace(notice.project, name="Qy7Project"))
    assert not re.search(f"{SECRET}|Qy7Project", sent(named, "nothing").decode())


# ── keys ──────────────────────────────────────────────────────────────────────────────────────────

places = st.tuples(st.text(max_size=8), st.text(max_size=8), st.integers(0, 50))


@given(places, places)
def test_a_key_is_for_one_browser_ask_and_step(
    one: tuple[str, str, int], other: tuple[str, str, int]
) -> None:
    assert (KEYS.answer_key(*one) == KEYS.answer_key(*other)) == (one == other)
    assert KEYS.answer_key(*one) != Keys(bytes(31) + b"\x08").answer_key(*one)


@given(st.text(max_size=40))
def test_a_topic_is_what_services_take(tag: str) -> None:
    assert re.fullmatch("[A-Za-z0-9_-]{32}", KEYS.topic(tag))


# ── the reference ─────────────────────────────────────────────────────────────────────────────────


def test_a_browser_reads_what_we_send_as_it_reads_what_pywebpush_sends() -> None:
    content = payload({"app_badge": 0})
    theirs = WebPusher(BROWSER.subscription).encode(content)["body"]
    ours = encrypted(content, subscription())
    assert BROWSER.decrypt(ours) == BROWSER.decrypt(theirs) == content
    assert len(ours) == len(theirs)
    largest = encrypted(b"x" * MOST_BYTES, subscription())
    assert len(largest) == 4096


def test_the_example_of_the_standard_comes_out_to_the_byte() -> None:
    """Of RFC 8291, section 5."""
    browser = replace(
        subscription(),
        p256dh="BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        auth="BTBZMqHH6r4Tts7J_aSIgg",
    )
    private = Keys(decode("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")).private
    salt = decode("DGv6ra1nlYgDCS1FRnbzlw")
    text = b"When I grow up, I want to be a watermelon"
    assert encode(encrypted(text, browser, private=private, salt=salt)) == (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6"
        "TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy"
        "4a-fN"
    )


def test_a_service_takes_our_signature_as_it_takes_that_of_py_vapid() -> None:
    ours = signed(KEYS, subscription(), contact="mailto:a@example.org", now=START)
    claims = {"aud": SERVICE.address, "exp": int(START) + 3600, "sub": "mailto:a@example.org"}
    theirs = Vapid02(KEYS.private).sign(claims)["Authorization"]
    for header in (ours, theirs):
        SERVICE.check_signature(header, BROWSER)
    assert Vapid02.verify(ours.replace(", ", ","))


@pytest.mark.parametrize(
    "wrong",
    [
        {"aud": "https://other.example.org"},
        {"exp": int(START) - 1},
        {"exp": int(START) + 25 * 3600},
        {"sub": "me"},
        {"sub": "mailto:chatbridge@localhost"},
    ],
    ids=str,
)
def test_the_test_service_refuses_a_signature_that_services_refuse(wrong: dict[str, Any]) -> None:
    claims = {"aud": SERVICE.address, "exp": int(START) + 3600, "sub": "mailto:a@example.org"}
    token = jwt.encode(claims | wrong, KEYS.private, algorithm="ES256")
    with pytest.raises(Refused):
        SERVICE.check_signature(f"vapid t={token}, k={KEYS.public}", BROWSER)


def test_nobody_else_can_read_it() -> None:
    ours = encrypted(b"secret", subscription())
    with pytest.raises(Exception, match=r"Decryption error|InvalidTag"):
        SERVICE.browser(KEYS.public).decrypt(ours)


# ── where it may be sent ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://fcm.googleapis.com/fcm/send/abc:def",
        "https://jmt17.google.com/fcm/send/abc",
        "https://updates.push.services.mozilla.com/wpush/v2/abc",
        "https://web.push.apple.com/QAbc",
        "https://wns2-par02p.notify.windows.com/w/?token=abc",
        "https://FCM.googleapis.com:443/x",
    ],
)
def test_the_services_of_browsers_are_known(endpoint: str) -> None:
    assert Push().allows(endpoint)


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://fcm.googleapis.com/x",
        "https://fcm.googleapis.com:8443/x",
        "https://fcm.googleapis.com.evil.org/x",
        "https://evilfcm.googleapis.com/x",
        "https://push.apple.com/x",
        "https://evilpush.apple.com/x",
        "https://fcm.googleapis.com@evil.org/x",
        "https://user:pass@fcm.googleapis.com/x",
        "https://evil.org\\@fcm.googleapis.com/x",
        "https://evil.org#@fcm.googleapis.com/x",
        "https://fcm.googleapis.com\t.evil.org/x",
        "https://127.0.0.1/x",
        "https://[::1]/x",
        "https://localhost/x",
        "https://169.254.169.254/latest",
        "https://ｆcm.googleapis.com/x",
        "ftp://fcm.googleapis.com/x",
        "https://fcm.googleapis.com:port/x",
        "//fcm.googleapis.com/x",
        "",
        "https://xn--a.push.apple.com/1",
        "https://a..push.apple.com/1",
        "https://.push.apple.com/1",
        f"https://{'a' * 64}.push.apple.com/1",
    ],
)
def test_no_other_address_is(endpoint: str) -> None:
    assert not Push().allows(endpoint)


@pytest.mark.parametrize(
    "settings",
    [
        {"services": ["*"]},
        {"services": ["*.com"]},
        {"services": ["http://192.168.0.1:80"]},
        {"services": ["https://push.example.org"]},
        {"services": ["http://127.0.0.1:80/path"]},
        {"contact": "me"},
        {"contact": "mailto:<me@example.org>"},
        {"detail": "some"},
    ],
)
def test_settings_that_would_let_too_much_pass_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=r"accepted|Input should be"):
        Push.model_validate(settings)


def test_a_service_of_ones_own_is_an_address_on_this_computer() -> None:
    own = Push(services=("http://127.0.0.1:9999", *SERVICES))
    assert own.allows("http://127.0.0.1:9999/push/1")
    assert not own.allows("http://127.0.0.1:9998/push/1")
    assert not own.allows("https://127.0.0.1:9999/push/1")


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("Mozilla/5.0 (Linux; Android 15) Chrome/140.0 Mobile Safari/537.36", "Chrome on Android"),
        ("Mozilla/5.0 (Android 15; Mobile; rv:140.0) Firefox/140.0", "Firefox on Android"),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_4 like Mac OS X) Version/18.4 Safari/604.1",
            "Safari on iPhone",
        ),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X) Chrome/140.0 Safari/5 Edg/140", "Edge on Mac"),
        ("curl/8", "A browser"),
    ],
)
def test_a_browser_is_called_what_people_call_it(agent: str, name: str) -> None:
    assert name_of(agent) == name
