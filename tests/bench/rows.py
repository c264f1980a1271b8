"""Figures as tables: what stands where, beside which reference, and whether its aim was met.

Owns the words. A part that was not measured has no rows.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.bench.machine import Json
from tests.bench.words import Aim, at_least, at_most, count, ms, seconds, share, times

Row = tuple[str, ...]
USUAL = ("what", "measured", "beside it", "aim")
CHANNELS = {
    "web": "web inbox",
    "telegram": "Telegram",
    "matrix": "Matrix",
    "matrix_encrypted": "Matrix, encrypted",
    "slack": "Slack",
    "discord": "Discord",
    "ntfy": "ntfy",
    "terminal": "terminal",
}
LIBRARIES = {
    "telegram": "python-telegram-bot",
    "matrix": "matrix-nio",
    "slack": "slack-sdk",
    "discord": "aiohttp",
    "ntfy": "httpx",
}
"""What a bare program uses."""
CARD_MS, RESULT_MS = 3000.0, 2000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    part: str
    title: str
    columns: Row = USUAL
    rows: Callable[[Json, Json], Iterator[Row]]
    """Of this part's figures and of all."""


def sections(figures: Json) -> list[tuple[Section, list[Row]]]:
    return [
        (section, list(section.rows(figures[section.part], figures)))
        for section in SECTIONS
        if section.part in figures
    ]


def _row(what: str, measured: str, beside: str = "", aim: Aim | None = None) -> Row:
    return (what, measured, beside, aim.words if aim else "")


def _one_ask(part: Json, _: Json) -> Iterator[Row]:
    for state, said in (("warm", ""), ("cold", ", no hub running")):
        for name, channel in CHANNELS.items():
            found = part[name][state]
            card, result = found["card_ms"], found["result_ms"]
            yield (
                f"{channel}{said}",
                ms(card),
                _under(card, CARD_MS),
                ms(result),
                _under(result, RESULT_MS),
            )


def _under(found: float, target: float) -> str:
    if found > target:
        return f"{share(found / target)} times over: missed"
    return share(target / found)


def _round_trips(figures: Json) -> Iterator[Row]:
    web = figures["web"]
    called = figures.get("references")
    beside = f"{ms(called['empty_call_ms']['p50'])}: an SDK server's empty call" if called else ""
    for name, title in (("out_ms", "ask → on the page"), ("back_ms", "answer → result")):
        found = web[name]
        yield _row(f"web: {title}, p50", ms(found["p50"]), beside, at_most(found["p50"], 5, "ms"))
        beside = f"{ms(called['commit_ms']['p50'])}: a synced commit of SQLite" if called else ""
        yield _row(f"web: {title}, p99", ms(found["p99"]), "", at_most(found["p99"], 15, "ms"))


def _web(_: Json, figures: Json) -> Iterator[Row]:
    yield from _round_trips(figures)


def _attachments(part: Json, _: Json) -> Iterator[Row]:
    card, plain, picture = part["card_ms"], part["plain_ms"], part["picture_mb"]
    yield _row(
        f"ask with a picture of {picture:g} MB → on the page, p50",
        ms(card["p50"]),
        f"{ms(plain['p50'])}: without it",
        at_most(card["p50"], 150, "ms"),
    )
    yield _row("the same, p99", ms(card["p99"]), f"{ms(plain['p99'])}: without it")
    yield _row("ask → its picture is loaded, p50", ms(part["preview_ms"]["p50"]))
    small, large = part["small_file_mb"], part["large_file_mb"]
    yield _row(
        "the hub grows by, while files of 19 MB are asked with and downloaded",
        f"{large:.1f} MB",
        f"{small:.1f} MB: with files of 1 KB",
        at_most(large - small, 4, "MB more"),
    )
    yield _row(
        "slowest request while a picture of 16 megapixels is decoded",
        ms(part["slowest_request_ms"]),
        f"{seconds(part['decoding_s'])}: that takes; {ms(part['beside_ms']['p99'])}: "
        "ask → on the page, p99",
    )


def _messages(part: Json, _: Json) -> Iterator[Row]:
    yield _row(
        "answer → result with a message, p50 / p99",
        _both(part["along_ms"]),
        f"{_both(part['without_ms'])}: without",
    )
    yield _row("message → a waiting agent has it, p50 / p99", _both(part["told_ms"]))
    bare = f"{ms(part['python_ms'])}: bare Python"
    yield _row("hook after a tool, nothing waits", ms(part["hook_ms"]), bare)


def _http(part: Json, _: Json) -> Iterator[Row]:
    ping = f"{ms(part['ping_ms']['p50'])}: a ping over the same connection"
    yield _row("HTTP agent: ask → on the page, p50 / p99", _both(part["out_ms"]), ping)
    yield _row("HTTP agent: answer → result, p50 / p99", _both(part["back_ms"]))


