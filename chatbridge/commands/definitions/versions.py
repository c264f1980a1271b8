"""Translates older versions of the schema into the newest, and remembers the place of everything.

Version 1 is the format of Ahma's tool files (MTDF): the command is one text, `subcommand` lists may
be nested, and options and positional values are separate. What chatbridge cannot do is a problem.
What does not change what runs is a remark. Nothing that restricts a command is dropped silently.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from chatbridge.commands.definitions.definition import (
    ARGUMENT,
    BARE,
    PROJECT,
    SCHEMA,
    WORKING_DIRECTORY,
)
from chatbridge.commands.definitions.problems import Finding, Where, described, fields, unknown

_SYNCHRONOUS = ("synchronous", "force_synchronous", "asynchronous")
_WITHOUT_EFFECT = {
    "guidance_key": "chatbridge writes the guidance for the model itself",
    "availability_check": "chatbridge looks for the program when it is needed",
    "install_instructions": "chatbridge says itself when a program is missing",
    "step_delay_ms": "there are no sequences",
    "file_arg": "the value is handed over as an argument, whatever is in it",
    "file_flag": "the value is handed over as an argument, whatever is in it",
}
_CANNOT = {
    "sequence": ("one command for each tool", "make a subcommand of each step, or write a script"),
    "input_schema": ("options of subcommands", "describe what the agent can give in options"),
    "inputSchema": ("options of subcommands", "describe what the agent can give in options"),
    "positional_args_first": ("positional values at the end", "write a script that turns them"),
}
_COMMON = ("name", "description", "enabled", "timeout_seconds", *_SYNCHRONOUS, "subcommand")
_FILE = ("$schema", "schema", *_COMMON, "command", "hints")
_SUBCOMMAND = (*_COMMON, "options", "positional_args")
_RULES = ("enum", "pattern", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems")
_OPTION = ("name", "type", "description", "required", "alias", "format", "items", *_RULES)
_ITEMS = ("type", "format", "description", *_RULES)
_FREE_VALUES = "args"
"""The option whose values came without a flag."""


@dataclass(slots=True)
class Translated:
    raw: dict[str, Any] = field(default_factory=lambda: {"schema": SCHEMA})
    problems: list[Finding] = field(default_factory=list)
    remarks: list[Finding] = field(default_factory=list)
    _origins: dict[Where, Where] = field(default_factory=lambda: {(): ()})

    def origin(self, where: Where) -> Where:
        known = where
        while known not in self._origins:
            known = known[:-1]
        return (*self._origins[known], *where[len(known) :])

    def came(self, where: Where, origin: Where) -> None:
        self._origins[where] = origin

    def problem(self, where: Where, kind: str, found: str, accepted: str, mend: str) -> None:
        self.problems.append(Finding(where, kind, found, accepted, mend))

    def move(self, into: dict[str, Any], to: Where, said: Any, at: Where) -> None:
        """Take over what both versions call the same."""
        for name in ("name", "description", "enabled"):
            if name in said:
                into[name] = said[name]
                self.came((*to, name), (*at, name))

    def inherit(self, into: dict[str, Any], to: Where, said: Inherited) -> None:
        for name, (value, origin) in said.items():
            into[name] = value
            self.came((*to, name), origin)


Inherited = Mapping[str, tuple[Any, Where]]
"""What subcommands take from what is above them, and where that is said."""


@dataclass(frozen=True, slots=True)
class _Parents:
    names: tuple[str, ...] = ()
    enabled: bool = True
    said: Inherited = field(default_factory=dict)


def first_version(raw: Mapping[str, Any]) -> Translated:
    made = Translated()
    said = _said(made, raw, (), _FILE)
    made.move(made.raw, (), said, ())
    made.inherit(made.raw, (), _inherited(made, said, ()))
    _command(made, said.get("command"))
    hints = said.get("hints", {})
    if not isinstance(hints, dict):
        accepted, mend = "an object with texts", 'write "hints": { "default": "…" }'
        made.problem(("hints",), "wrong_type", described(hints), accepted, mend)
        hints = {}
    listing = said.get("subcommand", [])
    made.raw["subcommands"] = [] if isinstance(listing, list) else listing
    made.came(("subcommands",), ("subcommand",))
    if not isinstance(listing, list):
        return made
    if listing:
        _subcommands(made, listing, ("subcommand",), _Parents())
    else:
        bare = {key: value for key, value in said.items() if key == "description"}
        _subcommand(made, {"name": BARE, **bare}, (), _Parents(names=(BARE,)))
    _advise(made, hints)
    return made


def _said(made: Translated, raw: Mapping[str, Any], where: Where, known: tuple[str, ...]) -> Any:
    """Without what says nothing and what is not known."""
    kept: dict[str, Any] = {}
    for name, value in raw.items():
        at = (*where, name)
        if value is None:
            continue
        if name in known:
            kept[name] = value
        elif name in _CANNOT:
            if value is not False:
                made.problem(at, "not_allowed", described(name), *_CANNOT[name])
        elif name in _WITHOUT_EFFECT:
            why, mend = _WITHOUT_EFFECT[name], "take it out if you like"
            made.remarks.append(Finding(at, "ignored", described(name), why, mend))
        else:
            made.problems.append(_unknown(at, known))
    return kept


def _unknown(at: Where, known: tuple[str, ...]) -> Finding:
    newer = [fields(()), fields(("subcommands", 0)), fields(("subcommands", 0, "options", 0))]
    if not any(at[-1] in names for names in newer):
        return unknown(at, [each for each in known if each[0] != "$"])
    accepted = f"what version 1 has; {described(at[-1])} is a field of version {SCHEMA}"
    mend = f'write "schema": {SCHEMA} and the whole file in that version'
    return Finding(at, "unknown_field", described(at[-1]), accepted, mend)


def _inherited(made: Translated, said: Any, at: Where) -> Inherited:
    found: dict[str, tuple[Any, Where]] = {}
    if "timeout_seconds" in said:
        found["timeout"] = said["timeout_seconds"], (*at, "timeout_seconds")
    for name in _SYNCHRONOUS:
        if name not in said:
            continue
        value = said[name]
        if name == "asynchronous" and isinstance(value, bool):
            value = not value
        before, _ = found.setdefault("synchronous", (value, (*at, name)))
        if before != value:
            what = f"{described(name)}: {described(said[name])} against what was said before"
            made.problem((*at, name), "conflict", what, "one of them", "take one of them out")
    return found


def _command(made: Translated, command: Any) -> None:
    if isinstance(command, str):
        made.raw["command"] = command.split() or [""]
        for i in range(len(made.raw["command"])):
            made.came(("command", i), ("command",))
        return
    made.raw["command"] = ["x"]
    accepted, mend = 'a text such as "git"', 'write "command": "git"'
    kind, found = (
        ("missing", 'no "command"') if command is None else ("wrong_type", described(command))
    )
    made.problem(("command",), kind, found, accepted, mend)


def _subcommands(made: Translated, listing: list[Any], at: Where, above: _Parents) -> None:
    for i, part in enumerate(listing):
        where, into = (*at, i), made.raw["subcommands"]
        if not isinstance(part, dict):
            made.came(("subcommands", len(into)), where)
            into.append(part)
            continue
        said = _said(made, part, where, _SUBCOMMAND)
        name = said.get("name")
        inside = _Parents(
            names=(*above.names, name) if isinstance(name, str) else above.names,
            enabled=above.enabled and said.get("enabled", True) is not False,
            said={**above.said, **_inherited(made, said, where)},
        )
        if isinstance(said.get("subcommand"), list) and said["subcommand"]:
            for lost in ("options", "positional_args"):
                if said.get(lost):
                    what = f"{described(lost)} beside {described('subcommand')}"
                    at_it, mend = (*where, lost), "move them inside"
                    made.problem(at_it, "conflict", what, "either of them", mend)
            _subcommands(made, said["subcommand"], (*where, "subcommand"), inside)
        else:
            _subcommand(made, said, where, inside)


def _subcommand(made: Translated, said: Any, at: Where, all_of_it: _Parents) -> None:
    to: Where = ("subcommands", len(made.raw["subcommands"]))
    made.came(to, at)
    into: dict[str, Any] = {"separator": None}
    made.raw["subcommands"].append(into)
    made.move(into, to, said, at)
    if isinstance(said.get("name"), str):
        names = [each for each in all_of_it.names if each != BARE]
        into["name"] = "_".join(names) or BARE
        into["argv"] = [word for name in names for word in name.split("_")]
    if not all_of_it.enabled:
        into["enabled"] = False
    made.inherit(into, to, all_of_it.said)
    into["options"] = []
    for listing in ("options", "positional_args"):
        options = said.get(listing, [])
        if not isinstance(options, list):
            into["options"] = options
            made.came((*to, "options"), (*at, listing))
            return
        for i, option in enumerate(options):
            _option(made, into, to, option, (*at, listing, i))


def _option(made: Translated, into: dict[str, Any], to: Where, option: Any, at: Where) -> None:
    positional = at[-2] == "positional_args"
    place = (*to, "options", len(into["options"]))
    if not isinstance(option, dict):
        made.came(place, at)
        into["options"].append(option)
        return
    said = _said(made, option, at, _OPTION)
    name = said.get("name")
    if name == WORKING_DIRECTORY:
        into["workingDirectory"] = ARGUMENT
        return
    made.came(place, at)
    new = {key: said[key] for key in ("name", "type", "description", "required") if key in said}
    new |= {key: said[key] for key in _RULES if key in said}
    if positional or (name == _FREE_VALUES and said.get("type") == "array"):
        new["positional"] = True
    elif isinstance(name, str):
        new |= _flag(name, said)
    if isinstance(name, str):
        new["name"] = name.lstrip("-").replace("-", "_")
    _path(made, new, place, said, at)
    if isinstance(said.get("items"), dict):
        inner = _said(made, said["items"], (*at, "items"), _ITEMS)
        new["items"] = {key: inner[key] for key in ("type", *_RULES) if key in inner}
        _path(made, new["items"], (*place, "items"), inner, (*at, "items"))
    elif "items" in said:
        new["items"] = said["items"]
    into["options"].append(new)


def _flag(name: str, said: Any) -> dict[str, Any]:
    switch, alias = said.get("type") == "boolean", said.get("alias")
    if name.startswith("-"):
        flag = name
    elif switch and isinstance(alias, str) and alias:
        flag = alias if alias.startswith("-") else f"-{alias}"
    else:
        flag = f"--{name}"
    one_dash = not flag.startswith("--")
    return {"flag": flag, "style": "separate"} if one_dash and not switch else {"flag": flag}


def _path(made: Translated, new: dict[str, Any], place: Where, said: Any, at: Where) -> None:
    if said.get("format") == "path":
        new["within"] = [PROJECT]
        made.came((*place, "within"), (*at, "format"))
    elif "format" in said:
        accepted, mend = 'only "path" makes a difference', "say it with pattern in version 2"
        remark = Finding((*at, "format"), "ignored", described(said["format"]), accepted, mend)
        made.remarks.append(remark)


def _advise(made: Translated, hints: Mapping[str, Any]) -> None:
    """Hints for one subcommand go there, and the others to all of them."""
    custom = hints.get("custom")
    texts = {**hints, **(custom if isinstance(custom, dict) else {})}
    special = {name: text for name, text in texts.items() if isinstance(text, str) and text}
    common = [special.pop("default")] if "default" in special else []
    parts = [part for part in made.raw["subcommands"] if isinstance(part, dict)]
    names = {str(part.get("name")) for part in parts}
    common += [text for name, text in special.items() if name not in names]
    if common:
        made.raw["hints"] = common
    for part in parts:
        if str(part.get("name")) in special:
            part["hints"] = [special[str(part["name"])], *common]
