"""The one way in which a page or a call of the API says no."""

from __future__ import annotations

from typing import Any


class Refusal(Exception):
    """Answered with `status`: JSON for the API, a page for a browser."""

    def __init__(
        self, status: int, sentence: str, *, title: str | None = None, **more: Any
    ) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.title, self.more = status, sentence, title, more
