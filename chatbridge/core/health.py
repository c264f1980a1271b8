"""How a hub is: what its inbox and its commands tell the owner, and nobody else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Each part is asked for when it is shown."""

    agents: Callable[[], Sequence[str]] = tuple
    """The agents that are connected."""
    remarks: Callable[[], Sequence[str]] = tuple
    """What the owner should know about them."""
    troubles: Callable[[], Mapping[str, str | None]] = dict
    """Each channel, and why it does not work now."""

    faults: Callable[[], Sequence[str]] = tuple
    """What is wrong with the hub itself, or its database."""

    def banners(self) -> list[str]:
        """What deserves to be seen without being looked for."""
        return [*self.faults(), *filter(None, self.troubles().values()), *self.remarks()]
