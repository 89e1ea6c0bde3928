"""A Messages API on loopback that answers from scripts, for driving the real client.

A prompt names its script with a marker, `[[SCRIPT:name]]`. The step to play is the number of assistant messages after
the last marker in the request, so the server keeps no conversation: resumed sessions, subagents, retries and the
terminal all work. Every request is recorded. Must never reach the network and must never need a key.
"""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.listening import Listening

from .provider import SEALS, Answer, blocks_of, faults, mode_of, name_of, sealed

STEP = re.compile(r"toolu_(.+)_(\d+)_\d+_\d+")  # the id of a call: its script, its step there
MARKER = re.compile(r"\[\[SCRIPT:([A-Za-z0-9_-]+)\]\]")
SUMMARY = "Scripted summary: the work so far went well."
TITLE = '{"title": "Scripted session"}'
CHECKED = "<severity>1</severity>"
CHARS_PER_TOKEN = 4


@dataclass(frozen=True)
class Step:
    """One assistant message: thinking, `raw` blocks as they are given, text, then tool calls (several run in parallel); usage keys override
    the computed ones. `cleared`: (tool uses, tokens) that the provider says it has left out of this request."""

    text: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    usage: dict[str, int] = field(default_factory=dict)
    thinking: tuple[dict[str, Any], ...] = ()
    cleared: tuple[int, int] = (0, 0)
    raw: tuple[dict[str, Any], ...] = ()


Blocks = tuple[dict[str, Any], ...]


def say(text: str, *, thinking: Blocks = (), raw: Blocks = (), **usage: int) -> Step:
    """A step of text only, which ends the turn."""
    return Step(text=text, usage=usage, thinking=thinking, raw=raw)


def call(*calls: tuple[str, dict[str, Any]], text: str = "", thinking: Blocks = (), raw: Blocks = (), **usage: int) -> Step:
    """A step with one or more tool calls; `{work}` and other places in the inputs are filled in when it is played."""
    return Step(text=text, calls=calls, usage=usage, thinking=thinking, raw=raw)


def thought(text: str) -> dict[str, Any]:
    """A thinking block; it is sealed when it is played."""
    return {"type": "thinking", "thinking": text, "signature": ""}


def redacted() -> dict[str, Any]:
    """A thinking block that only the provider can read."""
    return {"type": "redacted_thinking", "data": ""}


@dataclass(frozen=True)
class Recorded:
    """One POST as it arrived. kind is 'turn', 'title', 'summary', 'check' or 'count_tokens'; `faults` is what the provider would refuse."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    kind: str
    faults: tuple[str, ...] = ()

    @cached_property
    def text(self) -> str:
        """The messages as one JSON string, for "is X in this request"."""
        return json.dumps(self.body.get("messages", []), ensure_ascii=False)

    def tool_results(self) -> dict[str, str]:
        """tool_use_id to the text of its result, as the model would see it."""
        found = {}
        for message in self.body.get("messages", []):
            for block in blocks_of(message):
                if block.get("type") == "tool_result":
                    found[block["tool_use_id"]] = text_of(block.get("content"))
        return found


def text_of(content: object) -> str:
    """The text of a string or of a list of blocks."""
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content or [] if isinstance(block, dict))


def kind_of(body: dict[str, Any]) -> str:
    """What the client wants: a compaction summary, auto mode's check of a call, a session title (both come without tools), or a turn."""
    users = [message for message in body.get("messages", []) if message.get("role") == "user"]
    last = "\n".join(block.get("text", "") for block in blocks_of(users[-1])) if users else ""
    if "detailed summary of" in last and "<summary>" in last:
        return "summary"
    if not body.get("tools") and "<severity>" in last:
        return "check"
    return "turn" if body.get("tools") else "title"


def position(messages: list[dict[str, Any]]) -> tuple[str, int]:
    """The script that the last marker names, and how many assistant messages follow it; ('', 0) without a marker.

    A message with another script's calls does not count: newer clients carry the last one over a compaction. A call tells itself which
    step it was, where a compaction has left out earlier ones.
    """
    name, played = "", 0
    for message in messages:
        if message.get("role") == "assistant":
            ids = [block.get("id", "") for block in blocks_of(message) if block.get("type") == "tool_use"]
            step = STEP.fullmatch(ids[0]) if ids else None
            if step and step[1] == name:
                played = int(step[2]) + 1
            else:
                played += not name or not ids
        elif message.get("role") == "user":
            texts = [block.get("text", "") for block in blocks_of(message) if block.get("type") == "text"]
            markers = MARKER.findall("\n".join(texts))
            if markers:
                name, played = markers[-1], 0
    return name, played


