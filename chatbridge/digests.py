"""SHA-256 without OpenSSL, because hashlib would take two megabytes in every link."""

from __future__ import annotations


def sha256_hex(data: bytes) -> str:
    # The built-in implementation is a private module whose name depends on the Python version.
    for name in ("_sha2", "_sha256", "hashlib"):
        try:
            module = __import__(name)
        except ImportError:
            continue
        return str(module.sha256(data).hexdigest())
    raise ImportError("this Python has no SHA-256")
