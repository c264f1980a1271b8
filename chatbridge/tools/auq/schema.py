"""The input schemas of auq's tools, as models read them, with the limits in force.

Written by hand, as `ask_user`'s is.
"""

from __future__ import annotations

from typing import Any

from chatbridge.tools.auq.arguments import FEWEST_OPTIONS, Limits
from chatbridge.tools.auq.results import SHORT


def ask_schema(limits: Limits) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "questions": {
                "type": "array",
                "description": "The questions, asked one after another; 1 to 3 are best",
                "minItems": 1,
                "maxItems": limits.questions,
                "items": _question(limits),
            },
            "nonBlocking": {
                "type": "boolean",
                "description": "true: return at once and fetch the answers later with "
                "get_answered_questions",
                "default": False,
            },
        },
        "required": ["questions"],
    }


def fetch_schema() -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "session_id": {
                "type": "string",
                "description": f"The session's id, whole or its first {SHORT} characters",
                "minLength": SHORT,
            },
            "blocking": {
                "type": "boolean",
                "description": "true: wait until the person has answered",
                "default": False,
            },
        },
        "required": ["session_id"],
    }


def _question(limits: Limits) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "prompt": {
                "type": "string",
                "description": "The whole question; basic markdown is shown",
                "minLength": 1,
            },
            "title": {
                "type": "string",
                "description": 'A name of one or two words for it, such as "Database"',
                "minLength": 1,
            },
            "options": {
                "type": "array",
                "description": "What can be chosen, without an Other: that one is always there",
                "minItems": FEWEST_OPTIONS,
                "maxItems": limits.options,
                "items": {
                    "type": "object",
                    "properties": {
                        "label": {
                            "type": "string",
                            "description": "What the person taps; short. Your advice ends in "
                            '"(recommended)"',
                            "minLength": 1,
                        },
                        "description": {
                            "type": "string",
                            "description": "What choosing it means",
                        },
                    },
                    "required": ["label"],
                },
            },
            "multiSelect": {
                "type": "boolean",
                "description": "true: any number of options may be chosen, also none",
                "default": False,
            },
        },
        "required": ["prompt", "title", "options"],
    }
