"""The journal's YAML: one answer as a file, and many as a summary. Nothing here touches a disk.

Imported only where it is used: PyYAML would cost every hub's start some time.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import yaml

from chatbridge.tools.journal.journal import Entry, canonical

MAX_EVENTS = 1_000
"""Steps of reading one file; an answer takes a dozen."""
NAMED_AT_MOST = 20
"""Files in the comments of a summary that were passed over."""


_Loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""In C, where PyYAML was built so. Both make nothing but texts."""


class _Quoted(str):
    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    """Keys as they are, values in double quotes: no text can be taken for anything else."""


_Dumper.add_representer(
    _Quoted, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')
)


def written(entry: Entry) -> str:
    at = entry.timestamp
    return f"# Saved at {at[:10]} {at[11:19]} UTC\n{_mapping(entry)}"


def parsed(text: str, *, otherwise_at: str) -> Entry:
    """What a file says, also one that was written by hand, where a time may be missing. :raises
    ValueError: it is no answer, and why."""
    try:
        found = _top_level(text)
    except (yaml.YAMLError, OverflowError):  # the latter where PyYAML was built without its C part
        raise ValueError("not YAML") from None
    given: dict[str, Any] = {}
    for name in ("question", "answer"):
        if found.get(name) is None:
            raise ValueError(f"no {name}")
        given[name] = found[name]
    timestamp = canonical(found.get("timestamp") or "")
    return Entry(timestamp=timestamp or otherwise_at, **given)


def _top_level(text: str) -> dict[str, str | None]:
    """The mapping that a text consists of, with its values as they are spelt: "answer: yes" is no
    truth value, a time no date. What is no plain value is None. Read step by step, so that a file
    which somebody made to be hard work is given up soon. :raises ValueError: it is something
    else."""
    found: dict[str, str | None] = {}
    depth, key, at_key = 0, None, True
    for count, event in enumerate(yaml.parse(text, Loader=_Loader)):
        if count > MAX_EVENTS:
            raise ValueError("too much beside question and answer")
        if isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.NodeEvent):
            value = event.value if isinstance(event, yaml.ScalarEvent) else None
            if depth == 0 and (found or not isinstance(event, yaml.MappingStartEvent)):
                break
            if depth == 1 and at_key:
                key, at_key = value, False
            elif depth == 1:
                found |= {} if key is None else {key: value}
                at_key = True
            depth += isinstance(event, yaml.CollectionStartEvent)
    else:
        if found:
            return found
    raise ValueError("no question and answer")


def summary(
    entries: Sequence[str],
    *,
    total: int,
    generated: str,
    left_out: int = 0,
    skipped: Sequence[tuple[str, str]] = (),
) -> str:
    """`entries`, as `listed` writes them, under comments about the rest: what was left out because
    all would be too long, and files that could not be read."""
    lines = [
        "# Question/Answer History",
        f"# Generated: {generated}",
        f"# Total Q&A Pairs: {total}",
    ]
    if left_out:
        lines.append(f"# Left out: {left_out}, as the summary would be too long")
    # As JSON strings in ASCII: a file's name may hold whatever a comment must not.
    lines += [f"# Skipped: {json.dumps(name)} ({why})" for name, why in skipped[:NAMED_AT_MOST]]
    if len(skipped) > NAMED_AT_MOST:
        lines.append(f"# Skipped: {len(skipped) - NAMED_AT_MOST} more files")
    head = "\n".join(lines)
    if not entries:
        return f"{head}\n\nentries: []\n"
    return f"{head}\n\nentries:\n" + "\n".join(entries)


def listed(entry: Entry) -> str:
    """One entry of a summary. Quoted values have no line breaks, so indenting cannot change one."""
    return "  - " + _mapping(entry).replace("\n", "\n    ", 2)


def _mapping(entry: Entry) -> str:
    values = {name: _Quoted(text) for name, text in asdict(entry).items()}
    text: str = yaml.dump(
        values, Dumper=_Dumper, allow_unicode=True, width=math.inf, sort_keys=False
    )
    return text
