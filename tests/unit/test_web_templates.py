"""When the inbox's templates are compiled: never in the way of a start, or of an ask."""

from __future__ import annotations

from chatbridge.channels.web.render import TEMPLATES, Assets, Templates


def drawn(templates: Templates) -> bytes:
    return bytes(templates.page("error.html", status=404, title="Gone", text="It is <b>").body)


async def test_they_are_compiled_in_small_pieces_with_a_pause_before_each() -> None:
    templates = Templates(Assets())
    pauses: list[int] = []

    async def pause() -> None:
        pauses.append(len(pauses))

    await templates.get_ready(pause)
    assert len(pauses) == len(list(TEMPLATES.iterdir()))
    assert b"It is &lt;b&gt;" in drawn(templates)


async def test_a_page_is_the_same_whenever_it_is_drawn() -> None:
    early, late = Templates(Assets()), Templates(Assets())
    await late.ready()
    assert drawn(early) == drawn(late)
