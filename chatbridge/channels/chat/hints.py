"""What a card says about what can be done with it, and until when."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from chatbridge.channels.chat.attachments import listed
from chatbridge.channels.chat.capabilities import Buttons, Capabilities, Seen, T
from chatbridge.channels.chat.document import Faint, Inline, Line, Name, Time, strong
from chatbridge.core.cards import outcome_text
from chatbridge.core.cards.card import Card, Role, State
from chatbridge.core.cards.phrases import UNSENT, format_later, format_only_on
from chatbridge.core.cards.sharing import TO_WHOM
from chatbridge.core.forms import emoji_shortcuts
from chatbridge.core.forms.typed_input import RUN_IT, is_destructive
from chatbridge.core.model import QuestionType, View
from chatbridge.core.text import one_line

ENTERED_LENGTH, DECLARED_LENGTH = 100, 200
CHOSEN_AT_MOST, CHOSEN_LENGTH = 12, 20
"""How many of the chosen options a line names, and how much of each."""
HEARD_LENGTH = 1_000
TRANSCRIBING = "Turning your voice message into text…"
ORIGINALS = "!originals"
"""Stands for the button, where there are none."""
TO_EXPLAIN = "What should the agent explain?"
LATE = "The agent has moved on. Your answer is kept for it."
NO_LIMIT = "No time limit"
ORPHANED = Faint(("The agent is not waiting now. An answer is kept for its next call.",))
DENYING = "deny, or “deny:” and why."
NEXT_TASK = "Reply with the next task"
HOW_MUCH_LATER = "How much more time?"
FOR_MORE = " Reply more to allow more than this."
MARKED = "It is marked as destructive."


def hints(card: Card, seen: Seen, chat: Capabilities[T]) -> tuple[Line, ...]:
    """The lines below an open card."""
    found = _with_buttons(card, seen, chat.buttons) if chat.buttons else _with_replies(card, seen)
    return tuple(found)


# ── lines that all chats share ────────────────────────────────────────────────────────────────────


def sentences(lines: Iterable[Line]) -> Line:
    """Several on one line."""
    found = [line for line in lines if any(line)]
    return tuple(part for line in found for part in (" ", *line))[1:]


def _last_change(card: Card) -> Line:
    by = card.changed_by
    who = (by.name or outcome_text.where(by)) if by else ""
    return ("Last change: ", Name(one_line(who), outcome_text.MAX_NAME_CHARACTERS))


def _waiting(card: Card) -> Iterator[Line]:
    if card.declared and card.state is not State.LATE:
        by: Line = (" by ", Time(card.deadline)) if card.deadline is not None else ()
        declared = strong(Name(card.declared, DECLARED_LENGTH))
        yield ("Used if nobody answers", *by, ": ", declared)
    if card.orphaned:
        yield (ORPHANED,)


def _so_far(answer: str) -> Line:
    return ("Your answer so far: ", Name(one_line(answer), ENTERED_LENGTH))


def _attached(card: Card) -> Line:
    """What the person has sent, and what becomes of it."""
    if not card.attached:
        return ()
    one, choice = len(card.attached) == 1, card.type is not QuestionType.TEXT
    goes = f"{'It goes' if one else 'They go'} with your {'choice' if choice else 'answer'}."
    return ("Attached: ", *listed(card.attached), f". {goes}")


def _heard(card: Card) -> Line:
    voice = card.voice
    if voice is None or not (voice.text or voice.problem):
        return (TRANSCRIBING,)
    if voice.text:
        return ("You said: “", Name(one_line(voice.text), HEARD_LENGTH), "”")
    return ("Your voice message: ", Name(one_line(voice.problem or ""), DECLARED_LENGTH))


def _recorded(card: Card) -> tuple[str, str]:
    """What can be sent of a voice message, and what can be typed instead."""
    understood = card.voice is not None and card.voice.text
    return ("it", "a correction") if understood else ("the recording", "your answer")


def _ends(card: Card, now: float, *, stop: str) -> Line:
    if card.deadline is None:
        return (f"{NO_LIMIT}{stop}",)
    at = Time(card.deadline)
    if card.soon_at is not None and now >= card.soon_at:
        return (strong("Ends ", at, ", soon."),)
    return ("Ends ", at, stop) if stop else ("Ends ", at)


def _which(card: Card) -> str:
    return "this question" if card.count == 1 else f"all {card.count} questions"


# ── with buttons ──────────────────────────────────────────────────────────────────────────────────


def _with_buttons(card: Card, seen: Seen, buttons: Buttons) -> Iterator[Line]:
    if card.view is View.SENDING:
        yield (strong(outcome_text.sending(card)),)
        return
    if card.view is View.CANCEL:
        yield (strong(f"Cancel {_which(card)}?"),)
        how = "Send a reason as text" if seen.private else "Reply with a reason"
        yield (f"The agent is told that you will not answer. {how}, or:",)
    elif card.view is View.EXPLAIN:
        yield (strong(TO_EXPLAIN),)
        yield ("Send it as text, or:" if seen.private else "Reply with it, or:",)
    elif card.view is View.LATER:
        yield (strong(HOW_MUCH_LATER),)
        if what := format_later(card):
            yield (what,)
    elif card.view is View.HAND_OVER:
        yield (strong(TO_WHOM),)
    elif card.view is View.HEARD:
        yield _heard(card)
        if card.button(Role.SEND_HEARD):
            yield (f"Send {_recorded(card)[0]}, or reply with {_recorded(card)[1]}.",)
    elif card.view is View.REVIEW:
        yield ("Nothing has been sent yet.",)
        if card.changed_by is not None and not seen.private:
            yield _last_change(card)
    elif not card.approval:
        yield from _question_hints(card, seen, buttons)
    yield from card.sharing
    if seen.again:
        yield ("Taps of more than a day ago were not kept. Tap again.",)
    if card.approval:
        yield from _approval_hints(card, seen)
    elif card.state is State.LATE:
        yield (LATE,)
    else:
        yield from _waiting(card)
        yield _ends(card, seen.now, stop="")


def _question_hints(card: Card, seen: Seen, buttons: Buttons) -> Iterator[Line]:
    most = buttons.most_options
    if len(card.choices) > most:
        yield (f"Options {most + 1} to {len(card.choices)}: reply with the number.",)
    multi = card.type is QuestionType.MULTI_SELECT
    if card.entered and not multi:
        yield _so_far(card.entered)
    yield _attached(card)
    if card.view is View.OTHER:
        yield ("Write your own answer." if seen.private else "Reply with your own answer.",)
    elif card.what_next:
        yield (f"{NEXT_TASK}, or:",)
    elif card.type is QuestionType.TEXT:
        alone, group = "Type your answer and send it.", "Reply to this message with your answer."
        yield (alone if seen.private else group,)
    elif multi:
        yield ("Choose one or more, then Done.",)


def _approval_hints(card: Card, seen: Seen) -> Iterator[Line]:
    if card.only_on:
        yield (format_only_on(card.only_on),)
    elif card.view is View.OTHER:
        yield ("Send the reason as text." if seen.private else "Reply with the reason.",)
    elif seen.unsent:
        yield (UNSENT,)
    denied = ("Denied if nobody answers. ",) if card.deadline is not None else ()
    yield (*denied, *_ends(card, seen.now, stop=""))


# ── with reactions, or typed ──────────────────────────────────────────────────────────────────────


def _with_replies(card: Card, seen: Seen) -> Iterator[Line]:
    if card.view is View.SENDING:
        how = "↩️ takes it back." if seen.reactions else "Reply undo to take it back."
        yield sentences(((strong(outcome_text.sending(card)),), (how,)))
        return
    if side := side_hint(card, seen):
        yield side
        return
    yield from card.sharing
    if card.approval:
        yield (_decide(card, seen),)
        yield sentences((_share(card, seen), time_left(card, seen), _more_time(card)))
        return
    if card.view is View.QUESTION:
        yield _chosen(card, seen)
        yield sentences((_attached(card), (_attached_words(card, seen),)))
        if seen.files.shrunk:
            yield (f"Reply {ORIGINALS} for the pictures in full size.",)
        yield _without_reactions(card, seen)
        for number, reply in enumerate(card.replies, 1):
            sign = emoji_shortcuts.NUMBERS[number - 1] if seen.reactions else f"!{number}"
            yield (f"{sign} ", Name(reply.text))
    elif card.view is View.REVIEW and card.changed_by is not None and seen.viewer is None:
        yield _last_change(card)
    yield from _waiting(card)
    what_to_do: Line = (_how(card, seen),)
    ends = time_left(card, seen)
    share = _share(card, seen)
    yield sentences((what_to_do, (_words(card, seen),), share, ends, _more_time(card)))


def side_hint(card: Card, seen: Seen) -> Line:
    """All that a screen beside the question says, where the question is in sight."""
    if card.view is View.CANCEL:
        how = "Reply with a reason, or cancel to give none. Reply back to keep it open."
        if seen.reactions:
            how = "Reply with a reason, or ✅ without one. ↩️ keeps it open."
        return (f"Cancel {_which(card)}? {how}",)
    if card.view is View.EXPLAIN:
        how = "Reply with it, explain for all of it, or rephrase to be asked differently. "
        how += "Reply back to go back."
        if seen.reactions:
            how = "Reply with it, or ✅ for all of it. 🔁 has it asked differently, ↩️ goes back."
        return (f"{TO_EXPLAIN} {how}",)
    if card.view is View.LATER:
        pick, back = "Reply with a number", "Reply back to go back."
        if seen.reactions:
            pick, back = "React or reply with a number", "↩️ goes back."
        words = "or with words such as +45min, snooze 2h or snooze until 08:00."
        return (f"{HOW_MUCH_LATER} {pick}, {words} {back} {format_later(card)}".rstrip(),)
    if card.view is View.HAND_OVER:
        pick, back = "Reply with a number or a name.", "Reply back to go back."
        if seen.reactions:
            pick, back = "React or reply with a number, or reply with a name.", "↩️ goes back."
        return (f"{TO_WHOM} {pick} {back}",)
    if card.view is View.HEARD:
        return sentences((_heard(card), (_what_was_heard(card, seen),)))
    if card.approval and card.view is View.OTHER:
        back = "↩️ goes back." if seen.reactions else "Reply back to go back."
        return (f"Why should it be denied? Reply with the reason. {back}",)
    return ()


def _what_was_heard(card: Card, seen: Seen) -> str:
    """How a voice message is sent, or not."""
    what, instead = _recorded(card)
    if not card.button(Role.SEND_HEARD):
        return "❌ discards it." if seen.reactions else "Reply discard to drop it."
    if seen.reactions:
        return f"✅ sends {what}, ❌ discards it. Or reply with {instead}."
    return f"Reply send to send {what}, or discard, or reply with {instead}."


def _decide(card: Card, seen: Seen) -> str:
    """How an approval is given or denied."""
    if card.only_on:
        return format_only_on(card.only_on)
    destructive = is_destructive(card)
    once = "" if card.subject and card.subject.beyond else " once"
    or_not = "👎 denies it, ↩️ goes back." if seen.reactions else "Or reply deny or back."
    if seen.unsent:
        return f"{UNSENT} {'👎 denies it. Or reply' if seen.reactions else 'Reply'} deny."
    if card.view is View.CONFIRM_DESTRUCTIVE:
        return f"{MARKED} Reply {RUN_IT} to run it. {or_not}"
    if card.view is View.CONFIRM_GRANT:
        if seen.reactions:
            return "👍 allows it, 👎 denies it, ↩️ goes back. Or reply yes."
        return f"Reply yes to allow it. {or_not}"
    if card.choices:
        pick = "React or reply" if seen.reactions else "Reply"
        return f"{pick} with a number. {or_not}"
    if card.button(Role.SHOW_ALL):
        if seen.reactions:
            return "📄 shows all of it, and then it can be allowed. 👎 denies it. Or reply all."
        return "Reply all to see all of it, and then it can be allowed. Or reply deny."
    if destructive:
        denying = "👎 denies it. Or reply" if seen.reactions else "Or reply"
        return f"{MARKED} Reply {RUN_IT} to allow it{once}. {denying} {DENYING}"
    replies = f"allow, {DENYING}{FOR_MORE if card.button(Role.MORE) else ''}"
    return f"👍 allow{once}, 👎 deny. Or reply {replies}" if seen.reactions else f"Reply {replies}"


def _chosen(card: Card, seen: Seen) -> Line:
    """What is chosen, where the reactions on this message do not show it."""
    picked = [choice for choice in card.choices if choice.picked]
    if card.type is not QuestionType.MULTI_SELECT:
        answer = card.entered or (picked[0].label if picked else "")
        return _so_far(answer) if one_line(answer) else ()
    if {choice.number - 1 for choice in picked} == seen.reacted and card.entered is None:
        return ()
    chosen: list[Line] = [
        (f"{choice.number} ", Name(choice.label, CHOSEN_LENGTH))
        for choice in picked[:CHOSEN_AT_MOST]
    ]
    if len(picked) > CHOSEN_AT_MOST:
        chosen.append((f"{len(picked) - CHOSEN_AT_MOST} more",))
    if card.entered is not None:
        chosen.append(("Other: ", Name(one_line(card.entered), ENTERED_LENGTH)))
    listed: list[Inline] = [part for each in chosen for part in (", ", *each)][1:] or ["nothing"]
    change = " To change that, reply with all the numbers you want." if picked else ""
    return ("Chosen so far: ", *listed, f".{change}")


def _without_reactions(card: Card, seen: Seen) -> Line:
    first, last = len(emoji_shortcuts.NUMBERS) + 1, len(card.choices)
    if last < first or not seen.reactions:
        return ()
    which = f"Options {first} to {last}" if last > first else f"Option {last}"
    if card.type is QuestionType.MULTI_SELECT:
        return (f"{which}: reply with all the numbers you want, for example 1,{last}.",)
    return (f"{which}: reply with the number.",)


def _how(card: Card, seen: Seen) -> str:
    if card.view is View.OTHER:
        return "Reply with your own words." + (" ↩️ shows the options." if seen.reactions else "")
    if card.view is View.REVIEW:
        if seen.reactions:
            return "✅ sends. To change one, reply with its number."
        return "Reply send to send, or with a number to change one."
    if card.what_next:
        return f"{NEXT_TASK}." + (" ✅ means done." if seen.reactions else "")
    example = {1: "1", 2: "1,2"}.get(len(card.choices), "1,3")
    match card.type:
        case QuestionType.SELECT if seen.reactions:
            return "React with a number, or reply with a number or your own words."
        case QuestionType.SELECT:
            return "Reply with a number or your own words."
        case QuestionType.MULTI_SELECT if seen.reactions:
            return f"React with every number you want, then ✅. Or reply {example}."
        case QuestionType.MULTI_SELECT:
            return f"Reply with the numbers, for example {example}."
        case QuestionType.CONFIRM:
            return "👍 yes, 👎 no." if seen.reactions else "Reply yes or no."
        case _:
            return "Reply in this thread."


def _words(card: Card, seen: Seen) -> str:
    """The words that stand for buttons where there are no reactions."""
    chosen = any(choice.picked for choice in card.choices) or card.entered is not None
    chosen |= card.what_next
    words = [
        _word(card, role)
        for role in (Role.DONE, Role.SKIP, Role.BACK, Role.EXPLAIN, Role.CANCEL)
        if card.button(role) and (chosen or role is not Role.DONE)
    ]
    if seen.reactions:
        return f"{emoji_shortcuts.ASK_BACK} asks back." if card.button(Role.EXPLAIN) else ""
    if not words:
        return ""
    listed = f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]
    return f"Or reply {listed}."


def _attached_words(card: Card, seen: Seen) -> str:
    if not card.button(Role.DROP_ATTACHED):
        return ""
    sends, it = card.button(Role.SEND_ATTACHED), "it" if len(card.attached) == 1 else "them"
    if seen.reactions:
        alone = f"{emoji_shortcuts.FORWARD} sends only this, " if sends else ""
        return f"{alone}{emoji_shortcuts.REMOVE} removes {it}."
    send, remove = (_word(card, role) for role in (Role.SEND, Role.DROP_ATTACHED))
    alone = f"Reply {send} to send only this, " if sends else "Reply "
    return f"{alone}{remove} to remove {it}."


def _word(card: Card, role: Role) -> str:
    """A plain word where it can be nothing else."""
    word = {Role.DROP_ATTACHED: "remove", Role.HAND_OVER: "hand over"}.get(role, role.value)
    answers = card.type is QuestionType.TEXT
    answers |= any(choice.label.casefold() == word for choice in card.choices)
    return f"!{word}" if answers else word


def time_left(card: Card, seen: Seen) -> Line:
    if card.state is State.LATE:
        return (LATE,)
    denied: Line = ()
    if card.approval and card.deadline is not None:
        denied = ("Denied if nobody answers.",)
    return sentences((denied, _ends(card, seen.now, stop=".")))


def _share(card: Card, seen: Seen) -> Line:
    """How a team tells one another who is on it."""
    said = []
    if card.button(Role.TAKE):
        typed = f"Reply “{_word(card, Role.TAKE)}” to say"
        take = f"{emoji_shortcuts.TAKE} says" if seen.reactions else typed
        said.append(f"{take} that you are on it.")
    if card.button(Role.RELEASE):
        said.append(f"Reply “{_word(card, Role.RELEASE)}” to let it go.")
    if card.button(Role.HAND_OVER):
        said.append(f"Reply “{_word(card, Role.HAND_OVER)}” to pass it on.")
    return (" ".join(said),) if said else ()


def _more_time(card: Card) -> Line:
    if not card.button(Role.LATER):
        return ()
    what = "for more time" if card.deadline is not None else "to snooze it"
    return (f"Reply “{_word(card, Role.LATER)}” {what}.",)
