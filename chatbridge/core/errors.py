"""Every error that chatbridge raises on purpose.

A message says what failed, where, and the next step. `docs/errors.md` has a heading for each class.
"""

from __future__ import annotations


class ChatbridgeError(Exception):
    """chatbridge cannot do this."""

    passing = False  # Whether the error may go away by itself soon

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class SettingsError(ChatbridgeError):
    """The configuration cannot be used."""


class ExtraMissing(ChatbridgeError):
    """Packages that a channel or the database needs are not installed."""

    def __init__(self, extra: str, *, command: str) -> None:
        super().__init__(f"the packages for {extra} are not installed. Run: {command}")


class InstallationBroken(ChatbridgeError):
    """A package that every chatbridge needs is not there, or does not fit."""

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"chatbridge cannot import what it needs ({problem}). Install it again, then run: "
            "chatbridge restart"
        )


class HubAlreadyRunning(ChatbridgeError):
    """Another hub runs with this state directory."""

    def __init__(self, *, pid: int | None, state_dir: str) -> None:
        self.pid = pid
        holder = f"pid {pid}" if pid else "an unknown process"
        super().__init__(
            f"another hub ({holder}) runs with the state directory {state_dir}. "
            "Stop it with: chatbridge stop, or set CHATBRIDGE_STATE_DIR to another folder"
        )


class HubUnreachable(ChatbridgeError):
    """The hub is not running. It starts with the first agent."""


