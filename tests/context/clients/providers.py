"""Both providers' APIs on loopback: what they are asked is recorded, and how they answer is scripted, failures too."""

from __future__ import annotations

import json
import socket
import threading
import uuid
from collections import deque
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple

from tests.listening import Listening
from tests.patience import HANG_S

TEXT = "The answer"
INPUT, CACHE_READ, CACHE_WRITE, OUTPUT = 11, 7, 5, 3
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
_ERRORS |= {529: "overloaded_error"}

_OTHERS = (
    "/count_tokens",
    "/v1/completions",
    "/embeddings",
    "/batches",
    "/images/generations",
    "/audio/speech",
    "/fine_tuning/jobs",
    "/threads/runs",
)
BACKGROUND = "resp_that_runs_in_the_background"


class Fails(NamedTuple):
    """An answer with a status of failure."""

    status: int


class FailsWithin(NamedTuple):
    """A stream that tells of a failure after so many events."""

    events: int = 0


class Breaks(NamedTuple):
    """A stream whose connection ends after so many events; no answer at all where no stream is asked for."""

    events: int = 0


class Waits(NamedTuple):
    """An answer that comes when `ready` is set."""

    ready: threading.Event


class Pending(NamedTuple):
    """An answer that is not ready yet: a background response or a batch."""


class Seen(NamedTuple):
    """A request as it arrived."""

    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> dict[str, Any]:
        return json.loads(self.raw)

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.body["messages"]


class Providers(Listening):
    """The server; use it as a context manager. `answers` are for the next requests in turn; without one the request is answered well."""

    def __init__(self) -> None:
        self.requests: list[Seen] = []
        self.answers: deque[object] = deque()
        super().__init__(_handler_for(self))

    @property
    def last(self) -> Seen:
        return self.requests[-1]

    def models(self) -> list[str]:
        """The models that were asked, in turn."""
        return [seen.body["model"] for seen in self.requests]


def anthropic_message(model: str) -> dict[str, Any]:
    usage = {
        "input_tokens": INPUT,
        "cache_read_input_tokens": CACHE_READ,
        "cache_creation_input_tokens": CACHE_WRITE,
        "output_tokens": OUTPUT,
    }
    return {
        "id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant", "model": model,
        "content": [{"type": "text", "text": TEXT}], "stop_reason": "end_turn", "stop_sequence": None, "usage": usage,
    }  # fmt: skip


def _anthropic_events(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    message = anthropic_message(body["model"])
    yield {
        "type": "message_start",
        "message": {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}},
    }
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    for word in TEXT.split():
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word + " "}}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": OUTPUT}}
    yield {"type": "message_stop"}


def _openai_usage() -> dict[str, Any]:
    prompt = INPUT + CACHE_READ
    details = {"cached_tokens": CACHE_READ}
    return {"prompt_tokens": prompt, "completion_tokens": OUTPUT, "total_tokens": prompt + OUTPUT, "prompt_tokens_details": details}


def openai_completion(model: str) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}
    return {
        "id": f"chatcmpl-{uuid.uuid4()}", "object": "chat.completion", "created": 1, "model": model, "choices": [choice],
        "usage": _openai_usage(),
    }  # fmt: skip


def openai_response(model: str) -> dict[str, Any]:
    prompt = INPUT + CACHE_READ
    usage = {
        "input_tokens": prompt, "input_tokens_details": {"cached_tokens": CACHE_READ}, "output_tokens": OUTPUT,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": prompt + OUTPUT,
    }  # fmt: skip
    said = {"type": "output_text", "text": TEXT, "annotations": []}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [said]}
    return {
        "id": "resp_1", "object": "response", "created_at": 1, "model": model, "output": [message], "status": "completed", "usage": usage,
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
    }  # fmt: skip


def background_response(id: str, is_done: bool) -> dict[str, Any]:
    response = {**openai_response("scripted-large"), "id": id, "background": True}
    return response if is_done else {**response, "status": "queued", "usage": None}


def _batch(id: str, url: str, is_done: bool) -> dict[str, Any]:
    """A batch as either package reads it."""
    usage = openai_response("scripted-large")["usage"]
    done = {"status": "completed", "usage": usage, "processing_status": "ended", "results_url": f"{url}/v1/messages/batches/{id}/results"}
    at_work = {"status": "in_progress", "processing_status": "in_progress", "results_url": None}
    return {"id": id, "object": "batch", "model": "scripted-large", **(done if is_done else at_work)}


