"""The scripted API as OpenCode's providers ask it: Anthropic's Messages, and Chat Completions as OpenAI and those compatible with it have
them. One script plays on both: a request of the second kind is read as one of the first, answered, and the answer written back.
"""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.client.scripted_api import Recorded, ScriptedApi, _handler_for, kind_of

CHAT = "/v1/chat/completions"


class BothApis(ScriptedApi):
    """A scripted API that answers both kinds. `chats`: the bodies of the second kind as they arrived, in order."""

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


def _both(api: BothApis) -> type[BaseHTTPRequestHandler]:
    base: Any = _handler_for(api)

    class Handler(base):
        def do_POST(self) -> None:  # noqa: N802  the name that the library calls
            if self.path != CHAT:
                super().do_POST()
                return
            chat = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
            body = as_messages(chat)
            kind = kind_of(body)
            api.chats.append(chat)
            api.requests.append(Recorded(self.path, dict(self.headers.items()), body, kind))
            message = api.answer(body, kind)
            frames = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks_of(message)]
            self._send(("".join(frames) + "data: [DONE]\n\n").encode(), "text/event-stream")

    return Handler
