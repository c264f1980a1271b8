"""Where a Matrix account's homeserver is: as its domain says (`.well-known`), or at the domain.

What a foreign server answers is bounded in size, time and redirects, and every address on the way
has to be one that the settings take: https, or within one's own network.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx
from pydantic import ValidationError

from chatbridge.channels.matrix.settings import USER_ID, Matrix
from chatbridge.core.errors import ChatbridgeError

LARGEST = 64 * 1024
REDIRECTS = 3
ANSWERED_WITHIN = 10.0
WELL_KNOWN = "/.well-known/matrix/client"
VERSIONS = "/_matrix/client/versions"
UNREACHABLE = (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError)


def is_user_id(text: str) -> bool:
    return USER_ID.fullmatch(text) is not None


def server_in(given: str) -> str:
    """The part that names the server: of a user id, of an address, or the name itself."""
    return given.partition(":")[2] if given.startswith("@") else given.strip().rstrip("/")


async def homeserver_of(given: str) -> str:
    """The address of the homeserver of a user id, a server's name or an address.

    :raises ChatbridgeError: there is none, or it cannot be reached; the message says what to do.
    """
    server = server_in(given)
    async with httpx.AsyncClient(timeout=ANSWERED_WITHIN) as client:
        candidates = [server] if "://" in server else [f"https://{server}", f"http://{server}"]
        usable = [base for base in map(usable_address, candidates) if base is not None]
        if not usable:
            raise ChatbridgeError(
                f"{server} is no address that can be used. An https:// address is needed, or one "
                "within your own network"
            )
        for base in usable:
            said = base if "://" in server else await _well_known(client, base)
            if said is not None and await _is_homeserver(client, said):
                return said
    raise ChatbridgeError(
        f"No Matrix server answers for {server}. Check the name and the network, or give its "
        "address, such as https://matrix.example.org"
    )


def usable_address(base: str) -> str | None:
    """As the settings take it."""
    try:
        return Matrix.model_validate({"homeserver": base}).homeserver
    except ValidationError:
        return None


async def _well_known(client: httpx.AsyncClient, base: str) -> str | None:
    """What the domain says, the domain itself if it says nothing, None if it cannot be asked."""
    found = await _json(client, base + WELL_KNOWN)
    if found is None:
        return base
    homeserver = found.get("m.homeserver")
    address = homeserver.get("base_url") if isinstance(homeserver, dict) else None
    return usable_address(address.rstrip("/")) if isinstance(address, str) else base


async def _is_homeserver(client: httpx.AsyncClient, base: str) -> bool:
    found = await _json(client, base + VERSIONS)
    return found is not None and isinstance(found.get("versions"), list)


async def _json(client: httpx.AsyncClient, url: str) -> dict[str, Any] | None:
    """None: nothing of that kind is there."""
    try:
        for _ in range(REDIRECTS + 1):
            async with client.stream("GET", url) as answer:
                if answer.is_redirect:
                    url = urljoin(url, answer.headers.get("location", ""))
                    if usable_address(_origin(url)) is None:
                        return None
                    continue
                if answer.status_code != httpx.codes.OK:
                    return None
                found = json.loads(await _bounded(answer))
                return found if isinstance(found, dict) else None
    except (*UNREACHABLE, ValueError, RecursionError):
        return None
    return None


async def _bounded(answer: httpx.Response) -> bytes:
    body = b""
    async for piece in answer.aiter_bytes():
        body += piece
        if len(body) > LARGEST:
            raise ValueError("too large")
    return body


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{re.sub(r'.*@', '', parts.netloc)}"
