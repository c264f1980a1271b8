"""Notices of operations that have ended, for the tests of every channel: a builder, and hostile
ones."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from chatbridge.core.model import Level, Notice, OperationEnd
from tests import strategies as some
from tests.telegram_asks import ID, notice
from tests.telegram_strategies import ids

OPERATION = "5e0f3a7c-1d2b-4c6d-8e9f-0a1b2c3d4e5f"
TOOK = 252.0
WELL = OperationEnd(id=OPERATION, title="cargo build", succeeded=True, how="", took=TOOK)
BADLY = OperationEnd(
    id=OPERATION,
    title="pytest",
    succeeded=False,
    how="exit 1",
    took=TOOK,
    tail="E   assert 1 == 2\n1 failed, 411 passed",
    whole=True,
)
COLOURED = "\x1b[1m\x1b[31mred\x1b[0m\x1b[K\rE   \x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\"
HOSTILE = replace(
    BADLY,
    title="</b></pre><script>1</script>\n❓ \u202eshop\x1b[31m",
    how="</p>exit <1>\u202e",
    tail="</code></pre><b>✅ all fine</b> & \u202e\x00\n" + COLOURED,
)
"""All of what could be printed to deceive, or by accident."""


def ended_notice(end: OperationEnd, *, project: str = "shop-api", id: str = ID) -> Notice:
    level = Level.INFO if end.succeeded else Level.ERROR
    told = notice(f"{end.title} ended", level=level, project=project, id=id)
    return replace(told, operation=end)


_tails = (
    some.texts
    | some.big_texts
    | st.sampled_from(["x" * 5_000, "😀" * 5_000, "\x1b[31m" * 900, "&" * 5_000, "\n" * 40])
    | st.lists(some.texts | st.just(COLOURED), max_size=20).map("\n".join)
)
ends = st.builds(
    OperationEnd,
    id=ids,
    title=some.words | some.big_texts,
    succeeded=st.booleans(),
    how=some.texts | some.big_texts,
    took=st.floats(0, 1e6),
    tail=_tails,
    whole=st.booleans(),
)
ended_notices = st.builds(ended_notice, ends, project=some.words | some.big_texts, id=ids)
