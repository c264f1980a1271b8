"""Messages in Slack and Discord, and notifications of ntfy, as the channels have sent them to the
tests' servers, on a suggested phone."""

from __future__ import annotations

import asyncio
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from chatbridge.core.forms.form import Other, Toggle
from chatbridge.core.policy import Policy
from tests.fakes.clock import StillClock
from tests.fakes.discord.markdown import as_html
from tests.fakes.discord.server import answered
from tests.fakes.discord.world import Message
from tests.fakes.discord_desk import data_of, running_discord
from tests.fakes.ntfy_desk import running_ntfy
from tests.fakes.ntfy_server import NtfyServer
from tests.fakes.slack.server import running_slack
from tests.fakes.slack_desk import running_channel
from tests.pictures.chats import CHECKS, COMMAND, DATABASE
from tests.telegram_asks import HOUR, NOW, confirm

Json = dict[str, Any]

ALLOWS = Policy(max_timeout=8 * HOUR, approval_channels=frozenset({"telegram", "web"}))
STYLE = """
* { box-sizing: border-box }
body { margin: 0; padding: 14px 12px; font: 15px/1.45 system-ui, sans-serif }
.message { display: flex; gap: 9px; margin-top: 18px } .message:first-child { margin-top: 0 }
.message > .said { flex: 1; min-width: 0 }
.face { flex: 0 0 36px; height: 36px; border-radius: 8px; background: #0a6a50; color: #fff;
  font: 600 17px/36px system-ui, sans-serif; text-align: center }
.by b { margin-right: 6px } .by small { opacity: .65; margin-left: 6px }
.by i { font: 600 10px/1 system-ui, sans-serif; padding: 2px 4px; border-radius: 3px }
.text { white-space: pre-wrap; overflow-wrap: anywhere }
.code, code { font: 13px/1.45 ui-monospace, "DejaVu Sans Mono", monospace }
.code, code { padding: 1px 4px; border-radius: 3px } .strong { font-weight: 600 }
.row { display: flex; flex-wrap: wrap; gap: 8px; margin-top: 8px }
.key { padding: 6px 12px; border-radius: 8px; font-size: 14px; font-weight: 600; max-width: 100% }
.field { border-radius: 8px; padding: 9px 11px; margin-top: 6px; min-height: 84px; opacity: .75 }
.top { display: flex; justify-content: space-between; font-weight: 600; margin-bottom: 16px }

.slack { background: #fff; color: #1d1c1d }
.slack .by i { background: #e8e8e8; color: #616061 }
.slack .key { border: 1px solid #bbbabb; background: #fff; white-space: nowrap; overflow: hidden;
  text-overflow: ellipsis }
.slack .primary { background: #007a5a; border-color: #007a5a; color: #fff }
.slack .danger { background: #e01e5a; border-color: #e01e5a; color: #fff }
.slack code { border: 1px solid #ddd; background: #f6f6f6; color: #c01343 }
.slack .box { display: flex; gap: 8px; width: 100% }
.slack .box::before { content: ""; flex: 0 0 17px; height: 17px; margin-top: 3px;
  border: 1.5px solid #868686; border-radius: 3px; font: 700 13px/15px system-ui, sans-serif;
  text-align: center; color: #fff }
.slack .on::before { content: "✓"; background: #1264a3; border-color: #1264a3 }
.slack .field { border: 1px solid #868686 } .slack .top span:last-child { color: #007a5a }

.discord { background: #313338; color: #dbdee1 }
.discord .face { border-radius: 50% } .discord .by i { background: #5865f2; color: #fff }
.discord .key { background: #4e5058; color: #fff; font-weight: 500 }
.discord .s1 { background: #5865f2 } .discord .s3 { background: #248046 }
.discord .s4 { background: #da373c }
.discord .code { background: #2b2d31 }
.discord .time { background: #414349; border-radius: 3px; padding: 0 2px }
.discord .list { width: 100%; background: #1e1f22; border-radius: 4px; padding: 9px 11px }
.discord .list::after { content: "⌄"; float: right }
.discord .chip { background: #4e5058; border-radius: 4px; padding: 2px 7px; margin-right: 5px }
.discord .field { background: #1e1f22 } .discord .about { font-size: 14px; opacity: .75 }

.ntfy { background: #dfe7ea; color: #1b1c1d }
.ntfy .note { background: #fff; border-radius: 22px; padding: 13px 16px; margin-top: 8px }
.ntfy .note:first-child { margin-top: 0 }
.ntfy .app { font-size: 13px; color: #4b5457; margin-bottom: 3px }
.ntfy .app::before { content: "▸"; background: #338574; color: #fff; border-radius: 50%;
  padding: 1px 5px 2px 7px; margin-right: 8px }
.ntfy .row { flex-wrap: nowrap; gap: 18px }
.ntfy .key { color: #1f6f60; padding: 4px 0 0; white-space: nowrap; overflow: hidden;
  text-overflow: ellipsis }
"""


def pages() -> dict[str, str]:
    return asyncio.run(_drawn())


async def _drawn() -> dict[str, str]:
    found: dict[str, str] = {}
    for draw in (_slack, _discord, _ntfy):
        with TemporaryDirectory() as folder:
            found |= await draw(Path(folder))
    return found


def _page(service: str, *parts: str) -> str:
    return (
        f"<!doctype html><meta charset=utf-8><style>{STYLE}</style>"
        f'<body class="{service}">{"".join(parts)}</body>'
    )


