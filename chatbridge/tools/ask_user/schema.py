"""The input schema of `ask_user`, as clients and their models read it, with the limits in force.

Written by hand: a generated one has references and unions that some clients cannot take.
"""

from __future__ import annotations

from typing import Any

from chatbridge.core.model import QuestionType
from chatbridge.tools.ask_user.arguments import (
    ASKED_TYPES,
    MAX_OPTIONS,
    MAX_QUESTION,
    MAX_QUESTIONS,
    MAX_TITLE,
    SHORTEST_TIMEOUT,
    Limits,
)

_OPTION = {
    "type": "object",
    "properties": {
        "label": {"type": "string", "description": "What the person taps; short"},
        "description": {"type": "string", "description": "What choosing it means"},
    },
    "required": ["label"],
}
_OPTIONS = {
    "type": "array",
    "description": "Options, as texts or as objects with label and description",
    "items": {"anyOf": [{"type": "string"}, _OPTION]},
    "maxItems": MAX_OPTIONS,
}


def input_schema(limits: Limits) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "questions": {
                "type": "array",
                "description": "The questions, asked one after another; 1 to 3 are best",
                "minItems": 1,
                "maxItems": MAX_QUESTIONS,
                "items": _question_schema(),
            },
            "title": {
                "type": "string",
                "description": "A heading that says what it is all about",
                "maxLength": MAX_TITLE,
            },
            "timeout": {
                "type": "integer",
                "description": "How long to wait for the person, in milliseconds",
                "minimum": int(SHORTEST_TIMEOUT * 1000),
                "maximum": int(limits.longest * 1000),
                "default": int(limits.default * 1000),
            },
            "question": {
                "type": "string",
                "description": "One question, instead of questions; without options a free text",
            },
            "options": {**_OPTIONS, "description": "Options of the one question"},
            "multiSelect": {
                "type": "boolean",
                "description": "Whether several options of the one question may be chosen",
                "default": False,
            },
            "wait": {
                "type": "boolean",
                "description": "false: return a ticket at once and fetch the answer later with "
                "wait_for_answer",
                "default": True,
            },
        },
    }


def _question_schema() -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "Comes back as questionId; optional"},
            "question": {
                "type": "string",
                "description": "The question; basic markdown is shown",
                "minLength": 1,
                "maxLength": MAX_QUESTION,
            },
            "type": {
                "type": "string",
                "enum": [*ASKED_TYPES],
                "default": str(QuestionType.TEXT),
                "description": "text, one option, several options, or yes/no",
            },
            "options": _OPTIONS,
            "required": {
                "type": "boolean",
                "default": True,
                "description": "false: the person may skip it",
            },
            "placeholder": {"type": "string", "description": "An example shown in a text field"},
            "onTimeout": {
                "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
                "description": "What to assume if nobody answers; used only where the owner "
                "allows it, never for confirm",
            },
        },
        "required": ["question"],
    }
