"""The bot's token is part of every request, so nobody may hear one who only claims the name; and
the person is told that it is the certificate, and what to do."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

from chatbridge.channels.discord.api import Api as DiscordApi
from chatbridge.channels.matrix.client.api import Api as MatrixApi
from chatbridge.channels.ntfy.api import Api as NtfyApi
from chatbridge.channels.ntfy.settings import Ntfy
from chatbridge.channels.slack.api import Api as SlackApi
from chatbridge.channels.telegram import setup
from chatbridge.channels.telegram.client.api import Api as TelegramApi
from chatbridge.channels.telegram.settings import Telegram
from chatbridge.cli.ui import prompts
from chatbridge.core.errors import RetryLater
from tests.fakes.impostor import impostor, self_signed

TOKEN = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"
WHAT_TO_DO = "Check this computer's clock and {}; where a proxy reads along, set SSL_CERT_FILE to"


async def ask_telegram(base: str) -> None:
    async with TelegramApi(TOKEN, base=base, hint="config.toml") as api:
        await api.me()


async def ask_the_homeserver(base: str) -> None:
    async with MatrixApi(base, "@bot:localhost", hint="config.toml") as api:
        await api.device_of(TOKEN)


async def ask_discord(base: str) -> None:
    async with DiscordApi(TOKEN, base=base, hint="config.toml", patience=20) as api:
        await api.me()


async def ask_slack(base: str) -> None:
    async with SlackApi(TOKEN, TOKEN, base=f"{base}/", hint="config.toml", patience=20) as api:
        await api.me()


async def ask_ntfy(base: str) -> None:
    async with NtfyApi(Ntfy.model_validate({"server": base, "token": TOKEN})) as api:
        await api.check("")


SERVICES = {
    "discord": (ask_discord, "discord's certificate is not trusted", "discord.api_base"),
    "slack": (ask_slack, "slack's certificate is not trusted", "slack.api_base"),
    "ntfy": (ask_ntfy, "localhost's certificate is not trusted", "ntfy.server"),
    "telegram": (ask_telegram, "telegram's certificate is not trusted", "telegram.api_base"),
    "matrix": (ask_the_homeserver, "matrix: the homeserver's certificate", "matrix.homeserver"),
}


async def test_setup_says_that_it_is_the_certificate_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(prompts, "enter_or_escape", lambda invite: invite())  # and then Esc
    async with impostor(self_signed(tmp_path)) as (port, _):
        asked = asyncio.to_thread(ended_by_escape, f"https://localhost:{port}")
        assert await asked
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("✗ localhost cannot be reached. telegram's certificate is not trusted")
    assert WHAT_TO_DO.format("telegram.api_base") in said
    assert said.endswith("Then press Enter to try again.")


def ended_by_escape(base: str) -> bool:
    with pytest.raises(KeyboardInterrupt):
        setup.SETUP.check(
            setup.SETUP.tokens[0], Telegram.model_validate({"token": TOKEN, "api_base": base})
        )
    return True


@pytest.mark.parametrize("service", SERVICES)
async def test_a_server_whose_certificate_nobody_vouches_for_never_hears_the_token(
    tmp_path: Path, service: str
) -> None:
    asking, beginning, setting = SERVICES[service]
    certificate = self_signed(tmp_path)
    async with impostor(certificate) as (port, heard):
        with pytest.raises(RetryLater) as caught:
            await asking(f"https://localhost:{port}")
        said = str(caught.value)
        assert said.startswith(beginning)
        assert "(self-signed certificate" in said or "(self signed certificate" in said
        assert WHAT_TO_DO.format(setting) in said
        assert heard == []

        trusting = ssl.create_default_context(cafile=certificate)
        reader, writer = await asyncio.open_connection("localhost", port, ssl=trusting)
        writer.write(b"it listens\n")
        assert await reader.read() == b""
        assert heard == [b"it listens\n"]
        writer.close()
