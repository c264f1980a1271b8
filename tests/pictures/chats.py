"""Cards in Telegram and Matrix, as the channels draw them, on a suggested phone."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from html import escape
from typing import Protocol

from chatbridge.channels.chat.summary import draw_summary
from chatbridge.core.cards.phrases import local_time
from chatbridge.core.forms import form
from chatbridge.core.forms.emoji_shortcuts import reactions
from chatbridge.core.model import Answer, Ask, Outcome, Project, Status
from chatbridge.core.nights.hours import Period
from chatbridge.core.nights.summary import Summary, Tally
from tests import matrix_asks, telegram_asks
from tests import matrix_drawings as matrix
from tests import telegram_drawings as telegram
from tests.telegram_asks import ADA, NOW, PRIVATE, approval, ask, select, stepped
from tests.telegram_html import write

DATABASE = select(
    "Which database should the integration tests use?\n\nThe suite runs on SQLite. Two tests need "
    "`SKIP LOCKED`.",
    "PostgreSQL in Docker (recommended) | One container for each run, about 9 s more",
    "Keep SQLite, mark the two tests as skipped",
    "Testcontainers with a shared server | Faster, but state leaks between runs",
)
CHECKS = select("Which checks must pass?", "Unit tests", "Contract tests", "Load test", multi=True)
COMMAND = approval(
    "terraform apply -lock-timeout=60s -var-file=prod.tfvars plan.out", folder="~/code/infra"
)
STYLE = """
* { box-sizing: border-box }
body { margin: 0; padding: 16px 12px; font: 16px/1.4 system-ui, sans-serif; color: #16201b }
.telegram { background: #d5e3d0 } .matrix { background: #fff }
.card { background: #fff; border-radius: 14px; padding: 9px 12px; margin-top: 12px;
  overflow-wrap: anywhere; white-space: pre-wrap; font-size: 15px }
.card:first-child { margin-top: 0 }
.matrix .card { white-space: normal; padding: 0; border-radius: 0 }
.matrix p { margin: 0 0 8px } .matrix ol { margin: 0 0 8px; padding-inline-start: 22px }
.by { font-weight: 600; color: #0a6a50; margin-bottom: 4px }
code, pre { font: 13px/1.45 ui-monospace, "DejaVu Sans Mono", monospace; background: #eef1ef;
  border-radius: 4px; padding: 1px 3px; margin: 0; white-space: pre-wrap }
pre { padding: 6px 8px } pre code { padding: 0 }
.row { display: flex; gap: 5px; margin-top: 5px }
.key { flex: 1; text-align: center; border-radius: 10px; padding: 9px 4px; font-size: 14px;
  font-weight: 500; color: #fff; background: #6f8a72 }
.success { background: #3a9a54 } .primary { background: #2f7fd0 } .danger { background: #c5473d }
.reactions { display: flex; gap: 6px; flex-wrap: wrap; margin-top: 4px }
.reactions span { border: 1px solid #c9d2cd; border-radius: 12px; padding: 2px 9px }
.chat { margin: -16px -12px 12px; padding: 9px 16px; background: #fff; font-weight: 600 }
.chat small { display: block; font-weight: 400; color: #5c6b63 }
"""
ZONE = re.compile(r"<tg-time[^>]*>([^<]*)</tg-time>")


class Key(Protocol):
    @property
    def text(self) -> str: ...
    @property
    def style(self) -> str | None: ...


def pages() -> dict[str, str]:
    answered = _ended(ask(DATABASE), Answer(values=("PostgreSQL in Docker (recommended)",)))
    picked = stepped(ask(CHECKS), form.Toggle(step=0, option=0, on=True))
    return {
        "telegram": _page("telegram", _telegram(ask(DATABASE))),
        "telegram-answered": _page("telegram", _telegram(picked), _telegram(answered)),
        "telegram-approval": _page("telegram", _telegram(ask(COMMAND))),
        "telegram-summary": _page("telegram", _summary()),
        "matrix": _page("matrix", _matrix(ask(DATABASE))),
    }


def _summary() -> str:
    """Of a night, for somebody who looks at seven."""
    seven = local_time(NOW).replace(hour=7, minute=0, second=0, microsecond=0).timestamp()
    asked = (
        ("shop-api", ask(DATABASE), 2.0),
        ("infra", ask(COMMAND), 3.5),
        ("billing", ask(select("Which packages shall I upgrade?", "All", "None")), None),
    )
    waiting = tuple(
        replace(
            each,
            project=Project(key=name, name=name),
            deadline=None if hours is None else seven + hours * 3600,
        )
        for name, each, hours in asked
    )
    made = Summary(
        period=Period(seven - 8.5 * 3600, seven),
        at=seven,
        waiting=waiting,
        tally=Tally(timed_out=2, late=1, notices=5, failed=1),
        inbox="https://inbox.example.org",
    )
    drawn = draw_summary(made, waiting, replace(PRIVATE, now=seven), buttons=True)
    return message(write(drawn.document, now=seven), drawn.rows)


def _ended(shown: Ask, *answers: Answer) -> Ask:
    outcome = Outcome(at=NOW + 60, answers=answers, by=ADA)
    return replace(shown, status=Status.ANSWERED, outcome=outcome, delivered_at=NOW + 61)


def _telegram(shown: Ask) -> str:
    drawing = telegram.draw_card(telegram_asks.card(shown), PRIVATE)
    return message(drawing.html, drawing.rows)


def message(html: str, keys: Iterable[Iterable[Key]] = ()) -> str:
    """In Telegram, as the bot has sent it."""
    rows = "".join(
        '<div class="row">'
        + "".join(f'<div class="key {key.style or ""}">{escape(key.text)}</div>' for key in row)
        + "</div>"
        for row in keys
    )
    text = ZONE.sub(r"\1", html)
    return f'<div class="card">{text}</div>{rows}'


def conversation(name: str, *messages: str) -> str:
    """A phone with this chat in Telegram."""
    title = f"{escape(name)}<small>your own bot, in Telegram</small>"
    return _page("telegram", f'<div class="chat">{title}</div>', *messages)


def _matrix(shown: Ask) -> str:
    card = matrix_asks.card(shown)
    drawing = matrix.draw_card(card, matrix_asks.SEEN)
    seeds = "".join(f"<span>{key.emoji} 1</span>" for key in reactions(card))
    return (
        f'<div class="card"><div class="by">chatbridge</div>{drawing.html}</div>'
        f'<div class="reactions">{seeds}</div>'
    )


def _page(service: str, *cards: str) -> str:
    return (
        f"<!doctype html><meta charset=utf-8><style>{STYLE}</style>"
        f'<body class="{service}">{"".join(cards)}</body>'
    )
