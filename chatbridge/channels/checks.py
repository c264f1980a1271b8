"""Checks of `chatbridge doctor`: what one is given, and what it finds.

A finding is a mark, a sentence, and the next step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from chatbridge.core.text import one_line, shortened
from chatbridge.redaction import redacted

Json = dict[str, Any]

LONGEST = 600
ISOLATES = str.maketrans("", "", "\u2068\u2069")
"""Ours, around names. Here every name is made visible, and they would be shown as signs."""


class Mark(StrEnum):
    """The values are what `--json` says."""

    FINE = "ok"
    REMARK = "remark"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Whatever is put in, its texts are one visible line each, and without a secret."""

    mark: Mark
    name: str
    what: str
    fix: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", harmless(self.name))
        object.__setattr__(self, "what", harmless(self.what).removesuffix("."))
        object.__setattr__(self, "fix", tuple(map(_command, self.fix)))
        object.__setattr__(self, "details", _harmless_values(dict(self.details)))

    def json(self) -> Json:
        return {
            "name": self.name,
            "result": str(self.mark),
            "what": self.what,
            "fix": list(self.fix),
            "details": self.details,
        }


def _finding(mark: Mark, name: str, what: str, *fix: str, **details: Any) -> Finding:
    return Finding(mark=mark, name=name, what=what, fix=fix, details=details)


fine = partial(_finding, Mark.FINE)
remark = partial(_finding, Mark.REMARK)
problem = partial(_finding, Mark.PROBLEM)


def from_error(name: str, text: str, *, mark: Mark = Mark.PROBLEM, **details: Any) -> Finding:
    """Our errors say first what happened, then what to do."""
    what, _, rest = text.removeprefix(f"{name}: ").partition(". ")
    fix = rest.removeprefix("Next: ").removesuffix(".")
    return _finding(mark, name, what, *filter(None, [fix]), **details)


def harmless(text: str) -> str:
    return shortened(one_line(redacted(text).translate(ISOLATES)), LONGEST)


def _command(text: str) -> str:
    """The spaces stay: they part a command from what it does."""
    return "    ".join(harmless(part) for part in text.split("    "))


def _harmless_values(value: Any) -> Any:
    if isinstance(value, str):
        return harmless(value)
    if isinstance(value, Mapping):
        return {str(key): _harmless_values(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_harmless_values(each) for each in value]
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class HubState:
    """`status` is what the hub says of itself; `trouble` why a hub that is there says nothing.
    Neither: none runs, and `failure` is why the last one could not start."""

    status: Json | None = None
    trouble: str | None = None
    failure: str | None = None
    pid: int | None = None
    version: str | None = None
    """As its lock file says."""

    def has(self, channel: str) -> bool:
        return channel in self._channels

    def trouble_of(self, channel: str) -> str | None:
        return self._channels.get(channel)

    @property
    def follows(self) -> bool:
        """Whether it is one of several hubs and does not lead: it has no channels."""
        return self._cluster.get("role") == "follows"

    @property
    def leader(self) -> str | None:
        """Of a hub that follows: the name and the computer of the one that leads, if one does."""
        if not (self.follows and self._cluster["leader"]):
            return None
        host = str(self._cluster["address"]).rpartition(":")[0]
        return one_line(f"{self._cluster['leader']} ({host})" if host else self._cluster["leader"])

    @property
    def waits_for_leader(self) -> bool:
        """Whether no hub leads, as far as this one knows."""
        return self.follows and self.leader is None

    @property
    def _cluster(self) -> Json:
        return (self.status or {}).get("cluster") or {}

    @property
    def _channels(self) -> dict[str, str | None]:
        found = (self.status or {}).get("channels", ())
        return {each["name"]: each["trouble"] for each in found}

    @property
    def faults(self) -> list[str]:
        """A hub of before says none."""
        return list((self.status or {}).get("faults", ()))

    @property
    def remarks(self) -> list[str]:
        return list((self.status or {}).get("remarks", ()))


class CheckContext(Protocol):
    @property
    def state(self) -> Path: ...

    async def hub(self) -> HubState: ...

    async def ask(self, do: str) -> Json:
        """The hub's reply. :raises ChatbridgeError:"""

    async def notes(self, channel: str) -> Mapping[str, str]:
        """What the hub has noted for this channel."""

    def shown(self, path: Path) -> str:
        """The path as people write it."""

    def place_of(self, channel: str, *settings: str) -> str:
        """Where the owner finds the secrets of these settings."""
