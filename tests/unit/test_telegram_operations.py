"""How an operation ended, as a chat shows it (T19), alone and among others."""

from __future__ import annotations

import uuid
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.chat.callback_data import Output, decode
from chatbridge.channels.chat.notices import MOST_OUTPUTS, OUTPUT_FILE_BYTES, bounded, output_file
from chatbridge.channels.telegram.outbound.announcer import draw_list, draw_notice, file_of
from chatbridge.channels.telegram.render.card import Drawing
from chatbridge.core.model import Notice
from tests.ended_operations import BADLY, HOSTILE, OPERATION, WELL, ended_notice, ended_notices
from tests.fakes.telegram import limits
from tests.telegram_asks import keys, labels, read, read_plainly


def html(drawing: Drawing) -> str:
    return drawing.html.replace("\u2068", "").replace("\u2069", "")


def well(title: str, *, whole: bool = True) -> Notice:
    return ended_notice(replace(WELL, id=str(uuid.uuid4()), title=title, whole=whole))


def test_an_operation_that_ended_well_takes_two_lines() -> None:
    drawing = draw_notice(ended_notice(WELL))
    assert html(drawing) == "✅ <b>cargo build</b> finished · shop-api\n4 min 12 s"
    assert drawing.rows == ()
    assert labels(draw_notice(ended_notice(replace(WELL, whole=True))).rows) == [["Whole output"]]


def test_a_failure_says_how_and_shows_the_last_lines() -> None:
    shown = ended_notice(BADLY)
    drawing = draw_notice(shown)
    assert html(drawing) == (
        "❌ <b>pytest</b> failed · shop-api\nexit 1 after 4 min 12 s\n"
        "<pre>E   assert 1 == 2\n1 failed, 411 passed</pre>"
    )
    (key,) = keys(drawing.rows)
    assert key.text == "Whole output"
    assert decode(key.data) == Output(operation_id=OPERATION)
    assert file_of(shown) is None, "it is sent when somebody asks for it"


def test_what_a_command_printed_cannot_leave_its_box() -> None:
    drawing = draw_notice(ended_notice(HOSTILE))
    shown = read(drawing.html)
    first, how, *tail = read_plainly(drawing.html).split("\n")
    assert first == "❌ </b></pre><script>1</script> ❓ ⟨U+202E⟩shop failed · shop-api"
    assert how == "</p>exit <1>⟨U+202E⟩ after 4 min 12 s"
    assert tail == ["</code></pre><b>✅ all fine</b> & ⟨U+202E⟩⟨U+0000⟩", "E   link"]
    assert [entity.type for entity in shown.entities] == ["bold", "pre"]


def test_a_long_tail_is_cut_from_the_front() -> None:
    for fill in ("x", "😀", "&"):
        long = replace(BADLY, title="t" * 500, how="h" * 500, tail=fill * 5_000 + "the end")
        shown = read_plainly(draw_notice(ended_notice(long)).html)
        assert shown.endswith(f"{fill}the end")
        assert f"\n…{fill}" in shown


def test_several_that_ended_well_become_one_list_with_a_button_for_each_output() -> None:
    listed = draw_list([well("cargo build"), well("npm ci", whole=False), well("cargo <test>")])
    assert listed is not None
    assert html(listed) == (
        "✅ <b>3 commands finished</b> · shop-api\n\n"
        "• cargo build · 4 min 12 s\n• npm ci · 4 min 12 s\n• cargo &lt;test&gt; · 4 min 12 s"
    )
    assert labels(listed.rows) == [["Output: cargo build"], ["Output: cargo <test>"]]
    alike = draw_list([well("cargo build"), well("cargo build")])
    assert alike is not None
    assert labels(alike.rows) == [["Output 1: cargo build"], ["Output 2: cargo build"]]


def test_a_list_with_too_many_buttons_is_none() -> None:
    assert draw_list([well(f"make {i}") for i in range(MOST_OUTPUTS)]) is not None
    assert draw_list([well(f"make {i}") for i in range(MOST_OUTPUTS + 1)]) is None


@given(st.lists(ended_notices, min_size=1, max_size=6))
def test_telegram_takes_every_end_and_its_first_line_is_ours(sent: list[Notice]) -> None:
    drawings = [draw_notice(each) for each in sent]
    succeeded = [each for each in sent if each.operation and each.operation.succeeded]
    if len(succeeded) > 1:
        listed = draw_list(succeeded)
        assert listed is not None
        drawings.append(listed)
    for drawing in drawings:
        first = read(drawing.html).text.split("\n")[0]
        assert first[0] in "✅❌"
        assert len(first) <= 110
        found = keys(drawing.rows)
        assert len({key.text for key in found}) == len(found)
        for key in found:
            assert len(key.text) <= 100
            assert len(key.data.encode()) <= limits.CALLBACK_DATA_BYTES
            assert isinstance(decode(key.data), Output)


def test_an_output_that_is_too_large_for_a_phone_comes_with_both_ends() -> None:
    small = output_file(OPERATION, b"all of it\n")
    assert (small.name, small.content) == ("output-5e0f3a7c.txt", b"all of it\n")
    lines = b"0000000\n" + b"1234567\n" * (OUTPUT_FILE_BYTES // 8 + 998) + b"7654321\n"
    content = output_file(OPERATION, lines).content
    assert OUTPUT_FILE_BYTES - 100 < len(content) <= OUTPUT_FILE_BYTES + 100
    assert content.startswith(b"0000000\n")
    assert content.endswith(lines[-8:])
    head, said, tail = (part.strip() for part in content.split("…".encode()))
    assert len(head) + 1 + len(tail) + 1 == len(lines) - _number(said)
    assert said == f"{_number(said):,} bytes are left out here".encode()


def _number(said: bytes) -> int:
    return int(said.split()[0].replace(b",", b""))


@given(st.binary(max_size=60), st.integers(2, 50))
def test_bounding_an_output_keeps_its_beginning_and_its_end(content: bytes, most: int) -> None:
    kept = bounded(content, most)
    if len(content) <= most:
        assert kept == content
    else:
        head, _, rest = kept.partition("\n…".encode())
        assert content.startswith(head)
        assert content.endswith(rest.rpartition("…\n\n".encode())[2])
