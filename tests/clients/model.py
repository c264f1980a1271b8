"""A model that follows a script, in the dialects that the programs speak.

One server on loopback: Anthropic's messages, OpenAI's responses and chat completions, and Gemini's
generateContent, each as one body or as a stream. It keeps every request, so that a scene can see
what the program showed to it.
"""

from __future__ import annotations

import base64
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
STREAM, PLAIN = "text/event-stream", "application/json"
HELD = 60.0
"""Seconds that a reply is held back at most."""
DATA_URL = re.compile(r"data:image/[a-z]+;base64,(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Call:
    """What the model wants next: this tool, by the end of its name."""

    tool: str
    arguments: Json


Script = Callable[[Sequence[str]], Call | str]
"""What the model does when it has these results, the oldest first: a call, or its last words."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a program sent: the tools that it offers, and what it tells of their results."""

    dialect: str
    body: Json
    tools: tuple[Tool, ...]
    results: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join(_strings(self.body))

    def pictures(self) -> list[bytes]:
        return list(_pictures(self.body))


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    namespace: str | None = None


class Model:
    """The server and what it was sent."""

    def __init__(self, script: Script, *, held: bool = False) -> None:
        """`held`: it replies only as often as `turns` is released."""
        self.turns = threading.Semaphore(0) if held else None
        self.requests: list[Request] = []
        self.calls: list[Call] = []
        """Each once, however often it is asked for."""
        self.told: threading.Condition = threading.Condition()
        self._script = script
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.model = self
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    @contextmanager
    def serving(self) -> Iterator[Model]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    def until(self, fits: Callable[[Request], bool], seconds: float) -> Request | None:
        """The first request that fits, now or within this time."""
        until = time.monotonic() + seconds
        with self.told:
            while True:
                for request in self.requests:
                    if fits(request):
                        return request
                if not self.told.wait(max(0.0, until - time.monotonic())):
                    return None

    @property
    def results(self) -> tuple[str, ...]:
        """All that a program has told in one conversation."""
        return max((it.results for it in self.requests), key=len, default=())

    def reply(self, request: Request) -> tuple[Tool, Json] | str:
        """Ask for a tool, if this request offers it; programs also ask for titles and the like."""
        with self.told:
            self.requests.append(request)
            self.told.notify_all()
        if self.turns is not None and request.tools:
            self.turns.acquire(timeout=HELD)
        with self.told:
            wanted = self._script(request.results)
            if isinstance(wanted, str):
                return wanted
            found = [it for it in request.tools if re.search(rf"(^|\W|_){wanted.tool}$", it.name)]
            if not found:
                return "There is nothing to do."
            if len(self.calls) == len(request.results):
                self.calls.append(wanted)
            return found[0], wanted.arguments


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    model: Model


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        self._send(b'{"data": [], "models": []}', PLAIN)

    def do_HEAD(self) -> None:
        self._send(b"", PLAIN)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        path = self.path.partition("?")[0]
        if "count" in path.rpartition("/")[2].lower():
            return self._send(b'{"input_tokens": 10, "totalTokens": 10}', PLAIN)
        name = next((it for it in DIALECTS if re.search(it, path)), None)
        if name is None:
            return self.send_error(404)
        dialect = DIALECTS[name]
        request = Request(name, body, tuple(dialect.tools(body)), tuple(dialect.results(body)))
        reply = self.server.model.reply(request)
        events = dialect.events(reply, str(body.get("model", "m")), len(request.results))
        if body.get("stream") or "stream" in path:
            return self._send(_streamed(events, done=name == CHAT), STREAM)
        return self._send(json.dumps(dialect.whole(events)).encode(), PLAIN)

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def _streamed(events: Sequence[Json], *, done: bool) -> bytes:
    parts = [
        (f"event: {event['type']}\n" if "type" in event else "") + f"data: {json.dumps(event)}\n\n"
        for event in events
    ]
    return "".join([*parts, *(["data: [DONE]\n\n"] if done else [])]).encode()


# ── dialects ──────────────────────────────────────────────────────────────────────────────────────

Reply = tuple[Tool, Json] | str
MESSAGES, RESPONSES, CHAT, GEMINI = (
    r"/messages$",
    r"/responses$",
    r"/chat/completions$",
    r"[gG]enerateContent$",
)


@dataclass(frozen=True, slots=True)
class Dialect:
    tools: Callable[[Json], Iterator[Tool]]
    results: Callable[[Json], Iterator[str]]
    events: Callable[[Reply, str, int], list[Json]]
    """A reply by this model as a stream. The number tells calls of one conversation apart."""
    whole: Callable[[list[Json]], Json]
    """The same in one."""


def _messages_tools(body: Json) -> Iterator[Tool]:
    return (Tool(it["name"]) for it in body.get("tools") or ())


def _messages_results(body: Json) -> Iterator[str]:
    for message in body.get("messages", ()):
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block.get("type") == "tool_result":
                yield _said(block.get("content"))


def _messages_events(reply: Reply, model: str, number: int) -> list[Json]:
    if isinstance(reply, str):
        block: Json = {"type": "text", "text": ""}
        delta: Json = {"type": "text_delta", "text": reply}
        reason = "end_turn"
    else:
        tool, given = reply
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": tool.name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(given)}
        reason = "tool_use"
    message: Json = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    end = {"stop_reason": reason, "stop_sequence": None}
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]


