"""The scripted API as OpenCode's providers ask it: Anthropic's Messages, and Chat Completions as OpenAI and those compatible with it have
them, and OpenAI's Responses. One script plays on all: a request is read as one of the first kind, answered, and the answer written back.
"""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.client.scripted_api import Recorded, ScriptedApi, _handler_for, kind_of

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"


class BothApis(ScriptedApi):
    """A scripted API that answers all kinds. `chats`: the bodies of OpenAI's kinds, in order, of Responses as chats."""

    def __init__(self, scripts: dict[str, list[Any]] | None = None) -> None:
        super().__init__(scripts)
        self.chats: list[dict[str, Any]] = []
        self._server.RequestHandlerClass = type("Quiet", (_both(self),), {"log_message": lambda *_: None})

    def conversation(self, chat: bool) -> list[dict[str, Any]]:
        """The bodies of a conversation's turns, as they arrived."""
        return [body for body in self.chats if body.get("tools")] if chat else [turn.body for turn in self.turns()]


def as_messages(chat: dict[str, Any]) -> dict[str, Any]:
    """A request for a chat completion as one of Anthropic's."""
    messages: list[dict[str, Any]] = []
    for message in chat.get("messages", []):
        role, content = message["role"], message.get("content")
        if role == "tool":
            block = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": content}
            if messages and messages[-1]["role"] == "user" and messages[-1]["content"][0]["type"] == "tool_result":
                messages[-1]["content"].append(block)
            else:
                messages.append({"role": "user", "content": [block]})
        elif role in ("user", "assistant"):
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) and content else list(content or [])
            for call in message.get("tool_calls") or []:
                function = call["function"]
                blocks.append({"type": "tool_use", "id": call["id"], "name": function["name"], "input": json.loads(function["arguments"])})
            messages.append({"role": role, "content": blocks})
    system = [{"type": "text", "text": message["content"]} for message in chat.get("messages", []) if message["role"] == "system"]
    return {"model": chat.get("model"), "system": system, "messages": messages, "tools": chat.get("tools") or []}


def chunks_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    """An answer of Anthropic's as the chunks of a streamed chat completion."""
    text = "".join(block["text"] for block in message["content"] if block["type"] == "text")
    calls = [
        {"index": at, "id": block["id"], "type": "function", "function": {"name": block["name"], "arguments": json.dumps(block["input"])}}
        for at, block in enumerate(block for block in message["content"] if block["type"] == "tool_use")
    ]
    delta = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
    used = message["usage"]
    read, written = used["cache_read_input_tokens"], used["cache_creation_input_tokens"]
    prompt = used["input_tokens"] + read + written  # nothing is said of writes, which cost nothing more
    usage = {
        "prompt_tokens": prompt, "completion_tokens": used["output_tokens"], "total_tokens": prompt + used["output_tokens"],
        "prompt_tokens_details": {"cached_tokens": read},
    }  # fmt: skip
    head = {"id": message["id"], "object": "chat.completion.chunk", "created": 1, "model": message["model"]}
    return [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}]},
        {**head, "choices": [], "usage": usage},
    ]


def as_chat(asked: dict[str, Any]) -> dict[str, Any]:
    """A request for a response as one for a chat completion."""
    messages: list[dict[str, Any]] = []
    for item in asked["input"]:
        kind = item.get("type", "message")
        if kind == "function_call":
            function = {"name": item["name"], "arguments": item["arguments"]}
            called = {"id": item["call_id"], "type": "function", "function": function}
            if not messages or messages[-1]["role"] != "assistant":
                messages.append({"role": "assistant", "content": None})
            messages[-1].setdefault("tool_calls", []).append(called)
        elif kind == "function_call_output":
            messages.append({"role": "tool", "tool_call_id": item["call_id"], "content": _said(item["output"])})
        elif kind == "message":
            role = "system" if item["role"] == "developer" else item["role"]
            messages.append({"role": role, "content": _said(item["content"])})
    tools = [{"type": "function", "function": tool} for tool in asked.get("tools") or []]
    return {"model": asked.get("model"), "messages": messages, "tools": tools}


def _said(content: str | list[dict[str, Any]]) -> str:
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content if "text" in part)


def events_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    """An answer of Anthropic's as the events of a streamed response."""
    events: list[dict[str, Any]] = [{"type": "response.created", "response": {"id": message["id"], "status": "in_progress", "output": []}}]
    output: list[dict[str, Any]] = []
    for at, block in enumerate(message["content"]):
        place = {"output_index": at, "item_id": f"item_{at}"}
        if block["type"] == "tool_use":
            arguments = json.dumps(block["input"])
            item = {"type": "function_call", "id": f"fc_{at}", "call_id": block["id"], "name": block["name"], "arguments": ""}
            done = {**item, "arguments": arguments, "status": "completed"}
            events.append({"type": "response.output_item.added", **place, "item": item})
            events.append({"type": "response.function_call_arguments.delta", **place, "delta": arguments})
            events.append({"type": "response.function_call_arguments.done", **place, "arguments": arguments})
        elif block["type"] == "text":
            item = {"type": "message", "id": f"msg_{at}", "role": "assistant", "status": "in_progress", "content": []}
            part = {"type": "output_text", "text": block["text"], "annotations": []}
            done = {**item, "status": "completed", "content": [part]}
            events.append({"type": "response.output_item.added", **place, "item": item})
            events.append({"type": "response.content_part.added", **place, "content_index": 0, "part": {**part, "text": ""}})
            events.append({"type": "response.output_text.delta", **place, "content_index": 0, "delta": block["text"]})
        else:
            continue
        output.append(done)
        events.append({"type": "response.output_item.done", **place, "item": done})
    used = message["usage"]
    read = used["cache_read_input_tokens"]
    prompt = used["input_tokens"] + read + used["cache_creation_input_tokens"]
    usage = {
        "input_tokens": prompt, "output_tokens": used["output_tokens"], "total_tokens": prompt + used["output_tokens"],
        "input_tokens_details": {"cached_tokens": read}, "output_tokens_details": {"reasoning_tokens": 0},
    }  # fmt: skip
    response = {"id": message["id"], "model": message["model"], "status": "completed", "output": output, "usage": usage}
    return [*events, {"type": "response.completed", "response": response}]


def _both(api: BothApis) -> type[BaseHTTPRequestHandler]:
    base: Any = _handler_for(api)

    class Handler(base):
        def do_POST(self) -> None:  # noqa: N802  the name that the library calls
            if self.path not in (CHAT, RESPONSES):
                super().do_POST()
                return
            asked = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
            chat = as_chat(asked) if self.path == RESPONSES else asked
            body = as_messages(chat)
            kind = kind_of(body)
            api.chats.append(chat)
            api.requests.append(Recorded(self.path, dict(self.headers.items()), body, kind))
            message = api.answer(body, kind)
            if self.path == RESPONSES:
                events = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events_of(message)]
                self._send("".join(events).encode(), "text/event-stream")
                return
            frames = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks_of(message)]
            self._send(("".join(frames) + "data: [DONE]\n\n").encode(), "text/event-stream")

    return Handler
