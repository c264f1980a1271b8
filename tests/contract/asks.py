"""Asks and their parts for the store's suite: plain ones to change, and arbitrary ones."""

from __future__ import annotations

import dataclasses
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints
from uuid import uuid4

from hypothesis import strategies as st

from chatbridge.core.model import (
    Agent,
    Answer,
    Ask,
    Call,
    CallName,
    ChannelState,
    Notice,
    Outcome,
    Person,
    Post,
    Project,
    Question,
    Status,
    new_draft,
)
from chatbridge.core.store_port import Store, Transaction

OWNER = Person(name="owner", channel="telegram")


def an_ask(*, text: str = "Which port?", client: str = "claude", **changes: Any) -> Ask:
    questions = (Question(id="port", text=text),)
    plain = Ask(
        id=str(uuid4()),
        project=Project(key="/src/shop", name="shop"),
        agent=Agent(client=client, name="Claude"),
        tool="ask",
        dialect="plain",
        title=None,
        questions=questions,
        fingerprint="same words",
        created_at=1000.0,
        deadline=5000.0,
        draft=new_draft(questions),
    )
    return dataclasses.replace(plain, **changes)


def answered(ask: Ask, text: str = "8080", *, at: float = 2000.0, **changes: Any) -> Ask:
    return dataclasses.replace(
        ask,
        status=Status.ANSWERED,
        revision=ask.revision + 1,
        settled_at=at,
        outcome=Outcome(at=at, answers=(Answer(custom_text=text),), by=OWNER),
        **changes,
    )


def timed_out(ask: Ask, *, at: float = 2000.0, **changes: Any) -> Ask:
    return dataclasses.replace(
        ask,
        status=Status.TIMED_OUT,
        revision=ask.revision + 1,
        settled_at=at,
        outcome=Outcome(at=at),
        **changes,
    )


def a_late_answer(text: str = "8081", *, at: float = 3000.0) -> Outcome:
    return Outcome(at=at, answers=(Answer(custom_text=text),), by=OWNER)


def a_call(ask: Ask, *, link: str = "link-1", request: str = "1", **changes: Any) -> Call:
    name = CallName(link=link, request=request)
    plain = Call(name=name, ask_id=ask.id, question_ids=("port",), started_at=1000.0)
    return dataclasses.replace(plain, **changes)


async def keep(store: Store, *things: Ask | Call | Post | ChannelState | Notice) -> None:
    """Put these into the store, in one transaction."""

    async def work(tx: Transaction) -> None:
        for thing in things:
            match thing:
                case Ask():
                    await tx.add_ask(thing)
                case Call():
                    await tx.save_call(thing)
                case Post():
                    await tx.save_post(thing)
                case ChannelState():
                    await tx.save_note(thing)
                case Notice():
                    await tx.add_notice(thing)

    await store.write(work)


def anything_of(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a type with every field set at will, also those with a default."""
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        fields = get_type_hints(hint).items()
        return st.builds(hint, **{name: anything_of(inner) for name, inner in fields})
    if get_origin(hint) is tuple:
        return st.lists(anything_of(get_args(hint)[0]), max_size=3).map(tuple)
    if get_origin(hint) is UnionType:
        return st.one_of([anything_of(inner) for inner in get_args(hint)])
    if hint is float:
        return st.floats(allow_nan=False, allow_infinity=False)
    if hint is str:
        return st.text(st.characters(codec="utf-8", exclude_characters="\0"))  # PostgreSQL has none
    if hint is int:
        return st.integers(min_value=-(2**63), max_value=2**63 - 1)
    if hint is NoneType:
        return st.none()
    return st.from_type(hint)


def any_ask() -> st.SearchStrategy[Ask]:
    def ended_or_not(ask: Ask, at: float) -> Ask:
        # A fresh id: all examples go into one store.
        return dataclasses.replace(ask, id=str(uuid4()), settled_at=None if ask.open else at)

    return st.builds(ended_or_not, anything_of(Ask), st.floats(0, 1e10))