def _results() -> bytes:
    """The results of a batch of Anthropic's: two messages, and a request that failed."""
    messages = [{"type": "succeeded", "message": anthropic_message("scripted-large")} for _ in range(2)]
    errored = {"type": "errored", "error": {"type": "error", "error": {"type": "api_error", "message": "scripted"}}}
    lines = [{"custom_id": str(number), "result": result} for number, result in enumerate([*messages, errored])]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def _other(path: str) -> dict[str, Any]:
    if path.endswith("/count_tokens"):
        return {"input_tokens": INPUT}
    usage = openai_response("")["usage"] if "/images/" in path else _openai_usage()
    return {"id": "other_1", "object": "list", "model": "", "choices": [], "data": [], "usage": usage}


def _retrieved(path: str, url: str, is_done: bool) -> tuple[bytes, str]:
    """What there is at a path, and its kind."""
    id = path.rpartition("/")[2]
    if id == "results":
        return _results(), "application/x-jsonl"
    return json.dumps(_batch(id, url, is_done) if "/batches/" in path else background_response(id, is_done)).encode(), "application/json"


def _response_of(body: dict[str, Any]) -> tuple[bytes, str, int]:
    response = openai_response(body["model"])
    if body.get("background"):
        return json.dumps(background_response(BACKGROUND, False)).encode(), "application/json", 200
    if not body.get("stream"):
        return json.dumps(response).encode(), "application/json", 200
    begun = {"type": "response.created", "response": {**response, "status": "in_progress", "usage": None}}
    events = [{**begun, "sequence_number": 0}, {"type": "response.completed", "response": response, "sequence_number": 1}]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode(), "text/event-stream", 200


def _openai_events(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    chunk = {"id": f"chatcmpl-{uuid.uuid4()}", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
    for word in TEXT.split():
        yield {**chunk, "choices": [{"index": 0, "delta": {"role": "assistant", "content": word + " "}, "finish_reason": None}]}
    yield {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    if (body.get("stream_options") or {}).get("include_usage"):
        yield {**chunk, "choices": [], "usage": _openai_usage()}


def _frames(anthropic: bool, body: dict[str, Any], answer: object) -> Iterator[bytes]:
    """The frames of a stream, as many as the answer lets through, and how it ends."""
    events = list(_anthropic_events(body) if anthropic else _openai_events(body))
    frames = [(f"event: {event['type']}\n" if anthropic else "") + f"data: {json.dumps(event)}\n\n" for event in events]
    if isinstance(answer, (Breaks, FailsWithin)):
        del frames[answer.events :]
    elif not anthropic:
        frames.append("data: [DONE]\n\n")
    if isinstance(answer, FailsWithin):
        error = {"type": "overloaded_error" if anthropic else "server_error", "message": "scripted"}
        frames.append(("event: error\n" if anthropic else "") + f"data: {json.dumps({'type': 'error', 'error': error})}\n\n")
    return (frame.encode() for frame in frames)


def _handler_for(api: Providers) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else a body waits for the caller to say that it has the headers

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            api.requests.append(Seen(self.path, {name.lower(): value for name, value in self.headers.items()}, raw))
            answer = api.answers.popleft() if api.answers else None
            if isinstance(answer, Waits):
                answer.ready.wait(HANG_S)
            path, body = self.path.partition("?")[0], json.loads(raw)
            anthropic = "/messages" in path
            if isinstance(answer, Fails):
                kind = _ERRORS.get(answer.status, "api_error")
                self._send({"type": "error", "error": {"type": kind, "message": "scripted"}}, answer.status)
            elif path.endswith("/responses"):
                self._send_raw(*_response_of(body))
            elif path.endswith(_OTHERS):
                self._send(_other(path))
            elif isinstance(answer, Breaks) and not body.get("stream"):
                self._hang_up()
            elif body.get("stream"):
                self._stream(anthropic, body, answer)
            else:
                self._send(anthropic_message(body["model"]) if anthropic else openai_completion(body["model"]))

        def do_GET(self) -> None:
            answer = api.answers.popleft() if api.answers else None
            self._send_raw(*_retrieved(self.path.partition("?")[0], api.url, not isinstance(answer, Pending)), 200)

        def _send(self, payload: dict[str, Any], status: int = 200) -> None:
            self._send_raw(json.dumps(payload).encode(), "application/json", status)

        def _send_raw(self, raw: bytes, kind: str, status: int) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def _stream(self, anthropic: bool, body: dict[str, Any], answer: object) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for frame in _frames(anthropic, body, answer):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(frame), frame))
                self.wfile.flush()
            if isinstance(answer, Breaks):
                self._hang_up()
            else:
                self.wfile.write(b"0\r\n\r\n")

        def _hang_up(self) -> None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

    return Handler
