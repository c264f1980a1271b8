"""The inbox's own certificate (`web.tls_cert`, `web.tls_key`), for https without a proxy.

Owns loading it, and loading it again once its files have changed: looked at when somebody connects,
so that nothing polls. A renewed one that cannot be used leaves the last one in place.
"""

from __future__ import annotations

import logging
import os
import ssl
from pathlib import Path
from typing import NoReturn

from chatbridge.core.errors import SettingsError

log = logging.getLogger(__name__)

Stamp = tuple[tuple[int, int, int] | None, ...]


class Certificate:
    def __init__(self, file: Path, key: Path) -> None:
        """:raises SettingsError: it cannot be used."""
        self._files = (file, key)
        self._stamp = self._now()
        self._context = loaded(file, key)
        self.problem: str | None = None
        """Why the files as they are now are not used."""

    def context(self) -> ssl.SSLContext:
        """For the next connection."""
        if (now := self._now()) != self._stamp:
            self._stamp = now
            try:
                self._context, self.problem = loaded(*self._files), None
                log.info("the inbox's certificate was loaded again")
            except SettingsError as error:
                self.problem = f"The inbox goes on with its last certificate: {error}"
                log.warning("%s", self.problem)
        return self._context

    def _now(self) -> Stamp:
        """Changes whenever a file is written or replaced."""
        return tuple(map(_stamp, self._files))


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size


def loaded(file: Path, key: Path) -> ssl.SSLContext:
    """:raises SettingsError: with what to do."""
    for setting, path in (("web.tls_cert", file), ("web.tls_key", key)):
        try:
            with path.open("rb"):
                pass
        except OSError as error:
            raise SettingsError(
                f"{setting}: {path} cannot be read ({error.strerror}). Check the path, and that "
                "the hub's user may read it"
            ) from None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["http/1.1"])
    try:
        # Without a function of ours, OpenSSL would ask for a password at the terminal.
        context.load_cert_chain(file, key, password=_is_encrypted)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise SettingsError(
                f"web.tls_key: the key in {key} does not belong to the certificate in {file}. "
                "Name the two files that were made together"
            ) from None
        raise SettingsError(
            f"web.tls_cert, web.tls_key: {file} and {key} are not a certificate and its key in "
            "PEM form. Use the full chain (fullchain.pem) and the key (privkey.pem)"
        ) from None
    return context


def _is_encrypted() -> NoReturn:
    raise SettingsError(
        "web.tls_key: the key is protected by a password, which a hub cannot type. Use a key "
        "without one, in a file that only its owner can read"
    )
