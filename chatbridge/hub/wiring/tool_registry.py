"""The tools of a hub, built from what the hub consists of. Their order is that of the settings'
names, which is the order in which clients see them."""

from __future__ import annotations

from pathlib import Path

from chatbridge.core.delivery.notices import Notices
from chatbridge.core.ports import AskActions, Clock
from chatbridge.core.store_port import Store
from chatbridge.hub.wiring.channel_supervisor import ChannelSupervisor
from chatbridge.settings import Settings
from chatbridge.tools.approvals.tool import ApproveToolUse
from chatbridge.tools.ask_user import tool as ask_user
from chatbridge.tools.ask_user.tool import AskUser
from chatbridge.tools.auq import results as auq
from chatbridge.tools.auq.arguments import Limits as AuqLimits
from chatbridge.tools.auq.tool import AskUserQuestions, GetAnsweredQuestions
from chatbridge.tools.call import ToolHandler
from chatbridge.tools.clients import Client, Clients
from chatbridge.tools.elicitation import Elicitation, States, key_in
from chatbridge.tools.journal.journal import JournalKeeper
from chatbridge.tools.notify_user import NotifyUser
from chatbridge.tools.question_ask.ask import QuestionAsk
from chatbridge.tools.question_ask.summary import QuestionSummary
from chatbridge.tools.wait_for_answer import WaitForAnswer
from chatbridge.tools.waiting import Waiting


def tools_of(
    settings: Settings,
    *,
    waiting: Waiting,
    intake: AskActions,
    store: Store,
    notices: Notices,
    channels: ChannelSupervisor,
    keeper: JournalKeeper,
    state: Path,
    clock: Clock,
) -> list[ToolHandler]:
    """Those that the owner wants agents to see."""
    if not settings.enabled:
        return []
    elicitation = Elicitation(intake)
    states = States(lambda: key_in(state / "form-key"))
    limits = AuqLimits(questions=settings.auq_max_questions, options=settings.auq_max_options)
    other_tools = settings.journal.other_tools
    renderers = {AskUser.name: ask_user.render_result, AskUserQuestions.name: auq.render_result}
    known: list[ToolHandler] = [
        AskUser(waiting, None if settings.elicit == "chats" else elicitation),
        WaitForAnswer(waiting, renderers),
        AskUserQuestions(waiting, limits=limits, timeout=settings.auq_timeout),
        GetAnsweredQuestions(waiting, store),
        QuestionAsk(waiting, elicitation, keeper, states, elicit=settings.elicit),
        QuestionSummary(keeper.journal, store, clock=clock, other_tools=other_tools),
        NotifyUser(notices, channels),
        ApproveToolUse(waiting, timeout=settings.approvals.timeout),
    ]
    return [tool for tool in known if tool.name in settings.tools]


def clients_of(settings: Settings) -> Clients:
    """What is known of clients, with what the owner knows better."""
    return Clients(
        {
            name: Client(limit=own.limit, idle=own.idle, cancels=own.cancels)
            for name, own in settings.clients.items()
        }
    )
