"""Is an address of the inbox a secure context, and is it this hub's inbox?

Browsers give notifications, installed apps and the microphone only to pages over https whose
certificate they trust. Owns finding that out from this computer: https, a certificate that is
trusted, valid and made for the name, and a proof that this hub answers behind it. The hub gives out
the question; whoever else is there learns nothing from it.
"""

from __future__ import annotations

import http.client
import socket
import ssl
from typing import NamedTuple
from urllib.parse import urlsplit

from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.login_codes import PROOF_HEADER
from chatbridge.core.text import one_line, shortened

ANSWER_SECONDS = 5.0
LARGEST_ANSWER = 1024
WARN_SECONDS = 14 * 86400.0
"""Automatic renewal is done long before, so what is left then is nobody's plan."""
DAY = 86400.0


class Proof(NamedTuple):
    question: str
    answer: str


class Found(NamedTuple):
    begins: float
    ends: float
    """When the certificate does, in seconds since the epoch."""

    def days_left(self, now: float) -> int | None:
        """If it ends soon. One that is made for a few days has to be renewed more often."""
        left = self.ends - now
        soon = left < min(WARN_SECONDS, (self.ends - self.begins) / 4)
        return max(0, int(left // DAY)) if soon else None


def look(
    url: str, proof: Proof, *, behind: str, at: str | None = None, seconds: float = ANSWER_SECONDS
) -> Found:
    """Of an address that phones can use. `behind` is where the inbox itself listens; `at` is the IP
    address to go to, where the name need not be known on this computer.
    :raises ChatbridgeError: why it cannot be used, and what to do."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "https":
        raise ChatbridgeError(
            f"{url} is plain http. Phones keep notifications and the microphone from it: set "
            "web.url to an https address, or remove it, and chatbridge inbox --phone says how to "
            "get one"
        )
    try:
        with (
            socket.create_connection((at or host, parts.port or 443), timeout=seconds) as raw,
            ssl.create_default_context().wrap_socket(raw, server_hostname=host) as tls,
        ):
            found = _dates(tls)
            status, said = _asked(tls, parts.netloc, proof.question)
    except socket.gaierror as error:  # a phone may know it all the same: see doctor
        raise ChatbridgeError(
            f"{host} is not known to this computer's DNS. Check web.url"
        ) from error
    except ssl.SSLCertVerificationError as error:
        raise ChatbridgeError(_about_certificate(host, error)) from None
    except ssl.SSLError as error:
        raise ChatbridgeError(
            f"{url} does not answer with https ({_why(error)}). Check the certificate and the port "
            "of what serves it"
        ) from None
    except (OSError, http.client.HTTPException) as error:
        raise ChatbridgeError(
            f"{url} cannot be reached from this computer ({_why(error)}). Start what serves it, or "
            "check web.url"
        ) from None
    if said == proof.answer:
        return found
    if status in (502, 503, 504):
        raise ChatbridgeError(
            f"{url} answers, but does not reach the inbox ({status}). Have it pass requests on to "
            f"{behind}"
        )
    if status in (400, 403, 421):
        raise ChatbridgeError(
            f"The inbox behind {url} does not know this name. Have the proxy pass the Host header "
            "on as it is, and check web.url"
        )
    raise ChatbridgeError(
        f"Something else than this hub's inbox answers at {url}. Have it pass requests on to "
        f"{behind}"
    )


def _asked(tls: ssl.SSLSocket, netloc: str, question: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(netloc)
    connection.sock = tls
    connection.request("GET", "/healthz", headers={"Host": netloc, PROOF_HEADER: question})
    response = connection.getresponse()
    return response.status, response.read(LARGEST_ANSWER).decode("ascii", "replace")


def _dates(tls: ssl.SSLSocket) -> Found:
    certificate = tls.getpeercert() or {}
    begins, ends = (str(certificate.get(name, "")) for name in ("notBefore", "notAfter"))
    return Found(*map(ssl.cert_time_to_seconds, (begins, ends)))


def _about_certificate(host: str, error: ssl.SSLCertVerificationError) -> str:
    match error.verify_code:  # as OpenSSL numbers them
        case 10:
            return f"The certificate of {host} has expired. Renew it"
        case 9:
            return f"The certificate of {host} is not valid yet. Check this computer's clock"
        case 62 | 64:
            return (
                f"The certificate at {host} was made for another name. Get one for {host}, or set "
                "web.url to the name that it has"
            )
    why = one_line(error.verify_message)
    return (
        f"The certificate of {host} is not trusted on this computer ({why}). Use one that phones "
        "trust, with its full chain; for an authority of your own, install it here and there"
    )


def _why(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return shortened(one_line(getattr(error, "strerror", None) or str(error)), 100)
