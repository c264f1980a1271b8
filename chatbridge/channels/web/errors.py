"""The one way in which a page or a call of the API says no."""

from __future__ import annotations

from collections.abc import Mapping


class Refusal(Exception):
    """Answered with `status`: JSON for the API, with `more` in it, and a page for a browser."""

    def __init__(
        self,
        status: int,
        sentence: str,
        *,
        title: str | None = None,
        more: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.title, self.more = status, sentence, title, more or {}
