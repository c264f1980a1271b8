"""When a browser rings, and when its notification is closed.

Owns a surface for each subscription, and what the owner lets a notification say. Only what would
ring in a chat is sent: a push wakes a phone, and an iPhone shows each one.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from chatbridge.channels.bell import Alert
from chatbridge.channels.chat import document as doc
from chatbridge.channels.chat import keyboard
from chatbridge.channels.chat.callback_data import Tap, decode, encode
from chatbridge.channels.chat.writer import MessageRejected
from chatbridge.channels.notifier import Notification, NotifierSurface, line, plain
from chatbridge.channels.web.push.messages import (
    MAX_TTL,
    Message,
    Sender,
    SubscriptionGone,
    closing,
    notification,
)
from chatbridge.channels.web.push.settings import Detail, Push
from chatbridge.channels.web.push.subscriptions import Keys, Subscription, Subscriptions
from chatbridge.channels.web.sessions import CHANNEL
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.cards.card import Card
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.forms import form
from chatbridge.core.model import Ask, Level, Notice
from chatbridge.core.nights.summary import Summary
from chatbridge.core.ports import Clock, Remark
from chatbridge.core.text import one_line, shortened

log = logging.getLogger(__name__)

US = "chatbridge"
BODY, LABEL = 120, 30
"""In characters. Options of which one is longer are no buttons: nobody could tell them apart."""
BUTTONS = 2
TEST = "test"
GIVEN_UP = (
    "{} takes no notifications any more. To have them there again, open Notifications in its inbox."
)


class Browsers:
    """All that ring, in step with the list of subscriptions."""

    def __init__(
        self, table: Push, subscriptions: Subscriptions, inbox: AskActions, *, clock: Clock
    ) -> None:
        self._subscriptions, self._inbox = subscriptions, inbox
        self._detail, self._clock = table.detail, clock
        self._sender = Sender(table, subscriptions, clock=clock)
        self.close = self._sender.close
        self._surfaces: dict[str, PushSurface] = {}

    @property
    def surfaces(self) -> Sequence[PushSurface]:
        """Of a browser that stays it is the same one."""
        listed = self._subscriptions.listed()
        self._surfaces = {each.id: self._surface(each) for each in listed}
        return [*self._surfaces.values()]

    def _surface(self, subscription: Subscription) -> PushSurface:
        known = self._surfaces.get(subscription.id)
        return known or PushSurface(
            subscription,
            self._subscriptions,
            self._sender,
            self._inbox,
            detail=self._detail,
            clock=self._clock,
        )

    @property
    def troubles(self) -> list[str]:
        return [each.trouble for each in self._surfaces.values() if each.trouble]

    def of(self, id: str) -> PushSurface | None:
        return next((each for each in self.surfaces if each.id == id), None)

    async def tell(self, remark: Remark) -> None:
        from chatbridge.channels.chat.channel import tell_each

        await tell_each(remark, [(each.name, each.tell) for each in self.surfaces])


class PushSurface(NotifierSurface):
    channel = CHANNEL
    silent = False

    def __init__(
        self,
        subscription: Subscription,
        subscriptions: Subscriptions,
        sender: Sender,
        inbox: AskActions,
        *,
        detail: Detail,
        clock: Clock,
    ) -> None:
        super().__init__(clock, since=subscription.since)
        self.attach(inbox)
        self.name, self.id = subscription.surface, subscription.id
        self._subscriptions, self._sender, self._detail = subscriptions, sender, detail
        self._origin = subscription.origin
        self._rejected: str | None = None
        self.rang_at: float | None = None
        self.gone: set[str] = set()
        """Asks whose notification was tapped away here."""

    @property
    def trouble(self) -> str | None:
        return self._trouble or self._rejected

    def page_of(self, path: str) -> str | None:
        return f"{self._origin}{path}"

    async def publish(self, new: Notification, alert: Alert) -> bool:
        self.gone.discard(new.id)
        keys, badge = await self._subscriptions.keys(), await self._open_asks()
        content = self.content(new, keys, badge=badge)
        until = self._clock.time() + MAX_TTL if new.until is None else new.until
        if await self._send(Message(tag=new.id, content=content, until=until)):
            self.rang_at = self._clock.time()
        return True

    def content(self, new: Notification, keys: Keys, *, badge: int) -> dict[str, Any]:
        """With a key for the step that its buttons answer, if it has some."""
        data: dict[str, Any] = {"ask": new.id}
        actions = []
        for key in new.keys:
            tap = decode(key.data)
            assert isinstance(tap, Tap)
            assert isinstance(tap.action, form.Choose)
            step, option = tap.action.step, str(tap.action.option)
            data |= {"step": step, "key": keys.answer_key(self.id, new.id, step)}
            actions.append({"action": option, "title": key.text, "navigate": new.page})
        return notification(
            tag=new.id,
            title=new.title,
            body=new.text,
            page=new.page or self._origin,
            badge=badge,
            actions=actions,
            data=data,
        )

    async def clear(self, ask: Ask) -> None:
        if ask.id in self.gone:
            self.gone.discard(ask.id)
            return
        says = "Snoozed" if ask.open else ask.status.replace("_", " ").capitalize()
        bare = self._detail == "nothing"
        content = closing(
            tag=ask.id,
            title=US if bare else line(ask.project.name),
            body="" if bare else says,
            page=f"{self._origin}/",
            badge=await self._open_asks(),
        )
        until = self._clock.time() + MAX_TTL
        await self._send(Message(tag=ask.id, content=content, until=until, rings=False))

    async def test(self) -> None:
        """Ring once. :raises ChatbridgeError: it did not work."""
        new = Notification(id=TEST, title=US, text="It rings here.", page=f"{self._origin}/push")
        await self._noted(self.publish(new, Alert.RINGS))
        if self._rejected is not None:
            raise ChatbridgeError(self._rejected)
        if self._subscriptions.get(self.id) is None:
            raise ChatbridgeError("this browser takes no notifications any more")

    async def tell(self, remark: Remark) -> None:
        """Without a sound: it can wait until somebody looks."""
        instead = "Something has changed" if self._detail == "project" else ""
        shown = notification(
            tag=remark.id,
            title=US,
            body=plain(remark.text) if self._detail == "all" else instead,
            page=f"{self._origin}/push",
            badge=await self._open_asks(),
            rings=False,
        )
        until = self._clock.time() + MAX_TTL
        await self._send(Message(tag=remark.id, content=shown, until=until, rings=False))

    async def _open_asks(self) -> int:
        return (await self._inbox.open_rows(limit=1)).total

    async def _send(self, message: Message) -> bool:
        """Whether it was taken. What is not, and never will be, is noted and let go."""
        subscription = self._subscriptions.get(self.id)
        if subscription is None:  # its log-in has ended
            await self._subscriptions.drop_closed()
            return False
        try:
            await self._sender.send(subscription, message)
        except SubscriptionGone as error:
            log.info("%s: %s (%s)", self.name, GIVEN_UP.format(subscription.name), error)
            self._subscriptions.tell_owner(GIVEN_UP.format(subscription.name), told=[self.name])
            await self._subscriptions.drop(self.id)
            return False
        except MessageRejected as error:
            self._rejected = f"{error}. The hub's log says which notification it was"
            log.error("%s: the notification %s was not taken: %s", self.name, message.tag, error)
            return False
        self._rejected = None
        return True

    # ── what it says ──────────────────────────────────────────────────────────────────────────────

    def drawn(self, card: Card) -> Notification:
        title, text = words(card, self._detail)
        return Notification(
            id=card.ask_id,
            title=title,
            text=text,
            page=self.page_of(f"/asks/{card.ask_id}"),
            keys=_keys(card) if self._detail == "all" else (),
            until=card.deadline,
        )

    def drawn_notice(self, notice: Notice) -> Notification:
        found = super().drawn_notice(notice)
        project = one_line(notice.project.name)
        kind = "An error" if notice.level is Level.ERROR else "A warning"
        return Notification(
            id=notice.id,
            title=_titled(found.title if self._detail == "all" else line(project), self._detail),
            text=_worded(found.text, kind, self._detail),
            page=self.page_of("/"),
        )

    def drawn_summary(self, summary: Summary) -> Notification:
        found = super().drawn_summary(summary)
        return Notification(
            id=found.id,
            title=_titled(found.title, self._detail),
            text="" if self._detail == "nothing" else found.text,
            page=self.page_of("/summary"),
        )


def words(card: Card, detail: Detail) -> tuple[str, str]:
    """The title and the text of what rings for a question."""
    instead = "An approval is waiting" if card.approval else "A question is waiting"
    return _titled(_title(card), detail), _worded(_body(card), instead, detail)


def _titled(title: str, detail: Detail) -> str:
    return US if detail == "nothing" else title


def _worded(text: str, instead: str, detail: Detail) -> str:
    if detail == "all":
        return shortened(" ".join(text.split()), BODY)
    return instead if detail == "project" else ""


def _title(card: Card) -> str:
    if card.what_next:
        return line(card.title)
    return line(f"{one_line(card.project)} asks{' for approval' if card.approval else ''}")


def _body(card: Card) -> str:
    question = plain(card.question or "Send these answers?")
    return f"{question} {card.subject.code}" if card.subject else question


def _keys(card: Card) -> tuple[doc.Key, ...]:
    """Both options of a question that has two, and stands alone. Approvals have none."""
    choices = card.choices if card.count == 1 and not card.approval else ()
    names = [keyboard.label_of(choice) for choice in choices]
    taps = [choice.action for choice in choices if isinstance(choice.action, form.Choose)]
    if len(taps) != BUTTONS or len(choices) != BUTTONS or any(len(it) > LABEL for it in names):
        return ()
    return tuple(
        doc.Key(text=name, data=encode(Tap(ask_id=card.ask_id, question=0, action=tap)))
        for name, tap in zip(names, taps, strict=True)
    )