def _terminal(part: Json, _: Json) -> Iterator[Row]:
    bare = f"{ms(part['python_ms'])}: bare Python"
    yield _row(
        "terminal: `chatbridge ask` → seen in another, p50 / p99", _both(part["out_ms"]), bare
    )
    yield _row("terminal: `chatbridge answer` → `ask` has it, p50 / p99", _both(part["back_ms"]))


def _chat(
    chat: str, out: str, back: str, *, within: float | None = None
) -> Callable[[Json, Json], Iterator[Row]]:
    """`within`: so many ms after a tap the service has to be told that it was taken."""
    title, library = CHANNELS[chat], LIBRARIES[chat]

    def rows(part: Json, _: Json) -> Iterator[Row]:
        for name, what in (("out_ms", out), ("back_ms", back)):
            ours = part["ours"][name]
            yield _row(f"{title}: {what}, p50 / p99", _both(ours))
            for other, said in (
                ("server", f"{library} behind an SDK server"),
                ("script", f"{library} alone"),
            ):
                bare = part[other][name]
                ratio = ours["p50"] / bare["p50"]
                yield _row(f"… {said}", times(ratio), _both(bare), at_most(ratio, 2, "times"))
        if within is not None:
            ours, bare = part["ours"]["toast_ms"], part["script"]["toast_ms"]
            yield _row(
                f"{title}: tap → acknowledged, p50 / p99",
                _both(ours),
                f"{_both(bare)}: {library} alone",
                at_most(ours["p99"], within, "ms"),
            )

    return rows


def _startup(part: Json, _: Json) -> Iterator[Row]:
    link, first, orphaned = part["link"], part["first"], part["standalone"]
    sdk = "an SDK server"
    faster = link["sdk_ms"] / link["ms"]
    yield _row("link → `tools/list` answered", ms(link["ms"]), f"{ms(link['sdk_ms'])}: {sdk}")
    yield _row("… faster by", times(faster), "", at_least(faster, 20, "times"))
    ratio = first["ms"] / first["sdk_ms"]
    yield _row(
        "first start: no hub runs, the link starts one",
        ms(first["ms"]),
        f"{ms(first['sdk_ms'])}: {sdk}",
        at_most(ratio, 1.1, "times", shown=True),
    )
    yield _row(
        "`chatbridge mcp --standalone`",
        f"{ms(orphaned['ms'])}, {times(orphaned['ms'] / orphaned['sdk_ms'])}",
        f"{ms(orphaned['sdk_ms'])}: {sdk}",
    )
    yield from _commands_start(part)


def _commands_start(part: Json) -> Iterator[Row]:
    bare = f"{ms(part['python_ms'])}: Python with three modules of its own"
    helps = part["help_ms"]
    slowest = max(helps, key=lambda words: (helps[words], words))
    for words in ("--help", "ask --help"):
        found, beside = helps[words], bare if words == "--help" else ""
        aim = at_most(found, 150, "ms")
        yield _row(f"`chatbridge {words}`, the whole process", ms(found), beside, aim)
    middle = statistics.median(helps.values())
    yield _row(f"the help of all {len(helps)} commands, the median", ms(middle))
    yield _row(f"… the slowest: `{slowest}`", ms(helps[slowest]))
    for word, took in part["asked_ms"].items():
        yield _row(f"`chatbridge {word}`, which asks a hub that runs", ms(took))


def _growth(part: Json, _: Json) -> Iterator[Row]:
    for name, among in (
        ("open_1000", "1,000 open asks"),
        ("ended_100000", "100,000 ended ones"),
        ("open_10000_ended_100000", "10,000 open, 100,000 ended"),
    ):
        found = part[name]
        for key, what in (("out_ms", "ask → on the page"), ("back_ms", "answer → result")):
            one, none = found[key]["p50"], found["beside"][key]["p50"]
            ratio = one / none
            yield _row(
                f"{what}, p50, among {among}",
                f"{ms(one)}, {times(ratio)}",
                f"{ms(none)} with none",
                at_most(ratio, 1.5, "times"),
            )
        yield _row(
            f"start with {among}",
            ms(found["start_ms"]),
            f"{ms(found['beside']['start_ms'])} with none",
        )
    yield from _pages(part)


