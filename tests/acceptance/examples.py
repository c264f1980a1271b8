"""The examples of the two documents behind `ask_user`, with what their person does, to the letter.

Generated question ids differ from call to call: they are written as None here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    name: str
    arguments: Json
    given: tuple[Json, ...] | None
    """The person's answers; None: they cancel."""
    output: Json | str


def _answered(*answers: Json) -> Json:
    return {"answered": True, "cancelled": False, "timedOut": False, "answers": list(answers)}


def _one(*values: str) -> Json:
    return _answered({"questionId": None, "values": list(values)})


_DELETION: Json = {
    "questions": [{"question": "This will delete 15 files. Are you sure?", "type": "confirm"}],
    "title": "Confirm Deletion",
}

QUESTIONS_EXAMPLES = (
    Example(
        name="1 text",
        arguments={
            "questions": [
                {
                    "question": "What would you like to name this function?",
                    "type": "text",
                    "placeholder": "e.g., processUserData",
                }
            ]
        },
        given=({"values": ["handleUserSubmission"]},),
        output=_one("handleUserSubmission"),
    ),
    Example(
        name="2 select",
        arguments={
            "questions": [
                {
                    "question": "Which framework would you prefer?",
                    "type": "select",
                    "options": ["React", "Vue", "Svelte", "Solid"],
                }
            ],
            "title": "Framework Selection",
        },
        given=({"values": ["Solid"]},),
        output=_one("Solid"),
    ),
    Example(
        name="3 confirmed",
        arguments=_DELETION,
        given=({"values": ["yes"]},),
        output=_one("yes"),
    ),
    Example(
        name="3 declined",
        arguments=_DELETION,
        given=({"values": ["no"]},),
        output=_one("no"),
    ),
    Example(
        name="4 several",
        arguments={
            "questions": [
                {
                    "id": "name",
                    "question": "What should the component be called?",
                    "type": "text",
                },
                {
                    "id": "style",
                    "question": "Which styling approach?",
                    "type": "select",
                    "options": ["CSS Modules", "Styled Components", "Tailwind", "Plain CSS"],
                },
                {
                    "id": "features",
                    "question": "Which features should be included?",
                    "type": "multi-select",
                    "options": ["Loading state", "Error handling", "Animation", "Accessibility"],
                },
            ],
            "title": "Component Configuration",
        },
        given=(
            {"values": ["UserProfileCard"]},
            {"values": ["Tailwind"]},
            {"values": ["Loading state", "Error handling", "Accessibility"]},
        ),
        output=_answered(
            {"questionId": "name", "values": ["UserProfileCard"]},
            {"questionId": "style", "values": ["Tailwind"]},
            {
                "questionId": "features",
                "values": ["Loading state", "Error handling", "Accessibility"],
            },
        ),
    ),
    Example(
        name="5 cancelled",
        arguments={"questions": [{"question": "Any additional requirements?"}]},
        given=None,
        output={"answered": False, "cancelled": True, "timedOut": False, "answers": []},
    ),
)

TIMEOUT = Example(
    name="6 timed out",
    arguments={
        "questions": [{"question": "Please confirm within 30 seconds", "type": "confirm"}],
        "timeout": 30000,
    },
    given=(),
    output={"answered": False, "cancelled": False, "timedOut": True, "answers": []},
)

_OPTIONS = [
    {"label": "Option A", "description": "The first"},
    {"label": "Option B", "description": "The second"},
    {"label": "Option C"},
]

SINGLE_EXAMPLES = (
    Example(
        name="selected",
        arguments={"question": "Which way?", "options": _OPTIONS},
        given=({"values": ["Option A"]},),
        output="User selected: Option A",
    ),
    Example(
        name="selected several",
        arguments={"question": "Which ways?", "options": _OPTIONS, "multiSelect": True},
        given=({"values": ["Option C", "Option A"]},),
        output="User selected: Option A, Option C",
    ),
    Example(
        name="selected and other",
        arguments={"question": "Which ways else?", "options": _OPTIONS, "multiSelect": True},
        given=({"values": ["Option B"], "customText": "Option D"},),
        output="User selected: Option B, Other: Option D",
    ),
    Example(
        name="only other",
        arguments={"question": "Which way else?", "options": _OPTIONS},
        given=({"customText": "neither of them"},),
        output="User answered: neither of them",
    ),
    Example(
        name="free text",
        arguments={"question": "What should it be called?"},
        given=({"values": ["handleUserSubmission"]},),
        output="User answered: handleUserSubmission",
    ),
)

SINGLE_TIMEOUT = Example(
    name="not answered",
    arguments={"question": "Is anybody there?", "timeout": 10000},
    given=(),
    output="User did not respond within the timeout period. Proceeding with your best judgment.",
)
