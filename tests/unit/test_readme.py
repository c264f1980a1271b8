"""The README's first screen: one sentence, the animated picture, who can be where; then three
commands before everything else."""

from __future__ import annotations

import re
from pathlib import Path

from PIL import Image, ImageSequence

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FIRST_SCREEN = README.partition("\n## ")[0]
PICTURE = re.compile(r'<img src="(docs/pictures/[\w-]+\.gif)" width="(\d+)" alt="([^"]+)">')
MOST_BYTES = 800_000
SHORTEST, LONGEST = 8_000, 13_000
LAST_FRAME = 3_000


def test_the_first_screen_is_a_sentence_a_picture_and_a_table() -> None:
    _title, sentence, picture, table = FIRST_SCREEN.strip().split("\n\n")
    assert sentence.count(".") == 1
    found = PICTURE.fullmatch(picture)
    assert found is not None
    assert "Telegram" in found[3]
    places = ("Telegram", "Matrix", "Slack", "Discord", "ntfy", "web inbox")
    for name in (*places, "Claude Code", "Codex", "any other MCP client"):
        assert name in table


def test_three_commands_lead_from_nothing_to_an_answered_question() -> None:
    block = README.partition("\n```\n")[2].partition("\n```\n")[0]
    install, setup, ask = block.split("\n")
    assert install == "pipx install chatbridge-mcp"
    assert setup == "chatbridge setup"
    assert ask.startswith("chatbridge ask ")


def test_installing_comes_first_and_the_tests_of_contributors_last() -> None:
    order = ["\npipx install ", "\nuvx --from ", "## Guarantees", "## Alternatives", "`make test`"]
    places = [README.index(it) for it in order]
    assert places == sorted(places)


def test_the_picture_moves_ends_on_the_answer_and_is_small_enough_to_load() -> None:
    found = PICTURE.search(FIRST_SCREEN)
    assert found is not None
    path, width, told = ROOT / found[1], int(found[2]), found[3]
    assert len(told) > 100, "it says what happens to those who do not see it"
    assert path.stat().st_size <= MOST_BYTES
    with Image.open(path) as picture:
        assert picture.width >= width
        assert picture.info["loop"] == 0
        shown = [frame.info["duration"] for frame in ImageSequence.Iterator(picture)]
    assert SHORTEST <= sum(shown) <= LONGEST
    assert shown[-1] == max(shown) >= LAST_FRAME