class HubRefused(ChatbridgeError):
    """The hub did not do what a command asked. `kind` is the name of its error."""

    def __init__(self, message: str, *, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


class ServiceFailed(ChatbridgeError):
    """systemd or launchd did not do what was asked of it."""


class SocketUnusable(ChatbridgeError):
    """The hub's socket cannot be used."""


class RunnerUnavailable(ChatbridgeError):
    """Commands cannot be run now. The hub's log says why; try again later."""


class CommandUnusable(ChatbridgeError):
    """This command cannot be run. Nothing was started."""


class UnknownOperation(ChatbridgeError):
    """There is no operation of this id in this project."""

    def __init__(self, operation_id: str, *, known: tuple[str, ...] = ()) -> None:
        there = f"there are: {', '.join(known)}" if known else "there is none yet"
        super().__init__(
            f"there is no operation {operation_id!r} in this project; {there}. "
            "Call status without an id to see them"
        )


class TooManyOperations(ChatbridgeError):
    """Too many operations are on the way."""

    def __init__(self, *, limit: int, of_agent: bool) -> None:
        whose = "this agent has" if of_agent else "agents have"
        super().__init__(
            f"{whose} {limit} operations on the way, and that is as many as there can be. Nothing "
            "was started. Let some of them end (status shows them), or cancel those that are no "
            "longer needed"
        )


class StoreError(ChatbridgeError):
    """The database cannot be read or written."""

    passing = True


class NewerDatabase(StoreError):
    """The database was made by a newer chatbridge."""

    passing = False

    def __init__(self, *, path: str, found: int, known: int) -> None:
        super().__init__(
            f"the database {path} is of a newer chatbridge (schema version {found}, this one knows "
            f"up to {known}). It was left untouched. Install the newer one again, or put back a "
            "copy from before it"
        )


class UnknownAsk(ChatbridgeError):
    """There is no such question."""

    def __init__(self, ask_id: str, *, known: tuple[str, ...] = ()) -> None:
        self.ask_id, self.known = ask_id, known
        now = f" Open now: {', '.join(known)}." if known else " None is open."
        super().__init__(f"no question with the id {ask_id!r} in this project.{now}")


class NoOpenAsk(ChatbridgeError):
    """No open question has an id that begins like this."""

    def __init__(self, given: str, *, known: tuple[str, ...] = ()) -> None:
        now = f"Open now: {', '.join(known)}" if known else "None is open now."
        super().__init__(f"No open question “{given}”. {now}")


class SeveralAsks(ChatbridgeError):
    """The ids of several questions begin like this."""

    def __init__(self, given: str, *, known: tuple[str, ...]) -> None:
        super().__init__(f"“{given}” is the beginning of several. One of: {', '.join(known)}")


class AskEnded(ChatbridgeError):
    """The question has ended."""

    def __init__(self, ask_id: str, *, status: str) -> None:
        self.ask_id, self.status = ask_id, status
        super().__init__(f"the question {ask_id} has ended: {status}")


class CallCancelled(ChatbridgeError):
    """The agent has cancelled this call before anything came of it. Nobody was asked."""


class RoleMissing(ChatbridgeError):
    """This person may not do that."""

    def __init__(self, role: str, *, reads_only: bool = False) -> None:
        self.role = role
        may_not = "approve" if role == "approve" else "answer"
        super().__init__(
            "You can read this, but not answer it."
            if reads_only
            else f"You may not {may_not} this."
        )


class NotHere(ChatbridgeError):
    """This cannot be decided here."""

    def __init__(
        self, ask_id: str, *, channels: tuple[str, ...] = (), what_next: bool = False
    ) -> None:
        self.ask_id, self.channels = ask_id, channels
        if what_next:
            super().__init__(
                "the next task cannot be given where an agent could do it. Write it in a chat or "
                "in the web inbox, or at a terminal with: chatbridge tell"
            )
            return
        then = f"Where it can be decided: {' or '.join(channels)}"
        if not channels:
            then = "No place is left: approvals.channels has changed since it was asked"
        super().__init__(
            f"the approval {ask_id} cannot be given or refused where an agent could do it. {then}"
        )


class InvalidAnswer(ChatbridgeError):
    """The answer does not fit the question."""

    def __init__(self, path: str, problem: str) -> None:
        self.path, self.problem = path, problem
        super().__init__(f"{path}: {problem}")


class TooManyOpenAsks(ChatbridgeError):
    """This agent has too many open questions, or all agents of a token or a user together."""

    def __init__(self, *, limit: int, open_asks: tuple[str, ...] = ()) -> None:
        """`open_asks` is empty if the limit is that of several agents."""
        whose = "this agent already has" if open_asks else "your owner's agents already have"
        listed = "".join(f"\n- {line}" for line in open_asks)
        super().__init__(
            f"{whose} {limit} open questions; wait for their answers with "
            f"wait_for_answer before asking another{':' if listed else ''}{listed}"
        )


class TooManyNotices(ChatbridgeError):
    """This agent tells too much, or all agents of a project, a token or a user together."""

    def __init__(self, *, limit: int, of_agent: bool) -> None:
        whose = "this agent has" if of_agent else "your owner's agents have"
        super().__init__(
            f"{whose} sent {limit} notices within a minute, and this one was not sent. "
            "Tell what matters in one message, or wait a little"
        )


class ToolInputError(ChatbridgeError):
    """A tool was called with arguments it does not take."""

    def __init__(self, sentence: str, *, path: str, given: str, accepted: str) -> None:
        self.path = path
        super().__init__(f"{sentence}\n{path}: given {given}; accepted: {accepted}")


class AttachmentError(ChatbridgeError):
    """A file cannot be attached, as a sentence for who sent it."""


class TranscriptionFailed(ChatbridgeError):
    """A voice message was not turned into text, as a sentence for who sent it."""


class RetryLater(ChatbridgeError):
    """A chat service asks for a pause or cannot be reached."""

    def __init__(self, message: str, *, after: float | None = None, unsent: bool = False) -> None:
        """`unsent`: the service has not got the request. Otherwise it may have done it."""
        self.after = after
        self.unsent = unsent or after is not None
        super().__init__(message)


class TokenRejected(ChatbridgeError):
    """A chat service does not accept the token."""

    def __init__(self, message: str, *, after: float = 0.0) -> None:
        self.after = after
        super().__init__(message)


class ChatRefused(ChatbridgeError):
    """A chat cannot be written to."""


class PostGone(ChatbridgeError):
    """A card that should be edited is no longer there."""


class BotInUse(ChatbridgeError):
    """Another hub uses this bot."""

    def __init__(
        self, *, bot: str, why: str, setting: str, pid: int | None, state_dir: str | None
    ) -> None:
        self.pid = pid
        holder = f"pid {pid}" if pid else "an unknown process"
        how = f" with: CHATBRIDGE_STATE_DIR='{state_dir}' chatbridge stop" if state_dir else ""
        super().__init__(
            f"another hub of yours ({holder}) receives the messages of {bot}, and {why}. Stop "
            f"it{how}; or make another bot for this hub and set {setting}"
        )


class NotPaired(ChatbridgeError):
    """Nobody can be paired now."""


class TooManyCodes(ChatbridgeError):
    """Too many pairing codes are open."""

    def __init__(self, *, limit: int) -> None:
        super().__init__(
            f"{limit} pairing codes are open, and that is as many as there can be. End another "
            "chatbridge pair or setup, or wait until its code has ended (10 minutes)"
        )


class NoTerminal(ChatbridgeError):
    """This needs a terminal, and a person at it."""


class NoSuchAgent(ChatbridgeError):
    """No agent of this name is connected, or several are."""


class MessageRefused(ChatbridgeError):
    """This message cannot be sent to an agent, or not be taken back any more."""
