"""chatbridge's own tools, as the settings want them."""

from __future__ import annotations

from chatbridge.core.delivery.notices import Notices
from chatbridge.hub.wiring.core import HubCore
from chatbridge.tools import ask_user, auq
from chatbridge.tools.approvals.tool import ApproveToolUse
from chatbridge.tools.ask_user import AskUser
from chatbridge.tools.attachments import ToolFiles
from chatbridge.tools.auq import AskUserQuestions, GetAnsweredQuestions, Limits
from chatbridge.tools.call import ToolHandler
from chatbridge.tools.elicitation import Elicitation, States, key_in
from chatbridge.tools.messages import CheckMessages
from chatbridge.tools.notify_user import NotifyUser
from chatbridge.tools.question_ask import QuestionAsk, QuestionSummary
from chatbridge.tools.waiting import WaitForAnswer, Waiting
from chatbridge.tools.what_next import WhatNext

RENDERERS = {AskUser.name: ask_user.render_result, AskUserQuestions.name: auq.render_result}


def own_tools(
    core: HubCore, *, waiting: Waiting, notices: Notices, files: ToolFiles
) -> list[ToolHandler]:
    """In the order in which clients see them, which is that of the settings' names."""
    settings, store, messages = core.settings, core.store, core.messages
    elicitation = Elicitation(core.actions)
    states = States(lambda: key_in(core.lock.state / "form-key"))
    limits = Limits(questions=settings.auq_max_questions, options=settings.auq_max_options)
    approvals, others = settings.approvals, settings.journal.other_tools
    places = core.policy.nights.team.places_for_notice
    known: list[ToolHandler] = [
        AskUser(waiting, None if settings.elicit == "chats" else elicitation),
        WaitForAnswer(waiting, RENDERERS),
        AskUserQuestions(waiting, limits=limits, timeout=settings.auq_timeout),
        GetAnsweredQuestions(waiting, store),
        QuestionAsk(waiting, elicitation, core.keeper, states, elicit=settings.elicit),
        QuestionSummary(core.keeper.journal, store, clock=core.clock, other_tools=others),
        NotifyUser(notices, core.supervisor, files, places),
        ApproveToolUse(waiting, timeout=approvals.timeout, rules=approvals.rules()),
        CheckMessages(messages, core.policy.max_block),
    ]
    wanted = [tool for tool in known if settings.enabled and tool.name in settings.tools]
    if wanted:
        tells = notices if NotifyUser.name in settings.tools else None
        asks, wait = settings.claude.when_done == "ask", settings.claude.wait
        wanted.append(WhatNext(waiting, messages, tells, asks=asks, wait=wait))
    return wanted
