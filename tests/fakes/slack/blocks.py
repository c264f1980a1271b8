"""What Slack takes as blocks and as a modal: its documented limits, with where something is wrong.

Not confirmed by a real workspace: the sum of 13,200 characters (a report about bolt-js, number
2509), whether options of a menu count in it, and a limit of rich text of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

MOST_BLOCKS, MOST_CHARACTERS = 50, 13_200
STYLES = {"bold", "italic", "strike", "code"}
PARTS = {
    "rich_text_section": {"text", "user", "date", "link", "emoji", "channel"},
    "rich_text_quote": {"text", "user", "date", "link", "emoji", "channel"},
    "rich_text_preformatted": {"text", "link"},
}
IN_ACTIONS = {"button", "static_select", "checkboxes"}
"""A menu for several choices is taken beside a section and in an input only."""
LIMITS = {"checkboxes": 10, "static_select": 100, "multi_static_select": 100}


def problems(blocks: object) -> list[str]:
    """As Slack lists them in `response_metadata.messages`."""
    if not isinstance(blocks, list):
        return ["must provide an array [json-pointer:/blocks]"]
    return [f"[ERROR] {each}" for each in _all(blocks)]


def characters(found: object) -> int:
    if isinstance(found, str):
        return len(found)
    if isinstance(found, dict):
        texts = (each for name, each in found.items() if name in TEXTS or not isinstance(each, str))
        return sum(map(characters, texts))
    return sum(map(characters, found)) if isinstance(found, list) else 0


TEXTS = ("text", "value", "fallback")


def _all(blocks: list[Any]) -> Iterator[str]:
    if len(blocks) > MOST_BLOCKS:
        yield f"no more than {MOST_BLOCKS} items allowed [json-pointer:/blocks]"
    names = [each.get("block_id") for each in blocks if each.get("block_id")]
    if len(names) != len(set(names)):
        yield "block_id must be unique [json-pointer:/blocks]"
    actions = [name for each in blocks for name in _action_ids(each)]
    if len(actions) != len(set(actions)):
        yield "`action_id` already exists in blocks [json-pointer:/blocks]"
    for i, block in enumerate(blocks):
        at = f"/blocks/{i}"
        if len(block.get("block_id", "")) > 255:
            yield f"must be less than 256 characters [json-pointer:{at}/block_id]"
        match block.get("type"):
            case "rich_text":
                yield from _fields(block, at, {"elements"})
                yield from _rich_text(block, at)
            case "actions":
                yield from _fields(block, at, {"elements"})
                yield from _actions(block, at)
            case "section":
                yield from _fields(block, at, {"text", "accessory"})
                yield from _plain(block.get("text"), f"{at}/text", 3_000)
                if accessory := block.get("accessory"):
                    yield from _element(accessory, f"{at}/accessory")
            case "input":
                yield from _fields(block, at, {"label", "element", "optional", "hint"})
                yield from _plain(block.get("label"), f"{at}/label", 2_000)
                yield from _input(block.get("element"), f"{at}/element")
            case other:
                yield f"unsupported type: {other} [json-pointer:{at}/type]"


def _action_ids(block: Json) -> list[str]:
    elements = [*block.get("elements", ()), block.get("accessory") or {}]
    return [
        each["action_id"] for each in elements if isinstance(each, dict) and "action_id" in each
    ]


def _fields(found: Json, at: str, allowed: set[str]) -> Iterator[str]:
    for name in found.keys() - allowed - {"type", "block_id", "action_id"}:
        yield f"invalid additional property: {name} [json-pointer:{at}]"


def _rich_text(block: Json, at: str) -> Iterator[str]:
    if not block.get("elements"):
        yield f"must have at least 1 item [json-pointer:{at}/elements]"
    for i, element in enumerate(block.get("elements", ())):
        here = f"{at}/elements/{i}"
        allowed = PARTS.get(element.get("type"))
        if allowed is None:
            yield f"unsupported type: {element.get('type')} [json-pointer:{here}/type]"
            continue
        if not element.get("elements"):
            yield f"must have at least 1 item [json-pointer:{here}/elements]"
        for j, part in enumerate(element.get("elements", ())):
            where = f"{here}/elements/{j}"
            if part.get("type") not in allowed:
                yield f"unsupported type: {part.get('type')} [json-pointer:{where}/type]"
            if part.get("type") == "text" and not part.get("text"):
                yield f"must be more than 0 characters [json-pointer:{where}/text]"
            if part.get("type") == "date" and type(part.get("timestamp")) is not int:
                yield f"must provide an integer [json-pointer:{where}/timestamp]"
            if part.get("type") == "date" and not part.get("format"):
                yield f"must provide a string [json-pointer:{where}/format]"
            if unknown := {*part.get("style", {})} - STYLES:
                yield f"invalid additional property: {unknown} [json-pointer:{where}/style]"


def _actions(block: Json, at: str) -> Iterator[str]:
    elements = block.get("elements") or ()
    if not 1 <= len(elements) <= 25:
        yield f"must have 1 to 25 items [json-pointer:{at}/elements]"
    for i, element in enumerate(elements):
        here = f"{at}/elements/{i}"
        if element.get("type") not in IN_ACTIONS:
            yield f"unsupported type: {element.get('type')} [json-pointer:{here}/type]"
        yield from _element(element, here)


def _element(element: Json, at: str) -> Iterator[str]:
    if not 1 <= len(element.get("action_id", "x")) <= 255:
        yield f"must be less than 256 characters [json-pointer:{at}/action_id]"
    if element.get("type") == "button":
        yield from _fields(element, at, {"text", "value", "style", "url"})
        yield from _plain(element.get("text"), f"{at}/text", 75)
        if len(element.get("value", "")) > 2_000:
            yield f"must be less than 2001 characters [json-pointer:{at}/value]"
        if element.get("style", "primary") not in ("primary", "danger"):
            yield f"must be one of primary, danger [json-pointer:{at}/style]"
        return
    most, options = LIMITS.get(str(element.get("type")), 0), element.get("options") or ()
    yield from _fields(element, at, {"options", "initial_options", "placeholder"})
    if not 1 <= len(options) <= most:
        yield f"must have 1 to {most} items [json-pointer:{at}/options]"
    for i, option in enumerate(options):
        here = f"{at}/options/{i}"
        yield from _fields(option, here, {"text", "value", "description"})
        yield from _plain(option.get("text"), f"{here}/text", 75)
        if not 1 <= len(option.get("value", "")) <= 150:
            yield f"must be less than 151 characters [json-pointer:{here}/value]"
    values = [each.get("value") for each in options]
    if len(values) != len(set(values)):
        yield f"values must be unique [json-pointer:{at}/options]"
    initial = element.get("initial_options")
    if initial is not None and (not initial or any(each not in options for each in initial)):
        yield f"must be some of the options [json-pointer:{at}/initial_options]"
    if placeholder := element.get("placeholder"):
        yield from _plain(placeholder, f"{at}/placeholder", 150)


def _input(element: Any, at: str) -> Iterator[str]:
    if not isinstance(element, dict) or element.get("type") != "plain_text_input":
        yield f"unsupported type [json-pointer:{at}/type]"
        return
    yield from _fields(
        element, at, {"multiline", "max_length", "placeholder", "focus_on_load", "initial_value"}
    )
    if not 1 <= element.get("max_length", 3_000) <= 3_000:
        yield f"must be less than 3001 [json-pointer:{at}/max_length]"
    if placeholder := element.get("placeholder"):
        yield from _plain(placeholder, f"{at}/placeholder", 150)


def _plain(text: Any, at: str, limit: int) -> Iterator[str]:
    if not isinstance(text, dict) or text.get("type") != "plain_text":
        yield f"must be plain_text [json-pointer:{at}]"
    elif not 1 <= len(text.get("text", "")) <= limit:
        yield f"must be 1 to {limit} characters [json-pointer:{at}/text]"


def modal_problems(view: Any) -> list[str]:
    if not isinstance(view, dict) or view.get("type") != "modal":
        return ["[ERROR] unsupported type [json-pointer:/view/type]"]
    found = [*problems(view.get("blocks"))]
    for name in ("title", "submit", "close"):
        found += _plain(view.get(name), f"/view/{name}", 24)
    for name, limit in (("private_metadata", 3_000), ("callback_id", 255)):
        if len(view.get(name, "")) > limit:
            found.append(f"[ERROR] must be less than {limit + 1} characters [{name}]")
    return found


def words(blocks: object) -> str:
    """What a person reads of a message's blocks."""
    lines: list[str] = []
    for block in blocks if isinstance(blocks, list) else ():
        if block["type"] == "rich_text":
            for element in block["elements"]:
                parts = (
                    each.get("text") or each.get("fallback") or f"@{each.get('user_id')}"
                    for each in element["elements"]
                )
                lines.append("".join(parts))
        for element in (*block.get("elements", ()), block.get("accessory") or {}):
            if "text" in element and element.get("type") == "button":
                lines.append(element["text"]["text"])
            lines += (option["text"]["text"] for option in element.get("options", ()))
    return "\n".join(lines)
