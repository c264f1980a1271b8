"""SHA-256 without OpenSSL, because hashlib would take two megabytes in every link."""

from __future__ import annotations

from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def sha256_hex(data: bytes) -> str:
    return str(_sha256()(data).hexdigest())


@cache
def _sha256() -> Any:
    # The built-in implementation is a private module whose name depends on the Python version.
    for name in ("_sha2", "_sha256", "hashlib"):
        try:
            return __import__(name).sha256
        except ImportError:
            continue
    raise ImportError("this Python has no SHA-256")
