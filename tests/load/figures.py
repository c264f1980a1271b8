"""The tables: what a run has measured, and what follows from it on paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from chatbridge.channels.discord.chat import Chat as DiscordChat
from chatbridge.channels.slack.chat import Chat as SlackChat
from chatbridge.channels.telegram.outbound.chat import GROUP, PRIVATE
from chatbridge.channels.web.limits import MAX_CONNECTIONS
from tests.bench.machine import Json
from tests.fakes.slack.limits import A_MINUTE
from tests.load.team import CHANNELS

Row = tuple[str, ...]
Table = tuple[str, list[Row]]
"""A title, and rows of which the first are the columns."""
NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
MOST_PLACES = 10
HALF = 0.5
"""So busy a hub may be on paper: beyond that questions wait for one another."""


def tables(figures: Json) -> Iterator[Table]:
    if stages := figures["stages"]:
        yield _main(figures, stages)
        yield _channels(stages)
    if ramp := figures["ramp"]:
        yield _ramp(ramp)
        yield _where(ramp)
        yield _on_paper(figures)
    if figures["crowds"]:
        yield _crowds(figures["crowds"])
    yield _chats()


def setup(figures: Json) -> str:
    links = (figures["agents"] + 1) // 2
    people = figures["people"]
    return (
        f"{figures['agents']:,} agents ({links} links, {figures['agents'] - links} sessions over "
        f"HTTP with a token each) and {people} people on {', '.join(CHANNELS)}; "
        f"{figures['rate']:g} questions a minute for {figures['minutes']:g} minutes at each hub, "
        "both at the same time; people take 2 to 12 s to answer"
    )


def _main(figures: Json, stages: Sequence[Json]) -> Table:
    rows: list[tuple[str, Callable[[Json], str]]] = [
        ("questions asked, heard", lambda it: f"{_in(it, 'asked')}, {_in(it, 'heard')}"),
        ("call → card, p50 / p95 / p99 / max, ms", lambda it: _spread(it["answers"]["out"])),
        ("tap → result, ms", lambda it: _spread(it["answers"]["back"])),
        ("both ways, without the person, ms", lambda it: _spread(it["answers"]["both"])),
        ("the same by links: there, back, p95", lambda it: _kind(it, "link")),
        ("the same over HTTP", lambda it: _kind(it, "http")),
        ("answers lost, twice, crossed, failed", _wrong),
        ("calls and answers that were cut off and came again", _again),
        ("warnings and errors in the hub's log", _log),
        ("CPU of the hub, ms a question", lambda it: _each(it, it["cpu"]["hub"] * 1e3)),
        ("CPU of the database's server, ms a question", _server),
        ("CPU of the hub, of one core", lambda it: f"{it['cpu']['hub'] / it['seconds']:.1%}"),
        (
            "memory of the hub, all agents connected, nothing asked",
            lambda it: f"{figures['connected'][it['store']]['pss_mb']:.0f} MB",
        ),
        ("memory of the hub at most, PSS, RSS", _memory),
        ("descriptors of the hub at most", lambda it: str(it["hub"]["descriptors"])),
        ("connections to the server", lambda it: str(it["connections"] or "–")),
        ("the database grows by, KB a question", lambda it: _kb(it, "bytes")),
        ("commits, syncs, KB of log a question", _commits),
        ("ping of a link beside, p50 / p95 / p99 / max, ms", lambda it: _spread(it["lag"])),
        ("the drivers' own lateness, ms", lambda it: _spread(it["own_lag"])),
        ("CPU of the drivers, ms a question", lambda it: _each(it, it["cpu"]["driver"] * 1e3)),
    ]
    title = f"{figures['rate']:g} questions a minute for {figures['minutes']:g} minutes"
    return title, [
        ("", *(NAMES[it["store"]] for it in stages)),
        *((name, *(cell(it) for it in stages)) for name, cell in rows),
    ]


def _channels(stages: Sequence[Json]) -> Table:
    columns = [f"{NAMES[it['store']]}: {way}" for it in stages for way in ("call → card", "tap →")]
    last = ("messages, edits", "refused for now")
    rows: list[Row] = [("ms, p50 / p95 / p99 / max", "questions", *columns, *last)]
    for name in sorted({name for it in stages for name in it["answers"]["channels"]}):
        there = [it["answers"]["channels"].get(name, {}) for it in stages]
        cells = [_spread(it.get(way, {})) for it in there for way in ("out", "back")]
        asked = ", ".join(str(it.get("count", 0)) for it in there)
        refused = ", ".join(str(it["refused"].get(name, "–")) for it in stages)
        sent = [it["sent"].get(name) for it in stages]
        out = ", ".join(f"{it['messages']} + {it['edits']}" if it else "–" for it in sent)
        rows.append((name, asked, *cells, out, refused))
    return "By channel", rows


def _ramp(ramp: Sequence[Json]) -> Table:
    columns = (
        *("a minute", "store", "heard", "call → card, ms", "tap → result, ms"),
        *("hub, of a core", "server", "drivers", "ping, ms"),
    )
    return "More and more, without the chats' pace", [
        columns,
        *(
            (
                f"{it['rate']:g}",
                NAMES[it["store"]],
                f"{_in(it, 'heard')} of {it['answers']['asked'] + it['unasked']:,}",
                _spread(it["answers"]["out"]),
                _spread(it["answers"]["back"]),
                *(f"{it['cpu'][of] / it['seconds']:.0%}" for of in ("hub", "store", "driver")),
                _spread(it["lag"]),
            )
            for it in ramp
        ),
    ]


def _where(ramp: Sequence[Json]) -> Table:
    """Of the highest rate that both have done."""
    stores = [*dict.fromkeys(it["store"] for it in ramp)]
    rates = [{it["rate"] for it in ramp if it["store"] == store} for store in stores]
    rate = max(set.intersection(*rates))
    found = [it["profile"] for it in ramp if it["rate"] == rate]
    totals = [sum(it.values()) or 1 for it in found]
    busy = [sum(it.values()) - it.get("idle", 0) or 1 for it in found]
    places = {name for it in found for name in it} - {"idle"}
    order = sorted(places, key=lambda name: -max(it.get(name, 0) for it in found))
    return f"Where the hub's event loop is, at {rate:g} a minute", [
        ("of the time that it is busy", *(NAMES[it] for it in stores)),
        (
            "busy",
            *(f"{each / total:.0%}" for each, total in zip(busy, totals, strict=True)),
        ),
        *(
            (
                name,
                *(f"{it.get(name, 0) / each:.0%}" for it, each in zip(found, busy, strict=True)),
            )
            for name in order[:MOST_PLACES]
        ),
    ]


def _on_paper(figures: Json) -> Table:
    """By the cheapest question of a stage that worked: there, works share commits."""
    stores, costs, good = figures["stores"], [], []
    for store in stores:
        mine = [it for it in figures["ramp"] if it["store"] == store]
        worked = [it for it in mine if not it["broken"]] or mine[:1]
        costs.append(min(it["cpu"]["hub"] / max(1, it["answers"]["heard"]) for it in worked))
        good.append(max(it["rate"] for it in worked))
    weights = [figures["connected"][it]["pss_mb"] for it in stores]
    http = figures["rate"] / 2
    return "How far one hub would go", [
        ("", *(NAMES[it] for it in stores)),
        ("the highest rate that worked, a minute", *(f"{it:,.0f}" for it in good)),
        ("*c*: CPU of the hub there, ms a question", *(f"{it * 1e3:.1f}" for it in costs)),
        ("a whole core, 1 s / *c*: questions a second", *(f"{1 / it:.0f}" for it in costs)),
        (
            "half a core, 30 s / *c*: questions a minute",
            *(f"{60 * HALF / it:,.0f}" for it in costs),
        ),
        (
            f"memory with {figures['agents']:,} agents that do nothing, MB",
            *(f"{it:.0f}" for it in weights),
        ),
        (
            f"people's time, on average, at which {http:g} calls a minute over HTTP are "
            f"{MAX_CONNECTIONS} at a time, min",
            *(f"{MAX_CONNECTIONS / http:.1f}" for _ in costs),
        ),
    ]


def _crowds(crowds: Sequence[Json]) -> Table:
    columns = (
        *("people", "CPU of the hub (*c*), ms a question", "of it: who gets what"),
        *("half a core: questions a minute", "for each of them"),
    )
    rows: list[Row] = [columns]
    for stage in crowds:
        cost = stage["cpu"]["hub"] / max(1, stage["answers"]["heard"])
        busy = sum(stage["profile"].values()) - stage["profile"].get("idle", 0) or 1
        routing = sum(stage["profile"].get(name, 0) for name in ("core/people", "core/delivery"))
        most = 60 * HALF / cost
        cells = (f"{cost * 1e3:.1f}", f"{routing / busy:.0%}", f"{most:,.0f}")
        rows.append((str(stage["people"]), *cells, f"{most / stage['people']:.1f}"))
    return (
        f"More and more people, {NAMES[crowds[0]['store']]}, {crowds[0]['rate']:g} a minute",
        rows,
    )


PACES = {
    "a private chat on Telegram": PRIVATE,
    "a group on Telegram": GROUP,
    "a channel on Slack": SlackChat.pace,
    "a chat on Discord": DiscordChat.pace,
}


def _chats() -> Table:
    """A question is a message and two edits: answered, and delivered."""
    rows: list[Row] = [("", "seconds a question", "questions a minute")]
    for name, pace in PACES.items():
        cost = pace.message + 2 * pace.edit
        rows.append((name, f"{pace.message:g} + 2 × {pace.edit:g}", f"{60 / cost:.1f}"))
    edits = A_MINUTE["chat.update"]
    rows.append(("a workspace of Slack", f"2 of {edits} edits a minute", f"{edits / 2:g}"))
    return "How far the chats would go", rows


def _in(stage: Json, what: str) -> str:
    return f"{stage['answers'][what]:,}"


def _spread(found: Json) -> str:
    return " / ".join(f"{it:,.0f}" for it in found.values()) or "–"


def _kind(stage: Json, kind: str) -> str:
    found = stage["answers"]["kinds"].get(kind)
    return f"{found['out'].get('p95', 0):,.0f}, {found['back'].get('p95', 0):,.0f}" if found else ""


def _each(stage: Json, whole: float) -> str:
    return f"{whole / max(1, stage['answers']['heard']):.1f}"


def _wrong(stage: Json) -> str:
    answers, wrong = stage["answers"], dict(stage["wrong"])
    lost = answers["asked"] - answers["heard"]
    found = [lost, *(wrong.pop(name, 0) for name in ("twice", "crossed")), sum(wrong.values())]
    return ", ".join(map(str, found))


def _again(stage: Json) -> str:
    return str(sum(stage["again"].values()))


def _log(stage: Json) -> str:
    return f"{stage['log']['WARNING']}, {stage['log']['ERROR']}"


def _server(stage: Json) -> str:
    return _each(stage, stage["cpu"]["store"] * 1e3) if stage["cpu"]["store"] else "–"


def _memory(stage: Json) -> str:
    return f"{stage['hub']['pss_mb']:.0f}, {stage['hub']['rss_mb']:.0f} MB"


def _kb(stage: Json, what: str) -> str:
    return _each(stage, stage["database"][what] / 1024)


def _commits(stage: Json) -> str:
    counts = stage["database"]
    if "commits" not in counts:
        return "–"
    return (
        f"{_each(stage, counts['commits'])}, {_each(stage, counts['syncs'])}, {_kb(stage, 'wal')}"
    )
