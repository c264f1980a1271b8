"""chatbridge's own tools, as the settings want them."""

from __future__ import annotations

from pathlib import Path

from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.delivery.notices import Notices
from chatbridge.core.messages.messages import OwnerMessages
from chatbridge.core.policy import Policy
from chatbridge.core.ports import Clock
from chatbridge.core.store_port import Store
from chatbridge.hub.wiring.channel_supervisor import ChannelSupervisor
from chatbridge.settings import Settings
from chatbridge.tools import ask_user, auq
from chatbridge.tools.approvals.tool import ApproveToolUse
from chatbridge.tools.ask_user import AskUser
from chatbridge.tools.attachments import ToolFiles
from chatbridge.tools.auq import AskUserQuestions, GetAnsweredQuestions, Limits
from chatbridge.tools.call import ToolHandler
from chatbridge.tools.elicitation import Elicitation, States, key_in
from chatbridge.tools.journal.journal import JournalKeeper
from chatbridge.tools.messages import CheckMessages
from chatbridge.tools.notify_user import NotifyUser
from chatbridge.tools.question_ask import QuestionAsk, QuestionSummary
from chatbridge.tools.waiting import WaitForAnswer, Waiting
from chatbridge.tools.what_next import WhatNext

RENDERERS = {AskUser.name: ask_user.render_result, AskUserQuestions.name: auq.render_result}


def own_tools(
    settings: Settings,
    policy: Policy,
    *,
    state: Path,
    waiting: Waiting,
    store: Store,
    actions: AskActions,
    keeper: JournalKeeper,
    notices: Notices,
    channels: ChannelSupervisor,
    files: ToolFiles,
    messages: OwnerMessages,
    clock: Clock,
) -> list[ToolHandler]:
    """In the order in which clients see them, which is that of the settings' names."""
    elicitation = Elicitation(actions)
    states = States(lambda: key_in(state / "form-key"))
    limits = Limits(questions=settings.auq_max_questions, options=settings.auq_max_options)
    approvals, others = settings.approvals, settings.journal.other_tools
    places = policy.nights.team.places_for_notice
    known: list[ToolHandler] = [
        AskUser(waiting, None if settings.elicit == "chats" else elicitation),
        WaitForAnswer(waiting, RENDERERS),
        AskUserQuestions(waiting, limits=limits, timeout=settings.auq_timeout),
        GetAnsweredQuestions(waiting, store),
        QuestionAsk(waiting, elicitation, keeper, states, elicit=settings.elicit),
        QuestionSummary(keeper.journal, store, clock=clock, other_tools=others),
        NotifyUser(notices, channels, files, places),
        ApproveToolUse(waiting, timeout=approvals.timeout, rules=approvals.rules()),
        CheckMessages(messages, policy.max_block),
    ]
    wanted = [tool for tool in known if settings.enabled and tool.name in settings.tools]
    if wanted:
        tells = notices if NotifyUser.name in settings.tools else None
        asks, wait = settings.claude.when_done == "ask", settings.claude.wait
        wanted.append(WhatNext(waiting, messages, tells, asks=asks, wait=wait))
    return wanted
