"""What Discord takes: lengths and shapes of messages, components and modals, with its own words for
what is wrong. From discord-api-docs: resources/message, components/reference."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

CONTENT, V2_TEXT, V2_COMPONENTS = 2_000, 4_000, 40
ROWS, A_ROW, OPTIONS = 5, 5, 25
SUPPRESS_EMBEDS, EPHEMERAL, SILENT, VOICE, V2 = 1 << 2, 1 << 6, 1 << 12, 1 << 13, 1 << 15
SENDABLE = SUPPRESS_EMBEDS | SILENT | V2
FILE_BYTES, REQUEST_BYTES, FILES, DESCRIPTION = 20 * 1024 * 1024, 25 * 1024 * 1024, 10, 1_024
"""Of a file since September 2026, of a request with all of them; how many a message has, and what
each is described with."""


class Refused(Exception):
    """An answer that is none of the good ones."""

    def __init__(self, status: int, code: int, message: str, errors: Json | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body: Json = {"message": message, "code": code}
        if errors:
            self.body["errors"] = errors


def invalid(field: str, code: str, message: str) -> Refused:
    """50035, with where it is wrong."""
    errors: Json = {"_errors": [{"code": code, "message": message}]}
    for name in reversed(field.split(".")):
        errors = {name: errors}
    return Refused(400, 50035, "Invalid Form Body", errors)


def length(value: object, field: str, least: int, most: int) -> None:
    if not isinstance(value, str):
        raise invalid(field, "STRING_TYPE_CONVERT", "Could not interpret value as string.")
    if len(value) > most:
        said = f"Must be {most} or fewer in length."
        raise invalid(field, "BASE_TYPE_MAX_LENGTH", said)
    if len(value) < least:
        raise invalid(field, "BASE_TYPE_BAD_LENGTH", f"Must be between {least} and {most}.")


def check_message(body: Json, *, files: int = 0, flags: int = 0, was_v2: bool = False) -> None:
    """A message to be sent or, if it `was` one before, edited."""
    is_v2 = bool(flags & V2) or was_v2
    content, components = body.get("content"), body.get("components") or []
    if is_v2 and content:
        said = "The 'content' field cannot be used when using MessageFlags.IS_COMPONENTS_V2"
        raise invalid("content", "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", said)
    if content is not None:
        length(content, "content", 0, CONTENT)
    mentions = body.get("allowed_mentions")
    if mentions is not None and set(mentions) - {"parse", "users", "roles", "replied_user"}:
        raise invalid("allowed_mentions", "DICT_TYPE_CONVERT", "Unknown field.")
    if not (content and content.strip()) and not components and not files:
        raise Refused(400, 50006, "Cannot send an empty message")
    check_components(components, v2=is_v2)


def check_files(body: Json, files: dict[int, tuple[str, bytes]]) -> None:
    """Those of a message, by their numbers."""
    sizes = [len(content) for _, content in files.values()]
    if sum(sizes) > REQUEST_BYTES or any(size > FILE_BYTES for size in sizes):
        raise Refused(413, 40005, "Request entity too large")
    if len(files) > FILES:
        raise invalid("attachments", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.")
    for i, each in enumerate(body.get("attachments") or ()):
        if each.get("id") not in files:
            said = "Attachment data not found"
            raise invalid(f"attachments.{i}.id", "ATTACHMENT_NOT_FOUND", said)
        length(each.get("filename", ""), f"attachments.{i}.filename", 0, 1024)
        length(each.get("description", ""), f"attachments.{i}.description", 0, DESCRIPTION)


def check_components(components: list[Json], *, v2: bool) -> None:
    seen: set[str] = set()
    rows = [each for each in components if each.get("type") == 1]
    texts = [each for each in components if each.get("type") == 10]
    if len(rows) + len(texts) != len(components) or (texts and not v2):
        raise invalid("components", "UNION_TYPE_CHOICES", "Value of field must be one of (1,).")
    if not v2 and len(rows) > ROWS:
        raise invalid("components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
    if v2 and sum(len(row["components"]) + 1 for row in rows) + len(texts) > V2_COMPONENTS:
        raise invalid("components", "BASE_TYPE_BAD_LENGTH", "Must be 40 or fewer in total.")
    if sum(len(text.get("content") or "") for text in texts) > V2_TEXT:
        said = "The total text of all components must be 4000 or fewer in length."
        raise invalid("components", "COMPONENT_MAX_TOTAL_TEXT_SIZE_EXCEEDED", said)
    for text in texts:
        length(text.get("content"), "components.content", 1, V2_TEXT)
    for i, row in enumerate(rows):
        inside, where = row.get("components") or [], f"components.{i}.components"
        selects = [each for each in inside if each.get("type") == 3]
        if not 1 <= len(inside) <= A_ROW or (selects and len(inside) > 1):
            raise invalid(where, "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
        for each in inside:
            _check_button(each, where) if each.get("type") == 2 else _check_select(each, where)
            name = each.get("custom_id")
            if name is not None and name in seen:
                said = "Component custom id cannot be duplicated"
                raise invalid(where, "COMPONENT_CUSTOM_ID_DUPLICATED", said)
            seen.add(str(name))


def _check_button(button: Json, where: str) -> None:
    length(button.get("label"), f"{where}.label", 1, 80)
    if button.get("style") == 5:
        length(button.get("url"), f"{where}.url", 1, 512)
        if "custom_id" in button:
            said = "A custom id and url cannot both be specified"
            raise invalid(where, "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE", said)
        return
    if button.get("style") not in (1, 2, 3, 4):
        raise invalid(f"{where}.style", "BASE_TYPE_CHOICES", "Value must be one of {1, 2, 3, 4}.")
    length(button.get("custom_id"), f"{where}.custom_id", 1, 100)


def _check_select(select: Json, where: str) -> None:
    if select.get("type") != 3:
        raise invalid(where, "UNION_TYPE_CHOICES", "Value of field must be one of (2, 3).")
    length(select.get("custom_id"), f"{where}.custom_id", 1, 100)
    length(select.get("placeholder", ""), f"{where}.placeholder", 0, 150)
    options, values = select.get("options") or [], set()
    if not 1 <= len(options) <= OPTIONS:
        raise invalid(f"{where}.options", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 25.")
    least, most = select.get("min_values", 1), select.get("max_values", 1)
    if not 0 <= least <= most <= len(options):
        raise invalid(where, "COMPONENT_SELECT_VALUES", "min_values, max_values and options")
    for option in options:
        length(option.get("label"), f"{where}.options.label", 1, 100)
        length(option.get("value"), f"{where}.options.value", 1, 100)
        if option["value"] in values:
            said = "The specified option value is already used"
            raise invalid(where, "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED", said)
        values.add(option["value"])
    if sum(bool(option.get("default")) for option in options) > most:
        raise invalid(where, "SELECT_COMPONENT_MAX_DEFAULTS", "Too many defaults")


def check_modal(modal: Json) -> None:
    length(modal.get("custom_id"), "data.custom_id", 1, 100)
    length(modal.get("title"), "data.title", 1, 45)
    labels = modal.get("components") or []
    if not 1 <= len(labels) <= 5:
        raise invalid("data.components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5.")
    for label in labels:
        if label.get("type") != 18:
            raise invalid("data.components", "UNION_TYPE_CHOICES", "must be one of (18,).")
        length(label.get("label"), "data.components.label", 1, 45)
        field = label.get("component") or {}
        length(field.get("custom_id"), "data.components.custom_id", 1, 100)
        length(field.get("placeholder", ""), "data.components.placeholder", 0, 100)
        if field.get("type") != 4 or field.get("style") not in (1, 2):
            raise invalid("data.components", "UNION_TYPE_CHOICES", "a text input")
        if not 1 <= field.get("max_length", 4000) <= 4000:
            raise invalid("data.components.max_length", "NUMBER_TYPE_MAX", "4000 or less")
