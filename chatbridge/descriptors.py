"""The limit on open descriptors. A hub raises its soft limit: each link and each page takes one.

The programs that it starts get the limit back that it was started with: many of them look at all
descriptors up to the limit, or use `select`, which takes none above 1,023.
"""

from __future__ import annotations

import resource

WANTED = 65_536

_before: list[int] = []
"""The soft limit that was raised, if one was."""


def raise_limit() -> None:
    """Raise the soft limit as far as the hard one allows, and no further than `WANTED`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = WANTED if hard == resource.RLIM_INFINITY else min(hard, WANTED)
    if soft != resource.RLIM_INFINITY and soft < most and _set(most, hard):
        _before.append(soft)


def limit_before() -> int | None:
    """The soft limit that `raise_limit` has raised; None if it has not."""
    return _before[0] if _before else None


def put_back(soft: int) -> None:
    """Set the soft limit to what it was."""
    _set(soft, resource.getrlimit(resource.RLIMIT_NOFILE)[1])


def _set(soft: int, hard: int) -> bool:
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    except (OSError, ValueError):  # macOS has a limit of its own below the hard one
        return False
    return True