def _pages(part: Json) -> Iterator[Row]:
    empty, many, opened = part["empty"], part["ended_100000"], part["open_1000"]
    for page, what, limit in (
        ("history", "the inbox's history, a page of 50 of 100,000", None),
        ("search", "a search that finds nothing in 100,000", 20),
        ("search_one", "… that finds one", 20),
        ("search_all", "… that finds all, and shows 50", 20),
        ("search_short", "… of two characters that all have", 20),
    ):
        found = many["pages_ms"][page]
        aim = None if limit is None else at_most(found, limit, "ms")
        yield _row(what, ms(found), f"{ms(empty['pages_ms'][page])} of none", aim)
    yield _row(
        "the statistics of 100,000",
        ms(many["pages_ms"]["stats"]),
        f"{ms(many['look_ms'])}: SQLite alone adds up their times",
        at_most(many["pages_ms"]["stats"], 200, "ms"),
    )
    yield _row(
        "the inbox with 1,000 open asks, a page of 100",
        ms(opened["pages_ms"]["list"]),
        f"{ms(empty['pages_ms']['list'])} with none",
        at_most(opened["pages_ms"]["list"], 50, "ms"),
    )
    few = opened["pages_ms"]["card"]
    yield _row("one card's page, beside 100 of 1,000 open asks", ms(few))
    most = part["open_10000_ended_100000"]["pages_ms"]["card"]
    yield _row(
        "… beside 100 of 10,000",
        f"{ms(most)}, {times(most / few)}",
        f"{ms(few)} of 1,000",
        at_most(most / few, 1.5, "times"),
    )
    yield _row(
        "`chatbridge history`, 20 of 100,000",
        ms(many["history_command_ms"]),
        f"{ms(many['beside']['history_command_ms'])} of none",
    )
    for found, among in (
        (opened, "1,000 open asks"),
        (part["open_10000_ended_100000"], "10,000 open, 100,000 ended"),
    ):
        yield _turn(
            f"with {among}",
            found["longest_wait_ms"],
            f"{ms(empty['longest_wait_ms'])} with none",
        )
    yield _row("size of the database, 100,000 ended asks", f"{many['database_mb']} MB")


def _worst(part: Json, _: Json) -> Iterator[Row]:
    worst, short = part["worst"], part["short"]
    for page, what in (
        ("list", f"the inbox with {part['asks']} of them"),
        ("card", "the card of one"),
        ("history", "the history with half of them"),
    ):
        found = worst["pages_ms"][page]
        beside = f"{ms(short['pages_ms'][page])} with short ones"
        yield _row(what, ms(found), beside, at_most(found, 100, "ms"))
    waits = worst["longest_wait_ms"]
    beside = f"{ms(waits['quiet'])} while nothing happens"
    for name, what in (("entering", "they are asked"), ("drawing", "their pages are drawn")):
        yield _turn(f"while {what}", waits[name], beside)


def _turn(when: str, found: float, beside: str = "") -> Row:
    what = f"the loop's longest turn {when}"
    return _row(what, ms(found), beside, at_most(found, 50, "ms"))


def _burst(part: Json, _: Json) -> Iterator[Row]:
    found = part["seconds"]
    yield _row(
        f"{count(part['asks'])} answers at once, until all are heard",
        f"{seconds(found)}, the median of {part['rounds']} "
        f"({seconds(part['fastest'])} to {seconds(part['slowest'])})",
        f"{seconds(part['sdk_seconds'])}: an SDK server, as many empty calls",
        at_most(found, 1, "s"),
    )
    yield _row("… of which the hub computes", seconds(part["hub_cpu"]))
    for name, what in (("asking", "they are asked"), ("answering", "they are answered")):
        yield _turn(f"while {what}", part["longest_wait_ms"][name])
    yield _row("memory of the hub for each open ask", f"{part['kb_per_open_ask']} KB")


def _runner(part: Json, _: Json) -> Iterator[Row]:
    started, ended, bare = (
        part[name] for name in ("order_to_started_ms", "order_to_ended_ms", "subprocess_ms")
    )
    yield _row(
        "order to the runner → process started, p50 / p99",
        _both(started),
        "",
        at_most(started["p99"], 20, "ms"),
    )
    yield _row(
        "`true`, order → its end is known, p50 / p99",
        _both(ended),
        f"{_both(bare)}: `subprocess.run`",
    )
    yield _row("the first one, which starts the runner", ms(part["first_ms"]))
    yield _row("memory of the runner (PSS)", f"{part['pss_mb']} MB")


def _commands(part: Json, _: Json) -> Iterator[Row]:
    running, result = part["call_to_running_ms"], part["call_to_result_ms"]
    yield _row(
        "tool call → its process runs, p50 / p99",
        _both(running),
        "",
        at_most(running["p99"], 20, "ms"),
    )
    yield _row(
        "synchronous `true`, tool call → result, p50 / p99",
        _both(result),
        f"{_both(part['subprocess_ms'])}: `subprocess.run`",
    )
    yield _row(
        f"{count(part['many'])} at once, until the last end was pushed",
        seconds(part["seconds_for_many"]),
    )
    yield _row("… by which the hub grew meanwhile (PSS)", f"{part['hub_grew_mb']} MB")


