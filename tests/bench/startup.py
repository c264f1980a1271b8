"""How soon a client has its tools, beside a minimal SDK server; and how soon a command has said
something."""

from __future__ import annotations

from chatbridge.cli import COMMANDS
from tests.bench.machine import Json, Machine, machine, milliseconds
from tests.bench.references import python_process

SCRIPT = ("-c", "import argparse, json, socket")
"""A command that does nothing has to import as much."""


async def startup(rounds: int, first_rounds: int, command_rounds: int) -> Json:
    async with machine() as here:
        await here.begin()
        warm = await _beside_the_sdk(here, rounds)
        helps = {
            " ".join(words): milliseconds(
                [(await here.run(*words))[1] for _ in range(command_rounds)]
            )
            for words in [("--help",), *((name, "--help") for name in COMMANDS)]
        }
        asked = {
            word: milliseconds([(await here.run(word))[1] for _ in range(command_rounds)])
            for word in ("pending", "status", "history")
        }
        bare = [python_process(*SCRIPT) for _ in range(2 * command_rounds)]
    return {
        "link": warm,
        "first": await _first_start(first_rounds),
        "standalone": await _standalone(first_rounds),
        "help_ms": helps,
        "asked_ms": asked,
        "python_ms": milliseconds(bare),
    }


async def _beside_the_sdk(here: Machine, rounds: int) -> Json:
    links, references = [], []
    for _ in range(rounds):
        async with here.link() as link:
            links.append(await link.list_tools())
        async with here.reference() as reference:
            references.append(await reference.list_tools())
    return {"ms": milliseconds(links), "sdk_ms": milliseconds(references)}


async def _first_start(rounds: int) -> Json:
    """With no hub running: the link has to start one."""
    links, references = [], []
    for _ in range(rounds):
        async with machine() as here:
            async with here.link() as link:
                links.append(await link.list_tools())
            async with here.reference() as reference:
                references.append(await reference.list_tools())
    return {"ms": milliseconds(links), "sdk_ms": milliseconds(references)}


async def _standalone(rounds: int) -> Json:
    """Link and hub in one process."""
    orphaned, references = [], []
    for _ in range(rounds):
        async with machine() as here:
            async with here.link("--standalone") as both:
                orphaned.append(await both.list_tools())
            async with here.reference() as reference:
                references.append(await reference.list_tools())
    return {"ms": milliseconds(orphaned), "sdk_ms": milliseconds(references)}
