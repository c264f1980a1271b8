"""What a chat says about the agents that are connected, and to a message for one of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from chatbridge.channels.chat import document as doc
from chatbridge.channels.chat.callback_data import NEITHER, MeantFor, NeverMind, TellAgent, encode
from chatbridge.channels.chat.keyboard import in_rows
from chatbridge.channels.chat.notices import LISTED_AT_MOST, TYPED_LENGTH, numbered
from chatbridge.channels.chat.outcome import agent as client_name
from chatbridge.core.messages.agents import ConnectedAgent
from chatbridge.core.messages.message import OwnerMessage
from chatbridge.core.text import clipped, visible

NOBODY = "No agent is connected."
GONE = "That agent is no longer connected. Nothing was sent."
MESSAGE_GONE = "Your message is no longer there. Send it again with the agent's name."
SENT_ALREADY = "That was sent already."
AS_RECORDING = "Sent as a recording: what you say to an agent is not turned into text."
NO_FILES = "Files cannot be sent here. Nothing was sent."
NAMED = 5
WHOLE_LENGTH = 1_500
"""How much of a text is given back that stands nowhere else in the chat."""


def has_left(name: str) -> doc.Document:
    return doc.paragraph(doc.Name(name), " is no longer connected. Nothing was sent.")


def connected(
    agents: Sequence[ConnectedAgent],
    *,
    asks: Mapping[str, int],
    waiting: Iterable[OwnerMessage],
    prefix: str,
    typed: bool,
) -> doc.Message:
    """Who is connected, with a button for each; `asks` are their open questions, by link."""
    if not agents:
        return doc.Message(document=doc.paragraph(NOBODY))
    links = [each.link for each in waiting]
    entries = [
        _entry(each, asks=asks.get(each.link, 0), waiting=links.count(each.link))
        for each in agents[:LISTED_AT_MOST]
    ]
    count = len(agents)
    first = "1 agent is connected" if count == 1 else f"{count} agents are connected"
    document = numbered(first, entries, total=count)
    if typed:
        how = doc.line("To tell one something, send ", *_example(agents, prefix), ".")
        return doc.Message(document=(*document, how))
    return doc.Message(document=document, rows=_tell_keys(agents))


def _entry(agent: ConnectedAgent, *, asks: int, waiting: int) -> doc.Line:
    open_asks = f" · {asks} open question{'s' if asks > 1 else ''}" if asks else ""
    wait = f" · {waiting} message{'s wait' if waiting > 1 else ' waits'}" if waiting else ""
    return (
        doc.strong(doc.Name(agent.name)),
        " · ",
        client_name(agent.agent.name),
        " · since ",
        doc.Time(agent.since),
        " · last seen ",
        doc.Time(agent.seen_at),
        f"{open_asks}{wait}",
    )


def how_to_tell(agents: Sequence[ConnectedAgent], *, prefix: str, typed: bool) -> doc.Message:
    """To somebody who wants to tell something, and has not said what."""
    if not agents:
        return doc.Message(document=doc.paragraph(NOBODY))
    how = ("Write it in the same message: ", *_example(agents, prefix))
    rows = () if typed else _tell_keys(agents)
    return doc.Message(document=doc.paragraph(*how), rows=rows)


def which_agent(text: str, agents: Sequence[ConnectedAgent]) -> doc.Message:
    """Several could be meant. The text is typed already: nobody types it again."""
    listed = agents[:LISTED_AT_MOST]
    keys = [doc.Key(text=each.name, data=encode(MeantFor(agent=each.key))) for each in listed]
    neither = doc.Key(text="Neither", data=encode(NEITHER))
    return doc.Message(document=(_asked(text),), rows=(*in_rows(keys, 1), (neither,)))


def name_one(
    text: str, agents: Sequence[ConnectedAgent], *, prefix: str, stands: bool
) -> doc.Message:
    """The same, where no button can act on the message: it is sent again with a name. `stands`: it
    can be read in the chat."""
    names: list[doc.Inline] = [doc.Name(each.name) for each in agents[:NAMED]]
    if len(agents) > NAMED:
        names.append(f"{len(agents) - NAMED} more")
    listed = [part for name in names for part in (", ", name)][1:]
    how = ("Send it again with a name: ", *_example(agents, prefix), ". Connected: ", *listed)
    asked = _asked(text, TYPED_LENGTH if stands else WHOLE_LENGTH)
    return doc.Message(document=(asked, doc.line(*how)))


def given_back(why: str | doc.Document, text: str) -> doc.Document:
    """Why nothing was sent, with the text, which stands nowhere else."""
    said = doc.paragraph(why) if isinstance(why, str) else why
    return (*said, doc.Quote(clipped(visible(text), WHOLE_LENGTH)))


def prompt(agent: ConnectedAgent) -> doc.Message:
    """A reply to this is for that agent, as its button says."""
    said = doc.paragraph(
        "Reply to this message with what ", doc.strong(doc.Name(agent.name)), " should be told."
    )
    never_mind = doc.Key(text="Never mind", data=encode(NeverMind(agent=agent.key)))
    return doc.Message(document=said, rows=((never_mind,),))


def _asked(text: str, most: int = TYPED_LENGTH) -> doc.Group:
    quoted = doc.Quote(clipped(visible(text), most))
    return doc.Group((doc.line(doc.strong("Which agent is this for?")), quoted))


def _example(agents: Sequence[ConnectedAgent], prefix: str) -> doc.Line:
    name = f"{agents[0].name} " if len(agents) > 1 else ""
    return (doc.InlineCode(f"{prefix}tell {name}use tabs"),)


def _tell_keys(agents: Sequence[ConnectedAgent]) -> doc.Rows:
    keys = [
        doc.Key(text=f"Tell {each.name}", data=encode(TellAgent(agent=each.key)))
        for each in agents[:LISTED_AT_MOST]
    ]
    return tuple(in_rows(keys, 2))
