"""One run of the wizard: where it writes, what was there before, and what it has kept so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from chatbridge.settings import Settings


@dataclass(slots=True, kw_only=True)
class Setup:
    path: Path
    settings: Settings
    """As they were at the start."""
    kept: list[str] = field(default_factory=list)

    def keeps(self, what: str) -> None:
        """Something is written, and counts whatever happens next."""
        self.kept.append(what)

    @property
    def summary(self) -> str:
        return f"Kept: {', '.join(self.kept)}." if self.kept else "Nothing was changed."
