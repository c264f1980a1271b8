"""Outputs: private, both ends without the middle, and names that cannot lead elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.commands.operations import outputs as module
from chatbridge.commands.operations.outputs import HEAD, TAIL, Outputs

ID = "0f0e0d0c-0000-4000-8000-000000000000"


@pytest.fixture
def outputs(tmp_path: Path) -> Outputs:
    return Outputs(tmp_path / "state" / "operations")


async def test_the_folder_is_its_owners_alone(tmp_path: Path) -> None:
    (tmp_path / "operations").mkdir(mode=0o755)
    Outputs(tmp_path / "operations")
    assert (tmp_path / "operations").stat().st_mode & 0o777 == 0o700


async def test_a_short_output_is_there_as_a_whole(outputs: Outputs) -> None:
    outputs.path(ID).write_bytes("ü: ✓\x1b[0m\n".encode() + b"\xff")
    printed = await outputs.printed(ID)
    assert (printed.head, printed.tail, printed.size) == ("ü: ✓\x1b[0m\n\ufffd", "", 13)
    assert await outputs.whole(ID) == "ü: ✓\x1b[0m\n".encode() + b"\xff"


async def test_where_there_is_no_output_there_is_nothing(outputs: Outputs) -> None:
    assert (await outputs.printed(ID)).head == ""
    assert await outputs.whole(ID) is None


@pytest.mark.parametrize("character", ["x", "é", "€", "😀"])
@pytest.mark.parametrize("number", [HEAD + TAIL, HEAD + TAIL + 1, 3 * (HEAD + TAIL), 100_000])
async def test_both_ends_of_a_long_one_are_kept_to_the_character(
    outputs: Outputs, character: str, number: int
) -> None:
    text = "".join((character, "z")[at % 7 == 0] for at in range(number))
    outputs.path(ID).write_bytes(text.encode())
    printed = await outputs.printed(ID)
    if number <= HEAD + TAIL:
        assert (printed.head, printed.tail) == (text, "")
    else:
        assert (printed.head, printed.tail) == (text[:HEAD], text[-TAIL:])
    assert printed.size == len(text.encode())


@given(
    content=st.binary(max_size=60),
    bounds=st.tuples(st.integers(1, 5), st.integers(1, 5)),
)
def test_any_bytes_become_ends_within_their_bounds(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, bounds: tuple[int, int]
) -> None:
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "HEAD", bounds[0])
        patch.setattr(module, "TAIL", bounds[1])
        printed = module._printed(path)
    whole = content.decode("utf-8", "replace")
    assert printed.size == len(content)
    assert whole.startswith(printed.head)
    assert len(printed.tail) <= bounds[1]
    if not printed.tail:
        assert printed.head == whole
    elif "\ufffd" not in whole:
        assert whole.endswith(printed.tail)


@pytest.mark.parametrize("odd", ["", "..", "../chatbridge", "a/b", "/etc/passwd", "a.txt", "A\n"])
async def test_what_is_no_id_leads_nowhere(outputs: Outputs, odd: str) -> None:
    (outputs.path(ID).parent.parent / "chatbridge.txt").write_text("secret")
    assert await outputs.whole(odd) is None
    with pytest.raises(ValueError, match="no operation"):
        outputs.path(odd)


async def test_a_link_in_its_place_is_not_followed(outputs: Outputs, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    outputs.path(ID).symlink_to(tmp_path / "secret")
    assert await outputs.whole(ID) is None
    assert (await outputs.printed(ID)).head == ""


async def test_what_is_removed_is_removed_with_all_that_is_beside_it(outputs: Outputs) -> None:
    folder = outputs.path(ID).parent
    for suffix in ("", ".end", ".end.new", ".running"):
        (folder / f"{ID}.txt{suffix}").write_text("x")
    (folder / "somebody.else").write_text("x")
    assert [(each.id, each.size) for each in await outputs.kept()] == [(ID, 4)]
    await outputs.remove(ID)
    await outputs.remove(ID)
    assert [path.name for path in folder.iterdir()] == ["somebody.else"]
