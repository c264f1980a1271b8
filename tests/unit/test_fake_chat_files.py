"""The test servers of Slack and Discord refuse the files that the services refuse."""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import pytest

from tests.fakes.clock import StillClock
from tests.fakes.discord.server import Discord
from tests.fakes.slack.server import BOT_TOKEN, running_slack


async def test_slack_takes_an_upload_once_and_only_of_the_length_that_was_said() -> None:
    async with running_slack(StillClock()) as slack, aiohttp.ClientSession() as session:
        room = slack.channel(slack.person("Ada"))

        async def call(method: str, **data: Any) -> Any:
            headers, url = {"Authorization": f"Bearer {BOT_TOKEN}"}, f"{slack.base}/api/{method}"
            async with session.post(url, data=data, headers=headers) as response:
                return await response.json()

        async def put(url: str, content: bytes, **headers: str) -> int:
            async with session.post(url, data=content, headers=headers) as response:
                return response.status

        async def complete(*ids: str) -> str:
            files = json.dumps([{"id": each} for each in ids])
            done = await call("files.completeUploadExternal", files=files, channel_id=room.id)
            return str(done.get("error", "ok"))

        asked = "files.getUploadURLExternal"
        assert (await call(asked, filename="a"))["error"] == "missing_argument"
        long = "x" * 1_001
        said = await call(asked, filename="a", length=2, alt_txt=long)
        assert said["error"] == "alt_txt_too_large"
        place = await call(asked, filename="a", length=2)
        assert await complete(place["file_id"]) == "file_not_found"  # nothing was uploaded
        assert await put(place["upload_url"], b"abc") == 400
        assert await put(place["upload_url"], b"ab", Authorization="Bearer x") == 400
        assert await put(f"{slack.base}/upload/F99", b"ab") == 404
        assert await put(place["upload_url"], b"ab") == 200
        assert await put(place["upload_url"], b"ab") == 404
        assert await complete(place["file_id"], "F99") == "file_not_found"
        assert await complete() == "invalid_arguments"
        assert await complete(place["file_id"]) == "ok"
        assert await complete(place["file_id"]) == "file_not_found"


async def test_discord_gives_a_file_to_who_has_its_address_for_a_day() -> None:
    clock = StillClock()
    async with Discord.running(clock) as discord, aiohttp.ClientSession() as session:
        world = discord.world
        ada = world.user("Ada")
        message = discord.say(ada, world.direct(ada), "", files=[("a b.png", b"content")])
        (file,) = world.message_json(message)["attachments"]

        async def status(url: str) -> int:
            async with session.get(url) as response:
                return response.status

        assert await status(file["url"]) == 200
        assert await status(file["url"].replace("hm=", "hm=0")) == 404
        assert await status(file["url"].partition("?")[0]) == 404
        clock.advance(25 * 3600)
        assert await status(file["url"]) == 404
        (again,) = world.message_json(message)["attachments"]
        assert await status(again["url"]) == 200


@pytest.mark.parametrize(
    ("described", "status"),
    [
        ([], 200),
        ([{"id": 0, "description": "x" * 1_024}], 200),
        ([{"id": 0, "description": "x" * 1_025}], 400),
        ([{"id": 1, "filename": "other"}], 400),
    ],
)
async def test_discord_takes_descriptions_of_files_that_are_there(
    described: list[dict[str, Any]], status: int
) -> None:
    async with Discord.running(StillClock()) as discord, aiohttp.ClientSession() as session:
        room = discord.world.direct(discord.world.user("Ada"))
        form = aiohttp.FormData()
        form.add_field("payload_json", json.dumps({"attachments": described}))
        form.add_field("files[0]", b"content", filename="a.txt")
        async with session.post(
            f"{discord.address}/v10/channels/{room.id}/messages",
            data=form,
            headers={"Authorization": f"Bot {discord.token}", "User-Agent": "DiscordBot (x, 1)"},
        ) as response:
            assert response.status == status
