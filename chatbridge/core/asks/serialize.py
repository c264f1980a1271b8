"""Asks as JSON objects, for the inbox's API and the commands' `--json`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from chatbridge.core.cards.grants import lasting_words
from chatbridge.core.cards.outcome_text import where
from chatbridge.core.model import Agent, Answer, Ask, Attachment, Outcome, Project, Question


def ask_object(ask: Ask) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": ask.id,
        "title": ask.title,
        "status": ask.status,
        "createdAt": iso(ask.created_at),
        "deadline": iso(ask.deadline) if ask.deadline is not None else None,
        "priority": ask.attention.priority,
        "agent": agent_object(ask.agent, ask.project),
        "revision": ask.revision,
        "questions": [_question_object(q) for q in ask.questions],
        "delivered": ask.delivered_at is not None,
        "kept": ask.kept,
    }
    if ask.attachments:
        found["attachments"] = [attachment_object(each) for each in ask.attachments]
    if ask.open and ask.attention.snoozed_until is not None:
        found["snoozedUntil"] = iso(ask.attention.snoozed_until)
    if not ask.open:
        outcome = ask.outcome or Outcome(at=ask.settled_at or ask.created_at)
        found["outcome"] = outcome_object(ask.questions, outcome)
    if ask.late is not None:
        found["late"] = outcome_object(ask.questions, ask.late)
    return found


def agent_object(agent: Agent, project: Project) -> dict[str, Any]:
    return {
        "name": agent.name,
        "client": agent.client,
        "project": project.name,
        "label": project.label,
    }


def _question_object(question: Question) -> dict[str, Any]:
    options = [
        {"label": o.label}
        | ({"description": o.description} if o.description else {})
        | ({"image": attachment_object(o.image)} if o.image else {})
        for o in question.options
    ]
    found: dict[str, Any] = {
        "id": question.id,
        "question": question.text,
        "type": question.type,
        "options": options,
        "required": question.required,
    }
    if question.placeholder:
        found["placeholder"] = question.placeholder
    if question.subject:
        found["subject"] = {
            "code": question.subject.code,
            "language": question.subject.language,
            "file": question.subject.file,
            "leadsTo": question.subject.leads_to,
            "folder": question.subject.folder,
            "started": question.subject.started,
            "destructive": question.subject.destructive,
            "beyond": question.subject.beyond,
        }
    return found


def outcome_object(questions: Sequence[Question], outcome: Outcome) -> dict[str, Any]:
    found: dict[str, Any] = {
        "answers": [_answer_object(q, a) for q, a in zip(questions, outcome.answers, strict=False)],
        "at": iso(outcome.at),
    }
    if outcome.reason is not None:
        found["reason"] = outcome.reason
    if (grant := outcome.grant) is not None:
        found["grant"] = {
            "folder": grant.folder,
            "lasting": lasting_words(grant),
            "until": None if grant.until is None else iso(grant.until),
            "takenBackAt": None if grant.taken_back_at is None else iso(grant.taken_back_at),
        }
    if outcome.by is not None:
        found["by"], found["channel"] = outcome.by.name or where(outcome.by), outcome.by.channel
    return found


def _answer_object(question: Question, answer: Answer) -> dict[str, Any]:
    found: dict[str, Any] = {"questionId": question.id, "values": list(answer.values)}
    given = (answer.custom_text, answer.decided_by, answer.ask_back)
    more = zip(("customText", "decidedBy", "askBack"), given, strict=True)
    found |= {name: value for name, value in more if value is not None}
    if answer.attachments:
        found["attachments"] = [attachment_object(each) for each in answer.attachments]
    return found


def attachment_object(attachment: Attachment) -> dict[str, Any]:
    """Without a path: who may read it gets it from the inbox, by its digest."""
    found: dict[str, Any] = {
        "name": attachment.name,
        "type": attachment.type,
        "size": attachment.size,
        "digest": attachment.digest,
    }
    return found | ({"caption": attachment.caption} if attachment.caption else {})


@lru_cache(maxsize=1_000)
def iso(at: float) -> str:
    stamp = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    return stamp.replace("+00:00", "Z")
