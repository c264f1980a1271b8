"""SHA-256 without OpenSSL: importing hashlib would cost every link two megabytes."""

from __future__ import annotations


def sha256_hex(data: bytes) -> str:
    # Python's own implementation is a private module with another name in each of its versions.
    for name in ("_sha2", "_sha256", "hashlib"):
        try:
            module = __import__(name)
        except ImportError:
            continue
        return str(module.sha256(data).hexdigest())
    raise ImportError("this Python has no SHA-256")
