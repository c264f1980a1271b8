"""Question sets as agents send them to auq's tools, and the texts that they get, from the files in
`golden/auq`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

Json = dict[str, Any]

FOLDER = Path(__file__).parent / "golden" / "auq"
SESSION = "a3f2e8b1-5c7d-4e9f-8a0b-1c2d3e4f5a6b"
"""The session in the files."""

DATABASE: Json = {
    "prompt": "Which database should the tests use?",
    "title": "Database",
    "options": [
        {"label": "PostgreSQL (recommended)", "description": "One container for each run"},
        {"label": "SQLite"},
    ],
    "multiSelect": False,
}
CHECKS: Json = {
    "prompt": "Which checks must pass?",
    "title": "Checks",
    "options": [
        {"label": "Unit tests", "description": "About two minutes"},
        {"label": "Contract tests"},
        {"label": "Load test", "description": "An hour"},
    ],
    "multiSelect": True,
}
BOTH: Json = {"questions": [DATABASE, CHECKS]}
ONE: Json = {"questions": [DATABASE]}


def about(name: str, *questions: Json) -> Json:
    """A set of one's own: these words are asked nowhere else."""
    asked = [{**question, "title": name} for question in questions or (DATABASE,)]
    asked[0]["prompt"] = f"{name}?"
    return {"questions": asked}


def golden(name: str, *, session: str = SESSION) -> str:
    """The text in this file, as it is for this session."""
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").removesuffix("\n")
    return text.replace(SESSION, session).replace(SESSION[:8], session[:8])
