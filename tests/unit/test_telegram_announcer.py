"""A notice as a chat shows it (T18), alone and among others."""

from __future__ import annotations

from chatbridge.core.model import Level
from tests.telegram_asks import notice, read_plainly
from tests.telegram_drawings import Drawing, draw_list, draw_notice, file_of


def html(drawing: Drawing) -> str:
    return drawing.html.replace("\u2068", "").replace("\u2069", "")


def words(drawing: Drawing | None) -> str:
    assert drawing is not None
    return read_plainly(drawing.html)


def test_an_info_names_project_and_agent_and_then_speaks() -> None:
    said = notice("The **tests** pass:\n\n- unit\n- `e2e` & co", title="Night <run>")
    assert html(draw_notice(said)) == (
        "ℹ️ <b>shop-api</b> · Claude Code\n<b>Night &lt;run&gt;</b>\n"
        "The <b>tests</b> pass:\n\n• unit\n• <code>e2e</code> &amp; co"
    )
    assert html(draw_notice(notice("Done."))) == "ℹ️ <b>shop-api</b> · Claude Code\nDone."
    assert file_of(said) is None


def test_warnings_and_errors_say_what_they_are() -> None:
    warning = html(draw_notice(notice("Disk is filling up.", level=Level.WARNING)))
    assert warning == "⚠️ <b>Warning</b> · shop-api · Claude Code\nDisk is filling up."
    error = html(draw_notice(notice("It broke.", level=Level.ERROR)))
    assert error == "❌ <b>Error</b> · shop-api · Claude Code\nIt broke."


def test_a_message_cannot_hide_or_turn_anything_around() -> None:
    shown = words(draw_notice(notice("a\u202eb", title="c\nd\u200b")))
    assert shown == "ℹ️ shop-api · Claude Code\nc d⟨U+200B⟩\na⟨U+202E⟩b"


def test_a_message_that_does_not_fit_is_cut_and_comes_whole_as_a_file() -> None:
    long = notice("word " * 2_000)
    assert len(words(draw_notice(long))) < 1_100
    file = file_of(long)
    assert file is not None
    assert file.name == "notice-0b2c5f1e.txt"
    assert file.content.decode() == "word " * 2_000
    code = notice("Log:\n\n```\n" + "\n".join(map(str, range(50))) + "\n```")
    assert "… 32 lines …" in words(draw_notice(code))
    assert file_of(code) is not None


def test_a_list_has_every_notice_whole() -> None:
    listed = draw_list([notice("One.", title="First"), notice("Two.\n\nMore.")])
    assert words(listed) == ("ℹ️ shop-api · Claude Code\n\n• First\nOne.\n\n• Two.\n\nMore.")
    mixed = draw_list([notice("One."), notice("Two.", agent="Codex")])
    assert words(mixed).startswith("ℹ️ shop-api\n\n• One.")


def test_what_does_not_fit_one_message_becomes_no_list() -> None:
    assert draw_list([notice("x" * 3_000), notice("y" * 3_000)]) is None