def _message(*parts: str) -> str:
    by = '<div class="by"><b>chatbridge</b><i>APP</i><small>22:00</small></div>'
    said = f'<div class="said">{by}{"".join(parts)}</div>'
    return f'<div class="message"><div class="face">c</div>{said}</div>'


def _row(*keys: str) -> str:
    return f'<div class="row">{"".join(keys)}</div>' if keys else ""


def _key(label: str, kind: str = "key") -> str:
    return f'<span class="{kind}">{escape(label)}</span>'


def _form(back: str, title: str, send: str, *above: str, placeholder: str) -> str:
    """`above` the field are its label and, if there is one, its description."""
    top = f'<div class="top">{_key(back, "")}{_key(title, "")}{_key(send, "")}</div>'
    label, *described = map(escape, above)
    about = "".join(f'<div class="about">{each}</div>' for each in described)
    return f'{top}<b>{label}</b>{about}<div class="field">{escape(placeholder)}</div>'


# ── Slack ─────────────────────────────────────────────────────────────────────────────────────────


async def _slack(folder: Path) -> dict[str, str]:
    clock = StillClock(NOW)
    async with running_slack(clock) as slack:
        ada = slack.person("Ada")
        room = slack.direct(ada)
        async with running_channel(folder, slack, clock, room=room, ada=ada, policy=ALLOWS) as desk:
            asks = [await desk.desk.ask(each, timeout=HOUR) for each in (DATABASE, CHECKS)]
            await desk.put(asks[1], Toggle(step=0, option=0, on=True))
            cards = [await desk.card(await desk.desk.inbox.ask(each.id)) for each in asks]
            shown = [_message(*map(_block, card["blocks"])) for card in cards]
            await desk.put(asks[0], Other(step=0))
            (view,) = slack.views.values()
    (field,) = view["blocks"]
    back, title, send = (view[name]["text"] for name in ("close", "title", "submit"))
    placeholder = field["element"]["placeholder"]["text"]
    form = _form(back, title, send, field["label"]["text"], placeholder=placeholder)
    return {"slack": _page("slack", *shown), "slack-modal": _page("slack", form)}


def _block(block: Json) -> str:
    if block["type"] == "rich_text":
        return "".join(map(_rich, block["elements"]))
    return _row(*(part for each in block["elements"] for part in _element(each)))


def _rich(element: Json) -> str:
    return f'<div class="text">{"".join(map(_run, element["elements"]))}</div>'


def _run(run: Json) -> str:
    shown = escape(run.get("text") or run.get("fallback") or "")
    for style, tag in {"bold": "b", "italic": "em", "code": "code"}.items():
        if run.get("style", {}).get(style):
            shown = f"<{tag}>{shown}</{tag}>"
    return shown


def _element(element: Json) -> list[str]:
    if element["type"] == "checkboxes":
        on = element.get("initial_options", [])
        return [
            _key(it["text"]["text"], "box on" if it in on else "box") for it in element["options"]
        ]
    return [_key(element["text"]["text"], f"key {element.get('style', '')}")]


# ── Discord ───────────────────────────────────────────────────────────────────────────────────────


async def _discord(folder: Path) -> dict[str, str]:
    async with running_discord(folder, clock=StillClock(NOW), policy=ALLOWS) as desk:
        asks = [await desk.desk.ask(each, timeout=HOUR) for each in (DATABASE, CHECKS)]
        card, several = [await desk.card(each) for each in asks]
        picked = several.select["options"][0]["value"]
        await answered(desk.discord.pick(desk.ada, several, [picked]))
        shown = [_sent(await desk.current(each)) for each in asks]
        opened = await answered(desk.discord.tap(desk.ada, card, data_of(asks[0], Other(step=0))))
        assert opened.modal is not None
        modal, (field,) = opened.modal, opened.modal["components"]
    placeholder = field["component"]["placeholder"]
    above = field["label"], field["description"]
    form = _form("Cancel", modal["title"], "Submit", *above, placeholder=placeholder)
    return {"discord": _page("discord", *shown), "discord-modal": _page("discord", form)}


def _sent(message: Message) -> str:
    text = f'<div class="text">{as_html(message.text, now=NOW)}</div>'
    rows = (each["components"] for each in message.components if each["type"] == 1)
    return _message(text, *(_row(*map(_component, row)) for row in rows))


def _component(it: Json) -> str:
    if "options" not in it:
        return _key(it["label"], f"key s{it['style']}")
    picked = [_key(each["label"], "chip") for each in it["options"] if each["default"]]
    return f'<span class="list">{"".join(picked) or escape(it["placeholder"])}</span>'


# ── ntfy ──────────────────────────────────────────────────────────────────────────────────────────


async def _ntfy(folder: Path) -> dict[str, str]:
    with NtfyServer.running() as server:
        async with running_ntfy(folder, server, policy=ALLOWS) as ntfy:
            for question in (COMMAND, confirm("Delete the old fixtures?"), DATABASE):
                await ntfy.desk.ask(question, timeout=HOUR)
                await ntfy.sees(question.text[:20])
            shown = [*map(_note, reversed(ntfy.phone.shows))]
    return {"ntfy": _page("ntfy", *shown)}


def _note(sent: Json) -> str:
    keys = _row(*(_key(each["label"]) for each in sent.get("actions", ())))
    text = f'<b>{escape(sent["title"])}</b><div class="text">{escape(sent["message"])}</div>'
    return f'<div class="note"><div class="app">ntfy · now</div>{text}{keys}</div>'
