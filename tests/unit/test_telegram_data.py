"""What a button carries: everything a tap needs, and nothing that could be mistaken."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.chat.callback_data import (
    MAX_BYTES,
    NEITHER,
    Action,
    Button,
    MeantFor,
    NeverMind,
    Output,
    QuickAnswer,
    Show,
    TakeBack,
    Tap,
    TellAgent,
    Use,
    Write,
    decode,
    encode,
    question_shown,
    selected,
)
from chatbridge.core.cards.card import AskAction
from chatbridge.core.forms import filling, form
from chatbridge.core.forms.form import AskMore, ShowAll
from chatbridge.core.messages.agents import ConnectedAgent
from chatbridge.core.model import Agent, Project
from tests.telegram_asks import ID, ask, confirm, text
from tests.telegram_strategies import ids


def key_of(link: str) -> str:
    project, agent = Project(key="/p", name="p"), Agent(client="codex", name="Codex")
    return ConnectedAgent(name="p", link=link, project=project, agent=agent, since=0, seen_at=0).key


steps = st.integers(0, 10**9)
numbers = st.integers(0, 999)
stepped: list[type[Action]] = [
    form.DropOther,
    form.Done,
    form.Other,
    form.Skip,
    form.Back,
    form.Submit,
    form.AskCancel,
    form.Cancel,
    form.AnswerAnyway,
    form.AskExplain,
    form.Explain,
    form.Rephrase,
    form.AskLater,
    form.ShowNow,
    AskMore,
    ShowAll,
    Write,
    Use,
]
action: st.SearchStrategy[Action] = st.one_of(
    st.builds(form.Choose, step=steps, option=numbers),
    st.builds(form.Toggle, step=steps, option=numbers, on=st.booleans()),
    st.builds(form.Edit, step=steps, question=numbers),
    *(st.builds(kind, step=steps, minutes=numbers) for kind in (form.Extend, form.Snooze)),
    st.builds(form.ExtendUntil, step=steps, until=st.integers(0, 10**8)),
    st.builds(form.SnoozeUntil, step=steps, until=st.integers(0, 10**8)),
    st.just(form.Extend(minutes=15)),
    st.sampled_from(AskAction),
    st.just(Show()),
    st.builds(QuickAnswer, step=steps, check=st.integers(0, 2**32 - 1)),
    st.builds(Use, step=steps, option=numbers),
    *(st.builds(kind, step=steps) for kind in stepped),
)
keys = st.text(min_size=1).map(key_of)
taps: st.SearchStrategy[Button] = (
    st.just(NEITHER)
    | st.builds(Tap, ask_id=ids, question=st.integers(0, 99), action=action)
    | st.builds(Output, operation_id=ids)
    | st.builds(TakeBack, message_id=ids)
    | st.builds(TellAgent, agent=keys)
    | st.builds(MeantFor, agent=keys)
    | st.builds(NeverMind, agent=keys)
)


@given(taps)
def test_a_button_gives_back_the_tap_it_was_made_for(tap: Button) -> None:
    data = encode(tap)
    assert decode(data) == tap
    assert data.isascii()
    assert 1 <= len(data) <= MAX_BYTES


@given(ids, st.integers(0, 99), action)
def test_an_operations_button_is_no_asks_though_their_ids_were_the_same(
    id: str, question: int, action: Action
) -> None:
    output = encode(Output(operation_id=id))
    assert decode(output) == Output(operation_id=id)
    assert output != encode(Tap(ask_id=id, question=question, action=action))
    assert decode(output.removeprefix("o:")) is None
    assert decode("o:" + encode(Tap(ask_id=id, question=question, action=action))) is None


@given(taps, taps)
def test_two_taps_never_share_their_data(one: Button, other: Button) -> None:
    assert (encode(one) == encode(other)) == (one == other)


_alike = st.builds(
    lambda data, at, char: data[:at] + char + data[at + 1 :],
    taps.map(encode),
    st.integers(0, 45),
    st.sampled_from("0123456789.:octebmnN=-_ \n٣"),
)


@given(st.text() | _alike)
def test_what_no_button_of_ours_holds_is_no_tap(data: str) -> None:
    tap = decode(data)
    assert tap is None or encode(tap) == data


@pytest.mark.parametrize(
    "data",
    [
        "",
        "noop",
        "o:",
        "o:AAAAAAAAAAAAAAAAAAAAAB",
        "o:AAAAAAAAAAAAAAAAAAAAAA\n",
        "b:AAAAAAAAAAAAAAAAAAAAAB",
        "b:shop-api",
        "t:AAAAAAAAAAAAAAAAAAAAAB",
        "t:AAAAAAAAAAAAAAAAAAAAA",
        "m:AAAAAAAAAAAAAAAAAAAAAAA",
        "n:AAAAAAAAAAAAAAAAAAAAA\n",
        "x:AAAAAAAAAAAAAAAAAAAAAA",
        "AAAAAAAAAAAAAAAAAAAAAAc0.1",
        "AAAAAAAAAAAAAAAAAAAAAAd0.01",
        "AAAAAAAAAAAAAAAAAAAAABd0.1",
        "AAAAAAAAAAAAAAAAAAAAAAd٠.1",
        "AAAAAAAAAAAAAAAAAAAAAAE0.1",
        "AAAAAAAAAAAAAAAAAAAAAAd0." + "1" * 60,
    ],
)
def test_damaged_data_is_no_tap(data: str) -> None:
    assert decode(data) is None


@pytest.mark.parametrize(
    "action", [form.Text(text="typed"), form.Cancel(step=1, reason="typed")], ids=["text", "reason"]
)
def test_typed_words_never_go_into_a_button(action: Action) -> None:
    with pytest.raises(ValueError, match="no button can carry"):
        encode(Tap(ask_id=ID, question=0, action=action))


def test_the_review_counts_as_the_last_question() -> None:
    shown = ask(text("One?"), confirm("Two?"))
    moved = filling.advance(shown.questions, shown.draft, form.Text(text="typed"))
    assert isinstance(moved, form.Moved)
    reviewed = filling.advance(shown.questions, moved.draft, form.Choose(step=1, option=0))
    assert isinstance(reviewed, form.Moved)
    assert reviewed.draft.at == 2
    shown = ask(*shown.questions, draft=reviewed.draft)
    assert question_shown(shown) == 1


def test_a_button_of_an_earlier_version_still_gives_a_quarter_of_an_hour() -> None:
    old = encode(Tap(ask_id=ID, question=0, action=AskAction.DISCARD)).replace("D0", "E0")
    assert decode(old) == Tap(ask_id=ID, question=0, action=form.Extend(minutes=15))


def test_what_was_typed_for_any_screen_is_no_button() -> None:
    with pytest.raises(ValueError, match="no button can carry"):
        encode(Tap(ask_id=ID, question=0, action=form.Snooze(minutes=15)))


def data(option: int, *, on: bool = True, step: int = 3, id: str = ID) -> str:
    toggle = form.Toggle(step=step, option=option, on=on)
    return encode(Tap(ask_id=id, question=1, action=toggle))


@given(st.sets(numbers), st.booleans())
def test_what_is_picked_in_a_list_is_all_that_is_picked(options: set[int], on: bool) -> None:
    found = selected(data(0), [data(option, on=on) for option in options])
    action = form.Select(step=3, options=frozenset(options))
    assert found == Tap(ask_id=ID, question=1, action=action)


def test_a_list_of_single_options_is_a_tap_on_one_of_them() -> None:
    first, second = (
        Tap(ask_id=ID, question=0, action=form.Choose(step=0, option=option)) for option in (0, 1)
    )
    assert selected(encode(first), [encode(second)]) == second
    assert selected(encode(first), []) is None
    assert selected(encode(first), [encode(first), encode(second)]) is None


@pytest.mark.parametrize(
    "values",
    [
        [data(0, step=4)],
        [data(0, id="0" * 8 + ID[8:])],
        [encode(Tap(ask_id=ID, question=1, action=form.Done(step=3)))],
        ["nonsense"],
    ],
    ids=["another step", "another ask", "another button", "nonsense"],
)
def test_a_list_with_what_is_not_of_it_means_nothing(values: list[str]) -> None:
    assert selected(data(0), values) is None


@pytest.mark.parametrize(
    ("data", "meant"),
    [
        ("c2.3.1", form.Choose(step=3, option=1)),
        ("t2.3.1", form.Toggle(step=3, option=1, on=True)),
        ("f2.3.1", form.Toggle(step=3, option=1, on=False)),
        ("e2.3.1", form.Edit(step=3, question=1)),
        ("x2.3", form.DropOther(step=3)),
        ("d2.3", form.Done(step=3)),
        ("o2.3", form.Other(step=3)),
        ("s2.3", form.Skip(step=3)),
        ("b2.3", form.Back(step=3)),
        ("g2.3", form.Submit(step=3)),
        ("k2.3", form.AskCancel(step=3)),
        ("q2.3", form.Cancel(step=3)),
        ("a2.3", form.AnswerAnyway(step=3)),
        ("i2.3", form.AskExplain(step=3)),
        ("j2.3", form.Explain(step=3)),
        ("r2.3", form.Rephrase(step=3)),
        ("l2.3", AskMore(step=3)),
        ("h2.3", ShowAll(step=3)),
        ("w2.3", Write(step=3)),
        ("u2.3", Use(step=3)),
        ("E2", form.Extend(minutes=15)),
        ("D2", AskAction.DISCARD),
        ("S2", Show()),
    ],
)
def test_every_button_of_0_1_0_means_what_it_meant(data: str, meant: Action) -> None:
    """As its own code has written them. Old cards stay in chats for months."""
    tap = decode(f"C3-KUgAAQACAAAAAAAAAAQ{data}")
    assert tap == Tap(ask_id="0b7f8a52-0000-4000-8000-000000000001", question=2, action=meant)


def test_the_other_buttons_of_0_1_0_mean_what_they_meant() -> None:
    assert decode("n") == NEITHER
    assert decode("o:C3-KUgAAQACAAAAAAAAAAQ") == Output(
        operation_id="0b7f8a52-0000-4000-8000-000000000001"
    )
