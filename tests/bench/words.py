"""Numbers in words: as many digits as they are worth, and whether an aim was met."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Aim:
    words: str
    met: bool


def at_most(found: float, limit: float, unit: str, *, shown: bool = False) -> Aim:
    """`shown`: with what was found, where it stands nowhere else."""
    return _aim("≤", limit, unit, met=found <= limit, found=found if shown else None)


def at_least(found: float, limit: float, unit: str) -> Aim:
    return _aim("≥", limit, unit, met=found >= limit, found=None)


def _aim(sign: str, limit: float, unit: str, *, met: bool, found: float | None) -> Aim:
    words = f"{sign} {limit:g} {unit}"
    if found is not None:
        words += f" (is {found:.2f})"
    return Aim(words if met else f"{words}: missed", met)


def ms(found: float, *, unit: bool = True) -> str:
    if found >= 100:
        text = f"{found:,.0f}"
    elif found >= 10:
        text = f"{found:.1f}"
    else:
        text = f"{found:.2f}"
    return f"{text} ms" if unit else text


def seconds(found: float) -> str:
    return f"{found:.2f} s"


def times(ratio: float) -> str:
    return f"{share(ratio)} times"


def share(ratio: float) -> str:
    if ratio >= 100:
        return f"{ratio:,.0f}"
    return f"{ratio:.1f}" if ratio >= 10 else f"{ratio:.2f}"


def count(number: int) -> str:
    return f"{number:,}"
