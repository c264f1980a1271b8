"""The documents' time-outs, in real time. They begin when the connections open and run beside the
other tests; this file comes last, so that there is little left to wait for."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from tests.acceptance.bridge import CARRIERS, MODES, PATIENCE, texts_of, told
from tests.acceptance.connections import Connections
from tests.acceptance.examples import SINGLE_TIMEOUT, TIMEOUT

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.parametrize("mode", MODES),
    pytest.mark.parametrize("carrier", CARRIERS),
]


async def test_the_documented_time_out_has_the_documented_output(
    connections: Connections, carrier: str, mode: str
) -> None:
    questions, _ = await connections.expiries(carrier, mode)
    assert told(await asyncio.wait_for(questions.result, 30 + PATIENCE)) == TIMEOUT.output


async def test_a_single_question_that_times_out_is_an_error_with_the_documented_sentence(
    connections: Connections, carrier: str, mode: str
) -> None:
    _, single = await connections.expiries(carrier, mode)
    result = await asyncio.wait_for(single.result, 10 + PATIENCE)
    sentence, meaning = texts_of(result)
    assert sentence == SINGLE_TIMEOUT.output
    assert "nobody agreed to anything" in meaning
    assert result.is_error
    assert result.structured_content is None


async def test_a_call_that_waits_sends_progress_that_rises_and_says_for_how_long(
    connections: Connections, carrier: str, mode: str
) -> None:
    questions, _ = await connections.expiries(carrier, mode)
    await asyncio.wait_for(asyncio.shield(questions.result), 30 + PATIENCE)
    assert questions.progress
    assert all(before < after for (before, _), (after, _) in pairwise(questions.progress))
    assert all(
        message and message.startswith("waiting on web inbox, ")
        for _, message in questions.progress
    )
