"""Framing: lines come out whole however the bytes came in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.framing import LineReader, Overlong


@given(
    lines=st.lists(st.binary(min_size=1, max_size=40).filter(lambda it: b"\n" not in it)),
    cuts=st.lists(st.integers(1, 50), min_size=1),
)
def test_lines_do_not_depend_on_how_the_bytes_were_cut(lines: list[bytes], cuts: list[int]) -> None:
    data = b"".join(line + b"\r\n" for line in lines)
    reader, found, at, turn = LineReader(), [], 0, 0
    while at < len(data):
        cut = cuts[turn % len(cuts)]
        found += reader.feed(data[at : at + cut])
        at, turn = at + cut, turn + 1
    assert found == [line.strip() for line in lines if line.strip()]


@pytest.mark.parametrize("piece", [7, 4096, 1_000_000])
def test_an_overlong_line_is_named_by_its_id_and_the_next_line_is_whole(piece: int) -> None:
    filler = b"x" * 50_000
    data = (
        b'{"jsonrpc":"2.0","id":"a\\"b","method":"m","params":{"q":"%s","id":9}}\nnext\n' % filler
    )
    reader = LineReader(limit=10_000)
    found: list[bytes | Overlong] = []
    for at in range(0, len(data), piece):
        found += reader.feed(data[at : at + piece])
    overlong, following = found
    assert isinstance(overlong, Overlong)
    assert overlong.request_id() == 'a"b'
    assert following == b"next"


@pytest.mark.parametrize(
    ("head", "tail", "id"),
    [
        (b'{"id": -3 , "method"', b"}", -3),
        (b'{"method":"tools/call","jsonrpc":"2.0","id":4}', b"", 4),
        (b'{"method":"tools/call","params":{"id":1', b'"},"jsonrpc":"2.0","id":5}', 5),
        (b'{"method":"tools/call","params":{"id":1', b'"},"id":"x","jsonrpc":"2.0"} ', "x"),
        (b'{"method":"tools/call","params":{"id":1', b'"y","id":5}}', None),
        (b'{"params":{"id":1,', b'{\\"id\\":5}"}', None),
        (b"xxxx", b"xxxx", None),
    ],
)
def test_the_id_of_an_overlong_line_is_read_only_where_it_is_certain(
    head: bytes, tail: bytes, id: str | int | None
) -> None:
    assert Overlong(head, tail).request_id() == id
