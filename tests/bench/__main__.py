"""`make bench`: runs everything, prints one table with the aims, and keeps the figures as JSON."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import sys
from pathlib import Path

from tests.bench.commands import calls
from tests.bench.idle import idle
from tests.bench.latency import burst, latency, ratio, reference_call
from tests.bench.machine import Json
from tests.bench.matrix import matrix
from tests.bench.runner import runner
from tests.bench.startup import commands, first_start, startup
from tests.bench.telegram import telegram


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, to try it out")
    parser.add_argument("--json", type=Path, default=Path("bench.json"), help="where to keep them")
    options = parser.parse_args()
    # Where byte code is not written, every start compiles: that would measure the wrong thing.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    figures = asyncio.run(measure(quick=options.quick))
    options.json.write_text(json.dumps(figures, indent=2) + "\n")
    print(table(figures))
    print(f"\nKept in {options.json}")
    return 0


async def measure(*, quick: bool) -> Json:
    part = 10 if quick else 1

    def say(what: str) -> None:
        print(f"measuring {what} …", file=sys.stderr, flush=True)

    say("startup")
    figures: Json = {"machine": f"{os.cpu_count()} cores, Python {platform.python_version()}"}
    figures["startup"] = await startup(20 // part)
    figures["first_start"] = await first_start(7 // part or 1)
    figures["commands"] = await commands(20 // part)
    say("latency")
    figures["reference_call_ms"] = await reference_call(500 // part)
    figures["latency"] = {"0": await latency(500 // part)}
    for count, ended in ((1_000, 0), (10_000, 100_000)):
        say(f"latency among {count:,} open asks and {ended:,} ended ones")
        figures["latency"][str(count)] = await latency(
            500 // part, open_asks=count // part, ended=ended // part
        )
    say("a burst")
    figures["burst"] = await burst(1000 // part, links=10)
    say("commands")
    figures["runner"] = await runner(500 // part)
    figures["calls"] = await calls(500 // part, 1000 // part)
    say("Telegram")
    figures["telegram"] = await telegram(200 // part)
    say("Matrix")
    figures["matrix"] = await matrix(100 // part)
    say("idleness")
    figures["idle"] = await idle(30.0 / part, links=100 // part, progress=False)
    figures["heartbeat"] = await idle(30.0 / part, links=100 // part, progress=True)
    return figures


def table(figures: Json) -> str:
    start, first, idleness = figures["startup"], figures["first_start"], figures["idle"]
    many, empty = figures["latency"], figures["latency"]["0"]
    rows = [
        ("what", "measured", "aim"),
        ("link spawned → tools/list", f"{start['link_ms']} ms", ""),
        ("  a minimal SDK server, same run", f"{start['reference_ms']} ms", ""),
        ("  times faster", f"{start['times_faster']}", "≥ 20"),
        ("memory of a link (PSS)", f"{start['link_pss_mb']} MB", "≤ 8 MB"),
        ("first start, no hub running", f"{first['link_ms']} ms", ""),
        ("  against the SDK server", f"{first['ratio']} times", "< 1.3"),
        *(
            (f"chatbridge {words}", f"{ms} ms", "< 150 ms" if "--help" in words else "")
            for words, ms in figures["commands"].items()
        ),
        ("an SDK server's empty call, p50", f"{figures['reference_call_ms']['p50']} ms", ""),
    ]
    for what, title in (
        ("ask_to_visible_ms", "ask → visible"),
        ("answer_to_result_ms", "answer → result"),
    ):
        found = empty[what]
        shown = f"{found['p50']} / {found['p95']} / {found['p99']} ms"
        rows.append((f"{title}, p50 / p95 / p99", shown, "≤ 5 / – / 15 ms"))
        for count, among in (
            ("1000", "1,000 open asks"),
            ("10000", "10,000 open and 100,000 ended ones"),
        ):
            share = ratio(many[count], empty, what)
            rows.append((f"  p50 among {among}", f"{share} times", "≤ 1.5"))
    rows += [
        (
            f"{figures['burst']['asks']:,} answers in one burst, all heard",
            f"{figures['burst']['seconds_until_all_heard']} s",
            "≤ 2 s",
        ),
        ("memory per open ask", f"{figures['burst']['kb_per_open_ask']} KB", ""),
        (
            f"hub CPU, {idleness['seconds']:.0f} s idle, {idleness['links']} links and asks",
            f"{idleness['hub_cpu_seconds']} s",
            "< 0.05 s",
        ),
        (
            "  the same with a heartbeat for each call",
            f"{figures['heartbeat']['hub_cpu_seconds']} s",
            "",
        ),
    ]
    rows += command_rows(figures["runner"], figures["calls"])
    rows += beside_bare_ones(
        figures["telegram"],
        "python-telegram-bot",
        ("Telegram: tool call → message", "call_to_message_ms"),
        ("Telegram: tap → tool result", "tap_to_result_ms"),
    )
    rows += beside_bare_ones(
        figures["matrix"],
        "matrix-nio",
        ("Matrix: tool call → event in the room", "call_to_event_ms"),
        ("Matrix: reaction → tool result", "reaction_to_result_ms"),
    )
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([figures["machine"], *lines])


def command_rows(figures: Json, calls: Json) -> list[tuple[str, str, str]]:
    started, ended = figures["order_to_started_ms"], figures["order_to_ended_ms"]
    bare = figures["subprocess_ms"]
    return [
        (
            "command: order → process started, p50 / p99",
            f"{started['p50']} / {started['p99']} ms",
            "– / ≤ 20 ms",
        ),
        ("command: true, order → end known, p50 / p99", f"{ended['p50']} / {ended['p99']} ms", ""),
        ("  subprocess.run in the same run", f"{bare['p50']} / {bare['p99']} ms", ""),
        ("    times as long, p50", f"{ended['p50'] / bare['p50']:.2f}", ""),
        ("  the first, which starts the runner", f"{figures['first_ms']} ms", ""),
        *_command_calls(calls),
        ("memory of the runner (PSS)", f"{figures['pss_mb']} MB", ""),
    ]


def _command_calls(figures: Json) -> list[tuple[str, str, str]]:
    running, result = figures["call_to_running_ms"], figures["call_to_result_ms"]
    bare = figures["subprocess_ms"]
    return [
        (
            "command: tool call → process runs, p50 / p99",
            f"{running['p50']} / {running['p99']} ms",
            "– / ≤ 20 ms",
        ),
        (
            "command: synchronous true, call → result, p50 / p99",
            f"{result['p50']} / {result['p99']} ms",
            "",
        ),
        ("  subprocess.run in the same run", f"{bare['p50']} / {bare['p99']} ms", ""),
        ("    times as long, p50", f"{result['p50'] / bare['p50']:.2f}", ""),
        (
            f"command: {figures['many']:,} at once, all ended",
            f"{figures['seconds_for_many']} s",
            "",
        ),
        ("  by which the hub grew (PSS)", f"{figures['hub_grew_mb']} MB", ""),
    ]


def beside_bare_ones(
    figures: Json, library: str, *parts: tuple[str, str]
) -> list[tuple[str, str, str]]:
    """A channel's rows: each part's title and its name in the figures."""
    rows = []
    for title, what in parts:
        found, server, script = (figures[name][what] for name in ("ours", "server", "script"))
        rows += [
            (f"{title}, p50 / p99", f"{found['p50']} / {found['p99']} ms", ""),
            *_beside(found, server, f"{library} behind a minimal SDK server", aim="≤ 2"),
            *_beside(found, script, f"{library} alone, without a tool call", aim="≤ 2"),
        ]
    return rows


def _beside(found: Json, other: Json, title: str, *, aim: str) -> list[tuple[str, str, str]]:
    return [
        (f"  {title}", f"{other['p50']} / {other['p99']} ms", ""),
        ("    times as long, p50", f"{found['p50'] / other['p50']:.2f}", aim),
    ]


if __name__ == "__main__":
    sys.exit(main())
