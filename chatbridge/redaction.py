"""Secrets of this process, and texts without them.

Owns the list of known secrets and the forms in which one can appear in a text, and what looks like
a secret of others.
"""

from __future__ import annotations

import json
import re
from urllib.parse import quote

HIDDEN = "[secret]"
SHORTEST = 8
"""Anything shorter is likely to be a part of innocent words, too."""
PLAIN = re.compile(r"[A-Za-z0-9_.~-]")
"""Characters that look the same however a text is quoted."""
NOTHING = "(?!)"
"""Is nowhere in a text."""
_CALLED = r"""(?i: password | passwd | passphrase | secret | token | api[_-]?key | access[_-]?key
    | private[_-]?key | credentials? )"""
_LIKELY = re.compile(
    rf"""
      (?P<before>
        (?: {_CALLED} [\w-]{{0,30}} ["']? \s{{0,3}} [=:] \s{{0,3}}
          | --[\w-]{{0,30}}? {_CALLED} [\w-]{{0,30}} \s ) ["']?
      | (?i: bearer | basic ) \s{{1,3}} (?= \S{{6}} )
      ) [^\s"']{{4,}}
    | (?P<user> [a-z]://[^\s/:@]{{0,100}}: ) [^\s/@"']{{1,200}} (?= @ )
    | \b (?: gh[a-z]_ | github_pat_ | glpat- | sk- | xox[a-z]- | AKIA | ASIA | eyJ ) [\w.-]{{12,}}
    | -----BEGIN\ [A-Z ]{{0,30}}PRIVATE\ KEY-----.*
    | (?<![\w-]) (?=[\w-]{{0,200}}[a-z]) (?=[\w-]{{0,200}}[A-Z]) (?=[\w-]{{0,200}}\d) [\w-]{{32,}}
    """,
    re.VERBOSE | re.DOTALL,
)
"""By the word before it, as a part of an address, by its beginning, or by its looks."""


class Secrets:
    """What has to be taken out of texts."""

    def __init__(self) -> None:
        self._parts: frozenset[str] = frozenset()
        self._compiled = self._parts, re.compile(NOTHING)
        """For which parts the pattern is: it is made when a text needs it, in any thread."""

    def add(self, secret: str) -> None:
        """Also what follows a colon alone: a bot's token is its number, a colon, and the secret."""
        found = {secret, secret.partition(":")[2]}
        self._parts |= {part for part in found if len(part) >= SHORTEST}

    def redact(self, text: str) -> str:
        parts, (known, pattern) = self._parts, self._compiled
        if parts is not known:
            # Longest first: a part that comes before the whole would leave its rest to be read.
            longest_first = sorted(parts, key=len, reverse=True)
            forms = ("".join(map(_forms, part)) for part in longest_first)
            pattern = re.compile("|".join(forms) or NOTHING)
            self._compiled = parts, pattern
        return pattern.sub(HIDDEN, text)


def _forms(character: str) -> str:
    """As it is, in an address, in JSON, in the representation of a text or of bytes."""
    if PLAIN.fullmatch(character):
        return re.escape(character)
    raw = character.encode("utf-8", "surrogatepass")
    encoded = quote(raw, safe="")
    forms = {
        character,
        f"\\{character}",
        encoded,
        encoded.lower(),
        json.dumps(character)[1:-1],
        repr(character)[1:-1],
        ascii(character)[1:-1],
        repr(raw)[2:-1],
    }
    if character == " ":
        forms.add("+")
    return "(?:" + "|".join(map(re.escape, sorted(forms, key=len, reverse=True))) + ")"


SECRETS = Secrets()


def hide(secret: str) -> None:
    """Keep this out of everything that the process writes from now on."""
    SECRETS.add(secret)


def masked(text: str) -> str:
    """The text without known secrets, and without what looks like one. No rule finds them all."""
    return _LIKELY.sub(lambda it: f"{it['before'] or it['user'] or ''}{HIDDEN}", redacted(text))


def redacted(text: str) -> str:
    """The text without any known secret, for what reaches people outside the log."""
    return SECRETS.redact(text)
