"""What is in the messages that the bot sends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chatbridge.channels.chat.document import File
from chatbridge.channels.matrix.client.media import Uploaded
from chatbridge.channels.matrix.render.html import Words

Content = dict[str, Any]


def message(drawing: Words, *, notice: bool = False, mentions: Sequence[str] = ()) -> Content:
    """A notice is silent. Who is mentioned is always said: what an agent wrote pings nobody."""
    return {
        "msgtype": "m.notice" if notice else "m.text",
        "body": drawing.body,
        "format": "org.matrix.custom.html",
        "formatted_body": drawing.html,
        "m.mentions": {"user_ids": list(mentions)} if mentions else {},
    }


def file_message(file: File, uploaded: Uploaded) -> Content:
    """With a caption, the name is beside it, as Matrix 1.10 has it."""
    info: Content = {"mimetype": file.type, "size": uploaded.size}
    if file.size is not None:
        info["w"], info["h"] = file.size
    return {
        "msgtype": "m.file" if file.size is None else "m.image",
        "body": file.caption or file.name,
        "filename": file.name,
        "info": info,
        "m.mentions": {},
        **uploaded.where,
    }


def edit(drawing: Words, event: str, *, notice: bool) -> Content:
    """Outside is a short text for clients without edits: a long card does not fit in twice."""
    first = drawing.body.partition("\n")[0]
    return {
        "msgtype": "m.notice" if notice else "m.text",
        "body": f"* {first}",
        "m.new_content": message(drawing, notice=notice),
        "m.mentions": {},
        "m.relates_to": {"rel_type": "m.replace", "event_id": event},
    }


def in_thread(root: str, *, after: str, reply: bool = False) -> Content:
    """In the thread of `root`, after `after`; `reply`: as a reply to that where threads show."""
    return {
        "m.relates_to": {
            "rel_type": "m.thread",
            "event_id": root,
            "is_falling_back": not reply,
            "m.in_reply_to": {"event_id": after},
        }
    }


def in_reply(to: str) -> Content:
    return {"m.relates_to": {"m.in_reply_to": {"event_id": to}}}