def _memory(part: Json, _: Json) -> Iterator[Row]:
    def mb(name: str) -> str:
        return f"{part[name]} MB"

    sdk = f"{mb('sdk_mb')}: an SDK server"
    yield _row("a link", mb("link_mb"), sdk, at_most(part["link_mb"], 8, "MB"))
    yield _row("a hub with the web inbox, idle", mb("hub_mb"), sdk)
    for chat, library in LIBRARIES.items():
        beside = f"{mb(f'bare_{chat}_mb')}: a bare {library}"
        yield _row(f"… with {CHANNELS[chat]}", mb(f"hub_{chat}_mb"), beside)
        if chat == "matrix":
            yield _row("… with Matrix, encrypted", mb("hub_matrix_encrypted_mb"))
    yield _row("`chatbridge mcp --standalone`", mb("standalone_mb"), sdk)
    grown = part["after_mb"] - part["before_mb"]
    yield _row(
        f"by which a hub grows while {count(part['asks'])} asks come and go",
        f"{grown:.1f} MB",
        f"{part['before_mb']} MB before",
    )


def _idle(part: Json, _: Json) -> Iterator[Row]:
    span, links = part["seconds"], part["links_count"]
    aim = 0.05 * span / 30

    def cpu(name: str) -> str:
        return f"{part[name] * 1000:.1f} ms"

    yield _row(
        f"hub, {links} links with an open ask each",
        cpu("hub"),
        "",
        at_most(part["hub"] * 1000, aim * 1000, "ms"),
    )
    yield _row("… with a heartbeat for each call", cpu("heartbeat"))
    yield _row(f"those {links} links together", cpu("links"))
    yield _row("hub with a page of the inbox open", cpu("hub_page"))
    woken = part["wake_ups"]
    for chat, library in LIBRARIES.items():
        added = max(0, woken[f"hub_{chat}"] - woken["hub_none"])
        yield _row(
            f"hub with {CHANNELS[chat]}",
            f"{cpu(f'hub_{chat}')}, {count(added)} wake-ups a minute",
            f"{cpu(f'bare_{chat}')}, {count(woken[f'bare_{chat}'])}: a bare {library}",
        )
        if chat == "matrix":
            yield _row("hub with Matrix, encrypted", cpu("hub_matrix_encrypted"))


def _imports(part: Json, _: Json) -> Iterator[Row]:
    for chat, library in LIBRARIES.items():
        found = part[chat]
        yield _row(
            CHANNELS[chat],
            f"{ms(found['ms'])}, {found['mb']} MB",
            f"{ms(found['library_ms'])}, {found['library_mb']} MB: {library}",
        )


def _both(found: Json) -> str:
    return f"{ms(found['p50'], unit=False)} / {ms(found['p99'])}"


SECTIONS = (
    Section(
        part="one_ask",
        title="One ask on each channel, the slowest of its rounds",
        columns=("where", "card there", "times under 3 s", "result there", "times under 2 s"),
        rows=_one_ask,
    ),
    Section(part="startup", title="Start", rows=_startup),
    Section(part="web", title="Round trips: web inbox", rows=_web),
    Section(part="attachments", title="Pictures and files", rows=_attachments),
    Section(part="messages", title="Messages to agents", rows=_messages),
    Section(part="http", title="Round trips: agents over HTTP", rows=_http),
    Section(part="terminal", title="Round trips: terminal", rows=_terminal),
    Section(
        part="telegram",
        title="Round trips: Telegram",
        rows=_chat("telegram", "tool call → message at the Bot API", "tap → tool result"),
    ),
    Section(
        part="matrix",
        title="Round trips: Matrix",
        rows=_chat("matrix", "tool call → event in the room", "reaction → tool result"),
    ),
    Section(
        part="slack",
        title="Round trips: Slack",
        rows=_chat("slack", "tool call → message at the Web API", "tap → tool result", within=3000),
    ),
    Section(
        part="discord",
        title="Round trips: Discord",
        rows=_chat(
            "discord", "tool call → message at the REST API", "tap → tool result", within=3000
        ),
    ),
    Section(
        part="ntfy",
        title="Round trips: ntfy",
        rows=_chat("ntfy", "tool call → message at the server", "tap → tool result"),
    ),
    Section(part="growth", title="Growth", rows=_growth),
    Section(part="worst", title="The worst questions that are legal", rows=_worst),
    Section(part="burst", title="Burst", rows=_burst),
    Section(part="runner", title="Commands: the runner alone", rows=_runner),
    Section(part="commands", title="Commands: calls of an agent", rows=_commands),
    Section(
        part="imports",
        title="What a hub with the web inbox imports for another channel",
        rows=_imports,
    ),
    Section(part="memory", title="Memory (PSS)", rows=_memory),
    Section(part="idle", title="CPU time of 30 s in which nothing happens", rows=_idle),
)
