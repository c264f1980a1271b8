"""The licences of what chatbridge needs to run, as the packages say themselves: the table at the
end of `docs/licences.md`. Written anew by `python -m tests.packages.licences`.

Which packages these are is read from requirements.txt, where uv notes what each is there for.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "licences.md"
HEADING = "## The list\n"
ENTRY = re.compile(
    r"^(?P<name>[\w.-]+)==\S+(?: ; (?P<marker>.*))?\n(?P<via>(?:    #.*\n?)+)", re.MULTILINE
)
PARENT = re.compile(r"^    #(?: via|  ) ([\w.-]+)$", re.MULTILINE)
TEXT = re.compile("licen[cs]e|copying", re.IGNORECASE)
ELSEWHERE = ("== 'win32'", "== 'emscripten'")
SHORT = {
    "Apache 2.0": "Apache-2.0",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
IN_THEIR_FILE = {
    "hyperframe": ("MIT", "The MIT License (MIT)"),
    "jinja2": ("BSD-3-Clause", "Neither the name of the copyright holder"),
    "matrix-nio": ("ISC", "Internet Systems Consortium license"),
    "peewee": ("MIT", "Permission is hereby granted, free of charge"),
    "prompt-toolkit": ("BSD-3-Clause", "Neither the name of the {organization}"),
    "segno": ("BSD-3-Clause", "Neither the name of the copyright holder"),
    "uvloop": ("MIT OR Apache-2.0", "Apache License"),
    "vodozemac": ("MIT", "Permission is hereby granted, free of charge"),
}
"""Those whose metadata name none, or leave open which; and words of the text that says so."""


def table() -> str:
    base = needed(requirements("dependencies"))
    wanted = {name: ["chatbridge"] for name in base}
    for extra in ("matrix", "slack", "discord", "postgres", "pictures"):
        for name in needed([*base, *requirements(extra)]) - base:
            wanted.setdefault(name, []).append(f"`chatbridge-mcp[{extra}]`")
    lines = ["| package | licence | needed for |", "|---|---|---|"]
    lines += [
        f"| {name} | {licence(name)} | {', '.join(wanted[name])} |" for name in sorted(wanted)
    ]
    return "\n".join(lines) + "\n"


def requirements(kind: str) -> list[str]:
    """The names that pyproject.toml has in `dependencies`, or under an extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = {**project["optional-dependencies"], "dependencies": project["dependencies"]}[kind]
    return [re.split(r"[\[<>=;\s]", each)[0] for each in listed]


def needed(names: Iterable[str]) -> set[str]:
    """These, and what they need in turn, on Linux."""
    found = set(names)
    parents = dict(_locked())
    while more := {it for it, via in parents.items() if via & found} - found:
        found |= more
    return found


def _locked() -> Iterator[tuple[str, set[str]]]:
    for entry in ENTRY.finditer((ROOT / "requirements.txt").read_text()):
        if not any(system in (entry["marker"] or "") for system in ELSEWHERE):
            yield entry["name"], set(PARENT.findall(entry["via"]))


def licence(name: str) -> str:
    if name in IN_THEIR_FILE:
        short, words = IN_THEIR_FILE[name]
        assert words in licence_text(name), f"the licence of {name} has changed"
        return short
    told = distribution(name).metadata.json
    kinds = [it.rpartition(" :: ")[2] for it in told.get("classifier", []) if "License" in it]
    found = str(told.get("license_expression") or told.get("license") or " ".join(kinds))
    assert found, f"{name} names no licence: read its file"
    return SHORT.get(found, found)


def licence_text(name: str) -> str:
    files = [it for it in distribution(name).files or () if TEXT.search(it.name)]
    return "\n".join(Path(str(it.locate())).read_text(encoding="utf-8") for it in files)


def main() -> None:
    before, heading, _ = PAGE.read_text().partition(HEADING)
    PAGE.write_text(f"{before}{heading}\n{table()}")


if __name__ == "__main__":
    main()