def fill(value: Any, places: dict[str, str]) -> Any:
    """The value with `{place}` replaced in every string; other braces stay."""
    if isinstance(value, str):
        for place, text in places.items():
            value = value.replace("{" + place + "}", text)
        return value
    if isinstance(value, dict):
        return {key: fill(item, places) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [fill(item, places) for item in value]
    return value


class ScriptedApi(Listening):
    """The server; use it as a context manager. `scripts` and `places` may be changed while it runs. A `strict` one refuses what the
    provider would refuse, and what was refused fails the test that closes it."""

    def __init__(self, scripts: dict[str, list[Step]] | None = None) -> None:
        self.scripts = dict(scripts or {})
        self.places: dict[str, str] = {}
        self.headers: dict[str, str] = {}  # sent with every answer
        # A marker in here names the script to go on with after a compaction in mid-turn.
        self.summary = SUMMARY
        self.requests: list[Recorded] = []
        self.strict = False
        self.is_judging = True  # says of each call that it is not dangerous, where it is asked
        self.refused: list[str] = []
        self._answers: dict[str, Answer] = {}
        self.used: list[tuple[str, dict[str, Any]]] = []  # (kind of a request, its usage)
        # Statuses with which the next requests of a conversation fail, before anything is answered.
        self.failing: list[int] = []
        self._ids = itertools.count(1)
        super().__init__(_handler_for(self))

    def __exit__(self, *_exc: object) -> None:
        super().__exit__(*_exc)
        assert not self.refused, self.refused

    def checked(self, path: str, headers: dict[str, str], body: dict[str, Any], kind: str) -> Recorded:
        """Record a request with what is wrong with it."""
        wrong = faults(body.get("messages", []), mode_of(body, headers), self._answers) if kind in ("turn", "summary") else []
        self.requests.append(Recorded(path, headers, body, kind, tuple(wrong)))
        if self.strict:
            self.refused += wrong
        return self.requests[-1]

    def turns(self) -> list[Recorded]:
        """The recorded requests that belong to a conversation, in order of arrival."""
        return [request for request in self.requests if request.kind == "turn"]

    def of_kind(self, kind: str) -> list[Recorded]:
        """The recorded requests of one kind."""
        return [request for request in self.requests if request.kind == kind]

    def clear(self) -> None:
        """Forget what was recorded, so that a test can count from here."""
        self.requests.clear()

    def answer(self, body: dict[str, Any], kind: str) -> dict[str, Any]:
        """The whole Messages API answer to one request body."""
        if kind == "summary":
            step, name, played = say(f"<summary>\n{self.summary}\n</summary>"), "summary", 0
        elif kind in ("title", "check"):
            step, name, played = say(TITLE if kind == "title" else CHECKED), kind, 0
        else:
            name, played = position(body.get("messages", []))
            steps = self.scripts.get(name, [])
            step = steps[played] if played < len(steps) else say(f"(no step {played} in script '{name}')")
        number = next(self._ids)
        seal = sealed(body.get("messages", [])) if step.thinking else ""
        thinking = [{**block, SEALS[block["type"]]: seal} for block in step.thinking]
        text = [{"type": "text", "text": step.text}] if step.text else []
        content: list[dict[str, Any]] = [*thinking, *fill(step.raw, self.places), *text]
        for index, (tool, tool_input) in enumerate(step.calls):
            # The number keeps ids unique when a script is played twice in one session.
            use_id = f"toolu_{name}_{played}_{index}_{number:04d}"
            content.append(
                {"type": "tool_use", "id": use_id, "name": tool, "input": fill(tool_input, self.places)},
            )
        given = {"role": "assistant", "content": content}
        usage = usage_of(body, step)
        self.used.append((kind, usage))
        thought = any(earlier.thinking for earlier in itertools.islice(self.scripts.get(name, []), played + 1))
        self._answers[name_of(given)] = Answer(bool(thinking), thought)
        return {
            "id": f"msg_{name}_{played}_{number:04d}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "scripted"),
            "content": content or [{"type": "text", "text": "(empty step)"}],
            "stop_reason": "tool_use" if step.calls else "end_turn",
            "stop_sequence": None,
            "usage": usage,
            "context_management": {"applied_edits": applied_edits(step)},
            "safeguard_results": verdicts(content) if body.get("safeguards") and self.is_judging else None,
        }


def applied_edits(step: Step) -> list[dict[str, Any]]:
    """What the provider says of its own clearing: nothing where it cleared nothing."""
    uses, tokens = step.cleared
    return [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": uses, "cleared_input_tokens": tokens}] if uses else []


def verdicts(content: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the provider says to auto mode of the calls in its answer: that none is dangerous."""
    verdict = {"type": "evaluated", "outcome": "not_flagged"}
    uses = {block["id"]: verdict for block in content if block["type"] == "tool_use"}
    return [{"type": "dangerous_tool_use", "status": {"type": "available", "tool_uses": uses}}]


def usage_of(body: dict[str, Any], step: Step) -> dict[str, Any]:
    """A plausible usage: everything but the last message was cached, the last one is written to the cache."""
    messages = body.get("messages", [])
    total = len(json.dumps(body)) // CHARS_PER_TOKEN
    new = len(json.dumps(messages[-1:])) // CHARS_PER_TOKEN
    usage: dict[str, Any] = {
        "input_tokens": 3,
        "cache_creation_input_tokens": new,
        "cache_read_input_tokens": max(0, total - new),
        "output_tokens": 20 + len(step.text) // CHARS_PER_TOKEN,
        "service_tier": "standard",
    }
    usage.update(step.usage)
    written = usage["cache_creation_input_tokens"]
    usage["cache_creation"] = {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0}
    return usage


def events_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The server-sent events that stream one message."""
    first = {"usage": {**message["usage"], "output_tokens": 1}, "context_management": None, "safeguard_results": None}
    start = {**message, "content": [], "stop_reason": None, **first}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}]
    for index, block in enumerate(message["content"]):
        opening, deltas = streamed(block)
        events.append({"type": "content_block_start", "index": index, "content_block": opening})
        events.extend({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        events.append({"type": "content_block_stop", "index": index})
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    if message["safeguard_results"] is not None:
        ending["safeguard_results"] = message["safeguard_results"]
    edits = message["context_management"]
    events.append({"type": "message_delta", "delta": ending, "usage": message["usage"], "context_management": edits})
    events.append({"type": "message_stop"})
    return events


def streamed(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """How a block begins, and the deltas that fill it."""
    kind = block["type"]
    if kind == "thinking":
        deltas = [{"type": f"{name}_delta", name: block[name]} for name in ("thinking", "signature")]
        return {**block, "thinking": "", "signature": ""}, deltas
    if kind in ("tool_use", "server_tool_use"):
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
    if kind != "text":
        return block, []
    cited = [{"type": "citations_delta", "citation": citation} for citation in block.get("citations") or []]
    empty = {"citations": []} if cited else {}
    return {"type": "text", "text": "", **empty}, [*cited, {"type": "text_delta", "text": block["text"]}]


def _handler_for(api: ScriptedApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._send(b"", "text/plain")

        def do_GET(self) -> None:
            self._send(b'{"data": [], "has_more": false}', "application/json")

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            path = self.path.partition("?")[0]
            try:
                body = json.loads(raw)
            except ValueError:
                body = {}
            if path not in ("/v1/messages", "/v1/messages/count_tokens"):
                self._send(b"{}", "application/json", status=404)
                return
            kind = "count_tokens" if path.endswith("count_tokens") else kind_of(body)
            recorded = api.checked(self.path, dict(self.headers.items()), body, kind)
            if kind == "count_tokens":
                self._send(json.dumps({"input_tokens": len(raw) // CHARS_PER_TOKEN}).encode(), "application/json")
                return
            if kind == "turn" and api.failing:
                error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
                self._send(json.dumps(error).encode(), "application/json", status=api.failing.pop(0))
                return
            if api.strict and recorded.faults:
                error = {"type": "error", "error": {"type": "invalid_request_error", "message": "; ".join(recorded.faults)}}
                self._send(json.dumps(error).encode(), "application/json", status=400)
                return
            message = api.answer(body, kind)
            if body.get("stream"):
                frames = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events_of(message)]
                self._send("".join(frames).encode(), "text/event-stream")
            else:
                self._send(json.dumps(message).encode(), "application/json")

        def _send(self, payload: bytes, media_type: str, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("content-type", media_type)
            self.send_header("content-length", str(len(payload)))
            self.send_header("request-id", "req_scripted")
            for name, value in api.headers.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(payload)

    return Handler
