"""What every tool says of itself fits the protocol's schema."""

from __future__ import annotations

import re
from base64 import b64decode
from xml.etree import ElementTree

from chatbridge.tools.call import ICON

URI = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9\-._~:/?\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*"
    r"(?:#(?:[A-Za-z0-9\-._~:/?@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*)?"
)
"""The characters of RFC 3986."""


def test_an_icon_is_a_uri_with_a_picture_in_it() -> None:
    assert URI.fullmatch(ICON.src), ICON.src
    picture = b64decode(ICON.src.removeprefix("data:image/svg+xml;base64,"), validate=True)
    assert ElementTree.fromstring(picture).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314