def _messages_whole(events: list[Json]) -> Json:
    start, block, delta, _, end, _ = events
    content, more = block["content_block"], delta["delta"]
    if content["type"] == "text":
        content = {**content, "text": more["text"]}
    else:
        content = {**content, "input": json.loads(more["partial_json"])}
    return {**start["message"], "content": [content], **end["delta"]}


def _responses_tools(body: Json) -> Iterator[Tool]:
    for it in body.get("tools") or ():
        for inner in it.get("tools", ()):
            yield Tool(inner["name"], it["name"])
        if it.get("type") == "function":
            yield Tool(it["name"])


def _responses_results(body: Json) -> Iterator[str]:
    given = body.get("input")
    for it in given if isinstance(given, list) else ():
        if it.get("type") == "function_call_output":
            yield _said(it["output"])


def _responses_events(reply: Reply, model: str, number: int) -> list[Json]:
    if isinstance(reply, str):
        part = {"type": "output_text", "text": reply, "annotations": []}
        item: Json = {"type": "message", "role": "assistant", "content": [part]}
    else:
        tool, given = reply
        item = {"type": "function_call", "name": tool.name, "arguments": json.dumps(given)}
        item |= {"call_id": f"call_{number}"}
        item |= {"namespace": tool.namespace} if tool.namespace else {}
    item |= {"id": f"item_{number}", "status": "completed"}
    response = {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1,
        "model": model,
        "status": "completed",
        "output": [item],
        "tools": [],
        "tool_choice": "auto",
        "parallel_tool_calls": False,
        "usage": {
            "input_tokens": 1,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 1,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 2,
        },
    }
    begun = {**response, "status": "in_progress", "output": []}
    events: list[Json] = [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]
    return [{**event, "sequence_number": at} for at, event in enumerate(events)]


def _chat_tools(body: Json) -> Iterator[Tool]:
    return (Tool(it["function"]["name"]) for it in body.get("tools") or ())


def _chat_results(body: Json) -> Iterator[str]:
    return (_said(it["content"]) for it in body.get("messages", ()) if it["role"] == "tool")


def _chat_events(reply: Reply, model: str, number: int) -> list[Json]:
    delta: Json = {"role": "assistant", "content": None}
    if isinstance(reply, str):
        delta["content"] = reply
    else:
        tool, given = reply
        function = {"name": tool.name, "arguments": json.dumps(given)}
        call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
        delta["tool_calls"] = [call]
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    chunk = {"id": f"chat_{number}", "object": "chat.completion.chunk", "created": 1}
    chunk |= {"model": model, "choices": []}
    reason = "tool_calls" if "tool_calls" in delta else "stop"
    first = {"index": 0, "delta": delta, "finish_reason": None}
    last = {"index": 0, "delta": {}, "finish_reason": reason}
    return [{**chunk, "choices": [it]} for it in (first, last)] + [{**chunk, "usage": usage}]


def _chat_whole(events: list[Json]) -> Json:
    first, last, usage = events
    choice = {**last["choices"][0], "message": first["choices"][0]["delta"]}
    return {**usage, "object": "chat.completion", "choices": [choice]}


def _gemini_tools(body: Json) -> Iterator[Tool]:
    for group in body.get("tools") or ():
        for it in group.get("functionDeclarations", ()):
            yield Tool(it["name"])


def _gemini_results(body: Json) -> Iterator[str]:
    for content in body.get("contents", ()):
        for part in content.get("parts", ()):
            if "functionResponse" in part:
                yield _said(part["functionResponse"].get("response"))


def _gemini_events(reply: Reply, model: str, number: int) -> list[Json]:
    part: Json = {"text": reply}
    if not isinstance(reply, str):
        tool, given = reply
        part = {"functionCall": {"id": f"call_{number}", "name": tool.name, "args": given}}
    content = {"role": "model", "parts": [part]}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    return [{"candidates": [candidate], "usageMetadata": usage, "modelVersion": model}]


def _last_response(events: list[Json]) -> Json:
    response: Json = events[-1].get("response", events[-1])
    return response


DIALECTS = {
    MESSAGES: Dialect(_messages_tools, _messages_results, _messages_events, _messages_whole),
    RESPONSES: Dialect(_responses_tools, _responses_results, _responses_events, _last_response),
    CHAT: Dialect(_chat_tools, _chat_results, _chat_events, _chat_whole),
    GEMINI: Dialect(_gemini_tools, _gemini_results, _gemini_events, _last_response),
}


# ── what is in a request ──────────────────────────────────────────────────────────────────────────


def _said(content: object) -> str:
    """The words of a result, whichever way they are wrapped."""
    if isinstance(content, list) and all(isinstance(it, dict) for it in content):
        return "\n".join(str(it["text"]) for it in content if "text" in it)
    return content if isinstance(content, str) else json.dumps(content)


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        if not value.keys() & {"inlineData", "image_url"} and value.get("type") != "image":
            for inner in value.values():
                yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
    elif value is not None:
        yield json.dumps(value)


def _pictures(value: object) -> Iterator[bytes]:
    """Of those that a model would look at; base64 in a text is none."""
    if isinstance(value, list):
        for inner in value:
            yield from _pictures(inner)
    elif isinstance(value, dict):
        url = value.get("image_url")
        found = DATA_URL.fullmatch(str(url.get("url") if isinstance(url, dict) else url))
        inline = value.get("source") if value.get("type") == "image" else value.get("inlineData")
        if found:
            yield base64.b64decode(found[1])
        elif isinstance(inline, dict) and "data" in inline:
            yield base64.b64decode(inline["data"])
        for inner in value.values():
            yield from _pictures(inner)
