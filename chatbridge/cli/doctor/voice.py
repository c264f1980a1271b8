"""Who turns voice messages into text, and whether it is there. Nothing is transcribed."""

from __future__ import annotations

import asyncio
import shutil
import urllib.error
import urllib.request
from collections.abc import Sequence
from urllib.parse import urlsplit

from chatbridge.channels.checks import Finding, fine, problem, remark
from chatbridge.cli.doctor.context import DoctorContext
from chatbridge.setting_rules import is_loopback

ANSWER_SECONDS = 5.0


async def voice(context: DoctorContext) -> Sequence[Finding]:
    name, table = "voice", context.settings.voice
    if not table.url:
        for program in table.command[:1]:
            if shutil.which(program):
                return [fine(name, f"voice messages are transcribed by {program}")]
            return [problem(name, f"there is no program {program}", "check voice.command")]
        return []
    host = urlsplit(table.url).hostname or ""
    if not await asyncio.to_thread(_answers, table.url):
        return [problem(name, f"{host} does not answer", "start it, or check voice.url")]
    if table.url.startswith("http:") and not is_loopback(host):
        what = f"recordings go to {host} without encryption"
        return [remark(name, what, "use https, or a server on this computer")]
    return [fine(name, f"voice messages are transcribed by {host}")]


def _answers(url: str) -> bool:
    """Whether anything answers there, though a request without a recording is refused."""
    try:
        with urllib.request.urlopen(url, timeout=ANSWER_SECONDS):  # noqa: S310 - of the settings
            return True
    except urllib.error.HTTPError as error:
        error.close()
        return True
    except (OSError, ValueError):
        return False
